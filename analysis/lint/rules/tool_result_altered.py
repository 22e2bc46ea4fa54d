from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from autoparser.analysis.lint.conversation_matrix import Voice
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import (
    compare_renders,
    line_that_saw,
)
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import (
    HOSTILE_TEXT,
    INNER_PAIRS,
    alike_in_prompt,
    render_result,
    unseen_words,
)
from autoparser.analysis.lint.subject import Subject


@rule("AP533", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Search for results of which a word is in the prompt, in any case, but not the whole."""
    for played in subject.matrix:
        written = played.render.text.lower()
        for result in () if played.conversation.other_form else played.texts_of(Voice.RESULT):
            words = result.text.lower().rstrip(".").split()
            if not played.holds(result) and any(word in written for word in words):
                line = line_that_saw(played.render, result.text)
                yield played.hit(f"a tool result is altered in '{played.name}'", line)
    yield from _unseen(subject)


def _unseen(subject: Subject) -> Iterator[Hit]:
    """Render pairs of results that differ in one thing, such as their indentation."""
    words = subject.marks.values[1:]
    # Models do not need whitespace around a result, and most templates trim it.
    lost = alike_in_prompt(
        partial(render_result, subject), words, INNER_PAIRS, HOSTILE_TEXT.strip()
    )
    for detail, (render, another) in [*lost.items()][:1]:
        yield Hit(
            unseen_words("a tool result", lost),
            (compare_renders(render, f"a result with {detail}", another, "another result"),),
            line=render.line_of(words[0]),
        )
