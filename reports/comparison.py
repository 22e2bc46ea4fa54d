"""What changed between two templates, for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.formats.learned_format import LearntFormat
from autoparser.analysis.formats.saved_format import SavedFormat
from autoparser.analysis.overview.compared_texts import RenderChange
from autoparser.analysis.overview.comparison import AskedRenders, Comparison, FindingChange
from autoparser.analysis.overview.format_facts import FactChange, FormatComparison

from .blocks import Blocks, Departure, DepartureSide, Row, blank, heading, prose, rows, sentence
from .setting_words import setting_words, value_words
from .terminal import report_text
from .verdict import whole
from .visible import LEGEND, shown, visible
from .what_was_asked import asked_rows, equal_words

__all__ = [
    "NOT_RENDERED",
    "WaysShown",
    "comparison_report",
    "counted",
    "format_comparison_report",
    "formats_words",
    "origin_of",
    "side_words",
    "way_words",
    "ways_shown",
    "where_words",
]

NAMED = 4
"""Conversations that are named for one difference."""
SETTINGS_NAMED = 3
"""Settings that are named for one difference."""
WAYS = 12
"""Ways of differing that are shown."""
FIRST, FIRST_WAYS = 4, 2
"""Differences of a section, and ways of differing, that are shown at first."""
ABSENT = "(none)"
NOT_RENDERED = "Renders, round trips and findings were not asked: a saved format has no template."
_LEFT, _RIGHT = "red", "green"


def comparison_report(found: Comparison, width: int, *, in_full: bool = False) -> Text:
    """Report on a comparison in lines of at most `width` cells.

    Without `in_full` each section shows its first differences and counts the others, round trips
    are counted by what became of them, and what was asked is left out where anything differs.
    """
    drawn = _head(found)
    if in_full or found.equal:
        drawn += _facts(found.facts)
        drawn += _renders(found)
        drawn += _trips(found)
        drawn += _findings(found.findings)
        return report_text(drawn + _asked(found), width)
    drawn += _facts(found.facts, FIRST)
    drawn += _renders(found, FIRST_WAYS)
    drawn += _trips_counted(found)
    drawn += _findings(found.findings, FIRST)
    closing = Text("--full shows all, and what was asked and what was not.", style="dim")
    return report_text([*drawn, *blank(), *prose(closing, indent=0)], width)


def origin_of(analysis: LearntFormat) -> str:
    """Say where a template came from, or which file holds what was learnt of it."""
    if isinstance(analysis, SavedFormat):
        return visible(analysis.file)
    template = analysis.template
    name = f" (named {template.name})" if template.name not in (None, "default") else ""
    return visible(f"{template.origin or 'a text'}{name}")


def formats_words(found: FormatComparison) -> str:
    """Say whether two formats are alike, and whether one text wrote both."""
    same = "the same text" if found.same_text else "different texts"
    alike = "The formats are alike" if found.equal else "They differ"
    return f"{alike}; they were learnt from {same}."


def format_comparison_report(found: FormatComparison, width: int) -> Text:
    """Show what differs in what was learnt of two templates, nothing being rendered."""
    words = Text(formats_words(found), style="green" if found.equal else "")
    drawn = [
        *_compared_sides(found),
        *prose(words, indent=0),
        *prose(Text(NOT_RENDERED, style="dim"), indent=0),
        *_facts(found.facts),
    ]
    return report_text(drawn, width)


def _compared_sides(found: Comparison | FormatComparison) -> Blocks:
    sides = (("-", _LEFT, found.left), ("+", _RIGHT, found.right))
    pairs: list[Row] = [
        (sign, sentence((origin_of(learnt), style), ": ", whole(learnt.check)))
        for sign, style, learnt in sides
    ]
    return rows(pairs, indent=0)


def _head(found: Comparison) -> Blocks:
    drawn = _compared_sides(found)
    if found.equal:
        return [*drawn, *prose(Text(equal_words(found), style="green"), indent=0)]
    return [*drawn, *prose(f"They differ: {', '.join(counted(found))}.", indent=0)]


def _asked(found: Comparison) -> Blocks:
    pairs = [(label, Text(words)) for label, words in asked_rows(found)]
    return [*heading("What was asked"), *rows(pairs)]


def counted(found: Comparison) -> Iterator[str]:
    """Count what differs."""
    if found.facts:
        yield f"{len(found.facts)} fact{'s' * (len(found.facts) != 1)} of the format"
    if found.renders:
        yield from _counted_renders(found.asked)
    if found.trips:
        yield f"{len(found.trips)} of {found.played} round trips"
    if not found.same_check:
        yield "the self-check"
    if found.findings:
        come = sum(change.appeared for change in found.findings)
        yield f"{come} new findings, {len(found.findings) - come} gone"


def _counted_renders(asked: AskedRenders) -> Iterator[str]:
    if asked.differing:
        yield f"{asked.differing} of {asked.renders} renders"
    if asked.switched_differing:
        yield f"{asked.switched_differing} of {asked.switched} renders under switches"


def _more(left_out: int) -> Blocks:
    return prose(Text(f"… {left_out} more", style="dim")) if left_out > 0 else []


def _facts(facts: Sequence[FactChange], most: int | None = None) -> Blocks:
    drawn: Blocks = []
    if facts:
        drawn = [*heading("The format"), *prose(Text(LEGEND, style="dim"))]
    for aspect, changes in groupby(facts[:most], key=lambda change: change.aspect):
        drawn += prose(Text(aspect, style="bold"))
        for change in changes:
            drawn += _fact(change)
    return drawn + _more(len(facts) - len(facts[:most]))


def _fact(change: FactChange) -> Blocks:
    turns = f", in turns of {'; '.join(change.turns)}" if change.turns else ""
    pairs = [("-", _value(change.left, _LEFT)), ("+", _value(change.right, _RIGHT))]
    return [
        *prose(visible(f"{change.name}{turns}"), indent=4, hang=2),
        *rows(pairs, indent=6, words=False),
    ]


def side_words(value: Json) -> str:
    """Return a fact's value as text; what is not text as JSON."""
    if value is None:
        return ABSENT
    if isinstance(value, str):
        return shown(value) or "(empty)"
    return value_words(value)


def _value(value: Json, style: str) -> Text:
    return Text(side_words(value), style="dim" if value is None else style)


def where_words(change: RenderChange, asked: AskedRenders) -> str:
    """Say under which settings and beside what a difference shows, such as "only with tools"."""
    settings = [each for each in change.under if each != asked.usual]
    named = " or ".join(setting_words(each) or "nothing set" for each in settings[:SETTINGS_NAMED])
    if len(settings) > SETTINGS_NAMED:
        named += f" or {len(settings) - SETTINGS_NAMED} other settings"
    only = f"only {' and '.join(change.only)}" if change.only else ""
    return ", ".join(words for words in (f"under {named}" if named else "", only) if words)


def in_conversations(change: RenderChange) -> str:
    """Name the first conversations in which a difference shows, and count the others."""
    names = list(change.conversations)
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{'; '.join(names[:NAMED])}{more}"


@dataclass(frozen=True, slots=True)
class WaysShown:
    """The ways in which renders differ, with nothing set or under switches, and those shown."""

    title: str
    ways: int
    shown: Sequence[RenderChange]
    left_out: str
    """How many ways are not shown, in words; empty where all are."""


def ways_shown(found: Comparison) -> Iterator[WaysShown]:
    """Return the ways that show with nothing set, and those that show under switches alone."""
    asked = found.asked
    usual = [each for each in found.renders if asked.usual in each.under]
    switched = [each for each in found.renders if asked.usual not in each.under]
    if usual:
        yield _limited(f"Renders: {asked.differing} of {asked.renders} differ", usual)
    if switched:
        otherwise = " in another way" if usual else ""
        counts = f"{asked.switched_differing} of {asked.switched} differ{otherwise}"
        yield _limited(f"Renders under switches: {counts}", switched)


def _limited(title: str, changes: Sequence[RenderChange]) -> WaysShown:
    ways = f"{len(changes)} way{'s' * (len(changes) != 1)}"
    left_out = len(changes) - WAYS
    words = f"{left_out} more way{'s' * (left_out != 1)}: --format json has all of them"
    return WaysShown(
        f"{title}, in {ways}", len(changes), changes[:WAYS], words if left_out > 0 else ""
    )


def _renders(found: Comparison, most: int | None = None) -> Blocks:
    drawn: Blocks = []
    for ways in ways_shown(found):
        drawn += heading(ways.title)
        for change in ways.shown[:most]:
            drawn += prose(way_words(change, found.asked), hang=2)
            drawn.append(_departure(change))
        if most is not None:
            drawn += _more(ways.ways - most)
        elif ways.left_out:
            drawn += prose(ways.left_out)
    return drawn


def way_words(change: RenderChange, asked: AskedRenders) -> str:
    """Say in how many renders, where and in which conversations a difference shows."""
    where = where_words(change, asked)
    return f"{change.renders}{', ' * bool(where)}{where}: {in_conversations(change)}"


def _departure(change: RenderChange) -> Departure:
    """Return both texts from a little before where they part."""
    sides = (
        ("-", _LEFT, change.left, change.left_error, change.left_line),
        ("+", _RIGHT, change.right, change.right_error, change.right_line),
    )
    return Departure(
        change.before,
        tuple(
            DepartureSide(
                sign if line is None else f"{sign} {line}",
                None if text is None else Text(visible(text), style),
                Text(f"raises: {visible(error)}", style),
                Text("(the end)", style),
            )
            for sign, style, text, error, line in sides
        ),
    )


def _trips(found: Comparison) -> Blocks:
    if not found.trips:
        return []
    pairs = [
        (
            f"{visible(change.scenario)}, next {change.next}",
            sentence((change.left, _LEFT), " → ", (change.right, _RIGHT)),
        )
        for change in found.trips
    ]
    return [*_trips_heading(found), *rows(pairs)]


def _trips_heading(found: Comparison) -> Blocks:
    return heading(f"Round trips: {len(found.trips)} of {found.played} verdicts differ")


def _trips_counted(found: Comparison) -> Blocks:
    """Count the round trips by their verdicts before and after."""
    if not found.trips:
        return []
    became = Counter((change.left, change.right) for change in found.trips)
    pairs = [
        (f"{count}", sentence((left, _LEFT), " → ", (right, _RIGHT)))
        for (left, right), count in became.most_common(FIRST)
    ]
    rest = _more(len(became) - FIRST)
    return [*_trips_heading(found), *rows(pairs), *rest]


def _findings(findings: Sequence[FindingChange], most: int | None = None) -> Blocks:
    """List what the rules find anew, then what they find no more."""
    if not findings:
        return []
    ordered = sorted(findings, key=lambda change: not change.appeared)
    pairs = [
        (
            f"{'+' if change.appeared else '-'} {visible(change.finding.code)}",
            Text(visible(change.finding.message), style=_RIGHT if change.appeared else _LEFT),
        )
        for change in ordered[:most]
    ]
    title = heading("Findings that appeared (+) or vanished (-)")
    return [*title, *rows(pairs), *_more(len(ordered) - len(pairs))]
