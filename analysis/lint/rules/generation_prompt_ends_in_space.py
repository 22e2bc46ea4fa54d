from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import quote_text
from autoparser.analysis.lint.lint_renders import show_render
from autoparser.analysis.lint.marker_pairs import last_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_with
from autoparser.analysis.lint.subject import Subject


@rule("AP213")
def check(subject: Subject) -> Iterator[Hit]:
    """Check the last character of the prompt."""
    prompt = render_with(subject, (subject.user,), {}, generation=True)
    _, _, added = prompt.text.rpartition(subject.marks.user)
    if added.endswith(" ") and added.strip():
        last = added[added.rfind("\n", 0, -1) + 1 :]
        yield Hit(
            f"the generation prompt ends with a space: {quote_text(last)}",
            (show_render(prompt, "a user message, with the generation prompt"),),
            line=last_line(prompt),
        )
