"""Round trips: a table of scenarios, and each turn as a strip of tokens, reused or broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from autoparser.analysis.history.round_trips import RoundTrip, Row, advice_of
from autoparser.analysis.history.trip_causes import Cause
from autoparser.analysis.history.trip_verdict import Outcome
from autoparser.analysis.overview.portrait import Portrait
from autoparser.analysis.overview.portrait_conversation import TokenStrip
from autoparser.reports.roundtrip import ABOUT, conditions_of
from autoparser.reports.setting_words import setting_words
from autoparser.reports.visible import visible

from .bars import BarPiece, bar
from .element import Element, Node, fragment, h
from .page_parts import badge, definitions, lead, opening, table
from .signs import shown

__all__ = ["round_trips"]

FIRST = 3
"""Strips of one cause that are shown; the others open."""

_KINDS = {Outcome.HOLDS: "good", Outcome.BREAKS: "bad", Outcome.RAISES: "bad"}


def round_trips(portrait: Portrait) -> Element:
    """Show whether what the model wrote comes back in the next prompt."""
    found = portrait.round_trip
    numbered = list(enumerate(zip(found.rows, portrait.strips, strict=True)))
    broken = [each for each in numbered if not each[1][0].verdict.holds]
    holding = [each for each in numbered if each[1][0].verdict.holds]
    counts = Counter(_cause(row) for _, (row, _) in broken)
    order = [cause for cause, _ in counts.most_common()]
    broken.sort(key=lambda each: order.index(_cause(each[1][0])))
    return fragment(
        lead(*_lead(found)),
        _counts(found),
        [h("p", words, class_="note") for words in _warnings(found)],
        _table(found),
        [
            _of_cause(
                cause, [each[1] for each in group], [each[0] for each in group], len(numbered)
            )
            for cause, group in (
                (cause, list(members))
                for cause, members in groupby(broken, key=lambda each: _cause(each[1][0]))
            )
        ],
        opening(
            f"The {len(holding)} that hold",
            *(_strip(row, strip, at) for at, (row, strip) in holding),
            printed=False,
        )
        if holding
        else None,
        _left_out(found),
    )


def _cause(row: Row) -> Cause:
    return row.verdict.cause or Cause.REWRITTEN


def _lead(found: RoundTrip) -> Iterator[Node]:
    yield "The model writes a turn, the turn is parsed and put into the history, and the next"
    yield " prompt is rendered. If that does not begin with the last prompt and the model's own"
    yield " text, a prefix cache is lost from there on."
    usual = setting_words(found.settings[0])
    if usual:
        yield f" Verdicts are with {usual}."
    if not found.tokenized:
        yield " There is no tokenizer, so the strips below are cut into words and signs of the text"
        yield ", not into tokens."


def _warnings(found: RoundTrip) -> Iterator[str]:
    for stop, size in found.split_stops:
        yield (
            f"The stop string {visible(stop)} is {size} tokens: is this the model's own tokenizer?"
        )


def _counts(found: RoundTrip) -> Element | None:
    if not found.rows:
        return None
    causes = Counter("holds" if row.verdict.holds else _cause(row).value for row in found.rows)
    held = causes.pop("holds", 0)
    pieces = [BarPiece(held, "good", "hold")] if held else []
    pieces += [BarPiece(count, "bad", cause) for cause, count in causes.most_common()]
    words = ", ".join(f"{piece.size} {piece.label}" for piece in pieces)
    return h(
        "figure",
        bar(pieces, len(found.rows), f"Of {len(found.rows)} verdicts: {words}"),
        h("figcaption", words),
        class_="counts",
    )


def _table(found: RoundTrip) -> Element:
    heads = ("scenario", "next", "text", "tokens", "why it breaks")
    return table("Round trips", heads, [_line(row, at, found) for at, row in enumerate(found.rows)])


def _line(row: Row, at: int, found: RoundTrip) -> Sequence[Node]:
    verdict = row.verdict
    tokens = verdict.tokens
    why = "" if verdict.cause is None else verdict.cause.value
    others = [h("small", words) for words in conditions_of(row, found)]
    kind = "good" if tokens is None or tokens.holds else "bad"
    return (
        h("a", visible(row.scenario.name), href=f"#trip-{at}"),
        row.next.value,
        badge(verdict.outcome.value, _KINDS.get(verdict.outcome, "plain")),
        "–" if tokens is None else h("span", f"{tokens.reused}/{tokens.sampled}", class_=kind),
        fragment(why, others),
    )


def _of_cause(
    cause: Cause, found: Sequence[tuple[Row, TokenStrip]], numbers: Sequence[int], total: int
) -> Element:
    first = found[0][0]
    strips = [_strip(row, strip, at) for at, (row, strip) in zip(numbers, found, strict=True)]
    more = strips[FIRST:]
    advice = [(each.reader.value, each.text) for each in advice_of(first)]
    return h(
        "div",
        h("h3", cause.value, h("small", f" {len(found)} of {total}")),
        h("p", f"{ABOUT[cause][:1].upper()}{ABOUT[cause][1:]}."),
        strips[:FIRST],
        opening(f"{len(more)} more that break so", *more, printed=False) if more else None,
        opening("What would fix it", definitions(advice)),
        class_="cause",
    )


def _strip(row: Row, strip: TokenStrip, at: int) -> Element:
    verdict = row.verdict
    unit = "tokens" if strip.tokens else "pieces"
    caption = fragment(
        h("b", visible(row.scenario.name)),
        f", next {row.next.value}: {strip.reused} of {len(strip.pieces)} {unit} reused",
        h("small", f" {visible(row.scenario.about)}") if row.scenario.about else None,
    )
    lines: list[Node] = [_line_of(strip)]
    if verdict.outcome is Outcome.RAISES:
        lines.append(h("p", "The template raises ", h("q", visible(verdict.reason)), class_="bad"))
    elif strip.instead:
        has: list[Node] = [_token(piece, "new") for piece in strip.instead if piece]
        has = has or ["nothing, it ends"]
        lines.append(h("p", h("small", "the next prompt has "), has, class_="tokens instead"))
    return h("figure", h("figcaption", caption), lines, class_="strip", id=f"trip-{at}")


def _line_of(strip: TokenStrip) -> Element:
    drawn: list[Node] = [
        _token(piece, "lead" if at < strip.lead_reused else "lead lost")
        for at, piece in enumerate(strip.lead)
    ]
    drawn.append(h("span", "┃", class_="edge-of-prompt", title="the prompt ends here"))
    for at, piece in enumerate(strip.pieces):
        if at == strip.reused:
            drawn.append(h("span", " (not reused from here on) ", class_="unseen"))
        drawn.append(_token(piece, "kept" if at < strip.reused else "lost"))
    return h("p", h("small", "the model wrote "), drawn, class_="tokens")


def _token(text: str, kind: str) -> Element:
    return h("span", shown(text, breaks=False), class_=f"token {kind}")


def _left_out(found: RoundTrip) -> Element | None:
    if not found.left_out:
        return None
    rows = [
        (visible(scenario.name), coming.value, visible(reason))
        for scenario, coming, reason in found.left_out
    ]
    return opening(
        f"{len(rows)} scenarios that do not apply",
        table("Scenarios that do not apply", ("scenario", "next", "why"), rows),
        printed=False,
    )
