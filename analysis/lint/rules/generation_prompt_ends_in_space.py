from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import alone, quoted
from autoparser.analysis.lint.marker_pairs import last_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import under
from autoparser.analysis.lint.subject import Subject


@rule("AP213")
def check(subject: Subject) -> Iterator[Hit]:
    """Look at the last character of the prompt."""
    prompt = under(subject, (subject.user,), {}, generation=True)
    _, _, added = prompt.text.rpartition(subject.marks.user)
    if added.endswith(" ") and added.strip():
        last = added[added.rfind("\n", 0, -1) + 1 :]
        yield Hit(
            f"the generation prompt ends in a space: {quoted(last)}",
            (alone(prompt, "a user message, with the generation prompt"),),
            line=last_line(prompt),
        )
