from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import list_words, quote_text
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_answer, render_last_call
from autoparser.analysis.lint.subject import Subject

if TYPE_CHECKING:
    from autoparser.analysis.history.training_template import MismarkedTurn


@rule("AP707")
def check(subject: Subject) -> Iterator[Hit]:
    """Check the training template on one message of each kind of turn, and report deviations."""
    from autoparser.analysis.history.training_template import (  # noqa: PLC0415 - tokenizers
        TrainingTemplateError,
        training_template,
    )

    try:
        made = training_template(subject.analysis, briefly=True)
    except TrainingTemplateError:
        # A missing training template is reported by the command that writes it.
        return
    found = made.proof.deviations
    if not found:
        return
    turns = list_words([*dict.fromkeys(deviation.turn or "another role" for deviation in found)])
    where = "its own markers" if not made.patched else "the markers of a training template"
    deviation = _describe_deviation(found[0])
    yield Hit(
        f"{where} differ from the model's output, in turns of {turns}: {deviation}",
        line=_deviation_line(subject, found[0]),
    )


def _describe_deviation(deviation: MismarkedTurn) -> str:
    kinds: Sequence[tuple[str, tuple[str, ...]]] = (
        ("is not marked", deviation.left_out),
        ("is marked although the model does not generate it", deviation.marked_too),
    )
    return " and ".join(f"{quote_text(texts[0])} {fault}" for fault, texts in kinds if texts)


def _deviation_line(subject: Subject, deviation: MismarkedTurn) -> int | None:
    """Return the line that wrote the first stretch in a turn of our own."""
    render = render_answer(subject)
    if subject.format.calls is not None and "call" in deviation.turn:
        render = render_last_call(subject)
    stretch = (*deviation.left_out, *deviation.marked_too)[0]
    at = render.text.rfind(stretch)
    return None if at < 0 else render.line_at(at)
