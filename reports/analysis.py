"""The reports on an analysis: the first screen, and the full report, built from its sections.

The screen shows the most important facts first, and states each fact once. For example, its turn of
the template that `autoparser demo` writes is

    A turn, as the model writes it after the prompt
      prompt     ::assistant↵
      reasoning  ::why Two cities, so two lookups. ::/why↵
      content    Let me look.↵
      call 1     ::do weather with {"city": "Rio", "day": 3} done::
      call 2     like call 1, after `↵`
      ends       ↵::over↵
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

from msgspec import structs
from msgspec.structs import replace
from rich.text import Text

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.call_format import ArgumentForm
from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Message, Presence
from autoparser.analysis.core.message_shape import StringArguments
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.formats.saved_format import SavedFormat
from autoparser.analysis.learning.tools_in_prompt import ToolsInPrompt

from .blocks import Blocks, Row, blank, entry_blocks, join_texts, prose, rows, sentence
from .example import (
    ExampleSpan,
    call_part_spans,
    call_parts,
    call_section,
    cut_at_prompt,
    example_message,
    turn_notes,
    turn_section,
    turn_spans,
)
from .findings import OwnFinding, findings_section, findings_words, own_findings, unwritten_rows
from .phases import PAIRS, marker_section, phase_entries, phases_section
from .places import provenance_words
from .serving import serving_section
from .settings import settings_section, stops_section, stops_words
from .summary import NO_FIELD, absent_words, kept_words, limit_words, summary_section, wants_words
from .switches import screen_switches, switch_section
from .terminal import (
    HEADING_STYLE,
    NARROWEST,
    Lines,
    cut_at_word,
    drawn_lines,
    fact_lines,
    joined_lines,
    next_line,
    packed_lines,
    report_text,
)
from .tested_range import bounds_section
from .tools_in_prompt import tools_in_prompt_section
from .verdict import check_section, format_verdict, gate_section, verdict_text
from .visible import doubt, quote_marker, setting_words, template_word, visible


def analysis_report(
    analysis: Analysis,
    width: int,
    *,
    diffs: bool = False,
    unwritten: Sequence[str] = (),
    tools: ToolsInPrompt | None = None,
) -> Text:
    """Report on an analysis in lines of at most `width` cells.

    `diffs` adds every phase in full. `unwritten` are added tokens of the model's tokenizer that no
    render contains, `tools` shows how offered tools are rendered. Failed checks come last.
    """
    token_rows = rows(list(unwritten_rows(analysis, unwritten)), indent=0)
    tokens = [*blank(), *token_rows] if token_rows else []
    opened = [finding.phase for finding in analysis.phases] if diffs else []
    # Tokens that no render contains come after the format, which may lack them.
    drawn = [*_format(analysis), *tokens, *phases_section(analysis, opened)]
    drawn += [] if tools is None else tools_in_prompt_section(tools)
    # The end of a long report is what a terminal still shows without scrolling.
    return report_text([*drawn, *bounds_section(analysis), *_faults(analysis)], width)


def saved_report(saved: SavedFormat, width: int) -> Text:
    """Report on a saved format: everything but the renders."""
    return report_text([*_format(saved), *phases_section(saved), *_faults(saved)], width)


def section_report(learned: LearnedFormat, name: str, width: int) -> Text:
    """Return a single section of `SECTIONS`."""
    drawn = SECTIONS[name](learned)
    if not drawn:
        drawn = prose(f"{name}: nothing to show", indent=0)
    # A section alone is the whole output, which begins without an empty line.
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
    "serve": serving_section,
    "phases": phases_section,
    "asked": bounds_section,
    "faults": _faults,
}
"""The sections of a report by name, in display order."""

_OF_FORMAT = ("summary", "findings", "markers", "switches", "settings", "call", "turn")
"""Sections of a saved format. It has no section of stops: the summary names them."""


def phases_report(analysis: Analysis, phases: Sequence[str], width: int) -> Text:
    """Show these phases in full, in the order in which they ran."""
    origin = visible(analysis.template.origin or "a text")
    drawn = [
        *prose(sentence(f"{origin}: ", verdict_text(analysis.check)), indent=0),
        *prose(PAIRS, indent=0),
    ]
    for entry in phase_entries(analysis, phases):
        drawn += entry_blocks(entry, "Phase") if entry.opened else []
    return report_text(drawn, width)


LABEL = len("Reasoning")
"""Width of the column of labels, in cells: the longest label."""
HEIGHT = 22
"""Lines of a screen: a terminal of 24 lines also shows the command and its prompt."""
TEMPLATE_LINES = 3
"""Lines of the template's row, whose path may be long."""
VERDICT_LINES = 4
"""Lines of the verdict, which a smaller screen does not shorten."""
SHRUNK = ((3, 4, 1), (1, 4, 1), (1, 3, 1), (1, 2, 1), (1, 2, 0))
"""Lines per row, lines of switches, gap between both: tried in turn while a screen is too high."""
POINTERS = {"Stops": "--show stops", "Findings": "--show findings"}
"""The option that shows a shortened row in full; `--full` for all others."""


def screen_report(
    learned: LearnedFormat,
    width: int,
    unwritten: Sequence[str] = (),
    tools: ToolsInPrompt | None = None,
) -> Text:
    """Return the first screen, at most `HEIGHT` lines of 80 cells, and how `tools` are rendered.

    The verdict and the next command come last. `unwritten` are added tokens of the model's
    tokenizer that no render writes.
    """
    # Not counted in `HEIGHT`: who passes tools asks for this section, however long it is.
    asked = [] if tools is None else drawn_lines(tools_in_prompt_section(tools), width)
    about, found = [*screen_rows(learned)], own_findings(learned)
    # Computed once: the loop below draws the rows for several heights.
    worst = [("Findings", findings_words(learned, found))]
    verdict = _short_rows([("Verdict", format_verdict(learned))], width, VERDICT_LINES)
    command = _next(learned, found, width, unwritten)
    head = _short_rows(_head_rows(learned, width), width, TEMPLATE_LINES)
    turn: Lines = []
    rest: Lines = []
    room = HEIGHT
    for most, switches, gap in SHRUNK:
        rest = [
            # The heading's own empty line is dropped together with the gap below the switches.
            *screen_switches(learned, width, switches)[1 - gap :],
            *[Text()] * gap,
            *_short_rows(about, width, 1),
            *_short_rows(unwritten_rows(learned, unwritten), width, most),
            *([*asked, Text()] if asked else []),
            *_short_rows(worst, width, most),
            *verdict,
            command,
        ]
        # A terminal breaks a command that is longer than its line.
        broken = (command.cell_len - 1) // width
        room = HEIGHT - broken + len(asked) + bool(asked) - len(head) - len(rest)
        turn = screen_turn(learned, width, room)
        if len(turn) <= room:
            break
    else:
        # With the smallest rows there is still too little room, so the turn loses lines.
        turn = screen_turn(learned, width, room, cut=True)
    return joined_lines([*head, *([Text()] if len(turn) < room else []), *turn, *rest])


def _short_rows(pairs: Iterable[Row], width: int, most: int) -> Lines:
    drawn: Lines = []
    for label, words in pairs:
        lines = fact_lines([(label, words)], width, indent=0, label=LABEL)
        if len(lines) > most:
            pointer = POINTERS.get(str(label), "--full")
            lines = lines[:most]
            # Three cells are for the ellipsis and the spaces beside it.
            cut_at_word(lines[-1], width - len(pointer) - 3)
            lines[-1].append(f" … {pointer}", style="dim")
        drawn += lines
    return drawn


def _head_rows(learned: LearnedFormat, width: int) -> Iterator[Row]:
    template = learned.template
    name = visible(template.origin or "a text")
    room = width - LABEL - 2
    # Keep the end of a long path, which names the file.
    origin = Text(name if len(name) <= room else f"…{name[1 - room :]}")
    if template.name not in (None, "default"):
        # `default` is the name of a template that has no other.
        origin.append(f" (named {visible(str(template.name))})")
    provenance = provenance_words(template.source)
    if provenance is not None:
        origin.append(f", {provenance}")
    if isinstance(learned, SavedFormat):
        origin.append(f", read from the saved format {visible(learned.file)}")
    yield "Template", origin


def screen_rows(learned: LearnedFormat) -> Iterator[Row]:
    """Return facts that no example shows: expected input, kept reasoning, stop strings."""
    format_ = learned.formats.united
    if format_.reasoning is None:
        yield "Reasoning", Text(absent_words(learned, Presence(reasoning=True)))
    else:
        # A template may cut reasoning out of the content and read no field of its own.
        field = learned.shape.reasoning_field
        cut = "cut from content" if format_.reasoning_cut else NO_FIELD
        given = f"field {visible(field)}" if field else cut
        yield "Reasoning", sentence(given, kept_words(format_.retention))
    if format_.calls is None:
        yield "Calls", Text(absent_words(learned, Presence(calls=True)))
    # Limits and forms of arguments are known only of rendered calls.
    elif TurnPart.CALLS in format_.unconfirmed:
        yield "Calls", Text("described in the prompt, but never rendered")
    else:
        yield "Calls", Text(f"{limit_words(format_.calls)}; {_arguments(learned)}")
    wants = wants_words(learned)
    if wants:
        yield "Expects", Text("; ".join(wants))
    yield "Stops", stops_words(learned)


def _arguments(learned: LearnedFormat) -> str:
    """Return the forms of arguments that callers pass.

    A form that is lost in silence is among the findings instead.
    """
    if learned.formats.united.argument_form is ArgumentForm.STRING:
        return "arguments: JSON string"
    also = {
        StringArguments.SAME: " or JSON string",
        StringArguments.PASTED: " or JSON string (inserted verbatim)",
        StringArguments.RAISES: " (raises on a JSON string)",
    }
    texts = learned.string_arguments
    return f"arguments: object{also.get(texts, '') if texts else ''}"


def _next(
    learned: LearnedFormat, found: Sequence[OwnFinding], width: int, unwritten: Sequence[str]
) -> Text:
    """Return the most useful next command, ready to be copied."""
    fixes = [finding.fix for finding in found if finding.fix is not None]
    # A format that fails its checks comes first: all other commands build on it.
    source = template_word(learned.template)
    if not learned.ok:
        arguments = f"analyze {source} --show faults"
    elif fixes:
        arguments = f"fix {source}{fixes[0]}"
    elif learned.lacks_calls or unwritten:
        arguments = f"learn {source} --examples FILE"
    else:
        arguments = f"lint {source}"
    return next_line(arguments, width, LABEL)


MARKUP, PROMPT, VARIABLE, SPOKEN = "cyan", "dim cyan", "italic magenta", ""
_WRITTEN = {
    "name": "bold yellow",
    "argument's key": "blue",
    "argument's value": "green",
    **dict.fromkeys(("id", "index", "type", "usual word"), VARIABLE),
}
"""The style of the model's own words in a call; words without a style are plain."""

LINE_LONGEST = 400
"""Longest line that is shown, in characters."""

Part: TypeAlias = tuple[str, Lines]
"""A part of a turn: its name and its lines."""


def screen_turn(learned: LearnedFormat, width: int, height: int, *, cut: bool = False) -> Lines:
    """Draw a turn in at most `height` lines, if that is possible.

    A turn that is too high has the lines of its longest parts joined, which loses nothing: the
    signs for newlines stay. With `cut`, a turn that is still too high loses the middle of a part.
    """
    format_ = learned.formats.united
    message = example_message(format_)
    # A list, because the parts that are too high are replaced in place.
    parts = [*_message_parts(learned, message)]
    column = max((len(name) for name, _ in parts), default=0)
    title = Text(_turn_title(learned), style=HEADING_STYLE)
    # The title names a setting, whose values may be long.
    title.truncate(width, overflow="ellipsis")
    notes = [line for note in _notes(format_, message) for line in drawn_lines(prose(note), width)]
    room = height - 1 - len(notes)
    cells = max(width - column - 4, NARROWEST // 2)
    # Join within the width first: longer lines wrap, sometimes in the middle of a marker.
    for most in (cells, LINE_LONGEST):
        # Joining the longest part first saves most lines, and leaves short parts as they are.
        for at in sorted(range(len(parts)), key=lambda at: -len(parts[at][1])):
            if len(_draw_parts(parts, width, column)) > room:
                name, lines = parts[at]
                parts[at] = name, packed_lines(lines, most)
    drawn = _draw_parts(parts, width, column)
    if cut and len(drawn) > room:
        left = len(drawn) - room + 1
        # The middle is cut: the turn's opening and its end are at the edges.
        at = max(room // 2, 1)
        words = Text(f"… {left} more lines: --show turn", style="dim")
        drawn[at : at + left] = drawn_lines(prose(words), width)
    return [title, *drawn, *notes]


def _draw_parts(parts: Sequence[Part], width: int, column: int) -> Lines:
    rows_ = [("" if at else name, line) for name, lines in parts for at, line in enumerate(lines)]
    return fact_lines(rows_, width, words=False, label=column)


def _turn_title(learned: LearnedFormat) -> str:
    formats = learned.formats
    setting = formats.fullest.setting
    under = "" if setting == formats.base else f" with {setting_words(setting)}"
    return f"A turn{under}, as the model writes it after the prompt"


def _message_parts(learned: LearnedFormat, message: Message) -> Iterator[Part]:
    """Return every part with its lines; a part that continues in a line begins a new one.

    A second call is described by its difference from the first, if that fits on one line.
    """
    format_ = learned.formats.united
    spans = turn_spans(format_, learned.markers, format_.with_naming_ids(message))
    begun = learned.formats.under(format_.setting)
    # The united format has the openings of all settings; the sample uses its own setting's.
    prompt = "" if begun is None or begun.opening is None else begun.opening.text
    before, after = cut_at_prompt(spans, prompt)
    if before:
        yield "prompt", _span_lines([ExampleSpan("", span.text) for span in before], PROMPT)
    second = _second_call(format_, message)
    if second is not None:
        # The separator is named in the sentence about the second call.
        after = [span for span in after if span.label != "separator"]
    for part, group in groupby(_by_part(after), key=lambda pair: pair[0]):
        if part == SECOND and second is not None:
            yield part, [second]
            continue
        inner = [call_part for _, span in group for call_part in call_parts(format_, message, span)]
        yield part, _span_lines(inner, MARKUP)


SECOND = "call 2"


def _second_call(format_: TurnFormat, message: Message) -> Text | None:
    """Describe how a second call is written, or return None if that takes more than one line."""
    calls = format_.calls
    written = calls.written_calls(format_.with_naming_ids(message).calls) if calls else ()
    if calls is None or len(written) <= 1:
        return None
    first, other = written
    pairs = (
        call_part_spans(calls, first),
        # With the first call's arguments, so that only the notation can differ.
        call_part_spans(calls, structs.replace(other, arguments=first.arguments), 1),
    )
    # A template may close only its later calls: then both calls are drawn.
    if [pair.label for pair in pairs[0]] != [pair.label for pair in pairs[1]]:
        return None
    # An id and an index differ between any two calls; other differences need the call itself.
    changed = [new for old, new in zip(*pairs, strict=True) if old.text != new.text]
    if any(piece.label not in (RowSlot.ID, RowSlot.INDEX) for piece in changed):
        return None
    between = (
        sentence("after ", quote_marker(calls.separator)) if calls.separator else "right after it"
    )
    differing = [sentence(f"{piece.label} ", quote_marker(piece.text)) for piece in changed]
    with_ = sentence(", with ", join_texts(differing, " and ")) if differing else ""
    return sentence("like call 1, ", between, with_)


def _by_part(spans: Sequence[ExampleSpan]) -> Iterator[tuple[str, ExampleSpan]]:
    """Pair each span with its part of the turn.

    Markup between two parts, with the whitespace before the second part's markup, goes to the first
    part: a line's end belongs to its line.
    """
    part = ""
    for span in spans:
        first = span.label.partition(" ")[0]
        # Whitespace that the model wrote is part of its text.
        inner = span.text if span.written or part == SECOND else span.text.lstrip()
        if not part:
            # The first part has none before it, to whose line its whitespace could belong.
            inner = span.text
        elif len(inner) < len(span.text):
            yield part, replace(span, text=span.text[: len(span.text) - len(inner)])
        if first not in ("between", "separator"):
            part = {"header": "opens", "turn": "ends", "call": span.label}.get(first, first)
        if inner:
            yield part, replace(span, text=inner)


def _span_lines(spans: Sequence[ExampleSpan], markup: str) -> Lines:
    """Split spans at the newlines of the text; empty lines are joined to the line before them."""
    drawn: Lines = []
    line = Text()
    for span in spans:
        style = _WRITTEN.get(span.label, SPOKEN) if span.written else markup
        for line_text in _LINE.findall(span.text):
            if line_text == "\n" and not line and drawn:
                drawn[-1].append(visible(line_text), style=style)
                continue
            line.append(visible(line_text[:LINE_LONGEST]), style=style)
            # Do not draw newlines as a line of their own: they begin the next line.
            if line_text.endswith("\n") and line.plain.strip("↵"):
                drawn.append(line)
                line = Text()
    return [*map(_show_edge_spaces, [*drawn, line] if line else drawn)]


_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_EDGE = re.compile(r"^ +| +(?=↵*$)")


def _show_edge_spaces(line: Text) -> Text:
    """Make the spaces at the edges of a line visible."""
    line.plain = _EDGE.sub(lambda match: "␣" * len(match.group()), line.plain)
    return line


def _notes(format_: TurnFormat, message: Message) -> Iterator[Text]:
    """Return notes on behavior that the example cannot show."""
    for note in turn_notes(format_, message):
        yield Text(note)
    if TurnPart.CALLS in format_.unconfirmed:
        yield sentence("calls", doubt())
