"""Masked decoding as JSON; ``docs/decode.schema.json`` is made of the classes here."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, JsonDocument, json_of
from autoparser.analysis.core.provenance import NamedTemplate, TemplateDocument, named_template
from autoparser.analysis.core.verdicts import AskedForm
from autoparser.analysis.decoding.answer_judge import AnswerExample, DecodingReport, JudgedAnswer
from autoparser.analysis.decoding.message_rendering import AnswerFault, MessageRendering

from .decode import DecodeSetting

__all__ = ["DecodeDocument", "decode_document"]


def _key(word: Enum) -> str:
    return word.name.lower()


_FaultKey = Annotated[str, Meta(extra_json_schema={"enum": list(map(_key, AnswerFault))})]
_RenderingKey = Annotated[str, Meta(extra_json_schema={"enum": list(map(_key, MessageRendering))})]


class ExampleDocument(JsonDocument, frozen=True):
    """An answer, and what is to be said of it."""

    name: str
    detail: str
    text: str


class FaultDocument(JsonDocument, frozen=True):
    """What is wrong with some answers."""

    fault: _FaultKey
    answers: Count
    example: ExampleDocument
    """The first of them."""


class DifferenceDocument(JsonDocument, frozen=True):
    """What the template writes otherwise."""

    rendering: _RenderingKey
    example: ExampleDocument
    """The shortest answer of these."""


class ComplaintDocument(JsonDocument, frozen=True):
    """What is wrong with one answer."""

    fault: _FaultKey
    detail: str


class AnswerDocument(JsonDocument, frozen=True):
    """One answer with its verdict."""

    name: str
    text: str
    calls: Count
    clean: bool
    rendering: _RenderingKey | None
    difference: str
    faults: tuple[ComplaintDocument, ...]


class DecodedDocument(JsonDocument, frozen=True, kw_only=True):
    """What came of all answers."""

    answers: Count
    clean: Count
    reformed: Count
    """Those that the template writes a little otherwise."""
    not_asked: Count
    """Those of which the template does not tell."""
    unknown_formats: tuple[str, ...]
    """Formats of schemas that no check is known of."""
    with_calls: Count
    calls: Count
    tokens: Count | None
    """None where a server does not say how many it wrote."""
    forced: Count
    """Tokens that had to come next."""
    renderings: dict[_RenderingKey, Count]
    faults: tuple[FaultDocument, ...]
    differences: tuple[DifferenceDocument, ...]
    each: tuple[AnswerDocument, ...]


class DecodingModelDocument(JsonDocument, frozen=True):
    """What a model's answers cost, and what it wrote without the mask."""

    device: str
    batch: Count
    """Answers that were written side by side."""
    tokens_per_second: float
    """Of all answers of a batch together, under the mask."""
    unmasked_tokens_per_second: float
    unmasked: DecodedDocument


class _ModelDecodedDocument(DecodedDocument, frozen=True, kw_only=True):
    model: DecodingModelDocument | UnsetType = UNSET
    """With `--sampler transformers` alone."""


# What stands by position comes before the keywords of the classes above.
class DecodeDocument(_ModelDecodedDocument, frozen=True):
    """Answers under a grammar, how they came about and what came of them."""

    template: TemplateDocument
    tokenizer: str
    """Its file, or what it was made of."""
    plain_markers: tuple[str, ...]
    """Markers of the template that are text to the tokenizer."""
    sampler: str
    seed: Count
    limit: Count
    """Tokens of an answer."""
    free_reasoning: bool
    """Whether the grammar holds only from where the reasoning is closed."""
    ok: bool
    """Whether nothing is wrong with any, nor with the form that users send."""
    usual_form: AskedForm | None
    """What users send and the template spoils in silence; null where nothing is."""


def decode_document(
    report: DecodingReport, setting: DecodeSetting, template: NamedTemplate
) -> dict[str, Json]:
    """Return all of it as JSON values."""
    figures = setting.model
    model = (
        UNSET
        if figures is None
        else DecodingModelDocument(
            figures.device,
            figures.batch,
            figures.tokens_per_second,
            figures.unmasked_tokens_per_second,
            DecodedDocument(**_counts(figures.unmasked)),
        )
    )
    return json_of(
        DecodeDocument(
            named_template(template),
            setting.tokenizer,
            setting.plain_markers,
            setting.sampler,
            setting.seed,
            setting.limit,
            setting.free_reasoning,
            report.ok and setting.usual_form is None,
            setting.usual_form,
            **_counts(report),
            model=model,
        )
    )


def _counts(report: DecodingReport) -> dict[str, Any]:
    return {
        "answers": report.answers,
        "clean": report.clean,
        "reformed": report.reformed,
        "not_asked": report.not_asked,
        "unknown_formats": report.unknown_formats,
        "with_calls": report.calling,
        "calls": report.calls,
        "tokens": report.tokens,
        "forced": report.forced,
        "renderings": {_key(each): count for each, count in report.renderings.items()},
        "faults": [
            FaultDocument(_key(fault), count, _example(report.examples[fault]))
            for fault, count in report.faults.items()
        ],
        "differences": [
            DifferenceDocument(_key(each), _example(example))
            for each, example in report.differences.items()
        ],
        "each": list(map(_answer, report.each)),
    }


def _example(example: AnswerExample) -> ExampleDocument:
    return ExampleDocument(example.name, example.detail, example.text)


def _answer(one: JudgedAnswer) -> AnswerDocument:
    judgement = one.judgement
    return AnswerDocument(
        one.answer.name,
        one.answer.text,
        judgement.calls,
        judgement.clean,
        None if judgement.rendering is None else _key(judgement.rendering),
        judgement.difference,
        tuple(ComplaintDocument(_key(each.fault), each.detail) for each in judgement.complaints),
    )
