"""Masked decoding: the number of valid answers, the faults of the others, an example of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, structs
from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, JsonDocument, copy_fields, document_json
from autoparser.analysis.core.provenance import NamedTemplate, TemplateDocument, named_template
from autoparser.analysis.core.verdicts import AskedForm
from autoparser.analysis.decoding.answer_judge import (
    AnswerExample,
    AnswerFault,
    AnswerJudgment,
    DecodingReport,
    JudgedAnswer,
)
from autoparser.analysis.decoding.answer_writers import ModelFigures, ModelSpeed
from autoparser.analysis.decoding.message_rendering import MessageRendering

from .blocks import Block, Blocks, Row, heading, prose, rows, sentence
from .terminal import report_text
from .visible import marker_text, shorten_middle, visible

LONGEST = 240
"""Longest answer shown, in characters."""


@dataclass(frozen=True, slots=True)
class DecodeSetting:
    """The conditions under which the answers were written."""

    tokenizer: str
    """The tokenizer's file, or its origin, e.g. `model/tokenizer.json`."""
    sampler: str
    """E.g. `at random`, or `the model models/small`."""
    seed: int
    """The seed of the first answer, e.g. `0`."""
    limit: int
    """Tokens of an answer at most, e.g. `4000`."""
    plain_markers: tuple[str, ...] = ()
    """Markers of the template that are not single tokens, e.g. `("<think>", "</think>")`."""
    model: ModelFigures | None = None
    """The speed of a model, e.g. with 8 answers side by side, and its answers without the mask, or
    None if no model is run here."""
    free_reasoning: bool = False
    """Whether the grammar applies only after the reasoning, e.g. with `--free-reasoning`."""
    usual_form: AskedForm | None = None
    """The OpenAI-style messages that the template alters, e.g. `arguments as an object`, so that
    only another form is judged by renders."""


def decode_report(
    report: DecodingReport, setting: DecodeSetting, width: int, *, answers: bool = False
) -> Text:
    """Report on all answers; with `answers`, show each of them as well."""
    # Not green if OpenAI-style messages lose text: the renders prove only another form.
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
        return "unknown (the server does not report them)"
    if report.served:
        # A server does not report which tokens its grammar forced.
        return f"{report.tokens}, as reported by the server"
    return f"{report.tokens}, of which {report.forced} were forced"


def _apart(report: DecodingReport) -> Iterator[Row]:
    """Count the answers that are neither clean nor wrong."""
    if report.reformed:
        yield (
            "Rewritten",
            Text(f"{report.reformed}, which the template renders slightly differently"),
        )
    if report.not_asked:
        yield "Unchecked", Text(f"{report.not_asked}, which the template does not render")
    if report.unknown_formats:
        # An unchecked format does not make an answer faulty.
        names = ", ".join(report.unknown_formats)
        yield "Formats", Text(visible(f"no checker for: {names}"))


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
    return [*heading("Model outputs with and without the mask"), *rows(pairs)]


def _share(report: DecodingReport, speed: float) -> Text:
    return Text(f"{report.share:.0%} clean, {speed:.1f} tokens a second")


def _renderings(report: DecodingReport) -> Blocks:
    if not report.renderings:
        return []
    pairs = [
        (f"{count:>5}", Text(rendering.value)) for rendering, count in report.renderings.items()
    ]
    return [*heading("Re-rendering by the template"), *rows(pairs)]


def _faults(report: DecodingReport) -> Iterator[Block]:
    if report.faults:
        yield from heading("Faults")
        pairs = [(f"{count:>5}", Text(fault.value)) for fault, count in report.faults.items()]
        yield from rows(pairs)
    # Counts come before the examples, which may fill several screens.
    for fault, example in report.examples.items():
        yield from heading(f"{fault.value[0].upper()}{fault.value[1:]}: first in {example.name}")
        yield from _example("what", example)


def _differences(report: DecodingReport) -> Iterator[Block]:
    for rendering, example in report.differences.items():
        yield from heading(f"Shortest example: {example.name}")
        yield from prose(rendering.value)
        yield from _example("why", example)


def _example(word: str, example: AnswerExample) -> Blocks:
    pairs = [
        (word, Text(visible(shorten_middle(example.detail, LONGEST)))),
        ("answer", Text(marker_text(shorten_middle(example.text, LONGEST)))),
    ]
    return rows(pairs, words=False)


def _answers(report: DecodingReport) -> Iterator[Block]:
    for judged in report.judged_answers:
        yield from heading(judged.answer.name)
        pairs = [
            ("is", Text(visible("; ".join(_verdict_words(judged.judgment))))),
            ("answer", Text(marker_text(judged.answer.text))),
        ]
        yield from rows(pairs, words=False)


def _verdict_words(judgment: AnswerJudgment) -> Iterator[str]:
    if judgment.clean:
        yield "clean"
    elif not judgment.complaints and judgment.rendering is not None:
        yield f"{judgment.rendering.value}: {judgment.difference}"
    for complaint in judgment.complaints:
        yield f"{complaint.fault.value}: {complaint.detail}"


def _key(word: Enum) -> str:
    # The enum's values are phrases for the report; JSON gets its names.
    return word.name.lower()


_FaultKey = Annotated[str, Meta(extra_json_schema={"enum": list(map(_key, AnswerFault))})]
_RenderingKey = Annotated[str, Meta(extra_json_schema={"enum": list(map(_key, MessageRendering))})]


class FaultDocument(JsonDocument, frozen=True):
    """A fault of some answers."""

    fault: _FaultKey
    """The kind of fault, e.g. `"rendering"`."""
    answers: Count
    """Number of answers with it, e.g. `4`."""
    example: AnswerExample
    """The first of them, e.g. `"walk 0"`."""


class DifferenceDocument(JsonDocument, frozen=True):
    """A difference between answers and the template's own render."""

    rendering: _RenderingKey
    """The kind of difference, e.g. `"spelling"`."""
    example: AnswerExample
    """The shortest answer with this difference, e.g. `"walk 4"`."""


class ComplaintDocument(JsonDocument, frozen=True):
    """A fault of one answer."""

    fault: _FaultKey
    """The kind of fault, e.g. `"not_ended"`."""
    detail: str
    """The details, in words, e.g. `"no end after 9 tokens"`."""


class AnswerDocument(JsonDocument, frozen=True):
    """One answer with its verdict."""

    name: str
    """The answer's label, e.g. `"walk 0"`."""
    text: str
    """The whole answer, e.g. `"It is 2^10"`."""
    calls: Count
    """Number of calls that were parsed, e.g. `2`."""
    clean: bool
    """Whether it has no fault, e.g. `false` beside one of the kind `"rendering"`."""
    rendering: _RenderingKey | None
    """How the template renders its message, e.g. `"same"`; null if a fault leaves no message."""
    difference: str
    """What the template renders differently, e.g. `"after '1' stands '.0'"`; empty if nothing."""
    faults: tuple[ComplaintDocument, ...]
    """The answer's faults, e.g. one of the kind `"rendering"`; empty if it has none."""


class DecodedDocument(JsonDocument, frozen=True, kw_only=True):
    """The results of all answers."""

    answers: Count
    """Number of all answers, e.g. `6`."""
    clean: Count
    """Answers without a fault that the template renders to the same text, e.g. `1`."""
    reformed: Count
    """Answers that the template renders slightly differently, e.g. `1`."""
    not_asked: Count
    """Answers that no render can confirm, e.g. `1`."""
    unknown_formats: tuple[str, ...]
    """Values of `format` in schemas for which no check is known, e.g. `["zip-code"]`."""
    with_calls: Count
    """Answers with at least one call, e.g. `2`."""
    calls: Count
    """Number of calls in all answers, e.g. `3`."""
    tokens: Count | None
    """Number of tokens in all answers, e.g. `600`; null if a server does not report it."""
    forced: Count
    """Tokens without an alternative under the mask, e.g. `18`."""
    renderings: dict[_RenderingKey, Count]
    """Number of answers by the template's rendering, e.g. `{"same": 1, "spelling": 1}`."""
    faults: tuple[FaultDocument, ...]
    """The faults, each with its first answer, e.g. one of the kind `"rendering"`."""
    differences: tuple[DifferenceDocument, ...]
    """The differences that are not faults, e.g. one of the kind `"spelling"`."""
    each: tuple[AnswerDocument, ...]
    """Every answer with its verdict, e.g. `"walk 0"` first."""


class DecodingModelDocument(ModelSpeed, frozen=True):
    """Cost of a model's answers, and its output without the mask."""

    unmasked: DecodedDocument
    """The verdicts on the answers without the mask, e.g. none clean of 8."""


# Intermediate class: keeps the order of the JSON (results, then the model's figures).
class _ModelDecodedDocument(DecodedDocument, frozen=True, kw_only=True):
    model: DecodingModelDocument | UnsetType = UNSET
    """The model's figures, e.g. of the device `"cpu"`; only with `--model`."""


# msgspec puts these positional fields before the keyword-only ones of the base classes.
class DecodeDocument(_ModelDecodedDocument, frozen=True):
    """Answers under a grammar, with their conditions and results."""

    template: TemplateDocument
    """The template of the grammar, e.g. from `"chat_template.jinja"`."""
    tokenizer: str
    """The tokenizer's file, or its origin, e.g. `"model/tokenizer.json"`."""
    plain_markers: tuple[str, ...]
    """Markers of the template that are not single tokens, e.g. `["<think>", "</think>"]`."""
    sampler: str
    """The writer of the answers, e.g. `"at random"`."""
    seed: Count
    """The seed of the first answer, e.g. `0`."""
    limit: Count
    """Tokens of an answer at most, e.g. `4000`."""
    free_reasoning: bool
    """Whether the grammar applies only after the end of the reasoning, e.g. after `</think>`."""
    ok: bool
    """Whether no answer has a fault, e.g. `true`, and OpenAI-style messages render unaltered."""
    usual_form: AskedForm | None
    """OpenAI-style messages that the template silently alters, e.g. `"arguments as an object"`;
    null if none."""


def decode_document(
    report: DecodingReport, setting: DecodeSetting, template: NamedTemplate
) -> dict[str, Json]:
    """Return everything as JSON values."""
    figures = setting.model
    unmasked = UNSET if figures is None else _decoding_document(figures.unmasked)
    document = copy_fields(
        DecodeDocument,
        setting,
        template=named_template(template),
        ok=report.ok and setting.usual_form is None,
        model=UNSET
        if figures is None
        else copy_fields(DecodingModelDocument, figures, unmasked=unmasked),
        # The results are beside their conditions, not in an object of their own.
        **structs.asdict(_decoding_document(report)),
    )
    return document_json(document)


def _decoding_document(report: DecodingReport) -> DecodedDocument:
    return copy_fields(
        DecodedDocument,
        report,
        with_calls=report.calling,
        renderings={_key(rendering): count for rendering, count in report.renderings.items()},
        faults=tuple(
            FaultDocument(_key(fault), count, report.examples[fault])
            for fault, count in report.faults.items()
        ),
        differences=tuple(
            DifferenceDocument(_key(difference), example)
            for difference, example in report.differences.items()
        ),
        each=tuple(map(_answer_document, report.judged_answers)),
    )


def _answer_document(judged: JudgedAnswer) -> AnswerDocument:
    judgment = judged.judgment
    return copy_fields(
        AnswerDocument,
        judgment,
        name=judged.answer.name,
        text=judged.answer.text,
        rendering=None if judgment.rendering is None else _key(judgment.rendering),
        faults=tuple(
            ComplaintDocument(_key(complaint.fault), complaint.detail)
            for complaint in judgment.complaints
        ),
    )
