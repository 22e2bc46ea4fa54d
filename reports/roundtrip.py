"""Round trips: a table of scenarios, and for each cause where it breaks and what would fix it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.history.roundtrip import (
    Cause,
    Culprit,
    Difference,
    Outcome,
    RoundTrip,
    Row,
    Verdict,
    advice_of,
    changed,
)
from autoparser.analysis.inference.probing import Setting

from .layout import Lines, blank, heading, joined, prose, report_text, rows, sentence, wrapped
from .provenance import provenance_words
from .setting_words import setting_words
from .verdict import sandbox_words, whole
from .visible import LEGEND, quoted, visible

__all__ = [
    "ABOUT",
    "FAULTS",
    "cause_lines",
    "conditions_of",
    "roundtrip_report",
    "summary_lines",
    "template_lines",
]

_STYLES = {
    Outcome.HOLDS: "green",
    Outcome.BREAKS: "red",
    Outcome.RAISES: "bold red",
}
_COLUMNS = (29, 8, 6, 7)
"""Scenario, next role, string level, token level; the cause has what is left of the line."""
_TITLES = ("scenario", "next", "string", "tokens", "why it breaks")
_GAP = "  "

ABOUT: dict[Cause, str] = {
    Cause.RAISES: "the template raises on the next request",
    Cause.EARLIER: "the template writes the text before the turn otherwise once more messages come",
    Cause.REASONING_DROPPED: "the reasoning of a turn is not in the history any more",
    Cause.HEADER: "the generation prompt writes what a turn in the history does not begin with",
    Cause.REASONING_STRIPPED: "whitespace at the reasoning's edges is lost",
    Cause.CONTENT_STRIPPED: "whitespace at the content's edges is lost",
    Cause.CONTENT_DROPPED: "the content is not in the history",
    Cause.WHITESPACE: "the whitespace between two parts is the template's, not the model's",
    Cause.ENCODED_TWICE: "arguments given as JSON text become JSON text within JSON text",
    Cause.ARGUMENT_FORM: "arguments given as a string are written otherwise than as an object",
    Cause.JSON_SPACING: "JSON is written again with other spaces",
    Cause.JSON_ESCAPES: "JSON is written again with other escapes",
    Cause.LITERALS: "true, false and null are written in another language's words",
    Cause.ORDER: "the arguments are written in another order",
    Cause.VALUES: "an argument's value is written otherwise",
    Cause.IDS: "the calls have other ids than those that the model wrote",
    Cause.CALL_LOST: "a call that the model wrote, whole or not, is not in the history",
    Cause.CALL_REPAIRED: "a call that was not whole was read all the same, and is written whole",
    Cause.END: "what ends a turn in the history is not what stops the model",
    Cause.RETOKENIZED: "the texts agree, and where they meet the tokens do not",
    Cause.REWRITTEN: "the template writes the turn otherwise, and no one change explains it",
}


def roundtrip_report(
    analysis: Analysis | None, found: RoundTrip, width: int, *, in_full: bool = False
) -> Text:
    """Report on round trips, scenario by scenario, in lines of at most ``width`` cells.

    What holds is named in a sentence, and each cause is shown with the first scenario that has
    it; ``in_full`` gives what holds its lines, and shows every scenario that breaks. Without the
    analysis, nothing is said of the template.
    """
    drawn = [
        *([] if analysis is None else template_lines(analysis, width)),
        *summary_lines(found, width),
        *blank(),
        *_table(found, width, in_full=in_full),
        *_conditions(found, width),
        *_left_out(found, width),
        *cause_lines(found, list(Cause), width, in_full=in_full),
    ]
    return report_text(drawn)


def template_lines(analysis: Analysis, width: int) -> Lines:
    """Say which template was played, and whether it is understood."""
    origin = visible(analysis.template.origin or "a text")
    drawn = prose(sentence(f"{origin}: ", whole(analysis.check)), width, indent=0)
    forbidden = sandbox_words(analysis.check)
    if forbidden:
        drawn += prose(Text(f"{forbidden}.", style="red"), width, indent=0)
    came = provenance_words(analysis.template.source)
    if came is not None:
        drawn += prose(sentence(f"It is {came}."), width, indent=0)
    return drawn


def summary_lines(found: RoundTrip, width: int) -> Lines:
    """Count what holds and what breaks, and say what the verdicts rest on."""
    outcomes = [row.verdict.outcome for row in found.rows]
    counts = [
        sentence((f"{outcomes.count(kind)} {_many(kind, outcomes.count(kind))}", style))
        for kind, style in _STYLES.items()
        if kind in outcomes
    ]
    drawn = prose(
        sentence(joined(counts or [Text("no scenario applies")], ", "), "."), width, indent=0
    )
    if found.beyond:
        ended = "A render was" if found.beyond == 1 else f"{found.beyond} renders were"
        words = f"{ended} ended by a limit: conversations such as these are not among the verdicts."
        drawn += prose(sentence((words, "red"), " --timeout raises it."), width, indent=0)
    usual = found.settings[0]
    tried = len(found.settings) - 1
    if found.profile is not None:
        played = f"The engine is {found.profile.engine.name}, as {found.profile.version} does it."
        drawn += prose(played, width, indent=0)
    words = f"The verdicts hold with {setting_words(usual) or 'no switch set'}"
    if tried:
        words += f"; {tried} more setting{'s' * (tried > 1)} tried, those that differ are named"
    if found.untried:
        words += f"; {found.untried} not tried"
    drawn += prose(f"{words}.", width, indent=0)
    drawn += _confirmed(found, width)
    if not found.tokenized:
        drawn += prose("No tokenizer: --tokenizer PATH judges the tokens, too.", width, indent=0)
    for stop, size in found.split_stops:
        warning = sentence(
            ("The stop string ", "yellow"),
            quoted(stop),
            (f" is {size} tokens: is this the model's own tokenizer?", "yellow"),
        )
        drawn += prose(warning, width, indent=0)
    return drawn


def _confirmed(found: RoundTrip, width: int) -> Lines:
    """Count the turns that the template writes itself, before they are varied."""
    reasons = Counter(row.verdict.unconfirmed for row in found.rows)
    total, same = reasons.total(), reasons.pop("", 0)
    if not reasons:
        return []
    why = "; ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
    words = f"The template writes {same} of the {total} sampled turns itself."
    return prose(visible(f"{words} Of the others, which the format wrote, {why}."), width, indent=0)


def _many(kind: Outcome, count: int) -> str:
    one = {Outcome.HOLDS: "holds", Outcome.BREAKS: "breaks", Outcome.RAISES: "raises"}[kind]
    return one if count == 1 else one[:-1]


FAULTS: dict[Culprit, str] = {
    Culprit.TEMPLATE: "The template writes the message otherwise",
    Culprit.ENGINE: "The engine puts something else into the history",
    Culprit.MODEL: "The model writes what no message holds",
}


def _table(found: RoundTrip, width: int, *, in_full: bool) -> Lines:
    """Group what breaks by whose fault it is; what holds comes last, folded."""
    drawn: Lines = []
    for fault, words in FAULTS.items():
        group = [row for row in found.rows if row.verdict.fault is fault]
        if group:
            drawn += [Text(f"{words}: {len(group)}", style="bold"), _line(_TITLES, style="dim")]
            drawn += [line for row in group for line in _row(row, width)]
            drawn += blank()
    holding = [row for row in found.rows if row.verdict.fault is None]
    if not holding:
        return drawn[:-1]
    title = f"What comes back as it was sampled: {len(holding)}"
    if in_full:
        lines = [line for row in holding for line in _row(row, width)]
        return [*drawn, Text(title, style="bold"), _line(_TITLES, style="dim"), *lines]
    return [*drawn, *prose(sentence((f"{title}: ", "bold"), _named(holding)), width, indent=0)]


def _named(rows_: Sequence[Row]) -> str:
    """Name scenarios, each once, with whose message comes next where it is played with several."""
    comers: dict[str, list[str]] = {}
    for row in rows_:
        several = len(row.scenario.next) > 1
        comers.setdefault(visible(row.scenario.name), []).extend([row.next.value] * several)
    return " · ".join(
        f"{name} ({', '.join(coming)})" if coming else name for name, coming in comers.items()
    )


def _conditions(found: RoundTrip, width: int) -> Lines:
    """Say once of each setting under which verdicts differ which those are."""
    notes: dict[str, list[Row]] = {}
    for row in found.rows:
        for words in conditions_of(row, found):
            notes.setdefault(words, []).append(row)
    if not notes:
        return []
    drawn = heading("Under other settings", width)
    for words, differing in notes.items():
        named = sentence((f"{words}: ", ""), (_named(differing), "dim"))
        drawn += prose(named, width, hang=2)
    return drawn


def _row(row: Row, width: int) -> Lines:
    verdict = row.verdict
    cells: list[str | Text] = [
        visible(row.scenario.name),
        row.next.value,
        Text(verdict.outcome.value, style=_STYLES.get(verdict.outcome, "")),
        _tokens(verdict),
    ]
    cause = "" if verdict.cause is None else verdict.cause.value
    column = sum(_COLUMNS) + len(_GAP) * len(_COLUMNS)
    left = wrapped(Text(cells[0] if isinstance(cells[0], str) else ""), _COLUMNS[0], words=True)
    right = wrapped(Text(cause), max(width - column, 10), words=True) or [Text()]
    drawn: Lines = []
    for at in range(max(len(left), len(right))):
        name = left[at] if at < len(left) else Text()
        name.rstrip()
        why = right[at] if at < len(right) else Text()
        rest: list[str | Text] = cells[1:] if not at else ["", "", ""]
        drawn.append(_line([name, *rest, why]))
    return drawn


def _line(cells: Sequence[str | Text], style: str = "") -> Text:
    line = Text(style=style)
    for at, cell in enumerate(cells):
        line.append_text(cell if isinstance(cell, Text) else Text(cell))
        if at < len(_COLUMNS):
            filled = cell_len(cell.plain if isinstance(cell, Text) else cell)
            line.append(" " * max(0, _COLUMNS[at] - filled) + _GAP)
    return line


def _tokens(verdict: Verdict) -> Text:
    tokens = verdict.tokens
    if tokens is None:
        return Text("-", style="dim")
    return Text(f"{tokens.reused}/{tokens.sampled}", style="green" if tokens.holds else "red")


def conditions_of(row: Row, found: RoundTrip) -> Iterator[str]:
    """Say under which settings the verdict is another one."""
    usual = found.settings[0]
    if row.verdict.setting != usual:
        yield f"only with {setting_words(changed(usual, row.verdict.setting))}"
    groups: dict[str, list[Setting]] = {}
    for each in row.differing:
        words = each.outcome.value
        if not each.holds and str(each.cause) != words:
            words += f" ({each.cause})"
        groups.setdefault(words, []).append(changed(usual, each.setting))
    for words, settings in groups.items():
        least = [each for each in settings if not _covered(each, settings)]
        named = " or ".join(setting_words(each) or "no switch set" for each in least)
        yield f"{words} with {named}"


def _covered(setting: Setting, others: Sequence[Setting]) -> bool:
    """Whether a part of this setting has the same verdict."""
    return any(other and other != setting and other.items() <= setting.items() for other in others)


NAMED = 6


def _left_out(found: RoundTrip, width: int) -> Lines:
    reasons: dict[str, list[str]] = {}
    for scenario, _, why in found.left_out:
        names = reasons.setdefault(why, [])
        if scenario.name not in names:
            names.append(scenario.name)
    if not reasons:
        return []
    pairs = [
        (
            f"{len(names)}",
            Text(
                f"{visible(why)}: {', '.join(map(visible, names[:NAMED]))}"
                + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
            ),
        )
        for why, names in reasons.items()
    ]
    return [*heading("Scenarios that do not apply", width), *rows(pairs, width)]


def cause_lines(
    found: RoundTrip, causes: Collection[Cause], width: int, *, in_full: bool = False
) -> Lines:
    """Show the first scenario of each of these causes, or every one, and what would fix it."""
    broken = [row for row in found.rows if row.verdict.cause in causes]
    order = list(FAULTS)
    broken.sort(key=lambda row: order.index(row.verdict.fault or Culprit.TEMPLATE))
    drawn: Lines = []
    seen: set[Cause] = set()
    for row in broken:
        cause = row.verdict.cause
        if cause is None or (cause in seen and not in_full):
            continue
        count = sum(each.verdict.cause is cause for each in broken)
        if cause not in seen:
            drawn += heading(f"{cause.value}: {count} of {len(found.rows)}", width)
            drawn += prose(f"{ABOUT[cause]}.", width)
        seen.add(cause)
        drawn += _example(row, width)
        drawn += rows([(each.reader.value, Text(each.text)) for each in advice_of(row)], width)
    if any(row.verdict.difference is not None for row in broken):
        drawn = [*blank(), *prose(Text(LEGEND, style="dim"), width, indent=0), *drawn]
    return drawn


def _example(row: Row, width: int) -> Lines:
    verdict = row.verdict
    title = f"{visible(row.scenario.name)}, next {row.next.value}"
    if verdict.outcome is Outcome.RAISES:
        return prose(sentence(f"{title}: ", (visible(verdict.reason), "red")), width, hang=2)
    if verdict.difference is None:
        tokens = verdict.tokens
        reused = "" if tokens is None else f"{tokens.reused} of {tokens.sampled} tokens reused"
        return prose(f"{title}: the texts agree, {reused}", width, hang=2)
    drawn = prose(f"{title}, in {verdict.difference.part}:", width, hang=2)
    return [*drawn, *_difference(verdict.difference, width)]


def _difference(difference: Difference, width: int) -> Lines:
    """Show both texts from a little before where they part, one line each."""
    room = max(width - 16, 20)
    before = visible(difference.before)[-room // 3 :]
    while cell_len(before) > -(-room // 3):
        before = before[1:]
    pairs: list[tuple[str, Text]] = []
    for label, text, style in (
        ("sampled", difference.sampled, "green"),
        ("rendered", difference.rendered, "red"),
    ):
        shown = sentence((before, "dim"), (visible(text), style))
        # Some scripts, and the bars of some markers, take two cells a character.
        shown.truncate(room, overflow="crop")
        if not text:
            shown.append("(the end)", style="dim italic")
        pairs.append((label, shown))
    if difference.line is not None:
        pairs.append(("by line", Text(str(difference.line))))
    return rows(pairs, width, indent=4, words=False)
