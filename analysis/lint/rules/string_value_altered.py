from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.call_texts import render_call
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import (
    EDGE_PAIRS,
    HOSTILE_TEXT,
    INNER_PAIRS,
    alike_in_prompt,
    unseen_words,
)
from autoparser.analysis.lint.subject import Subject


@rule("AP509")
def check(subject: Subject) -> Iterator[Hit]:
    """Render pairs of strings that differ in one thing."""
    key, words = subject.marks.keys[0], subject.marks.values[:2]
    lost = alike_in_prompt(
        lambda text: render_call(subject, **{key: text}),
        words,
        (*EDGE_PAIRS, *INNER_PAIRS),
        HOSTILE_TEXT,
    )
    for detail, (render, another) in [*lost.items()][:1]:
        yield Hit(
            unseen_words("a string argument", lost),
            (compare_renders(render, f"a value with {detail}", another, "another value"),),
            line=render.line_of(words[0]),
        )
