"""A template with `{% generation %}` markers, written around one that has none.

The markers are transformers' extension: they say which part of a conversation the model writes,
and change no text. The template itself is not touched. It becomes a macro; after it stands what
renders it, finds in its text what each assistant message has added after the generation prompt,
by the renders and the rule of `shares.py` and `attribution.py`, and writes the text again in
pieces, those inside a generation block. So the text is the same by construction; the proof renders
both all the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.format.turn_stops import whole_stops
from autoparser.analysis.loading.template import ChatTemplate

from .attribution import historic_closes
from .leaves import fields_of
from .text_marks import MARK_DIGITS, unused_word
from .training_proof import Proof, TrainingTemplateError, proved

MARK_LETTERS = 8
"""A conversation is not known yet: a longer word is less likely to be in one."""


@dataclass(frozen=True, slots=True)
class TrainingTemplate:
    """A template with generation markers, and the proof that it is the same template."""

    template: ChatTemplate
    proof: Proof
    patched: bool
    """False where the template had such markers itself."""


def training_template(analysis: Analysis, *, briefly: bool = False) -> TrainingTemplate:
    """Return the template with generation markers. Raises TrainingTemplateError.

    `briefly` proves it by one message of each kind of turn instead of all of the battery. Where the
    template refuses all of them nothing is proven, which is an error, too.
    """
    made = _proven(analysis, briefly=briefly)
    if made.proof.refused == made.proof.conversations:
        raise TrainingTemplateError(
            f"the template refuses each of the {made.proof.refused} conversations of the proof",
            file=analysis.template.origin,
            hint="give the model's directory, whose special tokens it may need",
        )
    return made


def _proven(analysis: Analysis, *, briefly: bool) -> TrainingTemplate:
    original = analysis.template
    if original.source is not None and original.source.ran_code:
        raise TrainingTemplateError(
            "an encoder in Python has no template that markers could stand in",
            file=original.origin,
            hint="use the loss mask of autoparser's renderer instead",
        )
    if original.marks_generation:
        return TrainingTemplate(
            original, proved(analysis, original, briefly=briefly), patched=False
        )
    try:
        return _made(analysis, ends=True, briefly=briefly)
    except TrainingTemplateError:
        # A template may refuse a conversation that ends with a turn, such as an unanswered call.
        return _made(analysis, ends=False, briefly=briefly)


def _made(analysis: Analysis, *, ends: bool, briefly: bool) -> TrainingTemplate:
    original = analysis.template
    patched = ChatTemplate(
        _wrapped(analysis, ends=ends),
        original.special_tokens,
        original.name,
        original.origin,
        original.source,
    )
    try:
        patched.check_syntax()
    except AutoparserError as error:
        raise TrainingTemplateError(
            f"the template cannot stand in a macro: {error.message}", file=original.origin
        ) from error
    return TrainingTemplate(patched, proved(analysis, patched, briefly=briefly), patched=True)


def _wrapped(analysis: Analysis, *, ends: bool) -> str:
    format_ = analysis.formats.united
    text = analysis.template.text.removesuffix("\n")
    around = (
        files("autoparser.analysis.history.renderer")
        .joinpath("training.jinja")
        .read_text(encoding="utf-8")
    )
    values = {
        "original": text,
        "mark": _literal(unused_word(text + around, MARK_LETTERS)),
        "digits": str(MARK_DIGITS),
        "width": str(MARK_DIGITS + 2),
        "header": _literal(format_.prompted_header),
        "openings": _listed([each.text for each in format_.openings if each.text]),
        "stops": f"[{', '.join(map(_listed, whole_stops(format_).items()))}]",
        "closes": _listed(historic_closes(format_)),
        "fields": _listed(fields_of(analysis.shape)),
        "ends": str(ends).lower(),
    }
    # All at once: what is put in is not looked at again.
    return re.sub("@(\\w+)@", lambda place: values[place[1]], around)


def _literal(text: str) -> str:
    """Write a text as Jinja reads it."""
    inner = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    return f'"{inner}"'


def _listed(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_literal, texts))}]"
