from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP526")
def check(subject: Subject) -> Iterator[Hit]:
    """Search a prompt with tools for a parameter's schema as Python prints it."""
    render = subject.play((subject.user,), tools=True, generation=True)
    key = subject.marks.keys[0]
    schema = {"type": "string", "description": "Does what it says."}
    if render.rendered and (f"{key!r}: {schema}" in render.text or str(schema) in render.text):
        yield Hit(
            "tool definitions are rendered as their Python repr, not as JSON",
            (show_render(render, "with tools"),),
            line=render.line_of(str(schema)),
        )
