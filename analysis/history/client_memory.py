"""Write the messages that an engine and a client put into the history after a completion.

    parsed completion -> remember_message -> Remembered -> following_messages -> next conversation

`EngineMessages` writes all messages as an engine with given habits does.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from jiter import from_json
from msgspec import Struct, structs

from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
)
from autoparser.analysis.core.error_words import is_mapping
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.message_shape import (
    CallForm,
    ContentForm,
    EmptyContent,
    MessageShape,
    ReasoningForm,
    Setting,
)
from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.learning.prober import Prober
from autoparser.analysis.parsing.parsed_message import ParsedCall, ParsedMessage, Status
from autoparser.analysis.parsing.text_tape import SpanKind

from .scenarios import (
    Answers,
    ArgumentsAs,
    BesideCalls,
    EngineHabits,
    Ids,
    MessagesAs,
    Next,
    UnreadCalls,
)

# Messages as an engine passes them to the template: the parsed turn, and the turns before it.
#
# For example, an engine that passes on neither reasoning nor content beside calls turns an earlier
# `{reasoning_content: "A lookup is due.", content: "Let me look.", tool_calls: […]}` into
# `{content: "", tool_calls: […]}`.


class EngineMessages(Struct, frozen=True):
    """Writes messages as an engine with these habits does."""

    best: MessageShape
    """The shape that the template takes best, such as `MessageShape(arguments_as_string=True)`."""
    engine: EngineHabits
    """The habits of the engine, e.g. that it strips reasoning."""
    parts: bool
    """Whether the template takes content as a list of parts, `[{"type": "text", …}]`."""

    def conversation(self, dialogue: Dialogue, system: str = "") -> list[Mapping[str, Json]]:
        """Return a conversation whose turns went through this engine."""
        shape = self._shape
        messages: list[Mapping[str, Json]] = [*shape.messages((), system)]
        for entry in dialogue:
            match entry:
                case Message():
                    texts = [json.dumps(call.arguments, ensure_ascii=False) for call in entry.calls]
                    messages.append(self.turn(entry, texts))
                case ToolResult():
                    messages += map(self._result, self._result_shape.messages((entry,)))
                case _:
                    messages += shape.messages((entry,))
        return messages

    def turn(self, turn: Message, arguments: Sequence[str]) -> Mapping[str, Json]:
        """Return the message of a turn; `arguments` has the JSON text for each call."""
        engine, shape = self.engine, self._shape
        content = turn.content
        if turn.calls and engine.beside_calls is not BesideCalls.VERBATIM:
            content = content.strip() if engine.beside_calls is BesideCalls.STRIPPED else ""
        reasoning = turn.reasoning.rstrip() if engine.reasoning == "stripped" else turn.reasoning
        fields = engine.reasoning_fields
        message = shape.message(Message(content, reasoning if fields is None else "", turn.calls))
        if fields is None and shape.reasoning_field is None:
            fields = ("reasoning_content",)
        if reasoning:
            message.update(dict.fromkeys(fields or (), reasoning))
        return self._with_arguments(message, arguments)

    @property
    def _shape(self) -> MessageShape:
        if self.engine.messages is MessagesAs.TEMPLATE:
            return self.best
        form = self.engine.messages is MessagesAs.API_PARTS and self.parts
        shape = structs.replace(self.best, calls=CallForm.WRAPPED, empty_content=EmptyContent.EMPTY)
        parts = ContentForm.PARTS
        return (
            structs.replace(shape, user_content=parts, assistant_content=parts) if form else shape
        )

    @property
    def _result_shape(self) -> MessageShape:
        """Return the shape for a result; an engine that sends parts joins a result's texts."""
        parts = self.engine.messages is MessagesAs.API_PARTS
        return (
            structs.replace(self.best, assistant_content=ContentForm.TEXT) if parts else self.best
        )

    def _result(self, message: Mapping[str, Json]) -> Mapping[str, Json]:
        """Remove the function's name, which OpenAI's API does not have in results."""
        if self.engine.messages is MessagesAs.TEMPLATE:
            return message
        return {key: value for key, value in message.items() if key != "name"}

    def _with_arguments(self, message: dict[str, Json], texts: Sequence[str]) -> Mapping[str, Json]:
        """Return the arguments in the form that the engine gives them."""
        form, shape = self.engine.arguments, self._shape
        string = form is ArgumentsAs.STRING or (
            form is ArgumentsAs.TEMPLATE and shape.arguments_as_string
        )
        # The shape has created these calls for this message alone, so they can be changed in place.
        calls = cast("list[dict[str, Any]]", message.get("tool_calls", []))
        for call, text in zip(calls, texts, strict=True):
            function = call["function"] if shape.calls is CallForm.WRAPPED else call
            function["arguments"] = text if string else json_value(text)
        return message


def json_value(text: str) -> Json:
    """Return the value of a JSON text, or the text itself if it is not JSON."""
    try:
        value: Json = json.loads(text)
    except ValueError:
        return text
    return value


ANSWER = '{"ok": true}'
CONCLUSION = "All of it is done."
NEXT_QUESTION = "Thanks. What else is there?"

PLAIN_IDS = ("aB3dE6gH1", "kL5mN7pQ2", "rS8tU4vW9")
"""Ids that every template accepts; they do not matter if a turn shows no ids."""

MADE_ID = "chatcmpl-tool-{:032x}"
"""The form of an id that an engine makes, not the model."""


class Remembered(Struct, frozen=True):
    """An assistant message in the history."""

    message: Mapping[str, Json]
    """The message in the engine's form, such as
    `{"role": "assistant", "content": "It is sunny in Oslo."}`."""
    calls: tuple[ToolCall, ...]
    """Its calls, which need results, such as
    `(ToolCall("get_weather", {"city": "Oslo"}, "aB3dE6gH1"),)`."""


def remember_message(
    messages: EngineMessages, format_: TurnFormat, parsed: ParsedMessage, sampled: str
) -> Remembered:
    """Return the message that goes into the history, as the engine of `messages` makes it."""
    engine = messages.engine
    seen = _visible_calls(format_, parsed, engine)
    content = _content_text(format_, parsed, sampled, engine)
    naming = format_.calls is not None and format_.calls.naming is not None
    made_id = engine.ids is Ids.MADE or (engine.ids is Ids.NAMED and not naming)
    calls = tuple(_tool_call(call, at, made_id=made_id) for at, call in enumerate(seen))
    turn = Message(content, parsed.reasoning_content or "", calls)
    return Remembered(messages.turn(turn, [_arguments_text(call, engine) for call in seen]), calls)


_BROKEN = (Status.REPAIRED, Status.MALFORMED)


def has_unreadable_call(parsed: ParsedMessage) -> bool:
    """Return whether a call was not written whole; a forgiving parser may read it all the same."""
    broken = any(call.status in _BROKEN for call in parsed.tool_calls)
    return broken or parsed.partial_call is not None


def _visible_calls(
    format_: TurnFormat, parsed: ParsedMessage, engine: EngineHabits
) -> Sequence[ParsedCall]:
    """Return the calls that the engine sees."""
    if engine.malformed is UnreadCalls.CONTENT and has_unreadable_call(parsed):
        return ()
    if engine.malformed is UnreadCalls.DROPPED:
        return [call for call in parsed.tool_calls if call.status not in _BROKEN]
    partial = parsed.partial_call
    if partial is None or not partial.name:
        return parsed.tool_calls
    arguments = json.dumps(readable_part(_without_stop(format_, partial.arguments)))
    return (*parsed.tool_calls, replace(partial, arguments=arguments))


def _content_text(
    format_: TurnFormat, parsed: ParsedMessage, sampled: str, engine: EngineHabits
) -> str:
    content = parsed.content or ""
    if parsed.malformed_calls and engine.malformed is not UnreadCalls.READ:
        # The parser reads the text after a broken call as content, but the engine does not.
        broke = _break_offset(parsed)
        spans = [span for span in parsed.spans if span.start >= broke]
        rest = (sampled[span.start : span.end] for span in spans if span.kind is SpanKind.CONTENT)
        content = content.removesuffix("".join(rest))
    if has_unreadable_call(parsed) and engine.malformed is not UnreadCalls.READ:
        kept = engine.malformed is UnreadCalls.CONTENT
        return content + _call_text(format_, parsed, sampled) if kept else content
    opener = call_opener(format_)
    unread = parsed.status is Status.MALFORMED and not parsed.malformed_calls
    if unread and engine.malformed is not UnreadCalls.CONTENT and opener:
        # Text that is not a call may differ after the first marker of calls.
        return content.partition(TemplateLiteral.of(opener).first)[0]
    return content


def _call_text(format_: TurnFormat, parsed: ParsedMessage, sampled: str) -> str:
    """Return the text from after the reasoning or the content on, where a call was cut."""
    text_kinds = (SpanKind.CONTENT, SpanKind.REASONING)
    broke = _break_offset(parsed) if parsed.malformed_calls else len(sampled)
    spans = (span for span in parsed.spans if span.kind in text_kinds and span.start < broke)
    start = max((span.end for span in spans), default=0)
    text = _without_stop(format_, sampled[start:].removeprefix("" if start else format_.header))
    block = None if parsed.content else format_.reasoning
    if block is None or not block.close.core:
        return text
    head, close, rest = text.partition(block.close.core)
    closed = bool(close) and head.strip() in ("", block.open.core)
    return rest.removeprefix(block.close.after) if closed else text


def _break_offset(parsed: ParsedMessage) -> int:
    """Return where the first call begins that broke."""
    return min(attempt.start for attempt in parsed.attempts if attempt.status is Status.MALFORMED)


def _without_stop(format_: TurnFormat, text: str) -> str:
    """Remove the stop string, as engines do."""
    return text.removesuffix(
        next((stop for stop in format_.stop_strings if text.endswith(stop)), "")
    )


def call_opener(format_: TurnFormat) -> str:
    """Return the text that opens calls, stripped, or "" without one."""
    calls = format_.calls
    if calls is None:
        return ""
    first = calls.row[0]
    return (calls.section_open.strip() or ("" if isinstance(first, RowSlot) else first)).strip()


def _tool_call(call: ParsedCall, at: int, *, made_id: bool) -> ToolCall:
    # Nine letters and digits, the form that some templates demand of ids.
    plain = PLAIN_IDS[at] if at < len(PLAIN_IDS) else f"{PLAIN_IDS[0][:7]}{at:02}"
    value = json_value(call.arguments)
    arguments = value if isinstance(value, dict) else {}
    return ToolCall(call.name, arguments, MADE_ID.format(at + 1) if made_id else call.id or plain)


def _arguments_text(call: ParsedCall, engine: EngineHabits) -> str:
    if engine.json == "verbatim":
        return call.arguments
    try:
        return json.dumps(json.loads(call.arguments), ensure_ascii=False)
    except ValueError:
        return call.arguments


def following_messages(calls: Sequence[ToolCall], coming: Next, answers: Answers) -> Dialogue:
    """Return the messages after the turn, with results if it has calls."""
    answered = list(calls[:1] if answers is Answers.FIRST else calls)
    if answers is Answers.REVERSED:
        answered.reverse()
    results = tuple(ToolResult(ANSWER, call.name, call.id) for call in answered)
    if coming is Next.TOOL and results:
        return results
    if coming is Next.LATER and results:
        return (*results, Message(CONCLUSION), UserMessage(NEXT_QUESTION))
    return (UserMessage(NEXT_QUESTION),)


def _with_tag(part: Json) -> Json:
    """Append the tag to the text of a content part."""
    if not isinstance(part, dict):
        return part
    return {key: text if key == "type" else f"{text}{_CONTINUE_TAG}" for key, text in part.items()}


_CONTINUE_TAG = "CONTINUE_FINAL_MESSAGE_TAG "


def render_continued(
    prober: Prober, messages: Sequence[Mapping[str, Json]], *, tools: bool, setting: Setting
) -> str:
    """Render a conversation whose last message goes on, as transformers 5.23.0 does.

    `apply_chat_template(continue_final_message=…)` puts a tag after the text to continue and
    cuts the render there. Raises TemplateRenderError if it is not to be found.
    """
    last = dict(messages[-1])
    content = last.get("content")
    if isinstance(content, list) and content:
        # The last of several parts is continued.
        last["content"] = [*content[:-1], _with_tag(content[-1])]
    elif content:
        last["content"] = f"{content}{_CONTINUE_TAG}"
    else:
        field = prober.shape.reasoning_field or "reasoning_content"
        if prober.shape.reasoning_form is ReasoningForm.FIELD and field in last:
            last[field] = f"{last[field]}{_CONTINUE_TAG}"
    text = prober.render_messages([*messages[:-1], last], tools=tools, setting=setting)
    at = text.rfind(_CONTINUE_TAG.strip())
    if at < 0:
        raise TemplateRenderError("the message to continue does not appear in the text")
    # The tag ends with a space: if that is gone, the template strips the text, and the model
    # continues stripped text, too.
    return text[:at] if text.startswith(_CONTINUE_TAG, at) else text[:at].rstrip()


# The part of a JSON object that engines read where the text was cut.


def readable_part(text: str) -> Mapping[str, Json]:
    """Return the object in the longest prefix of a text that more text could complete to JSON.

    A string that was cut ends where it was cut; a key without a value is left out, and so is a
    number or a word that was cut in its middle. Empty if no beginning holds an object.

        >>> readable_part('{"city": "Oslo", "days": 3, "draft": tr')
        {'city': 'Oslo', 'days': 3}
        >>> readable_part('{"city": "Os')
        {'city': 'Os'}
    """
    text = text.lstrip()
    # A prefix that cannot become JSON cannot with more text either, so bisection finds the longest.
    ends = range(1, len(text) + 1)
    readable = bisect_left(ends, 1, key=lambda end: _parse_json(text[:end]) is _UNREADABLE)
    value = _parse_json(text[:readable])
    return value if is_mapping(value) else {}


_UNREADABLE = object()


def _parse_json(text: str) -> Any:
    try:
        return from_json(text.encode(errors="surrogatepass"), partial_mode="trailing-strings")
    except ValueError:
        return _UNREADABLE
