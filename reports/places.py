"""Origins of templates, and places in files in a form that editors and terminals open.

For example, a place in an indented line, and one that does not fit into 20 cells, are

    chat.jinja:2:3
    …/chat.jinja:4:1
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from msgspec import Struct
from rich.style import Style
from rich.text import Text

from .visible import visible

if TYPE_CHECKING:
    from autoparser.analysis.core.provenance import Provenance
    from autoparser.analysis.formats.learned_format import LearnedFormat
    from autoparser.analysis.templates.chat_template import ChatTemplate

# `splitlines` would also split at form feeds and line separators, which Jinja does not count.
_NEWLINE = re.compile(r"\r\n|\r|\n")


class FilePlace(Struct, frozen=True):
    """A place in a file; lines and columns count from 1."""

    path: str
    """The file or source, e.g. `chat.jinja`."""
    line: int
    """The line, e.g. `2`."""
    column: int = 1
    """The column in characters, e.g. `3`."""

    def __str__(self) -> str:
        """Return the place as compilers write it, such as `template.jinja:3:5`."""
        return f"{visible(self.path)}:{self.line}:{self.column}"


def jinja_lines(text: str) -> list[str]:
    """Split a template into lines, as Jinja counts them."""
    return _NEWLINE.split(text)


def place_in_line(path: str, line: int, text: str = "", column: int | None = None) -> FilePlace:
    """Return a place in a line: the column, or by default the start of the line's text.

    Without the `text`, the default is the first column.
    """
    if column is not None:
        return FilePlace(path, line, column)
    # A slice, which tolerates a line beyond the end: the template may have been edited since.
    written = jinja_lines(text)[line - 1 : line]
    indent = len(written[0]) - len(written[0].lstrip()) if written else 0
    return FilePlace(path, line, indent + 1)


def template_place(template: ChatTemplate, line: int | None) -> FilePlace | None:
    """Return the start of a template's line, as if its text were a file, or None without a line."""
    return None if line is None else place_in_line(template.origin or "a text", line, template.text)


def place_text(place: FilePlace, room: int | None = None) -> Text:
    """Return a place for a report; a terminal can link it by the style's `place`.

    If it does not fit into `room` cells, only the file's name is shown, e.g. `…/chat.jinja:4:1`.
    """
    shown = str(place)
    if room is not None and len(shown) > room:
        # A path cut in the middle of a name could be neither read nor opened.
        shown = f"…/{PurePath(shown).name}"
    return Text(shown, style=Style(bold=True, meta={"place": place.path}))


def provenance_words(source: Provenance | None) -> str | None:
    """Return a template's commit, and whether its code was run, or None if neither is known."""
    if source is None:
        return None
    if source.ran_code:
        # An encoder is named with its parameters, as `module.py:function?name=value`.
        _, _, values = source.id.partition("?")
        words = "an encoder: its Python code was run"
        return f"{words}, with {visible(values.replace('&', ', '))}" if values else words
    if source.commit is None:
        return None
    words = f"from {visible(source.id)} at commit {visible(source.commit)}"
    if source.revision not in (None, source.commit):
        words += f", revision {visible(str(source.revision))}"
    return words if source.file is None else f"{words}, {visible(source.file)}"


def template_origin(learned: LearnedFormat) -> str:
    """Return a template's origin, or the file of a saved format."""
    # Imported here: findings use this module, too, and need no format.
    from autoparser.analysis.formats.saved_format import SavedFormat  # noqa: PLC0415

    if isinstance(learned, SavedFormat):
        return visible(learned.file)
    template = learned.template
    name = f" (named {template.name})" if template.name not in (None, "default") else ""
    return visible(f"{template.origin or 'a text'}{name}")


def short_name(learned: LearnedFormat) -> str:
    """Return the last part of a template's origin."""
    template = learned.template
    origin = template.origin or template.name or "a template"
    # A path of any system, or a model's name on the Hub: the last part is what differs.
    return visible(origin.replace("\\", "/").rstrip("/").rpartition("/")[2] or origin)
