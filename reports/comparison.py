"""What changed between two templates: for a terminal, as Markdown, and as a page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.overview.compared_texts import RenderChange
from autoparser.analysis.overview.comparison import AskedRenders, Comparison, FindingChange
from autoparser.analysis.overview.format_facts import FactChange, FormatComparison

from .blocks import (
    Blocks,
    Departure,
    DepartureSide,
    Facts,
    Heading,
    Row,
    ValueChange,
    ValueChanges,
    badge,
    blank,
    code,
    prose,
    rows,
    sentence,
)
from .markdown import markdown_text
from .pages import PageTop, page
from .places import origin_of, short_name
from .setting_words import setting_words, value_words
from .terminal import report_text
from .verdict import check_score, verdict_with_basis
from .visible import LEGEND, shown, some_of, visible
from .what_was_asked import asked_rows, equal_words

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
    blocks = _whole(found) if in_full or found.equal else _at_first(found)
    return report_text(blocks, width)


def comparison_markdown(found: Comparison) -> str:
    """Write a comparison as Markdown, for a comment on a pull request."""
    verdict = "no difference in behavior" if found.equal else "they differ"
    return markdown_text(f"Templates compared: {verdict}", _whole(found))


def comparison_page(found: Comparison | FormatComparison, version: str) -> str:
    """Write the page: one file that asks for nothing and runs nothing."""
    names = f"{short_name(found.left)} → {short_name(found.right)}"
    badges = [badge("equal", "good") if found.equal else badge("they differ", "doubt")]
    badges += [
        badge(f"{side} {check_score(each.check)}", "good" if each.check.ok else "bad")
        for side, each in (("before", found.left), ("after", found.right))
    ]
    blocks = _learned(found) if isinstance(found, FormatComparison) else _whole(found)
    return page(
        PageTop(f"{names} · autoparser compare", "autoparser compare", names, badges),
        [Heading(Text("Summary"), "summary"), *blocks],
        version,
    )


def _whole(found: Comparison) -> Blocks:
    asked = [(label, Text(words)) for label, words in asked_rows(found)]
    return [
        *_head(found),
        *_facts(found.facts),
        *_renders(found),
        *_trips(found),
        *_findings(found.findings),
        Heading(Text("What was asked"), "asked"),
        *rows(asked),
    ]


def _at_first(found: Comparison) -> Blocks:
    closing = Text("--full shows all, and what was asked and what was not.", style="dim")
    return [
        *_head(found),
        *_facts(found.facts, FIRST),
        *_renders(found, FIRST_WAYS),
        *_trips_counted(found),
        *_findings(found.findings, FIRST),
        *blank(),
        *prose(closing, indent=0),
    ]


def format_comparison_report(found: FormatComparison, width: int) -> Text:
    """Show what differs in what was learned of two templates, nothing being rendered."""
    return report_text(_learned(found), width)


def format_comparison_markdown(found: FormatComparison) -> str:
    """Write what differs in what was learned as Markdown."""
    verdict = "nothing that was learned differs" if found.equal else "they differ"
    return markdown_text(f"Formats compared: {verdict}", _learned(found))


def _learned(found: FormatComparison) -> Blocks:
    same = "the same text" if found.same_text else "different texts"
    alike = "The formats are alike" if found.equal else "They differ"
    words = f"{alike}; they were learned from {same}."
    return [
        *_compared_sides(found),
        *prose(Text(words, style="green" if found.equal else ""), indent=0),
        *prose(Text(NOT_RENDERED, style="dim"), indent=0),
        *_facts(found.facts),
    ]


def _compared_sides(found: Comparison | FormatComparison) -> Blocks:
    sides = (("-", _LEFT, found.left), ("+", _RIGHT, found.right))
    pairs: list[Row] = [
        (sign, sentence((origin_of(learned), style), ": ", verdict_with_basis(learned.check)))
        for sign, style, learned in sides
    ]
    return rows(pairs, indent=0)


def _head(found: Comparison) -> Blocks:
    drawn = _compared_sides(found)
    if found.equal:
        return [*drawn, *prose(Text(equal_words(found), style="green"), indent=0)]
    return [*drawn, *prose(f"They differ: {', '.join(_counted(found))}.", indent=0)]


def _counted(found: Comparison) -> Iterator[str]:
    """Count what differs."""
    if found.facts:
        yield f"{len(found.facts)} fact{'s' * (len(found.facts) != 1)} of the format"
    if found.renders:
        yield from _counted_renders(found.asked)
    if found.trips:
        yield f"{len(found.trips)} of {found.trip_count} round trips"
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


_OF_THE_TEMPLATE = frozenset({"switches", "generation prompt"})
"""Aspects whose names the template chooses: they stand in code, where nothing is a mention."""


def _facts(facts: Sequence[FactChange], most: int | None = None) -> Blocks:
    if not facts:
        return []
    drawn: Blocks = [
        Heading(Text("The format"), "format", str(len(facts))),
        *prose(Text(LEGEND, style="dim")),
    ]
    for aspect, changes in groupby(facts[:most], key=lambda change: change.aspect):
        drawn.append(ValueChanges(aspect, tuple(map(_value_change, changes))))
    return drawn + _more(len(facts) - len(facts[:most]))


def _value_change(change: FactChange) -> ValueChange:
    turns = f", in turns of {'; '.join(change.turns)}" if change.turns else ""
    words = visible(f"{change.name}{turns}")
    name = code(words) if change.aspect in _OF_THE_TEMPLATE else Text(words)
    return ValueChange(name, _value(change.left, _LEFT), _value(change.right, _RIGHT))


def _side_words(value: Json) -> str:
    """Return a fact's value as text; what is not text as JSON."""
    if value is None:
        return ABSENT
    if isinstance(value, str):
        return shown(value) or "(empty)"
    return value_words(value)


def _value(value: Json, style: str) -> Text:
    return Text(_side_words(value), style="dim" if value is None else style)


def _where_words(change: RenderChange, asked: AskedRenders) -> str:
    """Say under which settings and beside what a difference shows, such as "only with tools"."""
    settings = [each for each in change.under if each != asked.usual]
    named = " or ".join(setting_words(each) or "nothing set" for each in settings[:SETTINGS_NAMED])
    if len(settings) > SETTINGS_NAMED:
        named += f" or {len(settings) - SETTINGS_NAMED} other settings"
    only = f"only {' and '.join(change.only)}" if change.only else ""
    return ", ".join(words for words in (f"under {named}" if named else "", only) if words)


def _in_conversations(change: RenderChange) -> str:
    """Name the first conversations in which a difference shows, and count the others."""
    return some_of(change.conversations, NAMED, "; ")


def _renders(found: Comparison, most: int | None = None) -> Blocks:
    """Show the ways that show with nothing set, then those that show under switches alone."""
    asked = found.asked
    usual = [each for each in found.renders if asked.usual in each.under]
    switched = [each for each in found.renders if asked.usual not in each.under]
    drawn: Blocks = []
    if usual:
        counts = f"{asked.differing} of {asked.renders} differ"
        drawn += _ways("renders", f"Renders: {counts}", usual, asked, most)
    if switched:
        otherwise = " in another way" if usual else ""
        counts = f"{asked.switched_differing} of {asked.switched} differ{otherwise}"
        title = f"Renders under switches: {counts}"
        drawn += _ways("renders-under-switches", title, switched, asked, most)
    return drawn


_RENDERED = (
    "Each conversation is rendered by both, in the shape that each takes, with nothing set and"
    " under every value of a switch. What differs in the same way stands together; what is shown"
    " begins a little before that place."
)


def _ways(
    anchor: str,
    title: str,
    changes: Sequence[RenderChange],
    asked: AskedRenders,
    most: int | None,
) -> Blocks:
    ways = f"{len(changes)} way{'s' * (len(changes) != 1)}"
    drawn: Blocks = [
        Heading(Text(f"{title}, in {ways}"), anchor, short=title.partition(":")[0], lead=_RENDERED)
    ]
    for change in changes[:WAYS][:most]:
        drawn += [*prose(_way_words(change, asked), hang=2), _departure(change)]
    left_out = len(changes) - WAYS
    if most is not None:
        drawn += _more(len(changes) - most)
    elif left_out > 0:
        more = f"{left_out} more way{'s' * (left_out != 1)}"
        drawn += prose(f"{more}: --format json has all of them")
    return drawn


def _way_words(change: RenderChange, asked: AskedRenders) -> str:
    """Say in how many renders, where and in which conversations a difference shows."""
    where = _where_words(change, asked)
    return f"{change.renders}{', ' * bool(where)}{where}: {_in_conversations(change)}"


def _departure(change: RenderChange) -> Departure:
    """Return both texts from a little before where they part."""
    sides = (
        ("-", "before", _LEFT, change.left, change.left_error, change.left_line),
        ("+", "after", _RIGHT, change.right, change.right_error, change.right_line),
    )
    return Departure(
        change.before,
        tuple(
            DepartureSide(
                sign if line is None else f"{sign} {line}",
                None if text is None else Text(visible(text), style),
                Text(f"raises: {visible(error)}", style),
                Text("(the end)", style),
                title if line is None else f"{title}, written by line {line}",
            )
            for sign, title, style, text, error, line in sides
        ),
        places=tuple(map(visible, change.conversations)),
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
    return [_trips_heading(found), *rows(pairs)]


def _trips_heading(found: Comparison) -> Heading:
    return Heading(
        Text(f"Round trips: {len(found.trips)} of {found.trip_count} verdicts differ"),
        "round-trips",
        f"{len(found.trips)}/{found.trip_count}",
        short="Round trips",
        lead="Whether a sampled turn comes back in the next prompt, and if not, why.",
    )


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
    return [_trips_heading(found), *rows(pairs), *rest]


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
    title = Heading(
        Text("Findings that appeared (+) or vanished (-)"),
        "findings",
        str(len(findings)),
        short="Findings",
    )
    lines = [change.finding.line for change in ordered[:most]]
    asides = tuple("" if line is None else f"line {line}" for line in lines)
    listed = Facts(tuple(pairs), asides=asides)
    return [title, listed, *_more(len(ordered) - len(pairs))]
