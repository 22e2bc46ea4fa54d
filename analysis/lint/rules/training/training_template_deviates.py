"""A training template marks another part of a turn than the model writes.

`render --format training-template` writes the template with generation markers around what the
model writes, and proves them against the loss mask of autoparser's renderer. Here a turn is marked
otherwise: the template does not write it after the generation prompt as it writes it in a history,
or its own markers stand elsewhere. Who trains with these markers has the loss on the wrong tokens,
and uses the renderer's mask instead. The proof takes longer than any other rule, so this one
runs in the profile `training` or where it is selected.

Before:

    {%- if message.role == 'assistant' %}{{- '<|bot|>' + message.content }}{%- endif %}
    {%- generation %}{{- '<|end|>' }}{%- endgeneration %}

After:

    {%- if message.role == 'assistant' %}{{- '<|bot|>' }}
    {%- generation %}{{- message.content + '<|end|>' }}{%- endgeneration %}{%- endif %}
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from autoparser.analysis.lint.chats import called, told
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.quoting import listed, quoted
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject

if TYPE_CHECKING:
    from autoparser.analysis.history.renderer import MismarkedTurn


def check(subject: Subject) -> Iterator[Hit]:
    """Prove the training template by one message of each kind of turn, and name the deviations."""
    from autoparser.analysis.history.renderer import (  # noqa: PLC0415 - tokenizers
        TrainingTemplateError,
        training_template,
    )

    try:
        made = training_template(subject.analysis, briefly=True)
    except TrainingTemplateError:
        # That there is none, and why, the command says that writes one.
        return
    found = made.proof.deviations
    if not found:
        return
    turns = listed([*dict.fromkeys(each.turn or "another role" for each in found)])
    where = "its own markers" if not made.patched else "the markers of a training template"
    yield Hit(
        f"{where} do not hold what the model writes, in turns of {turns}: {_words(found[0])}",
        line=_line(subject, found[0]),
    )


def _words(deviation: MismarkedTurn) -> str:
    kinds: Sequence[tuple[str, tuple[str, ...]]] = (
        ("is not marked", deviation.left_out),
        ("is marked, too", deviation.marked_too),
    )
    return " and ".join(f"{quoted(texts[0])} {what}" for what, texts in kinds if texts)


def _line(subject: Subject, deviation: MismarkedTurn) -> int | None:
    """Return the line that writes the first stretch in a turn of our own."""
    render = told(subject)
    if subject.format.calls is not None and "call" in deviation.turn:
        render = called(subject)
    stretch = (*deviation.left_out, *deviation.marked_too)[0]
    at = render.text.rfind(stretch)
    return None if at < 0 else render.line_at(at)


RULE = Rule(
    "AP707",
    "training-template-deviates",
    __doc__,
    Severity.WARNING,
    check,
    fix="take the loss mask of autoparser's renderer",
    default=False,
    runs_for=Concern.TRAINING,
    concerns=(Concern.TRAINING,),
)
