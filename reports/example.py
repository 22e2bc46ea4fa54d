"""A sample message as a format writes it, with every part of the text named.

Contract: the concatenated texts of the spans are exactly the text that the format writes.

For example, the call `::do weather with {"city": "Rio"} done::` has, by their labels, the spans

    call opens        ::do␣        name               weather
    name to arguments ␣with␣       arguments open     {
    argument's key    "city"       key to value       :␣
    argument's value  "Rio"        arguments close    }
    call closes       ␣done::
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby

from msgspec import Struct, field
from msgspec.structs import replace
from rich.text import Text

from autoparser.analysis.core.call_format import ArgumentFormat, CallFormat
from autoparser.analysis.core.call_notation import Row as FormatRow, RowSlot
from autoparser.analysis.core.conversation import Json, Message, Presence, ToolCall
from autoparser.analysis.core.json_types import JsonType, json_type
from autoparser.analysis.core.text_alignment import prefix_length, suffix_length
from autoparser.analysis.core.turn_format import RefusedMessageError, TurnFormat
from autoparser.analysis.core.turn_parts import TurnLayout, TurnPart
from autoparser.analysis.formats.format_view import MarkerRegistry
from autoparser.analysis.formats.learned_format import LearnedFormat

from .blocks import Blocks, Paragraph, Picture, Row, heading, join_texts, rows, sentence
from .visible import lines, quote_marker

_FULL = Message("Let me look.", "Two cities, so two lookups.")


def example_message(format_: TurnFormat) -> Message:
    """Return a sample message with all parts that the format writes in one turn."""
    # Of messages with as many parts, those with calls show more of the notation.
    by_size = sorted(
        format_.layouts, key=lambda presence: (sum(presence), presence.calls), reverse=True
    )
    for presence in by_size:
        layout = format_.layouts[presence]
        written = {name for name, there in presence._asdict().items() if there}
        # The template drops a part of such a message, so that a sample would not show it.
        if {part.value for part in layout.parts} != written:
            continue
        # Two calls show what separates them, but some templates refuse more than one.
        for calls in (2, 1):
            message = _message(format_, presence, calls)
            with suppress(RefusedMessageError):
                format_.write(message)
                return message
    return Message(_FULL.content)


def _message(format_: TurnFormat, presence: Presence, calls: int) -> Message:
    return Message(
        _FULL.content if presence.content else "",
        _FULL.reasoning if presence.reasoning else "",
        tuple(example_call(format_, at) for at in range(calls)) if presence.calls else (),
    )


def turn_spans(format_: TurnFormat, markers: MarkerRegistry, message: Message) -> list[ExampleSpan]:
    """Name the parts of the turn that the format writes for this message.

    Raises RefusedMessageError where the template raises on it.
    """
    text = format_.write(message)
    layout = format_.layouts[message.presence]
    spans = [span for span in _turn(format_, layout, markers, message) if span.text]
    if "".join(span.text for span in spans) != text:
        # Spans that do not add up to the text would break the contract.
        return [ExampleSpan("turn", text)]
    return spans


def _turn(
    format_: TurnFormat, layout: TurnLayout, markers: MarkerRegistry, message: Message
) -> Iterator[ExampleSpan]:
    for at, literal in enumerate(layout.literals):
        before = layout.parts[at - 1] if at else None
        after = layout.parts[at] if at < len(layout.parts) else None
        yield from _joint(format_, markers, literal, before, after)
        if after is TurnPart.CALLS and format_.calls is not None:
            yield from _calls(format_.calls, message)
        elif after is not None:
            yield ExampleSpan(
                after.value, _written_part(format_, layout, after, message), written=True
            )


def _written_part(format_: TurnFormat, layout: TurnLayout, part: TurnPart, message: Message) -> str:
    # The format strips edges as in a turn, so the text equals the turn's span.
    alone = TurnLayout((part,), ("", ""), layout.reasoning, layout.content)
    return replace(format_, layouts={message.presence: alone}).write(message)


def _joint(
    format_: TurnFormat,
    markers: MarkerRegistry,
    literal: str,
    before: TurnPart | None,
    after: TurnPart | None,
) -> Iterator[ExampleSpan]:
    """Cut the literal between two parts into the first one's end and the second one's beginning."""
    rest = literal
    if before is None and rest.startswith(format_.header):
        yield ExampleSpan("header", format_.header)
        rest = rest[len(format_.header) :]
    # Calls have their closers in the format of calls, not in a literal between parts.
    closer = {TurnPart.REASONING: markers.reasoning_end, TurnPart.CONTENT: markers.content_end}
    marker = closer.get(before, "") if before is not None else ""
    if marker and marker in rest and before is not None:
        end = rest.index(marker) + len(marker)
        # The whitespace after a closer goes with it, unless something opens there.
        if after is None or not rest[end:].strip():
            end += len(rest[end:]) - len(rest[end:].lstrip())
        yield ExampleSpan(f"{before.value} closes", rest[:end])
        rest = rest[end:]
    if after is None:
        yield ExampleSpan("turn ends", rest)
    elif rest.strip():
        yield ExampleSpan(f"{after.value} {'open' if after is TurnPart.CALLS else 'opens'}", rest)
    else:
        yield ExampleSpan("between", rest)


def _calls(calls: CallFormat, message: Message) -> Iterator[ExampleSpan]:
    yield ExampleSpan("calls open", calls.section_open)
    for position, call in enumerate(calls.written_calls(message.calls)):
        if position:
            yield ExampleSpan("separator", calls.separator)
        yield ExampleSpan(f"call {position + 1}", calls.write_call(call, position), written=True)
    yield ExampleSpan("calls close", calls.section_close)


def call_parts(format_: TurnFormat, message: Message, span: ExampleSpan) -> Sequence[ExampleSpan]:
    """Return the parts of a call's span; other spans are returned alone."""
    calls = format_.calls
    if calls is None or not span.label.startswith("call ") or not span.written:
        return [span]
    position = int(span.label.removeprefix("call ")) - 1
    # In some formats only the id names the function, as in `functions.weather:0`.
    written = calls.written_calls(format_.with_naming_ids(message).calls)
    return call_part_spans(calls, written[position], position)


class ExampleSpan(Struct, frozen=True):
    """A piece of a text and its role."""

    label: str
    """The role, e.g. `call opens` or `argument's key`."""
    text: str
    """The characters, e.g. `::do `."""
    written: bool = False
    """Whether it is the model's own words, e.g. `True` for `weather`, rather than markup."""


# The ids have nine letters and digits, since some templates refuse all others.
_CALLS = (
    ToolCall("weather", {"city": "Rio", "day": 3}, "aB3dE6gH1"),
    ToolCall("weather", {"city": "Ulm", "day": 1}, "kL5mN7pQ2"),
)
"""Short, so that a call in JSON fits on one line of a report."""


def example_call(format_: TurnFormat, position: int) -> ToolCall:
    """Return a sample call that the format can write."""
    call = _CALLS[position]
    calls = format_.calls
    refused = frozenset[JsonType]() if calls is None else calls.arguments.refused
    kept: dict[str, Json] = {
        key: value for key, value in call.arguments.items() if json_type(value) not in refused
    }
    return replace(call, arguments=kept)


def call_part_spans(calls: CallFormat, call: ToolCall, position: int = 0) -> list[ExampleSpan]:
    """Name the parts of the call at a position, down to its arguments."""
    text = calls.write_call(call, position)
    # Calls without arguments may have a separate row.
    for row in (calls.row, calls.empty_row or ()):
        drawn = [*_call_spans(calls, row, call, position)]
        if position:
            # Some templates write a closer after every call but the first.
            drawn.append(ExampleSpan("call closes", calls.later_close))
        spans = [span for span in drawn if span.text]
        if "".join(span.text for span in spans) == text:
            return spans
    return [ExampleSpan("call", text)]


def _call_spans(
    calls: CallFormat, row: FormatRow, call: ToolCall, position: int
) -> Iterator[ExampleSpan]:
    values = {
        RowSlot.NAME: call.name,
        RowSlot.ID: call.id,
        RowSlot.INDEX: str(calls.index_base + position),
    }
    for at, piece in enumerate(row):
        if piece is RowSlot.ARGUMENTS:
            yield from _arguments(calls.arguments, call)
        elif isinstance(piece, RowSlot):
            yield ExampleSpan(piece.value, values.get(piece, ""), written=True)
        else:
            label = _between(row, at, "call")
            # Free words are counted by the pieces of the usual row.
            free = [(word.start, word.end) for word in calls.free_words if word.piece == at]
            yield from _cut_words(label, piece, free if row == calls.row else [], "usual word")


def _cut_words(
    label: str, text: str, words: list[tuple[int, int]], name: str
) -> Iterator[ExampleSpan]:
    """Cut the words that vary out of a literal."""
    cut_end = 0
    for start, end in sorted(words):
        yield ExampleSpan(label, text[cut_end:start])
        yield ExampleSpan(name, text[start:end], written=True)
        cut_end = end
    yield ExampleSpan(label, text[cut_end:])


def _arguments(arguments: ArgumentFormat, call: ToolCall) -> Iterator[ExampleSpan]:
    """Split written arguments into labeled spans, or one span if the pieces do not match."""
    members = arguments.members
    text = arguments.write(call.arguments)
    # An indented notation begins a line with the margin wherever another has nothing.
    inner = arguments.margin + members.indent
    line = f"\n{inner}" if members.indent else ""
    spans = [ExampleSpan("arguments open", members.open + line)]
    words = type_words(arguments)
    written = 0
    for key, value in members_in_order(arguments, call):
        row = members.row(json_type(value))
        # The template drops arguments of this type.
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
                spans += _cut_words(label, piece, _type_in(words, piece, at), "type")
    last = f"\n{arguments.margin}" if members.indent else ""
    spans.append(ExampleSpan("arguments close", last + members.close))
    if "".join(span.text for span in spans) == text:
        yield from spans
    else:
        yield ExampleSpan("arguments", text, written=True)


def _type_in(words: TypeWords, literal: str, at: int) -> list[tuple[int, int]]:
    """Return the ranges of type words in a literal of an argument's row."""
    edges = words.edges.get(at)
    return [] if edges is None else [(edges[0], len(literal) - edges[1])]


def members_in_order(arguments: ArgumentFormat, call: ToolCall) -> list[tuple[str, Json]]:
    """Return a call's arguments in the order in which they are written."""
    order = arguments.members.order.arrange(list(call.arguments))
    return [(key, call.arguments[key]) for key in order]


def _between(row: FormatRow, at: int, whole: str) -> str:
    if at == 0:
        return f"{whole} opens"
    if at == len(row) - 1:
        return f"{whole} closes"
    before, after = row[at - 1], row[at + 1]
    if isinstance(before, RowSlot) and isinstance(after, RowSlot):
        return f"{before.value} to {after.value}"
    return "between"


_WORD = re.compile(r"[\w-]+")
_WORD_END = re.compile(r"[\w-]*$")
_WORD_START = re.compile(r"[\w-]*")


class TypeWords(Struct, frozen=True):
    """The type words in rows of arguments, e.g. `string` in `type="string"`."""

    edges: Mapping[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    """By piece of the row: the number of characters before the type word, and after it, e.g. `{1:
    (1, 3)}` for the second piece `":whole = "`."""
    spoken: tuple[tuple[str, tuple[JsonType, ...]], ...] = ()
    """Each type word with its types, e.g. `("number", ("integer", "number"))`."""


def type_words(arguments: ArgumentFormat) -> TypeWords:
    """Find the type words; empty if rows differ in more than one word."""
    rows = {
        kind: row
        for kind in JsonType
        if kind not in arguments.refused and (row := arguments.members.row(kind)) is not None
    }
    first = next(iter(rows.values()), ())
    if not all(_slots(row) == _slots(first) for row in rows.values()):
        return TypeWords()
    edges: dict[int, tuple[int, int]] = {}
    for at, piece in enumerate(first):
        texts = [str(row[at]) for row in rows.values()]
        if isinstance(piece, RowSlot) or len({*texts}) == 1:
            continue
        found = _word_edges(texts)
        if found is None:
            return TypeWords()
        edges[at] = found
    return TypeWords(edges, _kinds_by_word(rows, edges))


def _slots(row: FormatRow) -> list[RowSlot | None]:
    return [piece if isinstance(piece, RowSlot) else None for piece in row]


def _word_edges(texts: Sequence[str]) -> tuple[int, int] | None:
    """Return the lengths of the common text before and after a word, or None without one."""
    before = min(prefix_length(texts[0], text) for text in texts)
    # Words may share a prefix, like `string` and `structure`: go back to the beginning of the word.
    before -= len(_match_text(_WORD_END.search(texts[0][:before])))
    rests = [text[before:] for text in texts]
    after = min(suffix_length(rests[0], rest) for rest in rests)
    after -= len(_match_text(_WORD_START.match(rests[0][len(rests[0]) - after :])))
    words = [rest[: len(rest) - after] for rest in rests]
    return (before, after) if all(_WORD.fullmatch(word) for word in words) else None


def _match_text(match: re.Match[str] | None) -> str:
    return match.group() if match else ""


def _kinds_by_word(
    rows: Mapping[JsonType, FormatRow], edges: Mapping[int, tuple[int, int]]
) -> tuple[tuple[str, tuple[JsonType, ...]], ...]:
    word_kinds: dict[str, list[JsonType]] = {}
    # A row may write its word twice, as in a tag and its closer; the first is enough.
    for at, (before, after) in [*edges.items()][:1]:
        for kind, row in rows.items():
            text = str(row[at])
            word_kinds.setdefault(text[before : len(text) - after], []).append(kind)
    return tuple((word, tuple(kinds)) for word, kinds in word_kinds.items())


WRITTEN_STYLE = "bold"
MARKUP_STYLE = "cyan"
PROMPT_END = "(the generation prompt ends here, the model writes the rest)"


def call_section(learned: LearnedFormat) -> Blocks:
    """Draw one call with its arguments in detail, or nothing if the template writes no calls."""
    calls = learned.formats.united.calls
    if calls is None:
        return []
    spans = call_part_spans(calls, example_call(learned.formats.united, 0))
    # Calls may be known from the prompt alone, which describes them in words.
    doubted = TurnPart.CALLS in learned.formats.united.unconfirmed
    described = "the system prompt describes it" if doubted else "the model writes it"
    instead = rows(list(_span_rows(spans)), words=False)
    return [*heading(f"A call, as {described}"), Picture("call", spans, instead)]


class TurnGroup(Struct, frozen=True):
    """Pieces of a turn that belong together; without any, the end of the generation prompt."""

    kind: str
    """The group's name for the page's styles, e.g. `calls`; `cut` is the end of the prompt."""
    spans: tuple[ExampleSpan, ...] = ()
    """The pieces, e.g. that of `::why ` with the label `reasoning opens`; none at the cut."""


def turn_section(learned: LearnedFormat) -> Blocks:
    """Draw a sample turn with all parts that the template writes in one turn."""
    format_ = learned.formats.united
    message = example_message(format_)
    spans = turn_spans(format_, learned.markers, message)
    # The page shows the prompt under each setting elsewhere.
    prompt = next((opening.text for opening in format_.openings if not opening.setting), "")
    before, after = cut_at_prompt(spans, prompt)
    cut = [TurnGroup("cut")] if before else []
    groups = [*_groups(learned, message, before), *cut, *_groups(learned, message, after)]
    ends: list[Row] = [("", Text(PROMPT_END, style="dim"))] if before else []
    instead = rows([*_span_rows(before), *ends, *_span_rows(after)], words=False)
    return [
        *heading("A whole turn, as the model writes it"),
        *(
            Paragraph(note, look="note")
            for note in (*map(Text, turn_notes(format_, message)), *_varying(format_, message))
        ),
        Picture("turn", groups, instead),
    ]


_KINDS = {"header": "opening", "turn": "end", "between": "between", "separator": "calls"}


def _kind(span: ExampleSpan) -> str:
    """Return the name of a piece's group."""
    first = span.label.split()[0]
    return _KINDS.get(first, "calls" if first in ("call", "calls") else first)


def _groups(
    learned: LearnedFormat, message: Message, spans: Sequence[ExampleSpan]
) -> Iterator[TurnGroup]:
    format_ = learned.formats.united
    for kind, group in groupby(spans, key=_kind):
        inner = [part for span in group for part in call_parts(format_, message, span)]
        yield TurnGroup(kind, tuple(inner))


def _span_rows(spans: Sequence[ExampleSpan]) -> Iterator[Row]:
    for span in spans:
        style = WRITTEN_STYLE if span.written else MARKUP_STYLE
        for at, line in enumerate(lines(span.text, style)):
            yield ("" if at else span.label), line


def cut_at_prompt(
    spans: Sequence[ExampleSpan], prompt: str
) -> tuple[list[ExampleSpan], list[ExampleSpan]]:
    """Split a turn at the end of the generation prompt; a turn that differs all follows it."""
    text = "".join(span.text for span in spans)
    if not prompt or not text.startswith(prompt):
        return [], list(spans)
    before: list[ExampleSpan] = []
    after: list[ExampleSpan] = []
    left = len(prompt)
    for span in spans:
        inside = span.text[:left]
        behind = span.text[len(inside) :]
        left -= len(inside)
        if inside:
            before.append(ExampleSpan(span.label, inside, span.written))
        if behind:
            after.append(ExampleSpan(span.label, behind, span.written))
    return before, after


def turn_notes(format_: TurnFormat, message: Message) -> Iterator[str]:
    """Return notes on parts that the example does not show."""
    if format_.calls is not None and not message.calls:
        # Calls that only the prompt describes are in no layout, so no sample has them.
        seen = TurnPart.CALLS not in format_.unconfirmed
        why = "the template drops calls next to other parts" if seen else "no render has one"
        yield f"No call shown: {why}."
        return
    presence = message.presence
    full = next((layout for key, layout in format_.layouts.items() if all(key)), None)
    if full is None or all(presence):
        return
    if full.refusal:
        missing = "reasoning" if presence.content and presence.calls else "content"
        yield f"No {missing} shown: the template raises on reasoning + content + calls."
    elif presence.calls and TurnPart.CONTENT not in full.parts:
        yield "No content shown: the template drops content next to tool calls."


def _varying(format_: TurnFormat, message: Message) -> Iterator[Text]:
    """Describe the words of the example's calls that are not constants."""
    calls = format_.calls
    if calls is None or not message.calls:
        return
    for word in calls.free_words:
        usual = str(calls.row[word.piece])[word.start : word.end]
        yield sentence(quote_marker(usual), " is the usual value; the model may write another.")
    if calls.naming is not None:
        yield Text("The id contains the function's name.")
    spoken = type_words(calls.arguments).spoken
    # Describe the word of the most types last, as the one for any other type.
    most = max(spoken, key=lambda pair: len(pair[1]), default=None)
    type_meanings = [
        sentence(quote_marker(word), f" for {'any other type' if other else ', '.join(kinds)}")
        for pair in sorted(spoken, key=lambda pair: pair == most)
        for word, kinds in [pair]
        for other in [pair == most and len(kinds) > 1]
    ]
    if type_meanings:
        yield sentence("The type word: ", join_texts(type_meanings, ", "), ".")
