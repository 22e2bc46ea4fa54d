"""The reports on an analysis: the whole, put together from its sections, and the first screen.

The screen has what a person wants to know first, each thing once.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from msgspec import structs
from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.call_format import ArgumentForm, CallFormat, CallLimit
from autoparser.analysis.core.conversation import Message, Presence
from autoparser.analysis.core.message_shape import StringArguments
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.formats.saved_format import SavedFormat
from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt

from .blocks import Blocks, Row, blank, entry_blocks, heading, joined, prose, rows, sentence
from .example import (
    ExampleSpan,
    call_parts,
    call_section,
    cut_at_prompt,
    example_message,
    turn_notes,
    turn_section,
    turn_spans,
    type_words,
)
from .findings import findings_section, findings_words, unwritten_rows
from .phases import PAIRS, marker_section, phase_entries, phases_section
from .places import provenance_words
from .settings import settings_section, stops_section, stops_words
from .summary import absent_words, kept_words, limit_words, summary_section, wants_words
from .switches import screen_switches, switch_section
from .terminal import Lines, drawn_lines, fact_lines, report_text, text_of
from .verdict import check_section, gate_score, gate_section, gate_style, verdict_text
from .visible import doubt, literal, quoted, setting_words, visible
from .what_was_asked import bounds_section, tools_in_prompt_section


def analysis_report(
    analysis: Analysis,
    width: int,
    *,
    diffs: bool = False,
    unwritten: Sequence[str] = (),
    tools: ToolsInPrompt | None = None,
) -> Text:
    """Report on an analysis in lines of at most ``width`` cells.

    ``diffs`` adds every phase in full. ``unwritten`` are added tokens of the model's tokenizer that
    no render writes, ``tools`` what becomes of tools that were given. What does not pass stands at
    the end.
    """
    token_rows = rows(list(unwritten_rows(analysis, unwritten)), indent=0)
    tokens = [*blank(), *token_rows] if token_rows else []
    opened = [finding.phase for finding in analysis.phases] if diffs else []
    drawn = [*_format(analysis), *tokens, *phases_section(analysis, opened)]
    drawn += [] if tools is None else tools_in_prompt_section(tools)
    return report_text([*drawn, *bounds_section(analysis), *_faults(analysis)], width)


def saved_report(saved: SavedFormat, width: int) -> Text:
    """Report on a saved format: all but the renders."""
    return report_text([*_format(saved), *phases_section(saved), *_faults(saved)], width)


def section_report(learned: LearnedFormat, name: str, width: int) -> Text:
    """Return one of the `SECTIONS` alone."""
    drawn = SECTIONS[name](learned)
    if not drawn:
        drawn = prose(f"{name}: there is nothing to show", indent=0)
    return report_text(drawn, width, first_gap=False)


def _format(learned: LearnedFormat) -> Blocks:
    return [block for name in _OF_FORMAT for block in SECTIONS[name](learned)]


def _faults(learned: LearnedFormat) -> Blocks:
    gate = [] if learned.gate.ok else gate_section(learned)
    return [*check_section(learned, passing=False), *gate]


SECTIONS: Mapping[str, Callable[[LearnedFormat], Blocks]] = {
    "summary": summary_section,
    "findings": findings_section,
    "markers": marker_section,
    "switches": switch_section,
    "settings": settings_section,
    "call": call_section,
    "turn": turn_section,
    "stops": stops_section,
    "phases": phases_section,
    "asked": bounds_section,
    "faults": _faults,
}
"""What a report is made of, by name, in its order."""

_OF_FORMAT = ("summary", "findings", "markers", "switches", "settings", "call", "turn")
"""Without the stops, which the summary names."""


def phases_report(analysis: Analysis, phases: Sequence[str], width: int) -> Text:
    """Show these phases in full, in the order of the phases."""
    origin = visible(analysis.template.origin or "a text")
    drawn = [
        *prose(sentence(f"{origin}: ", verdict_text(analysis.check)), indent=0),
        *prose(PAIRS, indent=0),
    ]
    for entry in phase_entries(analysis, phases):
        drawn += entry_blocks(entry, "Phase") if entry.opened else []
    return report_text(drawn, width)


LABEL = len("Reasoning")
MOST = 3
"""Lines that one row takes."""
HEIGHT = 40
"""Lines of a screen; a turn is cut to what is left of them."""


def screen_report(
    learned: LearnedFormat,
    width: int,
    unwritten: Sequence[str] = (),
    tools: ToolsInPrompt | None = None,
) -> Text:
    """Return the first screen: at most 40 lines of 80 cells, and what becomes of `tools` below it.

    `unwritten` are added tokens of the model's tokenizer that no render writes.
    """
    head = _short_rows(_head(learned), width)
    rest = [
        *screen_switches(learned, width),
        Text(),
        *_short_rows(screen_rows(learned), width),
        *_short_rows(unwritten_rows(learned, unwritten), width),
        *_short_rows([("Next", _next(learned, width - LABEL - 2))], width),
    ]
    drawn = [*head, *screen_turn(learned, width, HEIGHT - len(head) - len(rest)), *rest]
    more = [] if tools is None else tools_in_prompt_section(tools)
    return text_of([*drawn, *drawn_lines(more, width)])


def _short_rows(pairs: Iterable[Row], width: int) -> Lines:
    drawn: Lines = []
    for row in pairs:
        lines = fact_lines([row], width, indent=0, label=LABEL)
        if len(lines) > MOST:
            lines = lines[:MOST]
            lines[-1].truncate(width - 2)
            lines[-1].append(" …", style="dim")
        drawn += lines
    return drawn


def _head(learned: LearnedFormat) -> Iterator[Row]:
    template = learned.template
    origin = Text(visible(template.origin or "a text"))
    if template.name not in (None, "default"):
        origin.append(f" (named {visible(str(template.name))})")
    provenance = provenance_words(template.source)
    if provenance is not None:
        origin.append(f", {provenance}")
    if isinstance(learned, SavedFormat):
        origin.append(f", read from the saved format {visible(learned.file)}")
    yield "Template", origin
    yield "Verdict", _verdict(learned)


def _verdict(learned: LearnedFormat) -> Text:
    """Give both scores, and what they mean in a word."""
    gate = learned.gate
    verdict = verdict_text(learned.check)
    if gate.asked:
        verdict = sentence(verdict, ", ", (gate_score(gate), gate_style(learned)))
    if len(learned.formats) > 1:
        failed = sum(not check.ok for check in learned.checks)
        verdict.append(f" ({len(learned.formats)} formats")
        verdict.append(f", {failed} fail)" if failed else ")")
    if learned.ok:
        return verdict.append(": as the template renders")
    own_form = learned.gate.own_form_ok and not any(check.failures for check in learned.checks)
    return verdict.append(": spoiled as users send it" if own_form else ": not as it renders")


def screen_rows(learned: LearnedFormat) -> Iterator[Row]:
    """Return what no example shows: what callers give, what is kept, where a turn stops."""
    format_ = learned.formats.united
    if format_.reasoning is None:
        yield "Reasoning", Text(absent_words(learned, Presence(reasoning=True)))
    else:
        field = learned.shape.reasoning_field
        cut = "cut out of the content" if format_.reasoning_cut else "no field brings it in"
        given = f"given as {visible(field)}" if field else cut
        yield "Reasoning", sentence(given, kept_words(format_.retention))
    if format_.calls is None:
        yield "Calls", Text(absent_words(learned, Presence(calls=True)))
    else:
        yield "Calls", Text(f"{limit_words(format_.calls)}; {_arguments(learned)}")
    wants = wants_words(learned)
    if wants:
        yield "It wants", Text("; ".join(wants))
    yield "Stops", stops_words(learned)
    yield "Findings", findings_words(learned)


def _arguments(learned: LearnedFormat) -> str:
    """Say in which form callers give arguments; a form that is lost is among the findings."""
    if learned.formats.united.argument_form is ArgumentForm.STRING:
        return "arguments are given as JSON text"
    also = {
        StringArguments.SAME: ", or as JSON text",
        StringArguments.PASTED: ", or as JSON text, which is pasted as it is",
    }
    texts = learned.string_arguments
    return f"arguments are given as an object{also.get(texts, '') if texts else ''}"


def _next(learned: LearnedFormat, width: int) -> Text:
    """Name the command that tells most that is not here, so that it can be copied."""
    words = ("lint", "") if learned.ok else ("analyze", " --show faults")
    source = shlex.quote(visible(learned.template.origin or "-"))
    command = source.join((f"autoparser {words[0]} ", words[1]))
    if len(command) > width:
        command = command.replace(source, "TEMPLATE")
    return Text(command)


MARKUP, PROMPT, VARIABLE, SPOKEN = "cyan", "dim cyan", "italic magenta", ""
_WRITTEN = {"name": "bold yellow", "argument's key": "blue", "argument's value": "green"}
"""What a model writes in a call by its style; all else that it writes is plain."""

LONGEST, SHORTEST = 18, 8
"""Lines of a turn; a second call is only shown where all of it fits."""
LINE_LONGEST = 400
"""Characters of a line that are shown."""


def screen_turn(learned: LearnedFormat, width: int, height: int) -> Lines:
    """Draw a turn on about `height` lines, of what looks like a constant and is none its name."""
    format_ = learned.formats.united
    message = example_message(format_)
    notes = drawn_lines(_note_blocks(format_, message), width)
    longest = min(max(height - len(notes) - 2, SHORTEST), LONGEST)
    drawn = fact_lines(list(_part_rows(learned, message)), width, words=False)
    if len(drawn) > longest and len(message.calls) > 1:
        message = structs.replace(message, calls=message.calls[:1])
        drawn = fact_lines(list(_part_rows(learned, message)), width, words=False)
        notes = drawn_lines(_note_blocks(format_, message), width)
    if len(drawn) > longest:
        hidden = len(drawn) - longest + 1
        drawn = drawn[: longest - 1]
        more = prose(Text(f"… {hidden} more lines: --show turn", style="dim"))
        drawn += drawn_lines(more, width)
    return [*drawn_lines(heading(_title(learned)), width), *drawn, *notes]


def _note_blocks(format_: TurnFormat, message: Message) -> Blocks:
    return [block for note in _notes(format_, message) for block in prose(note)]


def _title(learned: LearnedFormat) -> str:
    formats = learned.formats
    setting = formats.fullest.setting
    under = "" if setting == formats.base else f" with {setting_words(setting)}"
    return f"A turn{under}, as the model writes it after the prompt"


def _part_rows(learned: LearnedFormat, message: Message) -> Iterator[Row]:
    """Return a row for every line of every part; a part that goes on in a line begins a new one."""
    format_ = learned.formats.united
    spans = turn_spans(format_, learned.markers, format_.with_naming_ids(message))
    begun = learned.formats.under(format_.setting)
    prompt = "" if begun is None or begun.opening is None else begun.opening.text
    before, after = cut_at_prompt(spans, prompt)
    if before:
        yield from _lines("prompt", [ExampleSpan("", span.text) for span in before], PROMPT)
    for part, group in groupby(_by_part(after), key=lambda pair: pair[0]):
        inner = [each for _, span in group for each in call_parts(format_, message, span)]
        yield from _lines(part, inner, MARKUP)


def _by_part(spans: Sequence[ExampleSpan]) -> Iterator[tuple[str, ExampleSpan]]:
    """Put to each span the part that it belongs to.

    Markup between two parts, and whitespace that the second one's markup begins with, go with the
    first: what ends a line stands in that line.
    """
    part = ""
    for span in spans:
        first = span.label.partition(" ")[0]
        inner = span.text if span.written else span.text.lstrip()
        if part and len(inner) < len(span.text):
            yield part, replace(span, text=span.text[: len(span.text) - len(inner)])
        if first not in ("between", "separator"):
            part = {"header": "opens", "turn": "ends", "call": span.label}.get(first, first)
        left = inner if part else span.text
        if left:
            yield part, replace(span, text=left)


def _lines(label: str, spans: Sequence[ExampleSpan], markup: str) -> Iterator[Row]:
    line = Text()
    for span in spans:
        if span.variable:
            line.append(f"«{visible(span.variable)}»", style=VARIABLE)
            continue
        style = _WRITTEN.get(span.label, SPOKEN) if span.written else markup
        for each in _LINE.findall(span.text):
            line.append(visible(each[:LINE_LONGEST]), style=style)
            if each.endswith("\n"):
                yield label, _edged(line)
                label, line = "", Text()
    if line:
        yield label, _edged(line)


_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_EDGE = re.compile(r"^ +| +(?=↵?$)")


def _edged(line: Text) -> Text:
    """Show the spaces at the edges of a line, which nobody would see."""
    line.plain = _EDGE.sub(lambda match: "␣" * len(match.group()), line.plain)
    return line


def _notes(format_: TurnFormat, message: Message) -> Iterator[Text]:
    """Say what the example cannot show: what its variables stand for, and what is not in it."""
    calls = format_.calls
    variables = [*_variables(calls, message)] if calls is not None and message.calls else []
    if variables:
        yield joined(variables, "; ")
    for note in turn_notes(format_, message):
        yield Text(note)
    if TurnPart.CALLS in format_.unconfirmed:
        yield sentence("calls", doubt())


def _variables(calls: CallFormat, message: Message) -> Iterator[Text]:
    several = calls.limit is CallLimit.MANY and len(message.calls) == 1
    if several and calls.separator.strip():
        yield sentence("another call after ", quoted(calls.separator))
    for word in calls.free_words:
        usual = str(calls.row[word.piece])[word.start : word.end]
        yield Text(f"«{visible(usual)}»: usually that word")
    if calls.naming is not None:
        shown = calls.naming.write("weather", calls.index_base)
        yield sentence("«id» names the function", *_as_in(shown, has_row=bool(calls.naming.row)))
    spoken = type_words(calls.arguments).spoken
    if not spoken:
        return
    most = max(spoken, key=lambda pair: len(pair[1]))
    type_meanings = [
        f"{word} for {'any other' if pair == most and len(kinds) > 1 else ', '.join(kinds)}"
        for pair in sorted(spoken, key=lambda pair: pair == most)
        for word, kinds in [pair]
    ]
    yield Text(f"«type»: {', '.join(type_meanings)}")


def _as_in(example_call: str, *, has_row: bool) -> tuple[Text, ...]:
    return (Text(", as in "), literal(example_call)) if has_row else ()
