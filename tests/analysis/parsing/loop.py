"""The closed loop: a format renders a message, and its parser returns it.

`difference` sends a message around the loop. What must come back is read off the format alone: the
parts that its layout has, with their edges stripped, and the arguments that it writes at all.
`disagreement` compares streams of one text, cut in several ways, with the text read at once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from msgspec import structs

from autoparser import Delta, Json, Message, OutputParser, ParsedMessage, Span, SpanKind, Status
from autoparser.analysis.core.call_notation import ContainerNotation, RowSlot, ValueNotation
from autoparser.analysis.core.format_choice import Formats, PromptFormat
from autoparser.analysis.core.json_types import json_type
from autoparser.analysis.core.message_battery import BatteryCase, battery_messages, loose_tools
from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.analysis.core.turn_format import RefusedMessageError, TurnFormat
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.export.response_template import trial_tools
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_request import read_request
from tests.fixture_analyses import TEMPLATES, analyzed

TOOLS = trial_tools()
analysis_of = analyzed


ComparedMessage: TypeAlias = tuple[str | None, str | None, list[tuple[str, str, str | None]]]
"""Reasoning and content, None where absent, and of each call its name, its arguments as sorted JSON
text, and its id where the format writes one."""


def fixture_names() -> list[str]:
    """Return the names of all fixtures."""
    return sorted(path.stem for path in TEMPLATES.glob("*.jinja"))


def third_of_battery(name: str) -> tuple[BatteryCase, ...]:
    """Choose messages of the battery for a fixture; its neighbors get the others."""
    return battery_messages()[fixture_names().index(name) % 3 :: 3]


def writes_ids(format_: TurnFormat) -> bool:
    """Return whether an id that is read is the id that was written."""
    calls = format_.calls
    # If the format renders no name, the id carries it and is not the id that was written.
    return calls is not None and calls.has(RowSlot.ID) and calls.has(RowSlot.NAME)


def with_ids(format_: TurnFormat, message: Message) -> Message:
    """Give the calls ids that carry their names, if only the id is rendered."""
    calls = format_.calls
    if calls is None or calls.naming is None:
        return message
    if calls.id_row:
        return format_.with_naming_ids(message)
    # No render shows how ids are composed: use the form that models of such templates write.
    named = (
        structs.replace(call, id=f"functions.{call.name}:{at}")
        for at, call in enumerate(message.calls)
    )
    return structs.replace(message, calls=tuple(named))


def surviving(format_: TurnFormat, message: Message) -> ComparedMessage:
    """Return the parts of a message that the format writes."""
    layout = format_.layouts[message.presence]
    reasoning = content = ""
    if TurnPart.REASONING in layout.parts:
        reasoning = layout.reasoning.apply(message.reasoning)
    if TurnPart.CONTENT in layout.parts:
        content = layout.content.apply(format_.without_cut(message.content))
    calls: list[tuple[str, str, str | None]] = []
    if TurnPart.CALLS in layout.parts and format_.calls is not None:
        notation = format_.calls.arguments
        for call in format_.calls.written_calls(message.calls):
            arguments = _written(dict(call.arguments), notation.members, notation.values)
            call_id = call.id if writes_ids(format_) else None
            calls.append((call.name, json.dumps(arguments, sort_keys=True), call_id))
    return reasoning if reasoning.strip() else None, content if content.strip() else None, calls


def _written(value: Json, container: ContainerNotation, notation: ValueNotation) -> Json:
    """Leave out the members that the notation does not write."""
    if isinstance(value, dict):
        inner = container.values or notation
        return {
            key: _written(member, inner.object, inner)
            for key, member in value.items()
            if container.row(json_type(member)) is not None
        }
    if isinstance(value, list):
        inner = notation.array.values or notation
        return [_written(item, inner.object, inner) for item in value]
    return value


def read(parsed: ParsedMessage, *, ids: bool) -> ComparedMessage:
    """Return a parsed message for comparison. Raises ValueError for arguments that are not JSON."""
    calls = [
        (
            call.name,
            json.dumps(json.loads(call.arguments), sort_keys=True),
            call.id if ids else None,
        )
        for call in parsed.tool_calls
    ]
    return parsed.reasoning_content, parsed.content, calls


def generated(
    format_: TurnFormat, turn: str, tools: Sequence[Json] | None = TOOLS
) -> tuple[str, OutputParser]:
    """Cut off the part of a turn that the prompt writes; return the rest, and the parser for it.

    Where the default prompt begins the turn otherwise (it opens the reasoning and this turn has
    none), the model begins after the header.
    """
    default = next((opening for opening in format_.openings if not opening.setting), None)
    if default is not None and default.text and turn.startswith(default.text):
        request, written = read_request(tools, prompt=default.text), default.text
    else:
        request, written = (
            read_request(tools, begun_turn=PromptFormat(format_, None)),
            format_.header,
        )
    expression = build_expression(Formats.of(format_), request)
    return turn.removeprefix(written), OutputParser(expression)


def difference(format_: TurnFormat, message: Message) -> str:
    """Send a message around the loop; return what came back otherwise, or empty.

    Raises RefusedMessageError where the template does not write it.
    """
    message = with_ids(format_, message)
    # Schemas that accept any value: some values of the battery are not strings, as TOOLS requires.
    text, parser = generated(format_, format_.write(message), loose_tools())
    parsed = parser.parse(text)
    expected, found = surviving(format_, message), read(parsed, ids=writes_ids(format_))
    # Some templates do not end an empty turn.
    wrong = (Status.STRAY, Status.UNFINISHED) if text.strip() else (Status.STRAY,)
    if found == expected and parsed.status not in wrong and not gaps(parsed.spans, text):
        return ""
    return f"text     {text!r}\nexpected {expected}\nfound    {found}\n{parsed.status}"


def lost_messages(format_: TurnFormat, messages: Sequence[Message]) -> tuple[int, list[str]]:
    """Send messages around the loop; return how many were written, and what did not come back."""
    written = 0
    lost: list[str] = []
    for message in messages:
        try:
            found = difference(format_, message)
        except RefusedMessageError:
            continue
        written += 1
        lost += [found] if found else []
    return written, lost


def gaps(spans: Sequence[Span], text: str) -> str:
    """Return where the spans leave out a character or count it twice, or empty."""
    at = 0
    for span in spans:
        if span.start != at or span.end <= span.start:
            return f"the span {span} does not follow {at}"
        at = span.end
    return "" if at == len(text) else f"the spans end at {at}, the text at {len(text)}"


class Streamed(NamedTuple):
    """The message of a stream, and its deltas."""

    message: ParsedMessage
    deltas: list[Delta]

    @property
    def calls(self) -> list[tuple[str, str]]:
        """Names and arguments of the calls, put together from the deltas."""
        calls = [
            call["function"] for call in client_sum(self.deltas)["message"].get("tool_calls", ())
        ]
        return [(call["name"], call["arguments"]) for call in calls]


def streamed(parser: OutputParser, pieces: Sequence[str], *, complete: bool = True) -> Streamed:
    """Feed a text piece by piece."""
    stream = parser.stream()
    deltas = [delta for piece in pieces for delta in stream.feed(piece)]
    deltas += stream.finish(complete=complete)
    return Streamed(stream.message, deltas)


def disagreement(
    parser: OutputParser, text: str, *cuts: Sequence[str], complete: bool = True
) -> str:
    """Compare streams of a text with the one shot, and each with its deltas.

    Returns how they differ, or what in the message has no text or is not JSON; else empty.
    """
    whole = parser.parse(text, complete=complete)
    for pieces in ([text], *cuts):
        found = streamed(parser, pieces, complete=complete)
        if found.message != whole:
            return f"stream   {found.message} of {pieces}\none shot {whole}"
        choice, sums = found.message.to_openai_choice(), client_sum(found.deltas)
        if sums != choice:
            return f"deltas   {sums} of {pieces}\nmessage  {choice}"
    return gaps(whole.spans, text) or _twice(whole, text) or "".join(_invalid(whole))


def client_sum(deltas: Sequence[Delta]) -> dict[str, Any]:
    """Return the choice that a client of OpenAI puts together: texts by key, calls by index."""
    reason: object = None
    message: dict[str, Any] = {"role": "assistant", "content": None}
    calls: list[dict[str, Any]] = []
    for delta in deltas:
        choice: dict[str, Any] = delta.to_openai_choice()
        assert reason is None, "more comes after the end"
        reason, sent = choice["finish_reason"], choice["delta"]
        for key, value in sent.items():
            if key != "tool_calls":
                message[key] = f"{message.get(key) or ''}{value}"
                continue
            for piece in value:
                function = {**piece["function"]}
                if piece["index"] == len(calls):
                    assert piece["id"]
                    assert function["name"], "a call has no name"
                    calls.append({"id": piece["id"], "type": piece["type"], "function": function})
                else:
                    assert piece["index"] == len(calls) - 1, "a call was not begun, or is over"
                    assert [*function] == ["arguments"], "a call is begun twice"
                    calls[-1]["function"]["arguments"] += function["arguments"]
    whole = {**message, "tool_calls": calls} if calls else message
    return {"index": 0, "message": whole, "finish_reason": reason}


def _twice(message: ParsedMessage, text: str) -> str:
    """Return the prose of a message if it is more than the text that there is for it."""
    kinds = {SpanKind.CONTENT, SpanKind.REASONING}
    if message.reasoning_content is None:
        # Raw reasoning has its markers in the content.
        kinds |= {SpanKind.MARKUP, SpanKind.JUNK}
    prose = f"{message.content or ''}{message.reasoning_content or ''}"
    spans = "".join(text[span.start : span.end] for span in message.spans if span.kind in kinds)
    return prose if len("".join(prose.split())) > len("".join(spans.split())) else ""


def _invalid(message: ParsedMessage) -> Iterator[str]:
    """Return the calls that are over and have arguments that are not JSON."""
    for call in message.tool_calls:
        try:
            json.loads(call.arguments, parse_constant=_no_constant)
        except RecursionError:
            # Python's reader gives up on too deep objects, which are valid.
            continue
        except ValueError:
            yield f"not JSON: {call}"


def _no_constant(word: str) -> Json:
    """Refuse NaN and the infinities, which Python's own reader takes."""
    raise ValueError(word)


def literal_texts(format_: TurnFormat) -> list[str]:
    """Return the texts that a format writes around the parts of a turn and in its calls."""
    texts = [text for layout in format_.layouts.values() for text in layout.literals]
    calls = format_.calls
    if calls is not None:
        members = calls.arguments.members
        rows = (*calls.row, *(calls.empty_row or ()), *members.entry)
        texts += [piece for piece in rows if not isinstance(piece, RowSlot)]
        texts += [calls.section_open, calls.section_close, calls.separator]
        texts += [members.open, members.close]
    return [*texts, format_.reasoning_open, format_.reasoning_close, *format_.stop_strings]


def marker_texts(format_: TurnFormat) -> frozenset[str]:
    """Return the words in brackets or between signs that a format's literals hold."""
    texts = literal_texts(format_)
    markers = (marker for text in texts for marker in TemplateLiteral.of(text).markers)
    return frozenset(marker for marker in markers if any(map(str.isalnum, marker)))
