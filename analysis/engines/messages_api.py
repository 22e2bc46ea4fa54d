"""Anthropic's `/v1/messages`: its requests read as chat requests, and answers written in its form.

    {system, messages of blocks, tools with input_schema} -> ChatRequest
    deltas -> message_start, content_block_start, …_delta, …_stop, message_delta, message_stop

A tool's result is a block of the user's message there, and a message of its own in a chat.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import is_list, is_mapping
from autoparser.analysis.parsing.parsed_message import Delta, DeltaKind

from .chat_answers import AnswerForm, AnswerProgress, event, new_id
from .chat_request import ChatError, ChatRequest, chat_request, ignore_fields

_TAKEN = {"model", "stream", "temperature", "top_p", "top_k"}
"""Fields that mean the same in both APIs."""
_CONVERTED = {
    *("system", "messages", "tools", "tool_choice", "max_tokens", "stop_sequences"),
    *("thinking", "output_config", "output_format"),
}
_BOOKKEEPING = {"metadata", "service_tier", "container", "context_management", "speed"}
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_NOT_TEXT = "only texts reach the model here"


def messages_request(body: Mapping[str, Any]) -> ChatRequest:
    """Read a request. Raises ChatError, which names the place in it."""
    ignore_fields(body.keys() - _TAKEN - _CONVERTED - _BOOKKEEPING)
    listed = body.get("messages")
    if not is_list(listed):
        raise ChatError("the messages are missing", place="messages")
    messages: list[dict[str, Any]] = []
    if body.get("system"):
        messages.append({"role": "system", "content": _text(body["system"], "system")})
    for at, each in enumerate(listed):
        messages += _chat_messages(each, f"messages[{at}]")
    fields: dict[str, Any] = {name: body[name] for name in _TAKEN & body.keys()}
    fields |= {"messages": messages, "max_tokens": body.get("max_tokens")}
    if body.get("tools"):
        fields["tools"] = [_tool(each, f"tools[{at}]") for at, each in enumerate(body["tools"])]
    if body.get("tool_choice"):
        fields |= _choice(body["tool_choice"])
    if body.get("stop_sequences"):
        fields["stop"] = body["stop_sequences"]
    given = body.get("output_config")
    config: Mapping[str, Any] = given if is_mapping(given) else {}
    form = config.get("format") or body.get("output_format")
    if is_mapping(form) and form.get("type") == "json_schema":
        schema = {"schema": form.get("schema")}
        fields["response_format"] = {"type": "json_schema", "json_schema": schema}
    fields["reasoning_effort"] = config.get("effort")
    thinking = body.get("thinking")
    if is_mapping(thinking) and thinking.get("type") == "disabled":
        fields["reasoning_effort"] = "none"
    return chat_request({name: value for name, value in fields.items() if value is not None})


def _tool(tool: object, place: str) -> dict[str, Any]:
    if not is_mapping(tool) or "input_schema" not in tool:
        raise ChatError(
            "this is not a tool of the client's own", place=place, hint="give name and input_schema"
        )
    names = {"name": "name", "description": "description", "strict": "strict"}
    function = {name: tool[own] for name, own in names.items() if tool.get(own) is not None}
    return {"type": "function", "function": {**function, "parameters": tool["input_schema"]}}


def _choice(choice: object) -> dict[str, Any]:
    kind = choice.get("type") if is_mapping(choice) else None
    if not is_mapping(choice) or kind not in (*_CHOICES, "tool"):
        raise ChatError("the type is auto, any, tool or none", place="tool_choice")
    named = {"type": "function", "function": {"name": choice.get("name")}}
    found: dict[str, Any] = {"tool_choice": named if kind == "tool" else _CHOICES[str(kind)]}
    if choice.get("disable_parallel_tool_use"):
        found["parallel_tool_calls"] = False
    return found


def _chat_messages(message: object, place: str) -> Iterator[dict[str, Any]]:
    """Return a message as a chat has it: results of tools come before the text beside them."""
    if not is_mapping(message) or not isinstance(message.get("role"), str):
        raise ChatError("this message has no role", place=place)
    content = message.get("content")
    blocks = content if is_list(content) else [{"type": "text", "text": content}]
    said: dict[str, Any] = {"role": message["role"], "content": ""}
    texts: list[str] = []
    for at, block in enumerate(blocks):
        where = f"{place}.content[{at}]"
        kind = block.get("type") if is_mapping(block) else None
        if not is_mapping(block) or not isinstance(kind, str):
            raise ChatError("this is not a block", place=where)
        if kind == "tool_result":
            result = _text(block.get("content") or "", where)
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": result}
        elif kind == "text":
            texts.append(_text(block.get("text"), where))
        else:
            _add_block(said, kind, block, where)
    said["content"] = "\n".join(texts)
    if texts or len(said) > len(("role", "content")):
        yield said


def _add_block(said: dict[str, Any], kind: str, block: Mapping[str, Any], where: str) -> None:
    """Add what the model thought or called to its message."""
    if kind == "thinking":
        thought = said.get("reasoning_content", "")
        said["reasoning_content"] = thought + _text(block.get("thinking"), where)
    elif kind == "tool_use":
        arguments: Json = block.get("input") or {}
        function: dict[str, Json] = {"name": block.get("name"), "arguments": arguments}
        call: dict[str, Json] = {"id": block.get("id"), "type": "function", "function": function}
        said.setdefault("tool_calls", []).append(call)
    elif kind != "redacted_thinking":
        raise ChatError(f"a block of the type {kind!r}: {_NOT_TEXT}", place=where)


def _text(content: object, place: str) -> str:
    if isinstance(content, str):
        return content
    texts = [each.get("text") for each in content if is_mapping(each)] if is_list(content) else [0]
    if not all(isinstance(text, str) for text in texts):
        raise ChatError(_NOT_TEXT, place=place)
    return "\n".join(map(str, texts))


_REASONS = {"stop": "end_turn", "tool_calls": "tool_use", "length": "max_tokens"}
_BLOCKS: Mapping[DeltaKind, tuple[str, str]] = {
    DeltaKind.REASONING: ("thinking", "thinking"),
    DeltaKind.CONTENT: ("text", "text"),
    DeltaKind.ARGUMENTS: ("input_json", "partial_json"),
}
"""The type of a delta, less its ending, and the field of its text."""


class MessagesForm(AnswerForm):
    """The form of Anthropic's messages."""

    def __init__(self, request: ChatRequest, body: Mapping[str, Any], model: str) -> None:
        """Begin an answer to a request; `body` is what the client sent."""
        super().__init__(request, body, model)
        self._id = new_id("msg_")
        self._block = -1
        """The number of the block that is open or was the last one."""
        self._open: tuple[str, int] | None = None
        """The type of the open block, and which call it is."""

    def whole(self, answers: Sequence[AnswerProgress]) -> dict[str, Json]:
        """Return an answer that comes at once."""
        (answer,) = answers
        message = answer.message
        blocks: list[Json] = []
        if message.reasoning_content:
            blocks.append(_block("thinking", message.reasoning_content))
        if message.content:
            blocks.append(_block("text", message.content))
        for at, call in enumerate(message.begun_calls):
            call_id = call.sent_id or f"call_{at}"
            blocks.append(_call_block(call_id, call.name, _object(call.arguments)))
        return {**self._message(answer), "content": blocks}

    def opening(self) -> bytes:
        """Return the event that opens a message."""
        return _named("message_start", message=self._message(None))

    def events(self, _: AnswerProgress, deltas: Sequence[Delta], /) -> bytes:
        """Return the events of deltas, and of the blocks that they open and close."""
        parts: list[bytes] = []
        for delta in deltas:
            if delta.kind is DeltaKind.FINISH:
                break
            if delta.kind is DeltaKind.CALL:
                block = _call_block(delta.id or f"call_{delta.index}", delta.text, {})
                parts.append(self._begin("tool_use", delta.index, block))
                continue
            kind, name = _BLOCKS[delta.kind]
            block_kind = "tool_use" if delta.kind is DeltaKind.ARGUMENTS else kind
            if self._open != (block_kind, delta.index):
                parts.append(self._begin(block_kind, delta.index, _block(kind, "")))
            piece: Json = {"type": f"{kind}_delta", name: delta.text}
            parts.append(_named("content_block_delta", index=self._block, delta=piece))
        return b"".join(parts)

    def closing(self, answers: Sequence[AnswerProgress]) -> bytes:
        """Return the events that close the message."""
        (answer,) = answers
        message = self._message(answer)
        names = ("stop_reason", "stop_sequence")
        delta: Json = {name: message[name] for name in names}
        ended = _named("message_delta", delta=delta, usage=message["usage"])
        return self._close() + ended + _named("message_stop")

    def error(self, error: ChatError) -> bytes:
        """Return the event of an error."""
        return event(self.error_body(error), "error")

    @staticmethod
    def error_body(error: ChatError) -> dict[str, Json]:
        """Return an error with the type that Anthropic's clients read; else it is OpenAI's."""
        return {"type": "error", **error.to_openai()}

    def _begin(self, kind: str, index: int, block: Json) -> bytes:
        closed = self._close()
        self._block += 1
        self._open = kind, index
        return closed + _named("content_block_start", index=self._block, content_block=block)

    def _close(self) -> bytes:
        if self._open is None:
            return b""
        self._open = None
        return _named("content_block_stop", index=self._block)

    def _message(self, answer: AnswerProgress | None) -> dict[str, Json]:
        stop = None if answer is None else answer.own_stop
        reason = None if answer is None else _REASONS[answer.reason]
        return {
            "id": self._id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": [],
            "stop_reason": reason if stop is None else "stop_sequence",
            "stop_sequence": stop,
            "usage": _usage(answer),
        }


def _usage(answer: AnswerProgress | None) -> Json:
    cached = 0 if answer is None else answer.end.cached_tokens
    return {
        "input_tokens": 0 if answer is None else max(0, answer.end.prompt_tokens - cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": 0 if answer is None else answer.count,
    }


def _block(kind: str, text: str) -> Json:
    return {"type": kind, kind: text, **({"signature": ""} if kind == "thinking" else {})}


def _call_block(call_id: str, name: str, arguments: Json) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def _object(arguments: str) -> Json:
    """Return the arguments of a call, or none of one that was cut: clients carry out objects."""
    try:
        value: Json = json.loads(arguments)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def _named(kind: str, **fields: Json) -> bytes:
    return event({"type": kind, **fields}, kind)
