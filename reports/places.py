"""Places in files as editors and terminals open them: ``path:line:column``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rich.style import Style
from rich.text import Text

from autoparser.analysis.templates.chat_template import ChatTemplate

from .visible import visible

__all__ = ["FilePlace", "lines_of", "place_of", "place_text", "template_place"]

_NEWLINE = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A place in a file; lines and columns count from 1."""

    path: str
    line: int
    column: int = 1

    def __str__(self) -> str:
        """Write it as tools write it."""
        return f"{visible(self.path)}:{self.line}:{self.column}"


def lines_of(text: str) -> list[str]:
    """Cut a template into lines, as Jinja counts them."""
    return _NEWLINE.split(text)


def place_of(path: str, line: int, text: str = "") -> FilePlace:
    """Return where a line's own text begins; its first column where the `text` is not at hand."""
    written = lines_of(text)[line - 1 : line]
    indent = len(written[0]) - len(written[0].lstrip()) if written else 0
    return FilePlace(path, line, indent + 1)


def template_place(template: ChatTemplate, line: int | None) -> FilePlace | None:
    """Return where a line of a template begins, as if its text were a file; None: no line."""
    return None if line is None else place_of(template.origin or "a text", line, template.text)


def place_text(place: FilePlace) -> Text:
    """Return it for a report: whoever prints that may make a link of the style's `place`."""
    return Text(str(place), style=Style(bold=True, meta={"place": place.path}))
