from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import lost_edges, pad_word, render_last_call
from autoparser.analysis.lint.subject import Subject


@rule("AP303")
def check(subject: Subject) -> Iterator[Hit]:
    """Render content with whitespace at its edges beside a call."""
    word = subject.marks.content
    render = render_last_call(subject, pad_word(word))
    lost = lost_edges(render.text, word)
    if lost:
        yield Hit(
            f"whitespace at the {lost} of what the model said beside a call is cut off",
            (
                compare_renders(
                    render, "with whitespace", render_last_call(subject, word), "without"
                ),
            ),
            line=render.line_of(word),
        )
