from __future__ import annotations

import json
from collections.abc import Iterator

from autoparser.analysis.lint.call_texts import render_call
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

LETTERS = "é日ж"


@rule("AP512")
def check(subject: Subject) -> Iterator[Hit]:
    """Render a string of such letters."""
    marks = subject.marks
    render = render_call(subject, **{marks.keys[0]: f"{marks.values[0]}{LETTERS}"})
    escaped = json.dumps(LETTERS)[1:-1]
    if render.rendered and LETTERS not in render.text and escaped in render.text:
        yield Hit(
            f"the model reads {escaped} where its call said {LETTERS}",
            (show_render(render, f"a call with {LETTERS}"),),
            line=render.line_of(escaped),
        )
