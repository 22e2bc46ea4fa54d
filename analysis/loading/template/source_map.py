"""Which place of a template's text wrote each stretch of a render.

Jinja compiles a template to a generator, and each text or expression that it writes becomes a line
of code. Here every one of them gets a number in the place of its line, so that the line at which
the generator stands tells which it was. For example

    {% for m in messages %}<{{ m.role }}>{% endfor %}

writes `<user>` from three places: `<`, `{{ m.role }}` and `>`. What a macro or a block `set` writes
comes from the place that puts it out.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from jinja2 import Template, nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.sandbox import SandboxedEnvironment

from .emission import emissions
from .environment import Sandbox, chat_environment
from .source_excerpt import NEWLINE
from .token_places import template_tokens, written_places

__all__ = ["SourceMap", "SourceSpan", "line_at", "numbered", "spans"]


class SourceSpan(NamedTuple):
    """A stretch of a rendered text, and the place of the template's text that wrote it."""

    text: str
    start: int
    """Characters from the beginning of the template's text."""
    end: int


class SourceMap(NamedTuple):
    """A compiled template whose lines are numbers of what it writes."""

    template: Template
    places: tuple[tuple[int, int], ...]


class _NumberingGenerator(CodeGenerator):
    """Writes one line of code for each text and expression, whose number stands for its line."""

    def visit_Output(self, node: nodes.Output, frame: Frame) -> None:  # noqa: N802 - Jinja's name
        """Write them one by one."""
        for child in node.nodes:
            self.newline(child)
            super().visit_Output(nodes.Output([child], lineno=child.lineno), frame)


def numbered(text: str, sandbox: Sandbox) -> SourceMap:
    """Compile a template so that its renders tell their places; no place where they do not agree.

    Raises what Jinja raises.
    """
    text = NEWLINE.sub("\n", text)
    environment: SandboxedEnvironment = chat_environment(sandbox).overlay()
    environment.code_generator_class = _NumberingGenerator
    tree = environment.parse(text)
    written = [child for output in tree.find_all(nodes.Output) for child in output.nodes]
    places = tuple(written_places(template_tokens(text)))
    if len(written) != len(places):
        places = ()
    for number, child in enumerate(written):
        child.lineno = FIRST + number
    code = environment.compile(tree)
    return SourceMap(Template.from_code(environment, code, dict(environment.globals)), places)


FIRST = 1_000_000
"""The number of what is written first; no template has so many lines."""


def spans(source_map: SourceMap, variables: dict[str, object]) -> Iterator[SourceSpan]:
    """Render, and tell where each piece comes from. Raises what Jinja raises."""
    template, places = source_map
    for line, text in emissions(template, template.new_context(variables)):
        number = line - FIRST
        if text and 0 <= number < len(places):
            yield SourceSpan(text, *places[number])
        elif text:
            yield SourceSpan(text, 0, 0)


def line_at(written: Sequence[SourceSpan], at: int, template: str) -> int | None:
    """Return the template's line that wrote the character at a place of a render.

    None after the end of the render, and where its place is not known.
    """
    here = bisect_right([*accumulate(len(span.text) for span in written)], at)
    if here >= len(written) or written[here].end == 0:
        return None
    return NEWLINE.sub("\n", template).count("\n", 0, written[here].start) + 1
