"""Masked decoding: how many answers hold, what is wrong with the others, the first of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from autoparser.analysis.core.verdicts import AskedForm
from autoparser.analysis.decoding.answer_judge import AnswerExample, DecodingReport
from autoparser.analysis.decoding.answer_writers import ModelFigures
from autoparser.analysis.decoding.message_rendering import AnswerJudgment

from .blocks import Blocks, Row, heading, prose, rows, sentence
from .terminal import report_text
from .visible import shown, visible

__all__ = ["DecodeSetting", "decode_report"]

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
    proved = " answers: accepted, ended, read, valid, rendered the same"
    counted: list[Row] = [
        ("Clean", sentence((words, style), proved)),
        *_apart(report),
        ("Calls", Text(f"{report.calls}, in {report.calling} of the answers")),
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
        return "not known: the server does not say how many it wrote"
    if report.served:
        return f"{report.tokens}, as the server counts them"
    return f"{report.tokens}, of which {report.forced} were forced"


def _apart(report: DecodingReport) -> Iterator[Row]:
    """Count what is neither clean nor wrong."""
    if report.reformed:
        yield "Reformed", Text(f"{report.reformed}, which the template writes a little otherwise")
    if report.not_asked:
        yield "Not asked", Text(f"{report.not_asked}, of which the template does not tell")
    if report.unknown_formats:
        names = ", ".join(report.unknown_formats)
        yield "Formats", Text(visible(f"not asserted, since no check of them is known: {names}"))


def _setting(setting: DecodeSetting) -> Iterator[Row]:
    yield "Tokenizer", Text(visible(setting.tokenizer))
    if setting.plain_markers:
        yield "As text", Text(visible(", ".join(setting.plain_markers)))
    sampler = f"{setting.sampler}, seed {setting.seed}, at most {setting.limit} tokens"
    yield "Sampler", Text(visible(sampler))
    if setting.free_reasoning:
        yield "Reasoning", Text("free until it is closed; the grammar holds from there on")


def _model(report: DecodingReport, figures: ModelFigures | None) -> Blocks:
    if figures is None:
        return []
    free = figures.unmasked
    pairs = [
        ("device", Text(visible(f"{figures.device}, {figures.batch} answers at once"))),
        ("with it", _share(report, figures.tokens_per_second)),
        ("without", _share(free, figures.unmasked_tokens_per_second)),
    ]
    return [*heading("What the model writes with the mask and without"), *rows(pairs)]


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
        (word, Text(visible(_cut(example.detail)))),
        ("answer", Text(shown(_cut(example.text)))),
    ]
    return rows(pairs, words=False)


def _answers(report: DecodingReport) -> Blocks:
    drawn: Blocks = []
    for one in report.each:
        drawn += heading(one.answer.name)
        pairs = [
            ("is", Text(visible("; ".join(_verdict(one.judgement))))),
            ("answer", Text(shown(one.answer.text))),
        ]
        drawn += rows(pairs, words=False)
    return drawn


def _verdict(judgement: AnswerJudgment) -> Iterator[str]:
    if judgement.clean:
        yield "clean"
    elif not judgement.complaints and judgement.rendering is not None:
        yield f"{judgement.rendering.value}: {judgement.difference}"
    for complaint in judgement.complaints:
        yield f"{complaint.fault.value}: {complaint.detail}"


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"
