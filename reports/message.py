"""A parsed message: content and calls, the role of each part of the text, a stream.

For example, a stream in chunks of 8 characters is shown by a line for each chunk:

    Hi.↵::do → content `Hi.`
    ␣f with␣ → -
    {"a": 1} → -
    ␣done::↵ → call 1 f, arguments 1 `{"a": 1}`
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.text import Text

from autoparser.analysis.parsing.parsed_message import (
    READ,
    Delta,
    DeltaKind,
    ParsedCall,
    ParsedMessage,
    Status,
    message_status,
)
from autoparser.analysis.parsing.text_tape import Span, SpanKind

from .blocks import Blocks, Row, blank, heading, join_texts, prose, rows, sentence
from .terminal import packed_lines, report_text
from .visible import LEGEND, lines, literal, quote_marker, visible

_STATUS_WORDS = {
    Status.OK: "everything was parsed",
    Status.UNFINISHED: "everything was parsed, without an end of the turn",
    Status.REPAIRED: "parsed with repairs (missing or misplaced markup)",
    Status.STRAY: "a stray closing marker was dropped",
    Status.MALFORMED: "unparsable call left in content",
    Status.NEEDS_REPAIRS: "malformed call left in content; --forgive repairs parses it",
    Status.NEEDS_ALL: "call left in content; --forgive all parses it",
    Status.LOST: "reasoning that is never closed contains a call",
    Status.UNKNOWN_TOOL: "a call of a tool that was not offered",
    Status.OTHER_FORMAT: "call in another format left in content",
    Status.CUT: "the output is truncated",
}

_BROKEN_OFF = "a call cannot be parsed to its end; its arguments so far were closed"

_SPAN_STYLES = {SpanKind.MARKUP: "cyan", SpanKind.JUNK: "red"}
_LABEL = len("Reasoning")
WRITTEN_STYLE = "bold"
ARGUMENTS_STYLE = "cyan"


def status_text(message: ParsedMessage) -> Text:
    """Return a message's status and its meaning."""
    status = message_status(message)
    style = "green" if status in READ else "red"
    if status is Status.MALFORMED and message.malformed_calls:
        return sentence((status.value, style), f": {_BROKEN_OFF}")
    # Yellow, not red: most engines strip the end of a turn.
    if status is Status.UNFINISHED and message.missing_end:
        end = quote_marker(message.missing_end)
        words = sentence("everything was parsed, without an end of the turn (", end, ")")
        return sentence((status.value, "yellow"), ": ", words)
    return sentence((status.value, style), f": {_STATUS_WORDS[status]}")


def message_report(message: ParsedMessage, text: str, width: int, advice: str = "") -> Text:
    """Show every part of a text, and the parsed message below it."""
    spans = list(_span_rows(message.spans, text, width))
    drawn = [
        *heading("The output, part by part"),
        *prose(Text(LEGEND, style="dim")),
        *(rows(spans, words=False) if spans else prose("The text is empty.")),
        *blank(),
        *_message(message),
    ]
    drawn += rows([("Next", Text(advice))], indent=0, label=_LABEL) if advice else []
    return report_text(drawn, width, first_gap=False)


def parsed_report(message: ParsedMessage, width: int) -> Text:
    """Show a message without its text."""
    drawn = _message(message)
    return report_text(drawn, width)


def _message(message: ParsedMessage) -> Blocks:
    return [
        *rows(list(_part_rows(message)), indent=0, words=False, label=_LABEL),
        *rows([("Status", status_text(message))], indent=0, label=_LABEL),
    ]


def _part_rows(message: ParsedMessage) -> Iterator[Row]:
    yield from _text_rows("Reasoning", message.reasoning_content)
    yield from _text_rows("Content", message.content)
    for at, call in enumerate(message.tool_calls, 1):
        yield from _call_rows(f"Call {at}", call)
    if message.partial_call is not None:
        # Not numbered: a truncated call is not in `tool_calls`.
        yield from _call_rows("Cut call", message.partial_call)


def _text_rows(label: str, text: str | None) -> Iterator[Row]:
    if text is None:
        yield label, Text("none", style="dim")
        return
    for at, line in enumerate(lines(text)):
        yield ("" if at else label), line


def _call_rows(label: str, call: ParsedCall) -> Iterator[Row]:
    head = sentence((visible(call.name), WRITTEN_STYLE))
    if call.id:
        head = sentence(head, "  id ", quote_marker(call.id))
    if call.status is not Status.OK:
        head = sentence(head, "  ", (call.status.value, "red"))
    if call.schema_errors:
        head = sentence(head, "  ", ("breaks its schema", "yellow"))
    first, *more = (
        Text(visible(line), style=ARGUMENTS_STYLE) for line in _pretty(call.arguments).split("\n")
    )
    together = not more and head.cell_len + first.cell_len <= ONE_LINE
    yield label, sentence(head, "  ", first) if together else head
    for line in () if together else (first, *more):
        yield "", line
    for departure in call.departures:
        yield "", Text(departure, style="yellow")


ONE_LINE = 60
"""Longest arguments on one line, beside the name if there is room, in cells."""


def _pretty(arguments: str) -> str:
    """Return JSON text, broken into lines if it is long; truncated JSON is unchanged."""
    try:
        value = json.loads(arguments)
    # Cut off, or nested deeper than Python's stack: an output may hold anything.
    except (ValueError, RecursionError):
        return arguments
    short = json.dumps(value, ensure_ascii=False)
    return short if len(short) <= ONE_LINE else json.dumps(value, indent=2, ensure_ascii=False)


def _span_rows(spans: tuple[Span, ...], text: str, width: int) -> Iterator[Row]:
    """Return the spans with their lines; consecutive markup shares a line."""
    # The longest label with its margins.
    room = width - len("  reasoning  ")
    for span in spans:
        style = _SPAN_STYLES.get(span.kind, WRITTEN_STYLE)
        drawn = lines(text[span.start : span.end], style)
        if span.kind is SpanKind.MARKUP:
            # Markup often has many short lines, which would push the content off the screen.
            drawn = packed_lines(drawn, room)
        for at, line in enumerate(drawn):
            yield ("" if at else span.kind.value), line


END = "(end)"
_ARROW = " → "


def chunk_report(chunk: str, deltas: Sequence[Delta], size: int) -> Text:
    """Show one chunk of at most ``size`` characters and its deltas on one line."""
    return _chunk_line(literal(chunk), deltas, size)


def end_report(deltas: Sequence[Delta], message: ParsedMessage, size: int) -> Text:
    """Show the deltas at the end of the text, and the message's status on its own line."""
    last = _chunk_line(Text(END, style="dim"), deltas, size)
    return sentence(last, "\n\n", "Status  ", status_text(message))


def _chunk_line(chunk: Text, deltas: Sequence[Delta], size: int) -> Text:
    # Chunks of one size begin the deltas in one column.
    column = max(size, len(END))
    space = " " * max(column - cell_len(chunk.plain), 0)
    given = (
        join_texts([_delta(delta) for delta in deltas], ", ") if deltas else Text("-", style="dim")
    )
    return sentence(chunk, space, (_ARROW, "dim"), given)


def _delta(delta: Delta) -> Text:
    match delta.kind:
        case DeltaKind.REASONING | DeltaKind.CONTENT:
            return sentence(f"{delta.kind.value} ", quote_marker(delta.text))
        case DeltaKind.CALL:
            words = sentence(f"call {delta.index + 1} ", (visible(delta.text), "bold"))
            return sentence(words, " id ", quote_marker(delta.id)) if delta.id else words
        case DeltaKind.FINISH:
            return Text(f"finish {delta.text}")
        case DeltaKind.ARGUMENTS:
            return sentence(f"arguments {delta.index + 1} ", quote_marker(delta.text))
