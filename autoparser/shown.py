"""How a value of the engine shows itself: as a report, to rich and in a notebook.

The engine knows no report, so a value asks whoever shows values here. The public face names him
when it is imported, and he is imported when a value is first looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["Presenter", "Shown", "present_by"]

WIDTH = 80
"""Characters in a line of a report where nobody says how many there are."""


class Presenter(Protocol):
    """Who draws the report on a value."""

    def __call__(self, value: Shown, width: int, *, full: bool) -> Text:
        """Return it in lines of at most `width` cells; `full` leaves nothing out."""
        ...


_load: list[Callable[[], Presenter]] = []


def present_by(load: Callable[[], Presenter]) -> None:
    """Take who presents values; `load` imports him when he is first needed."""
    _load[:] = [load]


class Shown:
    """A value that shows itself where it is looked at."""

    __slots__ = ()

    shown_as: ClassVar[str]
    """Which report tells of it."""

    def report(self, *, width: int = WIDTH, full: bool = False) -> str:
        """Return the report on it as plain text.

        `width` is the most cells in a line; `full` leaves nothing out where the usual report does.
        """
        return self._presented(width, full=full).plain

    def __rich__(self) -> Text:
        """Return the report for rich, with its styles."""
        return self._presented(WIDTH)

    def _repr_html_(self) -> str:
        """Return the report for a notebook, as HTML whose every text is escaped."""
        from io import StringIO  # noqa: PLC0415 - as what it is for

        from rich.console import Console  # noqa: PLC0415 - values are mostly not looked at

        console = Console(file=StringIO(), record=True, width=WIDTH, force_jupyter=False)
        console.print(self._presented(WIDTH), soft_wrap=True)
        return console.export_html(inline_styles=True, code_format=_HTML)

    def _presented(self, width: int, *, full: bool = False) -> Text:
        return _load[0]()(self, width, full=full)


_HTML = '<pre class="autoparser" style="white-space: pre; line-height: 1.3">{code}</pre>'
