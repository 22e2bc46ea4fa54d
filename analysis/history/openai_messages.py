"""OpenAI's messages and tools in the shape that a template takes.

Clients of OpenAI's API send arguments as JSON text, reasoning in one of two fields, texts
sometimes as a list of parts, and tool results without the tool's name. The analysis has found the
shape that the template takes (`MessageShape`), and which parts it refuses beside each other
(`TurnLayout.refusal`). Messages with other content are passed unchanged.

For example, messages of an agent, and what the default shape, `MessageShape()`, makes of them:

    {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "function":
        {"name": "f", "arguments": "{}"}, …}]}             ->  content "", arguments {}
    {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "ok"}]}
                                                           ->  content "ok", name "f"
"""

from __future__ import annotations

import json
import logging
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import structs

from autoparser.analysis.core.conversation import Json, Message, Presence, ToolCall, tool_function
from autoparser.analysis.core.error_words import is_list, is_mapping, one_line
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.message_shape import MessageShape
from autoparser.analysis.core.turn_parts import TurnLayout

_LOG = logging.getLogger("autoparser")

REASONING = ("reasoning_content", "reasoning")
"""The fields in which servers send reasoning and clients return it."""


def shaped_messages(
    messages: Sequence[Mapping[str, Any]],
    shape: MessageShape,
    layouts: Mapping[Presence, TurnLayout] = MappingProxyType({}),
) -> list[Mapping[str, Any]]:
    """Return the messages in the shape that the template takes.

    The `layouts` of its turns decide which part of a message is left out, with a line in the log.
    """
    names: dict[str, str] = {}
    shaped: list[Mapping[str, Any]] = []
    for given in messages:
        # OpenAI's client returns empty fields of its answers as null.
        raw_message = {
            name: value for name, value in given.items() if value is not None or name == "content"
        }
        answer = _assistant_message(raw_message) if raw_message.get("role") == "assistant" else None
        if answer is not None:
            # A tool result contains only the id of its call, and many templates render the name.
            names.update({call.id: call.name for call in answer.calls})
            shaped.append(shape.message(_acceptable_message(answer, layouts)))
        elif raw_message.get("role") == "assistant" and raw_message.get("content") is None:
            # Such as arguments that a token limit has cut: the template gets them as they are.
            empty = shape.message(Message())["content"]
            shaped.append({**raw_message, "content": empty})
        else:
            shaped.append(_other(raw_message, names, shape))
    return shaped


def unreadable_arguments(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the place of the first arguments that are not a JSON object, or None.

    For example, `messages[1].tool_calls[0].function.arguments`.
    """
    for at, message in enumerate(messages):
        calls = message.get("tool_calls")
        for index, call in enumerate(calls if is_list(calls) else ()):
            if is_mapping(call) and is_mapping(call.get("function")) and _tool_call(call) is None:
                return f"messages[{at}].tool_calls[{index}].function.arguments"
    return None


class UnrenderedField(NamedTuple):
    """A field of a message that a template cannot render, although it could in another form."""

    place: str
    """The place of the field, e.g. `"messages[1].content"`."""
    fault: str
    """Its fault, e.g. `"is null or missing"`."""
    wanted: str
    """The form that the template renders, e.g. `"an empty text"`."""

    def __str__(self) -> str:
        """Return place and fault."""
        return f"{self.place} {self.fault}"


def unrendered_field(
    messages: Sequence[Mapping[str, Any]], render: Callable[[list[Mapping[str, Any]]], object]
) -> UnrenderedField | None:
    """Return the field that makes a render of OpenAI's messages fail, or None if none is to blame.

    These are null content and arguments as JSON text, which many templates cannot render. `render`
    raises AutoparserError; it decides, and is called a few times, also for long conversations.
    """
    mended = [_mended(message) for message in messages]
    changed = [at for at in range(len(messages)) if mended[at] != messages[at]]

    def fails(given: Iterable[int]) -> bool:
        kept = set(given)
        try:
            render([messages[at] if at in kept else mended[at] for at in range(len(messages))])
        except AutoparserError:
            return True
        return False

    if not changed or fails(()):
        return None
    # The first message that must be mended: with all before it as they were, the render succeeds.
    at = changed[bisect_left(range(1, len(changed)), True, key=lambda most: fails(changed[:most]))]
    place = f"messages[{at}]"
    message = messages[at]
    if message.get("content") is None:
        whole, mended[at] = mended[at], {**mended[at], "content": None}
        if fails(()):
            return UnrenderedField(f"{place}.content", "is null or missing", "an empty text")
        mended[at] = whole
    given, objects = (part.get("tool_calls") or () for part in (message, mended[at]))
    pairs = enumerate(zip(given, objects, strict=True))
    index = next((index for index, (call, other) in pairs if call != other), None)
    if index is None:
        return None
    where = f"{place}.tool_calls[{index}].function.arguments"
    return UnrenderedField(where, "is JSON text", "an object")


def _mended(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message with an empty text for null content, and arguments as objects."""
    found = {**message, "content": "" if message.get("content") is None else message["content"]}
    calls = message.get("tool_calls")
    if is_list(calls):
        found["tool_calls"] = [_with_object(call) for call in calls]
    return found


def _with_object(raw_call: object) -> object:
    call = _tool_call(raw_call)
    if call is None or not is_mapping(raw_call):
        return raw_call
    return {**raw_call, "function": {**raw_call["function"], "arguments": call.arguments}}


def _acceptable_message(message: Message, layouts: Mapping[Presence, TurnLayout]) -> Message:
    """Return the message, or one part less of it if the template refuses all of them together.

    Some templates raise on content beside reasoning and calls, which their own models write: an
    agent that sends an answer back would be refused. The calls are never left out, and beside them
    the content goes first: the reasoning is what led to the calls.
    """

    def refusal(taken: Message) -> str:
        layout = layouts.get(taken.presence)
        return "" if layout is None else layout.refusal

    why = refusal(message)
    if not why:
        return message
    # Without calls the content is the answer itself, so only the reasoning may go.
    for part in ("content", "reasoning") if message.calls else ("reasoning",):
        fewer = structs.replace(message, **{part: ""})
        if fewer != message and not refusal(fewer):
            _log_left_out(str(message.presence), part, why)
            return fewer
    return message


@lru_cache(maxsize=256)
def _log_left_out(parts: str, part: str, why: str) -> None:
    _LOG.warning(
        "messages with %s are rendered without their %s, since the template rejects them: %s",
        parts,
        part,
        one_line(why, 300),
    )


def shaped_tools(tools: Iterable[Mapping[str, Any]], shape: MessageShape) -> list[Json]:
    """Return the tools in the shape that the template takes."""
    functions = map(tool_function, tools)
    return [
        shape.tool({name: value for name, value in function.items() if value is not None})
        for function in functions
    ]


def _other(
    raw_message: Mapping[str, Any], names: Mapping[str, str], shape: MessageShape
) -> Mapping[str, Any]:
    text = _content_text(raw_message.get("content"))
    # Images and unknown roles are passed on as they are: the template decides.
    if raw_message.get("role") not in ("user", "system", "developer", "tool") or text is None:
        return raw_message
    shaped = {**raw_message, "content": shape.user_text(text)}
    tool_name = names.get(str(raw_message.get("tool_call_id")))
    if tool_name is not None and raw_message.get("role") == "tool":
        # A name that the client sent takes precedence.
        shaped.setdefault("name", tool_name)
    return shaped


def _assistant_message(raw_message: Mapping[str, Any]) -> Message | None:
    """Return an assistant message, or None if `Message` cannot represent it."""
    content = "" if raw_message.get("content") is None else _content_text(raw_message["content"])
    reasoning = next((raw_message[name] for name in REASONING if raw_message.get(name)), "")
    listed = raw_message.get("tool_calls") or ()
    calls = (
        [_tool_call(raw_call) for raw_call in listed]
        if is_list(listed)
        else [None] * (listed != ())
    )
    if content is None or not isinstance(reasoning, str) or None in calls:
        return None
    return Message(content, reasoning, tuple(call for call in calls if call is not None))


def _tool_call(raw_call: object) -> ToolCall | None:
    function = raw_call.get("function") if is_mapping(raw_call) else None
    if not is_mapping(raw_call) or not is_mapping(function):
        return None
    name, arguments = function.get("name"), function.get("arguments")
    if isinstance(arguments, str):
        try:
            # An empty text stands for no arguments.
            arguments = json.loads(arguments or "{}")
        except ValueError:
            return None
    if not isinstance(name, str) or not is_mapping(arguments):
        return None
    return ToolCall(name, arguments, str(raw_call.get("id") or ""))


def _content_text(content: object) -> str | None:
    """Return the text of a content, or None if it is not only text."""
    if isinstance(content, str):
        return content
    if not is_list(content):
        return None
    texts: list[str] = []
    for part in content:
        text = part.get("text") if is_mapping(part) and part.get("type") == "text" else None
        if not isinstance(text, str):
            return None
        texts.append(text)
    return "\n".join(texts)
