"""The engines' parsers that read a template, and whether engines find the plugins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import JsonDocument, document_json
from autoparser.analysis.core.server_engines import ParserFlags
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.engines.engine_process import ParserPair
from autoparser.analysis.engines.engine_ranking import (
    DeliveryScore,
    EngineRanking,
    EnginesTried,
    PairScore,
    ParserFailure,
)
from autoparser.analysis.engines.plugin_check import CheckedPoint, CheckState, PluginCheck

from .blocks import Block, Blocks, Fitted, blank, excerpt, heading, prose, rows, sentence
from .terminal import drawn_lines, joined_lines, next_line, report_text
from .visible import counted_noun, marker_text, shell_word, shorten_middle, visible

SHOWN = 3
"""Pairs shown for an engine."""
_LONGEST = 110
"""Longest text shown, in characters."""
_AROUND = 12
"""Characters shown before the departure of two texts."""
_EXCERPT = 64
_MARGINS = 4
"""Cells before an engine's name, and after it."""


def engines_report(engine_trial: EnginesTried, width: int) -> Text:
    """Report the flags for each engine, then the best pairs of each."""
    words = f"{engine_trial.texts} texts, {engine_trial.hostile} of them adversarial"
    if engine_trial.not_asked:
        words += f"; {counted_noun(engine_trial.not_asked, 'message')} skipped"
    title = Text(visible(engine_trial.template), style="bold")
    drawn = [*excerpt([title], broken=False), *prose(words), *blank()]
    # Flags are copied, so where they are broken depends on the width.
    drawn += [Fitted(partial(_to_pass, engine_trial.rankings))]
    for ranking in engine_trial.rankings:
        drawn += _engine(ranking)
    # That command shows the flags of this package's plugins next to those of built-in parsers.
    last = next_line(f"analyze {shell_word(engine_trial.template)} --show serve", width, 0)
    return joined_lines([*drawn_lines([*drawn, *blank()], width), last])


def parser_flags(pair: ParserPair) -> str:
    """Return the command-line flags of this pair."""
    return " ".join(_flags(pair)) or "neither parser"


def _flags(pair: ParserPair) -> list[str]:
    flags = ParserFlags()
    named = ((flags.tools, pair.tool), (flags.reasoning, pair.reasoning))
    return [f"{flag} {name}" for flag, name in named if name is not None]


def _to_pass(rankings: Sequence[EngineRanking], width: int) -> Blocks:
    """Return the flags of each engine, and how well they read."""
    pairs: list[tuple[str, Text]] = []
    longest = max((len(ranking.offered.name) for ranking in rankings), default=0)
    for ranking in rankings:
        best, auto = ranking.best, ranking.auto
        total = best.total
        counts = f"correct {best.whole.right}/{total}, streaming {best.streamed_right}/{total}"
        if auto is not None and auto.pair != best.pair:
            counts += f"; with auto {auto.whole.right}, streaming {auto.streamed_right}"
        verdict = _fitness(best, has_parsers=ranking.offered.has_parsers)
        named = [_flag_words(ranking, best)]
        if len(named[0]) + longest + _MARGINS > width and best.pair.tool:
            # Keep a flag and its value on one line, so that it can be copied.
            named = _flags(best.pair)
        lines = [Text(visible(words), style="bold") for words in named]
        style = "green" if best.all_right else ""
        lines += [Text(visible(counts), style=style), Text(verdict, style=style)]
        labels = [visible(ranking.offered.name), *[""] * len(lines)]
        pairs += zip(labels, lines, strict=False)
    return rows(pairs)


def _fitness(best: PairScore, *, has_parsers: bool) -> str:
    """Return in words whether the best parsers of an engine are fit for this template."""
    if best.all_right:
        return "fit: reads every text"
    # An engine that derives its own parser takes no plugin.
    instead = "autoparser's plugin (last line)" if has_parsers else "autoparser serve in front"
    # The worse delivery counts, since a client decides whether to stream.
    right = min(best.whole.right, best.streamed_right)
    if 2 * right < best.total:
        return f"unfit: misreads most texts; use {instead}"
    return f"misreads some texts, the first is below; for such requests, use {instead}"


def _flag_words(ranking: EngineRanking, score: PairScore) -> str:
    if ranking.offered.has_parsers:
        return parser_flags(score.pair)
    return "no flag needed (parser derived from the template)"


def _engine(ranking: EngineRanking) -> Iterator[Block]:
    """Show an engine's best pairs, its automatic choice, and skipped parsers and texts."""
    offered = ranking.offered
    counts = f"{len(offered.tools)} tool-call parsers, {len(offered.reasoning)} reasoning parsers"
    if not offered.has_parsers:
        counts = "its own parser, derived from the template"
    yield from heading(visible(ranking.engine))
    yield from prose(visible(f"{counts}; {ranking.python}"))
    # Pairs are ranked, the best first; the JSON has all of them.
    for score in ranking.pairs[:SHOWN]:
        yield from [*blank(), *_pair(score, _flag_words(ranking, score), ranking.alike)]
    if ranking.auto is not None:
        words = f"auto (guessed from the template's text): {parser_flags(ranking.auto.pair)}"
        yield from [*blank(), *_pair(ranking.auto, words, ())]
    # Several parsers may be unusable for the same reason.
    reasons: dict[str, list[str]] = {}
    for parser in ranking.unusable:
        names = reasons.setdefault(parser.reason, [])
        # A name may fail both as a tool parser and as a reasoning parser.
        names += [parser.name] * (parser.name not in names)
    lines = [
        f"{', '.join(names)} skipped: {shorten_middle(reason, _LONGEST)}"
        for reason, names in reasons.items()
    ]
    if ranking.left_out:
        first = next(iter(ranking.left_out.values()))
        skipped = counted_noun(len(ranking.left_out), "text")
        lines.append(f"{skipped} skipped, first: {shorten_middle(first, _LONGEST)}")
    yield from blank() if lines else []
    for line in lines:
        yield from prose(visible(line), hang=2)


def _pair(score: PairScore, name: str, alike: Sequence[Sequence[str]]) -> Iterator[Block]:
    style = "green" if score.all_right else ""
    counts = (
        f"correct {score.whole.right}/{score.total} (exact {score.whole.exact}),"
        f" streaming {score.streamed_right}"
    )
    yield from prose(sentence((visible(name), "bold")))
    yield from prose(sentence((counts, style)), 4)
    same = [
        f"{names[0]} is equivalent here to {', '.join(names[1:])}"
        for names in alike
        if names[0] in (score.pair.tool, score.pair.reasoning)
    ]
    yield from [line for text in same for line in prose(visible(text), 4, hang=2)]
    if score.failure is not None:
        yield from _failure(score.failure)


def _failure(failure: ParserFailure) -> Blocks:
    verdict = failure.verdict
    words = Text(visible(f"{failure.title}, {failure.delivery}: {verdict.part}"))
    expected, got = _differing_excerpts(verdict.expected, verdict.actual)
    texts = (("text", shorten_middle(failure.text, _LONGEST)), ("expected", expected), ("got", got))
    pairs = [(name, Text(marker_text(text))) for name, text in texts]
    column = max(len(name) for name, _ in texts)
    return [
        *rows([("fails", words)], indent=4, label=column),
        *rows(pairs, indent=4, words=False),
    ]


def _differing_excerpts(one: str, other: str) -> tuple[str, str]:
    """Cut two texts to the surroundings of their departure."""
    start = max(0, prefix_length(one, other) - _AROUND)
    before = "… " if start else ""
    cut = [f"{before}{text[start : start + _EXCERPT]}" for text in (one, other)]
    rest = [" …" if len(text) > start + _EXCERPT else "" for text in (one, other)]
    return cut[0] + rest[0] or "nothing", cut[1] + rest[1] or "nothing"


def engines_document(engine_trial: EnginesTried) -> dict[str, Json]:
    """Return everything as JSON values, including every tried pair."""
    return {
        "template": engine_trial.template,
        "texts": engine_trial.texts,
        "hostile": engine_trial.hostile,
        "not_asked": engine_trial.not_asked,
        "ok": engine_trial.ok,
        "engines": [_ranking_document(ranking) for ranking in engine_trial.rankings],
    }


def _ranking_document(ranking: EngineRanking) -> dict[str, Json]:
    return {
        "engine": ranking.offered.name,
        "version": ranking.offered.version,
        "python": ranking.python,
        "tool_parsers": len(ranking.offered.tools),
        "reasoning_parsers": len(ranking.offered.reasoning),
        "left_out": list(ranking.left_out.values()),
        "pairs": [_pair_document(pair) for pair in ranking.pairs],
        "auto": None if ranking.auto is None else _pair_document(ranking.auto),
        "alike": [list(names) for names in ranking.alike],
        "unusable": [
            {"part": str(parser.part), "name": parser.name, "reason": parser.reason}
            for parser in ranking.unusable
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
            str(delivery.delivery): {"right": delivery.right, "exact": delivery.exact}
            for delivery in deliveries
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
        "got": failure.verdict.actual,
    }


_SIGNS = {
    CheckState.YES: ("yes", "green"),
    CheckState.NO: ("no", "red"),
    CheckState.PARTLY: ("partly", "yellow"),
    CheckState.UNKNOWN: ("–", "dim"),
}


class PluginsDocument(JsonDocument, frozen=True):
    """All checks of one environment."""

    schema: Literal["autoparser.plugins/1"]
    """The schema's name and version, `"autoparser.plugins/1"`."""
    python: str
    """The path of its interpreter, e.g. `"venv/bin/python"`."""
    ok: bool
    """Whether all checks pass, e.g. `false` if an engine does not find the plugin."""
    points: tuple[CheckedPoint, ...]
    """The checks and their outcomes, e.g. first `"autoparser-chat"` with `"yes"`."""


def plugins_report(check: PluginCheck, width: int) -> Text:
    """Show each check's result, and the way out of a failure."""
    drawn: Blocks = prose(visible(check.python), indent=0)
    for point in check.points:
        drawn += _point(point)
    return report_text(drawn, width)


def _point(point: CheckedPoint) -> Blocks:
    point_words = sentence(visible(point.what), ": ", visible(point.found))
    if point.way_out:
        point_words.append("; ").append(visible(point.way_out), style="cyan")
    word, style = _SIGNS[point.state]
    return rows([(Text(word, f"dim {style}"), point_words)], label=max(3, len(word)))


def plugins_document(check: PluginCheck) -> dict[str, Json]:
    """Return everything as JSON values."""
    return document_json(
        PluginsDocument("autoparser.plugins/1", check.python, check.ok, check.points)
    )
