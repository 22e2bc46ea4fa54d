"""The closed loop: what a format writes of a message, read back by its parser.

What must come back is told from the format alone: the parts that its layout has, with their edges
stripped as it says, the calls that it keeps, the arguments that it writes at all.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TypeAlias

from msgspec import structs

from autoparser.analysis.core.call_notation import ContainerNotation, RowSlot, ValueNotation
from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.core.literals import TemplateLiteral
from autoparser.analysis.core.message_battery import (
    BatteryCase,
    battery_messages,
    battery_tools,
    loose_tools,
)
from autoparser.analysis.core.schema_keywords import type_of
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.turn_format import Formats, TurnFormat
from autoparser.analysis.parsing.output_parser import OutputParser, StreamParser
from autoparser.analysis.parsing.parsed_message import Delta, DeltaKind, ParsedMessage, Status
from autoparser.analysis.parsing.text_tape import Span, SpanKind
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_request import TurnStart, request_of
from tests.fixture_analyses import TEMPLATES, analysed


def _tools() -> tuple[Json, ...]:
    """Offer the battery's tools; a parameter that it gives null has to allow null."""
    tools = deepcopy(battery_tools())
    for tool in tools:
        parameters = tool["parameters"]
        assert isinstance(parameters, dict)
        properties = parameters["properties"]
        assert isinstance(properties, dict)
        if "parent" in properties:
            properties["parent"] = {"type": ["string", "null"]}
    return tuple({"type": "function", "function": tool} for tool in tools)


TOOLS = _tools()


Call: TypeAlias = tuple[str, str]
"""Name, and arguments as JSON text."""


@dataclass(frozen=True, slots=True)
class Read:
    """A message as it can be compared: absent parts are None, arguments are decoded."""

    reasoning: str | None
    content: str | None
    calls: tuple[tuple[str, str, str | None], ...] = ()
    """Name, arguments as sorted JSON text, and the id where the format writes one."""


analysis_of = analysed


def fixture_names() -> list[str]:
    """Name all fixtures."""
    return sorted(path.stem for path in TEMPLATES.glob("*.jinja"))


def third_of_battery(name: str) -> tuple[BatteryCase, ...]:
    """Choose messages of the battery for a fixture; its neighbours get the others."""
    return battery_messages()[fixture_names().index(name) % 3 :: 3]


def writes_ids(format_: TurnFormat) -> bool:
    """Whether an id that is read is the id that was written."""
    calls = format_.calls
    # Where no name is written, the id carries it.
    return calls is not None and calls.has(RowSlot.ID) and calls.has(RowSlot.NAME)


def with_ids(format_: TurnFormat, message: Message) -> Message:
    """Give the calls the ids by which they are told apart, where the id is all that is written."""
    calls = format_.calls
    if calls is None or calls.naming is None:
        return message
    if calls.id_row:
        return format_.with_naming_ids(message)
    # No render shows how: ids as models of such templates write them.
    named = (
        structs.replace(call, id=f"functions.{call.name}:{at}")
        for at, call in enumerate(message.calls)
    )
    return structs.replace(message, calls=tuple(named))


def surviving(format_: TurnFormat, message: Message) -> Read:
    """Say what of a message the format writes, so that a parser can find it."""
    layout = format_.layouts[message.presence]
    reasoning = content = ""
    if TurnPart.REASONING in layout.parts:
        reasoning = layout.reasoning.apply(message.reasoning)
    if TurnPart.CONTENT in layout.parts:
        content = layout.content.apply(format_.without_cut(message.content))
    calls: list[tuple[str, str, str | None]] = []
    if TurnPart.CALLS in layout.parts and format_.calls is not None:
        for call in format_.calls.written(message.calls):
            written = format_.calls.arguments
            arguments = _written(dict(call.arguments), written.members, written.values)
            given = call.id if writes_ids(format_) else None
            calls.append((call.name, json.dumps(arguments, sort_keys=True), given))
    return Read(
        reasoning if reasoning.strip() else None, content if content.strip() else None, tuple(calls)
    )


def _written(value: Json, container: ContainerNotation, notation: ValueNotation) -> Json:
    """Leave out the members that the notation does not write."""
    if isinstance(value, dict):
        inner = container.values or notation
        return {
            key: _written(member, inner.object, inner)
            for key, member in value.items()
            if container.row(type_of(member)) is not None
        }
    if isinstance(value, list):
        inner = notation.array.values or notation
        return [_written(item, inner.object, inner) for item in value]
    return value


def read(parsed: ParsedMessage, *, ids: bool) -> Read:
    """Return a parsed message as it can be compared."""
    calls: list[tuple[str, str, str | None]] = []
    for call in parsed.tool_calls:
        try:
            arguments = json.dumps(json.loads(call.arguments), sort_keys=True)
        except ValueError:
            arguments = f"no JSON: {call.arguments}"
        calls.append((call.name, arguments, call.id if ids else None))
    return Read(parsed.reasoning_content, parsed.content, tuple(calls))


def parser_of(format_: TurnFormat, tools: Sequence[Json] | None = TOOLS) -> OutputParser:
    """Make the parser of what follows the default generation prompt."""
    request = request_of(tools)
    return OutputParser(
        build_expression(Formats.of(format_), request),
        offered=None if request.tools is None else frozenset(request.tools),
    )


def generated(
    format_: TurnFormat, turn: str, tools: Sequence[Json] | None = TOOLS
) -> tuple[str, OutputParser]:
    """Cut what the prompt writes off a turn; return the rest, and the parser for it.

    Where the default prompt begins the turn otherwise (it opens the reasoning and this turn has
    none), the model begins after the header.
    """
    default = next((opening for opening in format_.openings if not opening.setting), None)
    if default is not None and default.text and turn.startswith(default.text):
        request, written = request_of(tools, prompt=default.text), len(default.text)
    else:
        request = replace(request_of(tools), start=TurnStart.HEADER)
        written = len(format_.header) if turn.startswith(format_.header) else 0
    offered = None if request.tools is None else frozenset(request.tools)
    return turn[written:], OutputParser(
        build_expression(Formats.of(format_), request), offered=offered
    )


def difference(format_: TurnFormat, message: Message) -> str:
    """Send a message around the loop; say what came back otherwise, or nothing.

    Raises RefusedMessageError where the template does not write it.
    """
    message = with_ids(format_, message)
    # Schemas that all values meet: some of the battery are not strings where TOOLS says so.
    text, parser = generated(format_, format_.write(message), loose_tools())
    parsed = parser.parse(text)
    gap = gaps(parsed.spans, text)
    expected, found = surviving(format_, message), read(parsed, ids=writes_ids(format_))
    # Some templates end no turn that is empty.
    wrong = (Status.STRAY, Status.UNFINISHED) if text.strip() else (Status.STRAY,)
    if found == expected and parsed.status not in wrong and not gap:
        return ""
    return f"text     {text!r}\nexpected {expected}\nfound    {found}\n{parsed.status}\n{gap}"


def gaps(spans: Sequence[Span], text: str) -> str:
    """Say where the spans leave out a character or count it twice; nothing where all is well."""
    at = 0
    for span in spans:
        if span.start != at or span.end <= span.start:
            return f"the span {span} does not follow {at}"
        at = span.end
    return "" if at == len(text) else f"the spans end at {at}, the text at {len(text)}"


@dataclass(frozen=True, slots=True)
class Streamed:
    """What a stream gave: the message, and the same put together from the deltas."""

    message: ParsedMessage
    deltas: tuple[Delta, ...]

    @property
    def reasoning(self) -> str | None:
        return self._text(DeltaKind.REASONING)

    @property
    def content(self) -> str | None:
        return self._text(DeltaKind.CONTENT)

    def _text(self, kind: DeltaKind) -> str | None:
        return "".join(delta.text for delta in self.deltas if delta.kind is kind) or None

    @property
    def calls(self) -> dict[int, Call]:
        """Names and arguments by the index of the call, in the order in which they were opened."""
        opened: dict[int, Call] = {}
        for delta in self.deltas:
            if delta.kind is DeltaKind.CALL:
                assert delta.index not in opened, f"the call {delta.index} is opened twice"
                opened[delta.index] = (delta.text, "")
            elif delta.kind is DeltaKind.ARGUMENTS:
                name, arguments = opened[delta.index]
                opened[delta.index] = (name, arguments + delta.text)
        return opened


def streamed(parser: OutputParser, pieces: Sequence[str], *, complete: bool = True) -> Streamed:
    """Feed a text piece by piece."""
    stream: StreamParser = parser.stream()
    deltas: list[Delta] = []
    for piece in pieces:
        deltas += stream.feed(piece)
    deltas += stream.finish(complete=complete)
    return Streamed(stream.message, tuple(deltas))


def disagreement(
    parser: OutputParser, text: str, pieces: Sequence[str], *, complete: bool = True
) -> str:
    """Compare a stream with the one shot, and each with its deltas; say how they differ."""
    whole, found = (streamed(parser, cut, complete=complete) for cut in ([text], pieces))
    gap = gaps(whole.message.spans, text)
    if gap:
        return gap
    if found.message != whole.message:
        return f"stream   {found.message}\none shot {whole.message}"
    for each in (whole, found):
        told, summed = each.message.to_openai(), client_sum(each.deltas)
        if summed != told:
            return f"deltas   {summed}\nmessage  {told}"
    return _twice(whole.message, text) or _invalid(whole.message)


def client_sum(deltas: Sequence[Delta]) -> dict[str, Json]:
    """Put deltas together as a client of OpenAI does: texts by their keys, calls by their index."""
    message: dict[str, Json] = {"role": "assistant", "content": None}
    calls: list[dict[str, Json]] = []
    for delta in deltas:
        for key, value in delta.to_openai().items():
            if isinstance(value, str):
                message[key] = f"{message.get(key) or ''}{value}"
                continue
            assert isinstance(value, list)
            for piece in value:
                _add_to_calls(calls, piece)
    if calls:
        message["tool_calls"] = [*calls]
    return message


def _add_to_calls(calls: list[dict[str, Json]], piece: Json) -> None:
    assert isinstance(piece, dict)
    function = piece["function"]
    index = piece["index"]
    assert isinstance(function, dict)
    if index == len(calls):
        assert piece["id"]
        assert function["name"], f"the call {index} has no name"
        calls.append({"id": piece["id"], "type": piece["type"], "function": {**function}})
        return
    assert index == len(calls) - 1, f"the call {index} was not begun, or is over"
    assert [*function] == ["arguments"], f"the call {index} is begun twice"
    begun = calls[-1]["function"]
    assert isinstance(begun, dict)
    begun["arguments"] = f"{begun['arguments']}{function['arguments']}"


def _twice(message: ParsedMessage, text: str) -> str:
    """Say where more is said than there is text for it; nothing where all is well."""
    said = {SpanKind.CONTENT, SpanKind.REASONING}
    if message.reasoning_content is None:
        # Raw reasoning has its markers in the content.
        said |= {SpanKind.MARKUP, SpanKind.JUNK}
    prose = f"{message.content or ''}{message.reasoning_content or ''}"
    spans = [text[span.start : span.end] for span in message.spans if span.kind in said]
    there = sum(len("".join(each.split())) for each in spans)
    if len("".join(prose.split())) <= there:
        return ""
    return f"{prose!r} is more than {spans}"


def _invalid(message: ParsedMessage) -> str:
    """Say which call that is over has arguments that are not JSON."""
    for call in message.tool_calls:
        try:
            json.loads(call.arguments, parse_constant=_no_constant)
        except ValueError:
            return f"not JSON: {call}"
    return ""


def _no_constant(word: str) -> Json:
    """Refuse NaN and the infinities, which Python's own reader takes."""
    raise ValueError(word)


def marker_texts(format_: TurnFormat) -> frozenset[str]:
    """Return the words in brackets or between signs that stand in a format's literals."""
    texts = [text for layout in format_.layouts.values() for text in layout.literals]
    calls = format_.calls
    if calls is not None:
        members = calls.arguments.members
        rows = (calls.row, calls.empty_row or (), members.entry)
        texts += [piece for row in rows for piece in row if not isinstance(piece, RowSlot)]
        texts += [calls.section_open, calls.section_close, calls.separator]
        texts += [members.open, members.close]
    texts += [format_.reasoning_open, format_.reasoning_close, *format_.stop_strings]
    markers = (marker for text in texts for marker in TemplateLiteral.of(text).markers)
    return frozenset(marker for marker in markers if any(map(str.isalnum, marker)))
