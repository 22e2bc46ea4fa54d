"""Which of an engine's parsers read a template: the ranking, and the smallest failure of each."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from autoparser.analysis.core.alignment import prefix_length
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.engines import (
    DeliveryScore,
    EngineRanking,
    EnginesTried,
    PairScore,
    ParserFailure,
    ParserPair,
)

from .layout import Lines, blank, heading, prose, report_text, rows, sentence
from .visible import shown, visible

__all__ = ["engines_document", "engines_report", "parser_flags"]

SHOWN = 3
"""Pairs of an engine that a report shows."""
_LONGEST = 110
"""Characters of a text that are shown."""
_AROUND = 12
"""Characters that stay before the place where two texts part."""
_EXCERPT = 64


def engines_report(tried: EnginesTried, width: int) -> Text:
    """Show the best pairs of each engine."""
    words = f"{tried.texts} texts, {tried.hostile} of them hostile"
    if tried.not_asked:
        words += f"; {tried.not_asked} messages were not asked about"
    drawn: Lines = [Text(visible(tried.template), style="bold"), *prose(words, width)]
    for ranking in tried.rankings:
        drawn += _engine(ranking, width)
    return report_text(drawn)


def parser_flags(pair: ParserPair) -> str:
    """Return what is to be passed on the command line of either engine."""
    flags = [
        f"{flag} {name}"
        for flag, name in (
            ("--tool-call-parser", pair.tool),
            ("--reasoning-parser", pair.reasoning),
        )
        if name is not None
    ]
    return " ".join(flags) or "neither parser"


def _engine(ranking: EngineRanking, width: int) -> Lines:
    counts = f"{ranking.tools} parsers of calls, {ranking.reasoning} of reasoning"
    drawn = heading(visible(f"{ranking.engine} {ranking.version}"), width)
    drawn += prose(visible(f"{counts}; {ranking.python}"), width)
    for score in ranking.pairs[:SHOWN]:
        drawn += [*blank(), *_pair(score, parser_flags(score.pair), ranking.alike, width)]
    if ranking.auto is not None:
        words = f"auto, by the template's text: {parser_flags(ranking.auto.pair)}"
        drawn += [*blank(), *_pair(ranking.auto, words, (), width)]
    reasons: dict[str, list[str]] = {}
    for each in ranking.unusable:
        names = reasons.setdefault(each.reason, [])
        names += [each.name] * (each.name not in names)
    lines = [f"{', '.join(names)} not asked: {_cut(reason)}" for reason, names in reasons.items()]
    return [*drawn, *(blank() if lines else []), *_sentences(lines, width)]


def _sentences(lines: Sequence[str], width: int) -> Lines:
    return [line for each in lines for line in prose(visible(each), width, hang=2)]


def _pair(score: PairScore, name: str, alike: Sequence[Sequence[str]], width: int) -> Lines:
    style = "green" if score.all_right else ""
    counts = (
        f"right {score.whole.right} of {score.total},"
        f" to the letter {score.whole.exact}; streamed {score.streamed_right}"
    )
    drawn = prose(sentence((visible(name), "bold")), width)
    drawn += prose(sentence((counts, style)), width, 4)
    same = [
        f"{names[0]} here reads like {', '.join(names[1:])}"
        for names in alike
        if names[0] in (score.pair.tool, score.pair.reasoning)
    ]
    drawn += [line for each in same for line in prose(visible(each), width, 4, hang=2)]
    if score.failure is not None:
        drawn += _failure(score.failure, width)
    return drawn


def _failure(failure: ParserFailure, width: int) -> Lines:
    verdict = failure.verdict
    words = Text(visible(f"{failure.title}, {failure.delivery}: {verdict.part}"))
    expected, got = _parted(verdict.expected, verdict.got)
    texts = (("text", _cut(failure.text)), ("expected", expected), ("got", got))
    pairs = [(name, Text(shown(text))) for name, text in texts]
    column = max(len(name) for name, _ in texts)
    return [
        *rows([("fails", words)], width, indent=4, label=column),
        *rows(pairs, width, indent=4, words=False),
    ]


def _parted(one: str, other: str) -> tuple[str, str]:
    """Cut two texts to what stands around the place where they part."""
    start = max(0, prefix_length(one, other) - _AROUND)
    before = "… " if start else ""
    cut = [f"{before}{text[start : start + _EXCERPT]}" for text in (one, other)]
    rest = [" …" if len(text) > start + _EXCERPT else "" for text in (one, other)]
    return cut[0] + rest[0] or "nothing", cut[1] + rest[1] or "nothing"


def _cut(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    return f"{text[: _LONGEST // 2]} … {text[-_LONGEST // 2 :]}"


def engines_document(tried: EnginesTried) -> dict[str, Json]:
    """Return all of it as JSON values, every pair that was tried among it."""
    return {
        "template": tried.template,
        "texts": tried.texts,
        "hostile": tried.hostile,
        "not_asked": tried.not_asked,
        "ok": tried.ok,
        "engines": [_ranking_document(each) for each in tried.rankings],
    }


def _ranking_document(ranking: EngineRanking) -> dict[str, Json]:
    return {
        "engine": ranking.engine,
        "version": ranking.version,
        "python": ranking.python,
        "tool_parsers": ranking.tools,
        "reasoning_parsers": ranking.reasoning,
        "pairs": [_pair_document(each) for each in ranking.pairs],
        "auto": None if ranking.auto is None else _pair_document(ranking.auto),
        "alike": [list(names) for names in ranking.alike],
        "unusable": [
            {"part": str(each.part), "name": each.name, "reason": each.reason}
            for each in ranking.unusable
        ],
    }


def _pair_document(score: PairScore) -> dict[str, Json]:
    deliveries: Sequence[DeliveryScore] = (score.whole, *score.streamed)
    return {
        "tool_parser": score.pair.tool,
        "reasoning_parser": score.pair.reasoning,
        "total": score.total,
        "right": score.whole.right,
        "streamed_right": score.streamed_right,
        "all_right": score.all_right,
        "deliveries": {
            str(each.delivery): {"right": each.right, "exact": each.exact} for each in deliveries
        },
        "failure": None if score.failure is None else _failure_document(score.failure),
    }


def _failure_document(failure: ParserFailure) -> dict[str, Json]:
    return {
        "title": failure.title,
        "delivery": str(failure.delivery),
        "text": failure.text,
        "meant": failure.meant.to_dict(),
        "part": failure.verdict.part,
        "expected": failure.verdict.expected,
        "got": failure.verdict.got,
    }
