from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.turn_shape import PromptProgress
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.marker_pairs import turn_beginnings
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP208")
def check(subject: Subject) -> Iterator[Hit]:
    """Compare the usual prompt with a turn whose reasoning the template writes."""
    for beginning in turn_beginnings(subject):
        opening, prompt, reasoned = beginning.opening, beginning.prompt, beginning.reasoned
        # After a prompt that closes reasoning, the model writes none.
        if opening.setting or opening.written is PromptProgress.REASONING_CLOSED:
            continue
        shows = subject.marks.reasoning in reasoned.text and prompt.rendered
        if shows and not (beginning.begins_plain or beginning.begins_reasoned):
            yield Hit(
                "the generation prompt is not a prefix of a turn whose reasoning is passed"
                f" back: {beginning.where(reasoned=True)}",
                (compare_renders(prompt, "the prompt", reasoned, "the turn with reasoning"),),
                line=beginning.line,
            )
