"""Masked decoding: how many answers hold, what is wrong with the others, the first of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, structs
from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, JsonDocument, copy_fields, json_of
from autoparser.analysis.core.provenance import NamedTemplate, TemplateDocument, named_template
from autoparser.analysis.core.verdicts import AskedForm
from autoparser.analysis.decoding.answer_judge import AnswerExample, DecodingReport, JudgedAnswer
from autoparser.analysis.decoding.answer_writers import ModelFigures
from autoparser.analysis.decoding.message_rendering import (
    AnswerFault,
    AnswerJudgment,
    MessageRendering,
)

from .blocks import Blocks, Row, heading, prose, rows, sentence
from .terminal import report_text
from .visible import marker_text, shortened, visible

LONGEST = 240
"""Characters of an answer that are shown."""


@dataclass(frozen=True, slots=True)
class DecodeSetting:
    """How the answers came about."""

    tokenizer: str
    """Its file, or what it was made of."""
    sampler: str
    seed: int
    limit: int
    """Tokens of an answer."""
    plain_markers: tuple[str, ...] = ()
    """Markers of the template that are text to the tokenizer."""
    model: ModelFigures | None = None
    free_reasoning: bool = False
    """Whether the grammar holds only from where the reasoning is closed."""
    usual_form: AskedForm | None = None
    """What users send and the template spoils, so that its renders judge another form alone."""


def decode_report(
    report: DecodingReport, setting: DecodeSetting, width: int, *, answers: bool = False
) -> Text:
    """Show what came of all answers; with `answers`, each of them as well."""
    style = "red" if not report.ok else "green" if setting.usual_form is None else ""
    words = f"{report.clean} of {report.answers}"
    proved = " outputs: accepted, ended, parsed, valid, rendered the same"
    counted: list[Row] = [
        ("Clean", sentence((words, style), proved)),
        *_apart(report),
        ("Calls", Text(f"{report.calls}, in {report.calling} of the outputs")),
        ("Tokens", Text(_tokens(report))),
    ]
    drawn: Blocks = [
        *rows([*_setting(setting), *counted], indent=0),
        *_model(report, setting.model),
        *_renderings(report),
        *_faults(report),
        *_differences(report),
        *(_answers(report) if answers else []),
    ]
    return report_text(drawn, width)


def _tokens(report: DecodingReport) -> str:
    if report.tokens is None:
        return "unknown: the server does not say how many it wrote"
    if report.served:
        return f"{report.tokens}, as the server counts them"
    return f"{report.tokens}, of which {report.forced} were forced"


def _apart(report: DecodingReport) -> Iterator[Row]:
    """Count what is neither clean nor wrong."""
    if report.reformed:
        yield (
            "Rewritten",
            Text(f"{report.reformed}, which the template renders slightly differently"),
        )
    if report.not_asked:
        yield "Unchecked", Text(f"{report.not_asked}, which the template cannot check")
    if report.unknown_formats:
        names = ", ".join(report.unknown_formats)
        yield "Formats", Text(visible(f"not checked, since no check of them is known: {names}"))


def _setting(setting: DecodeSetting) -> Iterator[Row]:
    yield "Tokenizer", Text(visible(setting.tokenizer))
    if setting.plain_markers:
        yield "As text", Text(visible(", ".join(setting.plain_markers)))
    sampler = f"{setting.sampler}, seed {setting.seed}, at most {setting.limit} tokens"
    yield "Sampler", Text(visible(sampler))
    if setting.free_reasoning:
        yield "Reasoning", Text("unconstrained until it closes; the grammar starts there")


def _model(report: DecodingReport, figures: ModelFigures | None) -> Blocks:
    if figures is None:
        return []
    free = figures.unmasked
    pairs = [
        ("device", Text(visible(f"{figures.device}, {figures.batch} outputs at once"))),
        ("with it", _share(report, figures.tokens_per_second)),
        ("without", _share(free, figures.unmasked_tokens_per_second)),
    ]
    return [*heading("What the model writes with and without the mask"), *rows(pairs)]


def _share(report: DecodingReport, speed: float) -> Text:
    return Text(f"{report.share:.0%} clean, {speed:.1f} tokens a second")


def _renderings(report: DecodingReport) -> Blocks:
    if not report.renderings:
        return []
    pairs = [(f"{count:>5}", Text(each.value)) for each, count in report.renderings.items()]
    return [*heading("What the template renders of the messages"), *rows(pairs)]


def _faults(report: DecodingReport) -> Blocks:
    drawn: Blocks = []
    if report.faults:
        drawn += heading("What is wrong")
        pairs = [(f"{count:>5}", Text(fault.value)) for fault, count in report.faults.items()]
        drawn += rows(pairs)
    for fault, example in report.examples.items():
        drawn += heading(f"The first that {fault.value}: {example.name}")
        drawn += _example("what", example)
    return drawn


def _differences(report: DecodingReport) -> Blocks:
    drawn: Blocks = []
    for rendering, example in report.differences.items():
        drawn += heading(f"The shortest of these: {example.name}")
        drawn += prose(rendering.value)
        drawn += _example("why", example)
    return drawn


def _example(word: str, example: AnswerExample) -> Blocks:
    pairs = [
        (word, Text(visible(shortened(example.detail, LONGEST)))),
        ("answer", Text(marker_text(shortened(example.text, LONGEST)))),
    ]
    return rows(pairs, words=False)


def _answers(report: DecodingReport) -> Blocks:
    drawn: Blocks = []
    for one in report.judged_answers:
        drawn += heading(one.answer.name)
        pairs = [
            ("is", Text(visible("; ".join(_verdict(one.judgment))))),
            ("answer", Text(marker_text(one.answer.text))),
        ]
        drawn += rows(pairs, words=False)
    return drawn


def _verdict(judgment: AnswerJudgment) -> Iterator[str]:
    if judgment.clean:
        yield "clean"
    elif not judgment.complaints and judgment.rendering is not None:
        yield f"{judgment.rendering.value}: {judgment.difference}"
    for complaint in judgment.complaints:
        yield f"{complaint.fault.value}: {complaint.detail}"


def _key(word: Enum) -> str:
    return word.name.lower()


_FaultKey = Annotated[str, Meta(extra_json_schema={"enum": list(map(_key, AnswerFault))})]
_RenderingKey = Annotated[str, Meta(extra_json_schema={"enum": list(map(_key, MessageRendering))})]


class FaultDocument(JsonDocument, frozen=True):
    """What is wrong with some answers."""

    fault: _FaultKey
    answers: Count
    example: AnswerExample
    """The first of them."""


class DifferenceDocument(JsonDocument, frozen=True):
    """What the template writes otherwise."""

    rendering: _RenderingKey
    example: AnswerExample
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
    unmasked = UNSET if figures is None else _decoded(figures.unmasked)
    document = copy_fields(
        DecodeDocument,
        setting,
        template=named_template(template),
        ok=report.ok and setting.usual_form is None,
        model=UNSET
        if figures is None
        else copy_fields(DecodingModelDocument, figures, unmasked=unmasked),
        **structs.asdict(_decoded(report)),
    )
    return json_of(document)


def _decoded(report: DecodingReport) -> DecodedDocument:
    return copy_fields(
        DecodedDocument,
        report,
        with_calls=report.calling,
        renderings={_key(each): count for each, count in report.renderings.items()},
        faults=tuple(
            FaultDocument(_key(fault), count, report.examples[fault])
            for fault, count in report.faults.items()
        ),
        differences=tuple(
            DifferenceDocument(_key(each), example) for each, example in report.differences.items()
        ),
        each=tuple(map(_answer_document, report.judged_answers)),
    )


def _answer_document(one: JudgedAnswer) -> AnswerDocument:
    judgment = one.judgment
    return copy_fields(
        AnswerDocument,
        judgment,
        name=one.answer.name,
        text=one.answer.text,
        rendering=None if judgment.rendering is None else _key(judgment.rendering),
        faults=tuple(
            ComplaintDocument(_key(complaint.fault), complaint.detail)
            for complaint in judgment.complaints
        ),
    )
