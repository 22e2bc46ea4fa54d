"""A render piece by piece, each piece with the template's line that wrote it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
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
    lines = _lines(template)
    for text in pieces:
        at = bisect_right(lines.compiled, _line(pieces))
        yield Emission(lines.written[at - 1] if at else 1, text)


class _Lines(NamedTuple):
    """Lines of the compiled code, in order, and the template's lines that they come from."""

    compiled: Sequence[int]
    written: Sequence[int]


@lru_cache(maxsize=4)
def _lines(template: Template) -> _Lines:
    # Jinja parses its table anew each time that it is asked for a line.
    table = template.debug_info
    return _Lines([line for _, line in table], [line for line, _ in table])


def _line(pieces: GeneratorType[str, None, None]) -> int:
    """Return the line of the compiled code where the innermost generator stands."""
    # A block or a recursive loop is a generator of its own.
    while isinstance(pieces.gi_yieldfrom, GeneratorType):
        pieces = cast("GeneratorType[str, None, None]", pieces.gi_yieldfrom)
    frame = pieces.gi_frame
    return frame.f_lineno if frame is not None else 0
