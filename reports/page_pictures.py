"""Drawings on a template's page: its turn, its renders by line, its round trips and costs.

For example, masks that took 3, 4.5, 12, 18 and 40 µs are drawn as the columns

    _columns([3.0, 4.5, 12.0, 18.0, 40.0])  ->  ("2", 2), ("5", 0), ("10", 2), ("20", 1)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from rich.text import Text

from autoparser.analysis.history.round_trips import RoundTrip, TripRow, advice_of
from autoparser.analysis.history.trip_causes import Cause
from autoparser.analysis.history.trip_verdict import Outcome
from autoparser.analysis.overview.portrait import MaskCost, Portrait
from autoparser.analysis.overview.portrait_conversation import (
    BYTES,
    PortraitConversation,
    PortraitStep,
    TokenStrip,
)
from autoparser.analysis.templates.render_trace import PromptPiece, RenderTrace

from .blocks import (
    Block,
    Blocks,
    Fold,
    Heading,
    Paragraph,
    Picture,
    Table,
    TableColumn,
    badge,
    lead,
    link,
    prose,
    rows,
    sentence,
    small,
    tag_text,
)
from .render_trace import line_words, source_words
from .roundtrip import ABOUT, verdict_conditions
from .visible import quote_marker, setting_words, visible

Bar = tuple[float, str, str]
"""A piece of a bar: its size, its style, and its label."""


_TRACED = (
    "A short conversation as this template renders it. Point at a piece of the prompt to see the"
    " line that wrote it, or at a line to see what it wrote. Lines that did nothing here are gray."
)


def trace_section(trace: RenderTrace) -> Blocks:
    """Draw the template's source beside a prompt."""
    ran = {trace.sites[step.site].line for step in trace.steps}
    ran |= {trace.sites[piece.site].line for piece in trace.pieces if piece.site is not None}
    data = {
        # Every sign of a page is shown, but a tab in source is only its width.
        "lines": [line.expandtabs(4) for line in trace.text.split("\n")],
        "ran": ran,
        "pieces": [_piece(trace, piece) for piece in trace.pieces],
    }
    note = [] if trace.failure is None else [Text(visible(trace.failure.message))]
    return [
        Heading(Text("Which line wrote what"), "lines", lead=_TRACED),
        *(Paragraph(words, look="note") for words in note),
        Picture("traced", data, []),
    ]


def _piece(trace: RenderTrace, piece: PromptPiece) -> tuple[str, int | None, str]:
    """Return a piece's text, the line that wrote it, and a description of that line."""
    if piece.site is None:
        return piece.text, None, ""
    title = f"line {line_words(trace, piece)}: {source_words(trace, piece.site).plain}"
    return piece.text, trace.sites[piece.site].line, title


FIRST = 3
"""Strips shown for a cause; the rest are folded."""
_OUTCOMES = {Outcome.HOLDS: "good", Outcome.BREAKS: "bad", Outcome.RAISES: "bad"}

NumberedTrip = tuple[int, TripRow, TokenStrip]
"""A round trip after its number, which is its anchor on the page."""


def round_trip_section(portrait: Portrait) -> Iterator[Block]:
    """Show whether the model's text is repeated exactly in the next prompt."""
    found = portrait.round_trip
    trips = [
        (at, row, strip)
        for at, (row, strip) in enumerate(zip(found.rows, portrait.strips, strict=True))
    ]
    holding = [trip for trip in trips if trip[1].verdict.holds]
    broken = [trip for trip in trips if not trip[1].verdict.holds]
    order = [cause for cause, _ in Counter(_cause(row) for _, row, _ in broken).most_common()]
    # The most frequent cause first; `groupby` below joins only neighbors.
    broken.sort(key=lambda trip: order.index(_cause(trip[1])))
    note = f"{len(holding)}/{len(trips)}"
    yield from (Heading(Text("Round trip"), "round-trip", note), *lead(_about(found)))
    yield from _outcome_bars(found)
    for stop, size in found.split_stops:
        words = f"The stop string {visible(stop)} is {size} tokens"
        yield Paragraph(Text(f"{words}; the tokenizer may not be the model's."), look="note")
    for cause, group in groupby(broken, key=lambda trip: _cause(trip[1])):
        yield from _cause_trips(cause, list(group), len(trips))
    if trips:
        yield Fold(Text(f"All {len(trips)} verdicts"), [_verdicts(found)])
    if holding:
        # Not printed: the table of verdicts has them all.
        strips: Blocks = [_strip(*trip) for trip in holding]
        yield Fold(Text(f"The {len(holding)} that hold"), strips, printed=False)
    yield from _omitted_scenarios(found)


def _cause(row: TripRow) -> Cause:
    return row.verdict.cause or Cause.REWRITTEN


def _about(round_trip: RoundTrip) -> str:
    words = (
        "The model writes a turn, the turn is parsed and put into the history, and the next prompt"
        " is rendered. If that does not begin with the last prompt and the model's own text, a"
        " prefix cache is lost from there on."
    )
    usual = setting_words(round_trip.settings[0])
    if usual:
        words += f" Verdicts are with {usual}."
    if not round_trip.tokenized:
        words += " Without a tokenizer, the strips below are split into words and punctuation."
    return words


def _outcome_bars(round_trip: RoundTrip) -> Blocks:
    if not round_trip.rows:
        return []
    causes = Counter("holds" if row.verdict.holds else _cause(row).value for row in round_trip.rows)
    held = causes.pop("holds", 0)
    pieces: list[Bar] = [(held, "good", "hold")] if held else []
    pieces += [(count, "bad", cause) for cause, count in causes.most_common()]
    words = ", ".join(f"{size} {label}" for size, _, label in pieces)
    return [
        Picture(
            "counts",
            {"pieces": pieces, "whole": len(round_trip.rows), "words": words},
            prose(words),
        )
    ]


def _verdicts(round_trip: RoundTrip) -> Table:
    tokens = ("tokens",) if round_trip.tokenized else ()
    heads = ("scenario", "next", "text", *tokens, "why it breaks")
    cells = (_verdict_cells(row, at, round_trip) for at, row in enumerate(round_trip.rows))
    return Table(tuple(map(TableColumn, heads)), tuple(cells), caption="Round trips")


def _verdict_cells(row: TripRow, at: int, round_trip: RoundTrip) -> tuple[Text, ...]:
    verdict = row.verdict
    tokens = verdict.tokens
    cause = "" if verdict.cause is None else verdict.cause.value
    # A dash, since 0 tokens would be a verdict.
    reused = Text("–")
    if tokens is not None:
        reused = Text(f"{tokens.reused}/{tokens.sampled}", "green" if tokens.holds else "red")
    others = [small(words) for words in verdict_conditions(row, round_trip)]
    return (
        link(visible(row.scenario.name), f"#trip-{at}"),
        Text(row.next.value),
        badge(verdict.outcome.value, _OUTCOMES.get(verdict.outcome, "plain")),
        *([reused] if round_trip.tokenized else []),
        sentence(cause, *(piece for words in others for piece in (" ", words))),
    )


def _cause_trips(cause: Cause, trips: Sequence[NumberedTrip], total: int) -> Blocks:
    strips: Blocks = [_strip(*trip) for trip in trips]
    more = strips[FIRST:]
    advice = [(advised.reader.value, Text(advised.text)) for advised in advice_of(trips[0][1])]
    about = ABOUT[cause]
    return [
        Heading(sentence(cause.value, small(f" {len(trips)} of {total}"))),
        *prose(f"{about[:1].upper()}{about[1:]}."),
        *strips[:FIRST],
        *([Fold(Text(f"{len(more)} more with this cause"), more, printed=False)] if more else []),
        Fold(Text("What would fix it"), rows(advice)),
    ]


def _strip(at: int, row: TripRow, strip: TokenStrip) -> Block:
    verdict = row.verdict
    unit = "tokens" if strip.tokens else "pieces"
    about = small(f" {visible(row.scenario.about)}") if row.scenario.about else ""
    caption = sentence(
        tag_text(visible(row.scenario.name), "b"),
        f", next {row.next.value}: {strip.reused} of {len(strip.pieces)} {unit} reused",
        about,
    )
    raises = visible(verdict.reason) if verdict.outcome is Outcome.RAISES else ""
    data = {"strip": strip, "anchor": f"trip-{at}", "caption": caption, "raises": raises}
    return Picture("strip", data, prose(caption))


def _omitted_scenarios(round_trip: RoundTrip) -> Blocks:
    if not round_trip.left_out:
        return []
    cells = tuple(
        (Text(visible(scenario.name)), Text(coming.value), Text(visible(reason)))
        for scenario, coming, reason in round_trip.left_out
    )
    title = "scenarios that do not apply"
    heads = tuple(map(TableColumn, ("scenario", "next", "why")))
    table = Table(heads, cells, caption=title.capitalize())
    return [Fold(Text(f"{len(cells)} {title}"), [table], printed=False)]


def conversation_section(talk: PortraitConversation) -> Blocks:
    """Draw the next prompt of each turn: the cached part, and the computed part."""
    broken = [step for step in talk.steps if step.breaks]
    note = f"{talk.breaks} break{'s' * (talk.breaks != 1)}" if talk.steps else ""
    title = Heading(Text("Ten turns"), "conversation", note)
    if not talk.steps:
        return [title, *lead(f"No conversation can be rendered: {visible(talk.stopped)}")]
    # All turns have one scale, so that the growth of the prompts can be seen.
    longest = max(max(step.rendered, step.bridged or 0) for step in talk.steps)
    # If both ways always give the same, the page draws one of them.
    alike = all(step.bridged == step.rendered and not step.breaks for step in talk.steps)
    data = {"longest": longest, "turns": [_turn(step, talk) for step in talk.steps]}
    data |= {"breaks": bool(broken), "alike": alike}
    about = f"A short conversation of {len(talk.steps)} turns. {_talk_verdict(talk)}"
    if talk.unit == BYTES:
        about += f" Without a tokenizer, sizes are in {BYTES}."
    drawn: Blocks = [title, *lead(about), Picture("talk", data, [])]
    if talk.stopped:
        drawn.append(Paragraph(Text(f"It ends there: {visible(talk.stopped)}"), look="note"))
    if broken:
        drawn.append(Fold(Text("Where it breaks"), rows(map(_break, broken)), opened=True))
    words = prose(f"All figures are {talk.unit}.")
    return [*drawn, Fold(Text("The figures"), [*words, _figures(talk)])]


def _talk_verdict(talk: PortraitConversation) -> str:
    broken = [step for step in talk.steps if step.breaks]
    if not broken:
        words = "The next prompt, rendered from the messages, always begins with the cached text"
        bridged = all(step.bridged is not None for step in talk.steps)
        return f"{words}{', and a token bridge reuses as much' if bridged else ''}."
    words = (
        f"After {len(broken)} of them the next prompt, rendered from the messages, does not begin"
        f" with the cached text: {talk.thrown_away:,} {_unit(talk)} of the cache are thrown away."
    )
    avoided = sum(step.bridged is not None for step in broken)
    if not avoided:
        return f"{words} No token bridge avoids that."
    some = "" if avoided == len(broken) else f" avoids {avoided} of these breaks: it"
    keeps = ", and keeps reasoning that the template drops" if any(s.note for s in broken) else ""
    return f"{words} A token bridge{some} continues the cached tokens unchanged{keeps}."


def _unit(talk: PortraitConversation) -> str:
    """Return the counted unit as a word."""
    return talk.unit.partition(",")[0]


def _turn(step: PortraitStep, talk: PortraitConversation) -> Mapping[str, object]:
    rest = step.rendered - step.reused
    rendered = f"{step.reused:,} of {step.rendered:,} {_unit(talk)} are in the cache"
    if step.breaks:
        rendered += f", {step.cached - step.reused:,} are thrown away"
    before = _bridged_before(step, talk)
    bridged = step.bridged or 0
    words = f"{bridged:,} {_unit(talk)}, nothing before it is computed again"
    return {
        "number": step.turn,
        "what": "calls" if step.calls else "answers",
        "rendered": [(step.reused, "kept", ""), (rest, "again" if step.breaks else "fresh", "")],
        "rendered_words": f"Turn {step.turn}, rendered again: {rendered}",
        "computed": f"{rest:,}" if step.breaks else "",
        "refusal": visible(step.refusal) if step.bridged is None else "",
        # Without a bridge, the length is 0.
        "bridged": [(before, "kept", ""), (max(0, bridged - before), "fresh", "")],
        "bridged_words": f"Turn {step.turn}, by bridge: {words}",
        "keeps": bool(step.note),
    }


def _bridged_before(step: PortraitStep, talk: PortraitConversation) -> int:
    """Return the length of the bridge's input: its last prompt and the model's text."""
    at = talk.steps.index(step)
    last = talk.steps[at - 1] if at else None
    if last is None or last.bridged is None:
        return step.cached
    # `cached` is an offset in the rendered prompt; the bridged prompt may have another length.
    return step.cached - last.rendered + last.bridged


def _break(step: PortraitStep) -> tuple[str, Text]:
    return f"After turn {step.turn}", sentence(
        "after ",
        quote_marker(step.before[-24:]),
        " the cache has ",
        tag_text(visible(step.cached_text), "del"),
        " and the prompt ",
        tag_text(visible(step.instead) or "the end", "ins"),
    )


def _figures(talk: PortraitConversation) -> Table:
    heads = ("turn", "computed before", "next prompt", "in the cache", "thrown away", "by bridge")
    cells = (
        (
            f"{step.turn}, {'calls' if step.calls else 'answers'}",
            f"{step.cached:,}",
            f"{step.rendered:,}",
            f"{step.reused:,}",
            f"{step.cached - step.reused:,}",
            "none" if step.bridged is None else f"{step.bridged:,}",
        )
        for step in talk.steps
    )
    listed = tuple(tuple(map(Text, row)) for row in cells)
    return Table(tuple(map(TableColumn, heads)), listed, caption="Ten turns in figures")


_DECADE = (1, 2, 5)
THOUSAND = 1000


def mask_section(cost: MaskCost | None) -> Blocks:
    """Draw the time that a mask takes."""
    title = Heading(Text("Mask cost"), "masks")
    if cost is None:
        # The section stays, so that a reader learns how to get it.
        return [title, *lead("Masks need a tokenizer: pass one with --tokenizer PATH.")]
    if cost.refusal:
        return [title, *lead(f"No mask can be computed: {visible(cost.refusal)}")]
    words = (
        f"{len(cost.microseconds)} masks: median {cost.median:.0f} µs, 99th percentile"
        f" {cost.high:.0f} µs, slowest {cost.most:.0f} µs"
    )
    about = (
        f"The grammar above with this tokenizer: {cost.answers} answers were written at random,"
        " and the mask before each token was timed, on the machine that made this page."
    )
    data = {"columns": list(_columns(cost.microseconds)), "words": words}
    return [title, *lead(about), Picture("columns", data, prose(words))]


def _columns(times: Sequence[float]) -> Iterator[tuple[str, int]]:
    """Count times by decade, each divided into three."""
    # From 0.1 µs to 5 s.
    bounds = [step * 10.0**power for power in range(-1, 7) for step in _DECADE]
    # The times are sorted, and columns outside of them would all be empty.
    first = max((at for at, bound in enumerate(bounds) if bound <= times[0]), default=0)
    last = next((at for at, bound in enumerate(bounds) if bound > times[-1]), len(bounds) - 1)
    for low, high in pairwise(bounds[first : last + 1]):
        size = sum(low <= time < high for time in times)
        yield f"{low / THOUSAND:g}k" if low >= THOUSAND else f"{low:g}", size
