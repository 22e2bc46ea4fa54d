"""What a training template marks, in lines: the same text, and each deviation by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from autoparser.analysis.editing.edit_proof import ProvenEdit
from autoparser.analysis.editing.proof_conversations import ProofConversation
from autoparser.analysis.history.training_template import MismarkedTurn, TrainingTemplate

from .preserving import proof_words
from .visible import visible

__all__ = ["training_lines"]

_MOST = 60
"""Characters of a stretch that are shown."""


def training_lines(
    made: TrainingTemplate, same: ProvenEdit | ProofConversation | None
) -> Iterator[str]:
    """Say what was proved, and then each kind of turn whose marks are not the loss mask.

    `same` is what the proof of edits came to, or the conversation that is rendered otherwise; None
    where nothing was written around the template.
    """
    proof = made.proof
    what = "with markers around the same template" if made.patched else "it has markers itself"
    yield (
        f"{what}: the same text in {proof.conversations} conversations"
        f" ({proof.refused} refused by both), the markers as autoparser's loss mask in"
        f" {proof.masked} of {proof.conversations - proof.refused}"
    )
    if isinstance(same, ProvenEdit):
        yield proof_words(same)
    elif same is not None:
        yield f"a conversation is rendered to another text: {visible(same.name)}"
    for _, alike in groupby(sorted(proof.deviations, key=_kind), _kind):
        yield _deviation(list(alike))


def _kind(deviation: MismarkedTurn) -> tuple[str, bool, bool]:
    return deviation.turn, bool(deviation.left_out), bool(deviation.marked_too)


def _deviation(alike: Sequence[MismarkedTurn]) -> str:
    one = alike[0]
    others = len(alike) - 1
    more = f", and {others} more" if others else ""
    found = [
        f"{what} {', '.join(map(_stretch, stretches))}"
        for what, stretches in (("not marked:", one.left_out), ("marked:", one.marked_too))
        if stretches
    ]
    place = f"message {one.message + 1} of {', '.join(one.conversation)}{more}"
    said = "; ".join(found)
    return f"{_subject(one)} ({place}) is not marked as the model writes it: {said}"


def _subject(deviation: MismarkedTurn) -> str:
    if deviation.turn:
        return f"a turn of {deviation.turn}"
    return f"text after a {deviation.conversation[deviation.message]} message"


def _stretch(text: str) -> str:
    return f"«{visible(text if len(text) <= _MOST else f'{text[:_MOST]}…')}»"
