"""What changed between two templates, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.comparison import Comparison, FactChange, RenderChange
from autoparser.analysis.conversation import Json

from .layout import Lines, Row, heading, prose, rows, sentence
from .verdict import whole
from .visible import LEGEND, shown, visible
from .words import value_words

__all__ = ["Parting", "comparison_report", "counted", "origin_of", "partings", "side_words"]

NAMED = 6
"""Conversations that are named for one difference."""
ABSENT = "(none)"
_LEFT, _RIGHT = "red", "green"


def comparison_report(found: Comparison, width: int) -> Text:
    """Report on a comparison in lines of at most `width` cells."""
    drawn = [
        *_head(found, width),
        *_facts(found, width),
        *_renders(found, width),
        *_trips(found, width),
        *_findings(found, width),
    ]
    for line in drawn:
        line.rstrip()
    return Text("\n").join(drawn)


def origin_of(analysis: Analysis) -> str:
    """Say where a template came from."""
    template = analysis.template
    name = f" (named {template.name})" if template.name not in (None, "default") else ""
    return visible(f"{template.origin or 'a text'}{name}")


def _head(found: Comparison, width: int) -> Lines:
    pairs: list[Row] = [
        (sign, sentence((origin_of(analysis), style), ": ", whole(analysis.check)))
        for sign, style, analysis in (("-", _LEFT, found.left), ("+", _RIGHT, found.right))
    ]
    drawn = rows(pairs, width, indent=0)
    if found.equal:
        same = "They are the same text" if found.same_text else "The texts differ, and nothing else"
        looked = f"{found.rendered} conversations and {found.played} round trips come out alike"
        return [*drawn, *prose(Text(f"{same}: {looked}.", style="green"), width, indent=0)]
    return [*drawn, *prose(f"They differ: {', '.join(counted(found))}.", width, indent=0)]


def counted(found: Comparison) -> Iterator[str]:
    """Count what differs."""
    if found.facts:
        yield f"{len(found.facts)} fact{'s' * (len(found.facts) != 1)} of the format"
    if found.renders:
        yield f"{len(found.renders)} of {found.rendered} renders"
    if found.trips:
        yield f"{len(found.trips)} of {found.played} round trips"
    if not found.same_check:
        yield "the self-check"
    if found.findings:
        come = sum(change.appeared for change in found.findings)
        yield f"{come} new findings, {len(found.findings) - come} gone"


def _facts(found: Comparison, width: int) -> Lines:
    drawn: Lines = []
    if found.facts:
        drawn = [*heading("The format", width), *prose(Text(LEGEND, style="dim"), width)]
    for aspect, changes in groupby(found.facts, key=lambda change: change.aspect):
        drawn += prose(Text(aspect, style="bold"), width)
        for change in changes:
            drawn += _fact(change, width)
    return drawn


def _fact(change: FactChange, width: int) -> Lines:
    turns = f", in turns of {'; '.join(change.turns)}" if change.turns else ""
    pairs = [("-", _value(change.left, _LEFT)), ("+", _value(change.right, _RIGHT))]
    return [
        *prose(visible(f"{change.name}{turns}"), width, indent=4, hang=2),
        *rows(pairs, width, indent=6, words=False),
    ]


def side_words(value: Json) -> str:
    """Give a fact's value as text; what is no text as JSON."""
    if value is None:
        return ABSENT
    if isinstance(value, str):
        return shown(value) or "(empty)"
    return value_words(value)


def _value(value: Json, style: str) -> Text:
    return Text(side_words(value), style="dim" if value is None else style)


@dataclass(frozen=True, slots=True)
class Parting:
    """One way in which texts part, and the conversations in which they do."""

    example: RenderChange
    conversations: tuple[str, ...]


_SAME = 6
"""So many characters from the difference on tell one way of parting from another."""


def partings(changes: Sequence[RenderChange]) -> list[Parting]:
    """Put conversations together whose texts part in the same way, the most frequent way first."""
    groups: dict[tuple[str, ...], list[RenderChange]] = {}
    for change in changes:
        sides = [
            error or (text or "")[:_SAME]
            for text, error in (
                (change.left, change.left_error),
                (change.right, change.right_error),
            )
        ]
        groups.setdefault((change.before[-_SAME:], *sides), []).append(change)
    found = [
        Parting(group[0], tuple(change.conversation for change in group))
        for group in groups.values()
    ]
    return sorted(found, key=lambda parting: -len(parting.conversations))


def _renders(found: Comparison, width: int) -> Lines:
    drawn: Lines = []
    if found.renders:
        title = f"Renders: {len(found.renders)} of {found.rendered} conversations differ"
        drawn = heading(title, width)
    for parting in partings(found.renders):
        names = parting.conversations
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        drawn += prose(f"{len(names)}: {'; '.join(names[:NAMED])}{more}", width, hang=2)
        drawn += rows(list(_sides(parting.example, width)), width, indent=4, words=False)
    return drawn


def _sides(change: RenderChange, width: int) -> Iterator[Row]:
    """Show both texts from a little before where they part, one line each."""
    room = max(width - 10, 20)
    before = visible(change.before)[-room // 3 :]
    for sign, style, text, error in (
        ("-", _LEFT, change.left, change.left_error),
        ("+", _RIGHT, change.right, change.right_error),
    ):
        if text is None:
            yield sign, Text(f"raises: {visible(error)}", style=style)
            continue
        rest = visible(text)[: room - len(before)]
        yield sign, sentence((before, "dim"), (rest or "(the end)", style))


def _trips(found: Comparison, width: int) -> Lines:
    if not found.trips:
        return []
    pairs = [
        (
            f"{visible(change.scenario)}, next {change.next}",
            sentence((change.left, _LEFT), " → ", (change.right, _RIGHT)),
        )
        for change in found.trips
    ]
    title = f"Round trips: {len(found.trips)} of {found.played} verdicts differ"
    return [*heading(title, width), *rows(pairs, width)]


def _findings(found: Comparison, width: int) -> Lines:
    if not found.findings:
        return []
    pairs = [
        (
            f"{'+' if change.appeared else '-'} {visible(change.finding.code)}",
            Text(visible(change.finding.message), style=_RIGHT if change.appeared else _LEFT),
        )
        for change in found.findings
    ]
    return [*heading("Findings that appeared (+) or vanished (-)", width), *rows(pairs, width)]
