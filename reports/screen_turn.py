"""One turn as the model writes it, on few lines: a part a row, its calls coloured inside."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from rich.text import Text

from autoparser.analysis.core.call_format import CallFormat, CallLimit
from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.formats.learned_format import LearntFormat

from .blocks import Blocks, Row, heading, joined, prose, sentence
from .example import example_message, taken_apart, turn_spans
from .example_call import ExampleSpan
from .setting_words import doubt, setting_words
from .terminal import Lines, drawn_lines, fact_lines
from .turn import cut_at_prompt, turn_notes
from .type_words import type_words
from .visible import literal, quoted, visible

__all__ = ["screen_turn"]

MARKUP, PROMPT, VARIABLE, SPOKEN = "cyan", "dim cyan", "italic magenta", ""
_WRITTEN = {"name": "bold yellow", "argument's key": "blue", "argument's value": "green"}
"""What a model writes in a call by its style; all else that it writes is plain."""

LONGEST, SHORTEST = 18, 8
"""Lines of a turn; a second call is only shown where all of it fits."""
LINE_LONGEST = 400
"""Characters of a line that are shown."""


def screen_turn(learnt: LearntFormat, width: int, height: int) -> Lines:
    """Draw a turn on about `height` lines, of what looks like a constant and is none its name."""
    format_ = learnt.formats.united
    message = example_message(format_)
    notes = drawn_lines(_note_blocks(format_, message), width)
    longest = min(max(height - len(notes) - 2, SHORTEST), LONGEST)
    drawn = fact_lines(list(_part_rows(learnt, message)), width, words=False)
    if len(drawn) > longest and len(message.calls) > 1:
        message = replace(message, calls=message.calls[:1])
        drawn = fact_lines(list(_part_rows(learnt, message)), width, words=False)
        notes = drawn_lines(_note_blocks(format_, message), width)
    if len(drawn) > longest:
        hidden = len(drawn) - longest + 1
        drawn = drawn[: longest - 1]
        more = prose(Text(f"… {hidden} more lines: --show turn", style="dim"))
        drawn += drawn_lines(more, width)
    return [*drawn_lines(heading(_title(learnt)), width), *drawn, *notes]


def _note_blocks(format_: TurnFormat, message: Message) -> Blocks:
    return [block for note in _notes(format_, message) for block in prose(note)]


def _title(learnt: LearntFormat) -> str:
    formats = learnt.formats
    setting = formats.fullest.setting
    under = "" if setting == formats.base else f" with {setting_words(setting)}"
    return f"A turn{under}, as the model writes it after the prompt"


def _part_rows(learnt: LearntFormat, message: Message) -> Iterator[Row]:
    """Return a row for every line of every part; a part that goes on in a line begins a new one."""
    format_ = learnt.formats.united
    spans = turn_spans(format_, learnt.markers, format_.with_naming_ids(message))
    begun = learnt.formats.under(format_.setting)
    prompt = "" if begun is None or begun.opening is None else begun.opening.text
    before, after = cut_at_prompt(spans, prompt)
    if before:
        yield from _lines("prompt", [ExampleSpan("", span.text) for span in before], PROMPT)
    for part, group in groupby(_by_part(after), key=lambda pair: pair[0]):
        inner = [each for _, span in group for each in taken_apart(format_, message, span)]
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
    told = [*_variables(calls, message)] if calls is not None and message.calls else []
    if told:
        yield joined(told, "; ")
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
        yield sentence("«id» names the function", *_as_in(shown, known=bool(calls.naming.row)))
    spoken = type_words(calls.arguments).spoken
    if not spoken:
        return
    most = max(spoken, key=lambda pair: len(pair[1]))
    said = [
        f"{word} for {'any other' if pair == most and len(kinds) > 1 else ', '.join(kinds)}"
        for pair in sorted(spoken, key=lambda pair: pair == most)
        for word, kinds in [pair]
    ]
    yield Text(f"«type»: {', '.join(said)}")


def _as_in(shown: str, *, known: bool) -> tuple[Text, ...]:
    return (Text(", as in "), literal(shown)) if known else ()
