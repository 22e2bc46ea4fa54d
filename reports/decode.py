"""Masked decoding: how many answers hold, what is wrong with the others, the first of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.text import Text

from autoparser.analysis.constraining.decode import DecodingReport, ModelFigures
from autoparser.analysis.core.conversation import Json

from .layout import Lines, Row, heading, rows, sentence
from .visible import shown, visible

__all__ = ["DecodeSetting", "decode_document", "decode_report"]

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


def decode_report(report: DecodingReport, setting: DecodeSetting, width: int) -> Text:
    """Show what came of all answers."""
    style = "green" if report.ok else "red"
    words = f"{report.clean} of {report.answers}"
    counted: list[Row] = [
        ("Clean", sentence((words, style), " answers: accepted, ended, read, valid, rendered")),
        ("Tokens", Text(f"{report.tokens}, of which {report.forced} were forced")),
    ]
    drawn: Lines = [
        *rows([*_setting(setting), *counted], width, indent=0),
        *_model(report, setting.model, width),
        *_renderings(report, width),
        *_faults(report, width),
    ]
    for line in drawn:
        line.rstrip()
    return Text("\n").join(drawn)


def _setting(setting: DecodeSetting) -> Iterator[Row]:
    yield "Tokenizer", Text(visible(setting.tokenizer))
    if setting.plain_markers:
        yield "As text", Text(visible(", ".join(setting.plain_markers)))
    sampler = f"{setting.sampler}, seed {setting.seed}, at most {setting.limit} tokens"
    yield "Sampler", Text(visible(sampler))


def _model(report: DecodingReport, figures: ModelFigures | None, width: int) -> Lines:
    if figures is None:
        return []
    free = figures.unmasked
    pairs = [
        ("device", Text(visible(f"{figures.device}, {figures.batch} answers at once"))),
        ("with it", _share(report, figures.tokens_per_second)),
        ("without", _share(free, figures.unmasked_tokens_per_second)),
    ]
    return [*heading("What the model writes with the mask and without", width), *rows(pairs, width)]


def _share(report: DecodingReport, speed: float) -> Text:
    return Text(f"{report.share:.0%} clean, {speed:.1f} tokens a second")


def _renderings(report: DecodingReport, width: int) -> Lines:
    if not report.renderings:
        return []
    pairs = [(f"{count:>5}", Text(each.value)) for each, count in report.renderings.items()]
    return [*heading("What the template renders of the messages", width), *rows(pairs, width)]


def _faults(report: DecodingReport, width: int) -> Lines:
    drawn: Lines = []
    if report.faults:
        drawn += heading("What is wrong", width)
        pairs = [(f"{count:>5}", Text(fault.value)) for fault, count in report.faults.items()]
        drawn += rows(pairs, width)
    for fault, example in report.examples.items():
        drawn += heading(f"The first that {fault.value}: {example.name}", width)
        drawn += rows(
            [
                ("what", Text(visible(_cut(example.complaint.detail)))),
                ("answer", Text(shown(_cut(example.text)))),
            ],
            width,
            words=False,
        )
    return drawn


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]}"


def decode_document(report: DecodingReport, setting: DecodeSetting) -> dict[str, Json]:
    """Return all of it as JSON values."""
    figures = setting.model
    document: dict[str, Json] = {
        "tokenizer": setting.tokenizer,
        "plain_markers": list(setting.plain_markers),
        "sampler": setting.sampler,
        "seed": setting.seed,
        "limit": setting.limit,
        "ok": report.ok,
        **_counts(report),
    }
    if figures is not None:
        document["model"] = {
            "device": figures.device,
            "batch": figures.batch,
            "tokens_per_second": figures.tokens_per_second,
            "unmasked_tokens_per_second": figures.unmasked_tokens_per_second,
            "unmasked": _counts(figures.unmasked),
        }
    return document


def _counts(report: DecodingReport) -> dict[str, Json]:
    return {
        "answers": report.answers,
        "clean": report.clean,
        "tokens": report.tokens,
        "forced": report.forced,
        "renderings": {each.name.lower(): count for each, count in report.renderings.items()},
        "faults": [
            {
                "fault": fault.name.lower(),
                "answers": count,
                "example": {
                    "name": report.examples[fault].name,
                    "detail": report.examples[fault].complaint.detail,
                    "text": report.examples[fault].text,
                },
            }
            for fault, count in report.faults.items()
        ],
    }
