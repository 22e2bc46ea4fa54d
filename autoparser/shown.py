"""Values of the engine that show a report on themselves: as text, in rich and in a notebook.

The engine does not import reports, so a value calls the presenter registered here.
`autoparser/__init__.py` registers it, and it is imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar, Protocol

if TYPE_CHECKING:
    from rich.text import Text

__all__ = ["Presenter", "Shown", "present_by"]

WIDTH = 80
"""The default width of a report, in cells."""


class Presenter(Protocol):
    """Draws the report on a value; registered by the package on import."""

    def __call__(self, value: Shown, width: int, *, full: bool) -> Text:
        """Return the report in lines of at most `width` cells; `full` includes every part."""
        ...


_load: list[Callable[[], Presenter]] = []


def present_by(load: Callable[[], Presenter]) -> None:
    """Register the presenter of values; `load` imports it on first use."""
    _load[:] = [load]


class Shown:
    """A value with a report, shown by `print(value.report())`, rich and notebooks."""

    __slots__ = ()

    shown_as: ClassVar[str]
    """The name of the report in `autoparser.reports`, e.g. `"analysis"`."""

    def report(self, *, width: int = WIDTH, full: bool = False) -> str:
        """Return the report on it as plain text.

        `width` is in cells; `full` includes the parts that the usual report leaves out.
        """
        return self._presented(width, full=full).plain

    def __rich__(self) -> Text:
        """Return the report for rich, with its styles."""
        return self._presented(WIDTH)

    def _repr_html_(self) -> str:
        """Return the report for a notebook, as HTML whose every text is escaped."""
        from io import StringIO  # noqa: PLC0415 - as below

        from rich.console import Console  # noqa: PLC0415 - most values are never shown

        console = Console(file=StringIO(), record=True, width=WIDTH, force_jupyter=False)
        console.print(self._presented(WIDTH), soft_wrap=True)
        return console.export_html(inline_styles=True, code_format=_HTML)

    def _presented(self, width: int, *, full: bool = False) -> Text:
        return _load[0]()(self, width, full=full)


_HTML = '<pre class="autoparser" style="white-space: pre; line-height: 1.3">{code}</pre>'
