"""The changes between two templates: for a terminal, as Markdown, and as a page.

For example, a comparison on a terminal begins with

    Better: 6 findings fixed; 3 round trips repaired. Worse: 4 new findings; 4 round
    trips broken; 10 of 10 turns lose the prefix cache (before: 2 of 10).
    -  fixtures/templates/history-last-query.jinja: self-check 47/47
    +  fixtures/templates/history-tool-cycle.jinja: self-check 47/47
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.history.trip_verdict import Outcome
from autoparser.analysis.overview.compared_texts import CONTEXT, RenderChange
from autoparser.analysis.overview.comparison import (
    Comparison,
    FindingChange,
    FindingFate,
    RoundTripsDocument,
)
from autoparser.analysis.overview.format_facts import FactChange, FormatComparison

from .blocks import (
    Block,
    Blocks,
    Departure,
    DepartureSide,
    Facts,
    Fold,
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
from .markdown import cell, markdown_text
from .pages import PageTop, page
from .places import short_name, template_origin
from .terminal import report_text
from .tested_range import asked_rows, equal_words
from .verdict import check_score, verdict_with_basis
from .visible import (
    LEGEND,
    counted_noun,
    cut_text,
    first_names,
    marker_text,
    setting_words,
    shown_count,
    value_words,
    visible,
)

NAMED = 4
"""Conversations named for one difference."""
SETTINGS_NAMED = 3
"""Settings named for one difference."""
WAYS = 12
"""Kinds of differences that are shown."""
FIRST, FIRST_WAYS = 4, 2
"""Differences of a section, and kinds of differences, in the first view."""
ABSENT = "(none)"
"""The words for a fact that one of the two formats lacks."""
NOT_RENDERED = (
    "Renders, round trips and findings were not compared: a saved format has no template."
)
_LEFT, _RIGHT = "red", "green"


def comparison_report(
    comparison: Comparison | FormatComparison, width: int, *, in_full: bool = False
) -> Text:
    """Report on a comparison in lines of at most `width` cells.

    Without `in_full`, each section shows its first differences and counts the rest, round trips are
    counted by verdict, and the requests are omitted if anything differs.
    """
    # Formats and equal templates have nothing to shorten, and the verdict needs its range.
    if isinstance(comparison, FormatComparison) or in_full or comparison.equal:
        return report_text(_whole(comparison), width)
    return report_text(_at_first(comparison), width)


def comparison_markdown(comparison: Comparison | FormatComparison) -> str:
    """Write a comparison as Markdown, for a comment on a pull request."""
    if isinstance(comparison, FormatComparison):
        verdict = "nothing that was learned differs" if comparison.equal else "they differ"
        return markdown_text(f"Formats compared: {verdict}", _whole(comparison))
    title = f"Chat template {cell(template_origin(comparison.right))}"
    return markdown_text(title, _whole(comparison))


def comparison_page(comparison: Comparison | FormatComparison, version: str) -> str:
    """Return the page: one static file that loads no resources."""
    names = f"{short_name(comparison.left)} → {short_name(comparison.right)}"
    badges = [badge("equal", "good") if comparison.equal else badge("different", "doubt")]
    # A failed self-check of either side casts doubt on every difference.
    badges += [
        badge(
            f"{side} {check_score(template_side.check)}",
            "good" if template_side.check.ok else "bad",
        )
        for side, template_side in (("before", comparison.left), ("after", comparison.right))
    ]
    return page(
        PageTop(f"{names} · autoparser compare", "autoparser compare", names, badges),
        [Heading(Text("Summary"), "summary"), *_whole(comparison)],
        version,
    )


def _whole(comparison: Comparison | FormatComparison) -> Blocks:
    if isinstance(comparison, FormatComparison):
        return _format_comparison(comparison)
    asked = [(label, Text(words)) for label, words in asked_rows(comparison)]
    return [
        *_comparison_head(comparison),
        *comparison_blocks(comparison),
        Heading(Text("What was tested"), "asked"),
        *rows(asked),
    ]


def _format_comparison(comparison: FormatComparison) -> Blocks:
    same = "the same text" if comparison.same_text else "different texts"
    alike = "The formats are equal" if comparison.equal else "They differ"
    words = f"{alike}; they were learned from {same}."
    return [
        *_compared_sides(comparison),
        *prose(Text(words, style="green" if comparison.equal else ""), indent=0),
        *prose(Text(NOT_RENDERED, style="dim"), indent=0),
        *_fact_changes(comparison.facts),
    ]


def comparison_blocks(comparison: Comparison) -> Blocks:
    """Show every difference."""
    return [
        *_fact_changes(comparison.facts),
        *_renders(comparison),
        *_trips(comparison.round_trips),
        *_findings(comparison.findings),
    ]


def first_differences(comparison: Comparison) -> Blocks:
    """Show the first differences of each kind."""
    return [
        *_fact_changes(comparison.facts, FIRST),
        *_renders(comparison, FIRST_WAYS),
        *_trips_counted(comparison.round_trips),
        *_findings(comparison.findings, FIRST),
    ]


def _at_first(comparison: Comparison) -> Blocks:
    closing = Text("--full shows everything, with what was tested and what was not.", style="dim")
    return [
        *_comparison_head(comparison),
        *first_differences(comparison),
        *blank(),
        *prose(closing, indent=0),
    ]


def _compared_sides(comparison: Comparison | FormatComparison) -> Blocks:
    sides = (("-", _LEFT, comparison.left), ("+", _RIGHT, comparison.right))
    pairs: list[Row] = [
        (sign, sentence((template_origin(learned), style), ": ", verdict_with_basis(learned.check)))
        for sign, style, learned in sides
    ]
    return rows(pairs, indent=0)


def _comparison_head(comparison: Comparison) -> Blocks:
    drawn = _compared_sides(comparison)
    if comparison.equal:
        return [*drawn, *prose(Text(equal_words(comparison), style="green"), indent=0)]
    # A maintainer asks first whether the change is for the better, then what it does.
    verdict, counts = verdict_sentence(comparison), difference_counts(comparison)
    return [*prose(verdict, indent=0), *drawn, *prose(counts, indent=0)]


def verdict_sentence(comparison: Comparison) -> Text:
    """Return whether the second of two unequal templates is better or worse, and in what."""
    worse, better = list(_effects(comparison, worse=True)), list(_effects(comparison, worse=False))
    if worse and better:
        return sentence(("Better: ", "green"), "; ".join(better), (". Worse: ", "red"), _end(worse))
    if worse:
        return sentence(("Worse: ", "red"), _end(worse))
    if better:
        return sentence(("Better: ", "green"), _end(better))
    words = "The output changes, but is neither better nor worse by findings, round trips and"
    return Text(f"{words} prefix cache.")


def _end(effects: Sequence[str]) -> str:
    return f"{'; '.join(effects)}."


def _effects(comparison: Comparison, *, worse: bool) -> Iterator[str]:
    """Yield what got worse, or better, each with its count."""
    # A finding that only changed is neither better nor worse.
    fates = Counter(change.fate for change in comparison.findings)
    if worse and fates[FindingFate.NEW]:
        yield counted_noun(fates[FindingFate.NEW], "new finding")
    if not worse and fates[FindingFate.FIXED]:
        yield f"{counted_noun(fates[FindingFate.FIXED], 'finding')} fixed"
    changed = comparison.round_trips.changed
    held = [(change.left == Outcome.HOLDS, change.right == Outcome.HOLDS) for change in changed]
    # Worse is what held before and no longer does; better is the reverse.
    trips = sum(before is worse and after is not worse for before, after in held)
    if trips:
        yield f"{counted_noun(trips, 'round trip')} {'broken' if worse else 'repaired'}"
    before, after = comparison.cache
    if (after.lost > before.lost) if worse else (after.lost < before.lost):
        yield (
            f"{after.lost} of {counted_noun(after.turns, 'turn')} lose the prefix cache"
            f" (before: {before.lost} of {before.turns})"
        )
    checks = comparison.left.check, comparison.right.check
    # By failures, not by passing: the second may fail, and still be the better one.
    failed_before, failed_after = (len(check.failures) for check in checks)
    if (failed_after > failed_before) if worse else (failed_after < failed_before):
        yield (
            f"{failed_after} of {checks[1].total} messages fail the self-check"
            f" (before: {failed_before} of {checks[0].total})"
        )


def difference_counts(comparison: Comparison) -> str:
    """Return the number of differences of each kind as a sentence."""
    return f"Differences: {', '.join(_difference_counts(comparison))}."


def _difference_counts(comparison: Comparison) -> Iterator[str]:
    if comparison.facts:
        yield f"{counted_noun(len(comparison.facts), 'fact')} of the format"
    renders, switched = comparison.renders, comparison.renders.under_switches
    if renders.differing:
        yield f"{renders.differing} of {renders.total} renders"
    if switched.differing:
        yield f"{switched.differing} of {switched.total} renders under switches"
    trips = comparison.round_trips
    if trips.changed:
        yield f"{len(trips.changed)} of {trips.total} round trips"
    if not comparison.same_check:
        yield "the self-check"
    if comparison.findings:
        fates = Counter(change.fate for change in comparison.findings)
        words = ", ".join(f"{fates[fate]} {fate.value}" for fate in FindingFate if fates[fate])
        yield f"{counted_noun(len(comparison.findings), 'finding')} ({words})"


def _more(left_out: int) -> Blocks:
    return prose(Text(f"… {left_out} more", style="dim")) if left_out > 0 else []


_OF_THE_TEMPLATE = frozenset({"switches", "generation prompt"})
"""Aspects with names chosen by the template: they are shown as code, where no mention is live."""


def _fact_changes(facts: Sequence[FactChange], most: int | None = None) -> Iterator[Block]:
    if not facts:
        return
    yield from (
        Heading(Text("The format"), "format", str(len(facts))),
        *prose(Text(LEGEND, style="dim")),
    )
    shown = facts[: shown_count(len(facts), most)]
    for aspect, changes in groupby(shown, key=lambda change: change.aspect):
        yield ValueChanges(aspect, tuple(map(_value_change, changes)))
    yield from _more(len(facts) - len(shown))


def _value_change(change: FactChange) -> ValueChange:
    turns = f", in turns of {'; '.join(change.turns)}" if change.turns else ""
    # Switch names come from the template, so escape them.
    words = visible(f"{change.name}{turns}")
    name = code(words) if change.aspect in _OF_THE_TEMPLATE else Text(words)
    return ValueChange(name, _side_text(change.left, _LEFT), _side_text(change.right, _RIGHT))


def _side_words(value: Json) -> str:
    """Return a fact's value as text; values that are not strings as JSON."""
    if value is None:
        return ABSENT
    if isinstance(value, str):
        return marker_text(value) or "(empty)"
    return value_words(value)


def _side_text(value: Json, style: str) -> Text:
    return Text(_side_words(value), style="dim" if value is None else style)


def _where_words(change: RenderChange, usual: Setting) -> str:
    """Return the settings and inputs that a difference needs, such as "only with tools"."""
    settings = [setting for setting in change.under if setting != usual]
    named = " or ".join(
        setting_words(setting) or "nothing set" for setting in settings[:SETTINGS_NAMED]
    )
    if len(settings) > SETTINGS_NAMED:
        named += f" or {len(settings) - SETTINGS_NAMED} other settings"
    only = f"only {' and '.join(change.only)}" if change.only else ""
    return ", ".join(words for words in (f"under {named}" if named else "", only) if words)


def _renders(comparison: Comparison, most: int | None = None) -> Iterator[Block]:
    """Show the differences under the default settings, then those only under switches."""
    renders, under = comparison.renders, comparison.renders.under_switches
    usual = [change for change in renders.changed if comparison.asked.usual in change.under]
    switched = [change for change in renders.changed if comparison.asked.usual not in change.under]
    if usual:
        counts = f"{renders.differing} of {renders.total} differ"
        yield from _ways("renders", f"Renders: {counts}", usual, comparison, most)
    if switched:
        otherwise = " in another way" if usual else ""
        counts = f"{under.differing} of {under.total} differ{otherwise}"
        title = f"Renders under switches: {counts}"
        yield from _ways("renders-under-switches", title, switched, comparison, most)


_RENDERED = (
    "Both templates render each conversation, in the shape that each takes, with the defaults and"
    " under every value of a switch. Differences are grouped by the template line that wrote them;"
    " an excerpt begins shortly before its difference."
)


def _ways(
    anchor: str,
    title: str,
    changes: Sequence[RenderChange],
    comparison: Comparison,
    most: int | None,
) -> Iterator[Block]:
    """Show the first difference of each template line; the others are folded, or counted."""
    ways = f"{len(changes)} way{'s' * (len(changes) != 1)}"
    yield Heading(
        Text(f"{title}, in {ways}"), anchor, short=title.partition(":")[0], lead=_RENDERED
    )
    # A change of one line may differ in five ways, with five excerpts of the same two renders.
    by_line: dict[tuple[int | None, int | None], list[RenderChange]] = {}
    for change in changes if most is not None else changes[:WAYS]:
        by_line.setdefault((change.left_line, change.right_line), []).append(change)
    groups = list(by_line.values())
    shown = shown_count(len(groups), most)
    for first, *others in groups[:shown]:
        yield from prose(_line_words(first, comparison), hang=2)
        yield from _way(first, comparison.asked.usual)
        if not others:
            continue
        more = Text(
            f"{counted_noun(len(others), 'more difference')} from the same line", style="dim"
        )
        if most is None:
            folded = [block for change in others for block in _way(change, comparison.asked.usual)]
            yield Fold(more, folded)
        else:
            yield from prose(more)
    if most is not None:
        yield from _more(sum(map(len, groups[shown:])))
    elif len(changes) > WAYS:
        left_out = counted_noun(len(changes) - WAYS, "more difference")
        yield from prose(f"{left_out}: --format json has all of them")


def _way(change: RenderChange, usual: Setting) -> Blocks:
    return [*prose(_way_words(change, usual), hang=2), _departure(change)]


def _line_words(change: RenderChange, comparison: Comparison) -> Text:
    """Return the template lines that wrote a difference, with their source."""
    left, right = (side.template.text.splitlines() for side in (comparison.left, comparison.right))
    # The newer template comes first: its lines are the ones that can be edited.
    sides = (
        (change.right_line, right, left, "line"),
        (change.left_line, left, right, "before: line"),
    )
    named = [
        (f"{title} {line}", "".join(own[line - 1 : line]), others)
        for line, own, others, title in sides
        if line is not None
    ]
    # If a line was deleted, the newer template's line is one that both have.
    changed = [side for side in named if side[1] not in side[2]]
    if not named:
        return Text("no template line is known", style="dim")
    title, written, _ = (changed or named)[0]
    return sentence((title, "bold"), "  ", code(visible(written.strip())))


def _way_words(change: RenderChange, usual: Setting) -> str:
    """Return in how many renders, where and in which conversations a difference shows."""
    where = _where_words(change, usual)
    named = first_names(change.conversations, NAMED, "; ")
    renders = counted_noun(change.renders, "render")
    return f"{renders}{', ' * bool(where)}{where}: {named}"


_MARGIN = len("    + line 1234  ")
"""Cells before the texts of a difference."""


def _departure(change: RenderChange) -> Departure:
    """Return both texts from shortly before their departure."""
    sides = (
        ("-", "before", _LEFT, change.left, change.left_error, change.left_line),
        ("+", "after", _RIGHT, change.right, change.right_error, change.right_line),
    )
    # Text before it that only one of them has is left out.
    cut = "…" * (len(change.before) < min(change.at, CONTEXT))
    return Departure(
        cut + change.before,
        tuple(
            DepartureSide(
                sign if line is None else f"{sign} line {line}",
                None if text is None else Text(cut_text(text, CONTEXT), style),
                Text(f"raises: {visible(error or '')}", style),
                Text("(the end)", style),
                title if line is None else f"{title}, written by line {line}",
            )
            for sign, title, style, text, error, line in sides
        ),
        margin=_MARGIN,
        places=tuple(map(visible, change.conversations)),
    )


def _trips(trips: RoundTripsDocument) -> Blocks:
    if not trips.changed:
        return []
    pairs = [
        (
            f"{visible(change.scenario)}, next {change.next}",
            sentence((change.left, _LEFT), " → ", (change.right, _RIGHT)),
        )
        for change in trips.changed
    ]
    return [_trips_heading(trips), *rows(pairs)]


def _trips_heading(trips: RoundTripsDocument) -> Heading:
    changed = len(trips.changed)
    return Heading(
        Text(f"Round trips: {changed} of {trips.total} verdicts differ"),
        "round-trips",
        f"{changed}/{trips.total}",
        short="Round trips",
        lead="Whether a sampled turn re-renders exactly in the next prompt, and if not, why.",
    )


def _trips_counted(trips: RoundTripsDocument) -> Blocks:
    """Count the round trips by their verdicts before and after."""
    if not trips.changed:
        return []
    # Many scenarios change for one cause, so the first view counts them by their verdicts.
    became = Counter((change.left, change.right) for change in trips.changed)
    pairs = [
        (f"{count}", sentence((left, _LEFT), " → ", (right, _RIGHT)))
        for (left, right), count in became.most_common(shown_count(len(became), FIRST))
    ]
    return [_trips_heading(trips), *rows(pairs), *_more(len(became) - len(pairs))]


_FATES = {FindingFate.NEW: "red", FindingFate.CHANGED: "", FindingFate.FIXED: "green"}
"""The styles of findings, in the order in which they are listed."""


def _findings(findings: Sequence[FindingChange], most: int | None = None) -> Blocks:
    """List the new findings, the changed and the fixed ones."""
    if not findings:
        return []
    order = list(_FATES)
    ordered = sorted(findings, key=lambda change: order.index(change.fate))
    shown = ordered[: shown_count(len(ordered), most)]
    pairs = [
        (
            f"{change.fate.value} {visible(change.finding.code)}",
            Text(visible(change.finding.message), style=_FATES[change.fate]),
        )
        for change in shown
    ]
    title = Heading(Text("Findings"), "findings", str(len(findings)))
    lines = [change.finding.line for change in shown]
    asides = tuple("" if line is None else f"line {line}" for line in lines)
    # Not by `rows`, which has no asides.
    listed = Facts(tuple(pairs), asides=asides)
    return [title, listed, *_more(len(ordered) - len(pairs))]
