"""A render piece by piece, each piece with the template's line that wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from types import GeneratorType
from typing import TYPE_CHECKING, NamedTuple, cast

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.runtime import Context


class Emission(NamedTuple):
    """A piece of a rendered text."""

    line: int
    """The template's line, from 1."""
    text: str


def emissions(template: Template, context: Context) -> Iterator[Emission]:
    """Render: Jinja compiles a template to a generator, which stands at the line it writes."""
    # Jinja declares an iterator; it is a generator, whose frame tells the line.
    pieces = cast("GeneratorType[str, None, None]", template.root_render_func(context))
    for text in pieces:
        yield Emission(template.get_corresponding_lineno(_line(pieces)), text)


def _line(pieces: GeneratorType[str, None, None]) -> int:
    """Give the line of the compiled code where the innermost generator stands."""
    # A block or a recursive loop is a generator of its own.
    while isinstance(pieces.gi_yieldfrom, GeneratorType):
        pieces = cast("GeneratorType[str, None, None]", pieces.gi_yieldfrom)
    frame = pieces.gi_frame
    return frame.f_lineno if frame is not None else 0
