"""A call as a format writes it, taken apart: markup, name, keys, values, and what varies.

Contract: the texts of the spans, one after the other, are exactly what the format writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from autoparser.analysis.core.call_format import ArgumentFormat, CallFormat
from autoparser.analysis.core.call_notation import Row, RowSlot
from autoparser.analysis.core.conversation import Json, ToolCall
from autoparser.analysis.core.schema_keywords import JsonType, type_of
from autoparser.analysis.core.turn_format import TurnFormat

from .type_words import TypeWords, type_words

__all__ = ["ExampleSpan", "call_spans", "example_call"]


@dataclass(frozen=True, slots=True)
class ExampleSpan:
    """A piece of a text and what it is."""

    label: str
    text: str
    written: bool = False
    """The model's own words rather than markup."""
    variable: str = ""
    """What stands here, where an example's text could be taken for a constant: index, id, type."""


_CALLS = (
    ToolCall("weather", {"city": "Rio", "day": 3}, "aB3dE6gH1"),
    ToolCall("weather", {"city": "Ulm", "day": 1}, "kL5mN7pQ2"),
)
"""Short enough that a call in JSON is one line of a report."""


def example_call(format_: TurnFormat, position: int) -> ToolCall:
    """Invent a call that the format can write."""
    call = _CALLS[position]
    calls = format_.calls
    refused = frozenset[JsonType]() if calls is None else calls.arguments.refused
    kept: dict[str, Json] = {
        key: value for key, value in call.arguments.items() if type_of(value) not in refused
    }
    return replace(call, arguments=kept)


def call_spans(calls: CallFormat, call: ToolCall, position: int = 0) -> list[ExampleSpan]:
    """Name the parts of the call at a position, its arguments taken apart."""
    text = calls.write_call(call, position)
    for row in (calls.row, calls.empty_row or ()):
        drawn = [*_call(calls, row, call, position)]
        if position:
            drawn.append(ExampleSpan("call closes", calls.later_close))
        spans = [span for span in drawn if span.text]
        if "".join(span.text for span in spans) == text:
            return spans
    return [ExampleSpan("call", text)]


_VARIABLES = (RowSlot.ID, RowSlot.INDEX)
"""Slots whose texts look like constants in an example; a name or a value does not."""


def _call(calls: CallFormat, row: Row, call: ToolCall, position: int) -> Iterator[ExampleSpan]:
    values = {
        RowSlot.NAME: call.name,
        RowSlot.ID: call.id,
        RowSlot.INDEX: str(calls.index_base + position),
    }
    for at, piece in enumerate(row):
        if piece is RowSlot.ARGUMENTS:
            yield from _arguments(calls.arguments, call)
        elif isinstance(piece, RowSlot):
            variable = piece.value if piece in _VARIABLES else ""
            yield ExampleSpan(piece.value, values.get(piece, ""), written=True, variable=variable)
        else:
            label = _between(row, at, "call")
            free = [(word.start, word.end) for word in calls.free_words if word.piece == at]
            yield from _cut(label, piece, free if row == calls.row else [], "")


def _cut(
    label: str, text: str, words: list[tuple[int, int]], variable: str
) -> Iterator[ExampleSpan]:
    """Cut words out of a literal that are not constants; a word without a name stands for itself.

    Such a word is what is usually written there.
    """
    done = 0
    for start, end in sorted(words):
        yield ExampleSpan(label, text[done:start])
        word = text[start:end]
        yield ExampleSpan(variable or "usual word", word, written=True, variable=variable or word)
        done = end
    yield ExampleSpan(label, text[done:])


def _arguments(arguments: ArgumentFormat, call: ToolCall) -> Iterator[ExampleSpan]:
    members = arguments.members
    text = arguments.write(call.arguments)
    # An indented notation begins a line with the margin wherever another has nothing.
    inner = arguments.margin + members.indent
    line = f"\n{inner}" if members.indent else ""
    spans = [ExampleSpan("arguments open", members.open + line)]
    words = type_words(arguments)
    written = 0
    for key, value in members_in_order(arguments, call):
        row = members.row(type_of(value))
        if row is None:
            continue
        if written:
            spans.append(ExampleSpan("separator", members.separator + line))
        written += 1
        pieces = {
            RowSlot.KEY: members.key.write(key),
            RowSlot.VALUE: (members.values or arguments.values).write(value, inner),
        }
        for at, piece in enumerate(row):
            if isinstance(piece, RowSlot):
                spans.append(ExampleSpan(f"argument's {piece.value}", pieces[piece], written=True))
            else:
                label = _between(row, at, "argument")
                spans += _cut(label, piece, _type_in(words, piece, at), "type")
    last = f"\n{arguments.margin}" if members.indent else ""
    spans.append(ExampleSpan("arguments close", last + members.close))
    if "".join(span.text for span in spans) == text:
        yield from spans
    else:
        yield ExampleSpan("arguments", text, written=True)


def _type_in(words: TypeWords, literal: str, at: int) -> list[tuple[int, int]]:
    """Return where a literal of an argument's row says the value's type, if it does."""
    edges = words.edges.get(at)
    return [] if edges is None else [(edges[0], len(literal) - edges[1])]


def members_in_order(arguments: ArgumentFormat, call: ToolCall) -> list[tuple[str, Json]]:
    """Return a call's arguments in the order in which they are written."""
    order = arguments.members.order.arrange(list(call.arguments))
    return [(key, call.arguments[key]) for key in order]


def _between(row: Row, at: int, whole: str) -> str:
    if at == 0:
        return f"{whole} opens"
    if at == len(row) - 1:
        return f"{whole} closes"
    before, after = row[at - 1], row[at + 1]
    if isinstance(before, RowSlot) and isinstance(after, RowSlot):
        return f"{before.value} to {after.value}"
    return "between"
