"""Translate Anthropic's messages and OpenAI's responses to chat requests, and answers back.

    Anthropic's /v1/messages: system, messages of blocks, tools with input_schema
    OpenAI's /v1/responses: instructions, input of items, tools without `function`

A tool's result is a block of the user's message in the one, and a message of its own in a chat.
Items of one turn (its reasoning, its text, its calls) are one message of a chat. No response is
kept, so each request brings the whole conversation.

For example, a user's message of Anthropic's, and the messages of a chat that it becomes:

    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"},
                                 {"type": "text", "text": "Go on"}]}
    ->  {"role": "tool", "tool_call_id": "t1", "content": "ok"},
        {"role": "user", "content": "Go on"}
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from autoparser.analysis.core.conversation import Json, openai_tool
from autoparser.analysis.core.error_words import (
    is_list,
    is_mapping,
)
from autoparser.analysis.parsing.parsed_message import Delta, DeltaKind

from .chat_answers import AnswerForm, AnswerProgress, event, new_id, token_usage
from .chat_request import ChatError, ChatRequest, chat_request, ignore_fields

_NOT_TEXT = "only text is supported"


def _join_text_parts(content: object, place: str, kinds: Collection[str] | None = None) -> str:
    """Return the text of parts, which are of these kinds. Raises ChatError for other parts."""
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for part in content if is_list(content) else [content]:
        text = part.get("text", part.get("refusal")) if is_mapping(part) else None
        taken = kinds is None or (is_mapping(part) and part.get("type") in kinds)
        if not taken or not isinstance(text, str):
            raise ChatError(_NOT_TEXT, place=place)
        texts.append(text)
    return "\n".join(texts)


def _named_event(kind: str, /, **fields: Json) -> bytes:
    return event({"type": kind, **fields}, kind)


# Anthropic's messages: deltas -> message_start, content_block_start, …_delta, …_stop,
# message_delta, message_stop.


_MESSAGES_TAKEN = {"model", "stream", "temperature", "top_p", "top_k"}
"""Fields that mean the same in both APIs."""
_MESSAGES_CONVERTED = {
    *("system", "messages", "tools", "tool_choice", "max_tokens", "stop_sequences"),
    *("thinking", "output_config", "output_format"),
}
_MESSAGES_BOOKKEEPING = {"metadata", "service_tier", "container", "context_management", "speed"}
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}


def messages_request(body: Mapping[str, Any]) -> ChatRequest:
    """Read a request. Raises ChatError, which names the place in it."""
    ignore_fields(body.keys() - _MESSAGES_TAKEN - _MESSAGES_CONVERTED - _MESSAGES_BOOKKEEPING)
    listed = body.get("messages")
    if not is_list(listed):
        raise ChatError("missing messages", place="messages")
    messages: list[dict[str, Any]] = []
    if body.get("system"):
        messages.append({"role": "system", "content": _join_text_parts(body["system"], "system")})
    for at, message in enumerate(listed):
        messages += _chat_messages(message, f"messages[{at}]")
    fields: dict[str, Any] = {name: body[name] for name in _MESSAGES_TAKEN & body.keys()}
    fields |= {"messages": messages, "max_tokens": body.get("max_tokens")}
    # Anthropic's API continues the text of an answer that the messages end with.
    last = messages[-1] if messages else {}
    continued = last.get("role") == "assistant" and "tool_calls" not in last
    fields["continue_final_message"] = continued and bool(last["content"])
    if body.get("tools"):
        fields["tools"] = [
            _messages_tool(tool, f"tools[{at}]") for at, tool in enumerate(body["tools"])
        ]
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
    # Only this field disables reasoning explicitly, so it overrides an effort.
    if is_mapping(thinking) and thinking.get("type") == "disabled":
        fields["reasoning_effort"] = "none"
    return chat_request(fields)


def _messages_tool(tool: object, place: str) -> dict[str, Any]:
    if not is_mapping(tool) or "input_schema" not in tool:
        raise ChatError(
            "unsupported tool", place=place, hint="pass a client tool, with name and input_schema"
        )
    return dict(openai_tool(tool))


def _choice(choice: object) -> dict[str, Any]:
    kind = choice.get("type") if is_mapping(choice) else None
    if not is_mapping(choice) or kind not in (*_CHOICES, "tool"):
        raise ChatError("type must be auto, any, tool or none", place="tool_choice")
    named = {"type": "function", "function": {"name": choice.get("name")}}
    found: dict[str, Any] = {"tool_choice": named if kind == "tool" else _CHOICES[str(kind)]}
    if choice.get("disable_parallel_tool_use"):
        found["parallel_tool_calls"] = False
    return found


def _chat_messages(message: object, place: str) -> Iterator[dict[str, Any]]:
    """Return a message in chat form; tool results precede the text next to them."""
    if not is_mapping(message) or not isinstance(message.get("role"), str):
        raise ChatError("missing role", place=place)
    content = message.get("content")
    blocks = content if is_list(content) else [{"type": "text", "text": content}]
    said: dict[str, Any] = {"role": message["role"], "content": ""}
    texts: list[str] = []
    for at, block in enumerate(blocks):
        where = f"{place}.content[{at}]"
        kind = block.get("type") if is_mapping(block) else None
        if not is_mapping(block) or not isinstance(kind, str):
            raise ChatError("must be a content block object", place=where)
        if kind == "tool_result":
            result = _join_text_parts(block.get("content") or "", where)
            yield {"role": "tool", "tool_call_id": block.get("tool_use_id"), "content": result}
        elif kind == "text":
            texts.append(_join_text_parts(block.get("text"), where))
        else:
            _add_block(said, kind, block, where)
    said["content"] = "\n".join(texts)
    # Tool results became separate messages, so a message with nothing else is dropped.
    if texts or len(said) > len(("role", "content")):
        yield said


def _add_block(said: dict[str, Any], kind: str, block: Mapping[str, Any], where: str) -> None:
    """Add a block of reasoning or a call to the assistant message."""
    if kind == "thinking":
        thought = said.get("reasoning_content", "")
        said["reasoning_content"] = thought + _join_text_parts(block.get("thinking"), where)
    elif kind == "tool_use":
        # Anthropic sends an object where OpenAI sends JSON text.
        arguments: Json = block.get("input") or {}
        function: dict[str, Json] = {"name": block.get("name"), "arguments": arguments}
        call: dict[str, Json] = {"id": block.get("id"), "type": "function", "function": function}
        said.setdefault("tool_calls", []).append(call)
    # Encrypted for Anthropic's own models; a client that switched servers may still send it.
    elif kind != "redacted_thinking":
        raise ChatError(f"unsupported content block {kind!r}: {_NOT_TEXT}", place=where)


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
        """Store the request; `body` is its JSON as the client sent it."""
        super().__init__(request, body, model)
        self._id = new_id("msg_")
        self._block = -1
        """The number of the block that is open or was the last one."""
        self._open: tuple[str, int] | None = None
        """The type of the open block, and which call it is."""

    def whole(self, answers: Sequence[AnswerProgress]) -> dict[str, Json]:
        """Return a whole answer, for a request without `stream`."""
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
        return _named_event("message_start", message=self._message(None))

    def events(self, _: AnswerProgress, deltas: Sequence[Delta], /) -> bytes:
        """Return the events of deltas, and of the blocks that they open and close."""
        parts: list[bytes] = []
        for delta in deltas:
            # The finish reason is in the events that close the message.
            if delta.kind is DeltaKind.FINISH:
                break
            if delta.kind is DeltaKind.CALL:
                block = _call_block(delta.id or f"call_{delta.index}", delta.text, {})
                parts.append(self._begin("tool_use", delta.index, block))
                continue
            kind, name = _BLOCKS[delta.kind]
            # The block of a call has another name than its deltas.
            block_kind = "tool_use" if delta.kind is DeltaKind.ARGUMENTS else kind
            if self._open != (block_kind, delta.index):
                parts.append(self._begin(block_kind, delta.index, _block(kind, "")))
            piece: Json = {"type": f"{kind}_delta", name: delta.text}
            parts.append(_named_event("content_block_delta", index=self._block, delta=piece))
        return b"".join(parts)

    def closing(self, answers: Sequence[AnswerProgress]) -> bytes:
        """Return the events that close the message."""
        (answer,) = answers
        message = self._message(answer)
        delta: Json = {name: message[name] for name in ("stop_reason", "stop_sequence")}
        ended = _named_event("message_delta", delta=delta, usage=message["usage"])
        return self._close() + ended + _named_event("message_stop")

    def error(self, error: ChatError) -> bytes:
        """Return the event of an error."""
        return event(self.error_body(error), "error")

    @staticmethod
    def error_body(error: ChatError) -> dict[str, Json]:
        """Return an error with the type that Anthropic's clients read; else it is OpenAI's."""
        return {"type": "error", **error.to_openai()}

    def _begin(self, kind: str, index: int, block: Json) -> bytes:
        # Anthropic's blocks never overlap, so the next one closes the last.
        closed = self._close()
        self._block += 1
        self._open = kind, index
        return closed + _named_event("content_block_start", index=self._block, content_block=block)

    def _close(self) -> bytes:
        if self._open is None:
            return b""
        self._open = None
        return _named_event("content_block_stop", index=self._block)

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
        # Anthropic counts cached tokens separately, while OpenAI includes them in the prompt's.
        "input_tokens": 0 if answer is None else max(0, answer.end.prompt_tokens - cached),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": cached,
        "output_tokens": 0 if answer is None else answer.count,
    }


def _block(kind: str, text: str) -> Json:
    # A thinking block of Anthropic's has a signature, which other servers leave empty.
    return {"type": kind, kind: text, **({"signature": ""} if kind == "thinking" else {})}


def _call_block(call_id: str, name: str, arguments: Json) -> Json:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def _object(arguments: str) -> Json:
    """Return the arguments of a call; `{}` for a truncated one, since clients execute objects."""
    try:
        value: Json = json.loads(arguments)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


# OpenAI's responses: deltas -> response.created, …output_item.added, …delta, …done,
# response.completed.


_RESPONSES_TAKEN = {
    *("model", "stream", "temperature", "top_p", "parallel_tool_calls", "top_logprobs"),
}
"""Fields that mean the same in both APIs."""
_RESPONSES_CONVERTED = {
    *("instructions", "input", "tools", "tool_choice", "max_output_tokens", "text", "reasoning"),
    *("previous_response_id", "conversation", "background", "prompt"),
}
_RESPONSES_BOOKKEEPING = {
    *("metadata", "store", "user", "safety_identifier", "prompt_cache_key", "include"),
    *("prompt_cache_retention", "service_tier", "truncation", "stream_options"),
}
_STATE = ("previous_response_id", "conversation", "background", "prompt")
_TEXTS = ("input_text", "output_text", "text", "reasoning_text", "summary_text", "refusal")


def responses_request(body: Mapping[str, Any]) -> ChatRequest:
    """Read a request. Raises ChatError, which names the place in it."""
    ignore_fields(body.keys() - _RESPONSES_TAKEN - _RESPONSES_CONVERTED - _RESPONSES_BOOKKEEPING)
    # Ignoring these would answer another conversation than the client means.
    for name in _STATE:
        if body.get(name):
            raise ChatError(
                "responses are not stored", place=name, hint="send the whole conversation as input"
            )
    fields: dict[str, Any] = {name: body[name] for name in _RESPONSES_TAKEN & body.keys()}
    fields |= {"messages": _responses_messages(body), "max_tokens": body.get("max_output_tokens")}
    tools = body.get("tools")
    if tools:
        fields["tools"] = [_responses_tool(tool, f"tools[{at}]") for at, tool in enumerate(tools)]
    choice = body.get("tool_choice")
    # Responses name the function next to the type, chat requests inside `function`.
    if is_mapping(choice) and choice.get("type") == "function":
        choice = {"type": "function", "function": {"name": choice.get("name")}}
    elif is_mapping(choice) and choice.get("type") == "allowed_tools":
        listed = choice.get("tools")
        named = (
            [_responses_tool(tool, "tool_choice") for tool in listed] if is_list(listed) else listed
        )
        choice = {**choice, "tools": named}
    fields["tool_choice"] = choice
    form = body["text"].get("format") if is_mapping(body.get("text")) else None
    if is_mapping(form):
        named = {"json_schema": {"schema": form.get("schema")}}
        schema = named if form.get("type") == "json_schema" else {}
        fields["response_format"] = {"type": form.get("type"), **schema}
    if is_mapping(body.get("reasoning")):
        fields["reasoning_effort"] = body["reasoning"].get("effort")
    return chat_request(fields)


def _responses_tool(tool: object, place: str) -> dict[str, Any]:
    if not is_mapping(tool) or tool.get("type") != "function":
        kind = tool.get("type") if is_mapping(tool) else tool
        raise ChatError(f"unsupported tool type {kind!r}: only function tools work", place=place)
    function = {name: value for name, value in tool.items() if name != "type" and value is not None}
    if function.get("strict") is False:
        # Clients always send it, chat requests lack it, and templates would render it.
        del function["strict"]
    return {"type": "function", "function": function}


def _responses_messages(body: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Convert the input items of OpenAI's Responses API to chat messages.

    An assistant turn is several items there (reasoning, calls, texts), and one message here.
    """
    given = body.get("input")
    # A text as input is short for one user message.
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not is_list(items):
        raise ChatError("missing input", place="input")
    messages: list[dict[str, Any]] = []
    if body.get("instructions"):
        messages.append({"role": "system", "content": body["instructions"]})
    turn: dict[str, Any] | None = None
    for at, item in enumerate(items):
        place = f"input[{at}]"
        if not is_mapping(item):
            raise ChatError("not an input item", place=place)
        # Clients leave the type of messages out.
        kind = item.get("type", "message")
        # Reasoning and calls have no role, but are the assistant's.
        own = kind in ("reasoning", "function_call") or item.get("role") == "assistant"
        if not own:
            turn = None
            messages.append(_other_message(item, kind, place))
            continue
        if turn is None:
            turn = {"role": "assistant", "content": ""}
            messages.append(turn)
        if kind == "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            call = {"id": item.get("call_id"), "type": "function", "function": function}
            turn.setdefault("tool_calls", []).append(call)
        elif kind == "reasoning":
            # OpenAI's own models return only a summary of their reasoning.
            texts = item.get("content") or item.get("summary") or ""
            turn["reasoning_content"] = turn.get("reasoning_content", "") + _join_text_parts(
                texts, place, _TEXTS
            )
        else:
            turn["content"] += _join_text_parts(item.get("content") or "", place, _TEXTS)
    return messages


def _other_message(item: Mapping[str, Any], kind: object, place: str) -> dict[str, Any]:
    if kind == "function_call_output":
        output = _join_text_parts(item.get("output") or "", place, _TEXTS)
        return {"role": "tool", "tool_call_id": item.get("call_id"), "content": output}
    if kind != "message":
        raise ChatError(f"unsupported input item {kind!r}: {_NOT_TEXT}", place=place)
    return {
        "role": item.get("role"),
        "content": _join_text_parts(item.get("content") or "", place, _TEXTS),
    }


@dataclass
class _Item:
    """An item of the answer that is being written."""

    kind: str
    """`"reasoning"`, `"message"` or `"function_call"`."""
    index: int
    """Its place in the output, e.g. 0."""
    call: int = 0
    """The number of the call, for a `function_call`."""
    call_id: str = ""
    """The id of the call, e.g. `"FdLjRNqmw"`; empty for other items."""
    name: str = ""
    """The name of the called function, e.g. `"get_weather"`; empty for other items."""
    text: str = ""
    """The text of the item so far, e.g. `"Hello"`, or the arguments of the call."""

    def __post_init__(self) -> None:
        # The prefixes are OpenAI's.
        self.id = new_id({"reasoning": "rs_", "message": "msg_", "function_call": "fc_"}[self.kind])

    @property
    def part(self) -> dict[str, Json]:
        """The one part of its content."""
        if self.kind == "reasoning":
            return {"type": "reasoning_text", "text": self.text}
        return {"type": "output_text", "text": self.text, "annotations": [], "logprobs": []}

    def fields(self, status: str) -> dict[str, Json]:
        """Return the item as an answer has it."""
        shared: dict[str, Json] = {"id": self.id, "type": self.kind, "status": status}
        if self.kind == "function_call":
            return {**shared, "call_id": self.call_id, "name": self.name, "arguments": self.text}
        content: list[Json] = [self.part] if self.text else []
        if self.kind == "reasoning":
            return {**shared, "summary": [], "content": content}
        return {**shared, "role": "assistant", "content": content}


_KINDS = {
    DeltaKind.REASONING: ("reasoning", "reasoning_text"),
    DeltaKind.CONTENT: ("message", "output_text"),
    DeltaKind.CALL: ("function_call", "function_call_arguments"),
    DeltaKind.ARGUMENTS: ("function_call", "function_call_arguments"),
}
"""The kind of an item, and the name of its events."""
_EVENTS = dict(_KINDS.values())
_ECHOED: Mapping[str, Json] = {
    "instructions": None,
    "tools": [],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "temperature": None,
    "top_p": None,
    "max_output_tokens": None,
    "text": None,
    "reasoning": None,
    "metadata": {},
}
"""Fields that a response repeats from its request, with their defaults."""


class ResponsesForm(AnswerForm):
    """The form of OpenAI's responses."""

    def __init__(self, request: ChatRequest, body: Mapping[str, Any], model: str) -> None:
        """Store the request; `body` is its JSON as the client sent it."""
        super().__init__(request, body, model)
        self._id = new_id("resp_")
        self._number = -1
        self._open: _Item | None = None
        self._output: list[Json] = []

    def whole(self, answers: Sequence[AnswerProgress]) -> dict[str, Json]:
        """Return a whole answer, equal to the end of its stream."""
        (answer,) = answers
        message = answer.message
        texts = {"reasoning": message.reasoning_content, "message": message.content}
        items = [_Item(kind, 0, text=text) for kind, text in texts.items() if text]
        items += [
            _Item("function_call", 0, at, call.sent_id or f"call_{at}", call.name, call.arguments)
            for at, call in enumerate(message.begun_calls)
        ]
        self._output = [item.fields("completed") for item in items]
        # A token limit can only have truncated the last item.
        if answer.reason == "length" and items:
            self._output[-1] = items[-1].fields("incomplete")
        return self._response(answer)

    def opening(self) -> bytes:
        """Return the events that open a response."""
        response: Json = self._response(None)
        return self._event("response.created", response=response) + self._event(
            "response.in_progress", response=response
        )

    def events(self, _: AnswerProgress, deltas: Sequence[Delta], /) -> bytes:
        """Return the events of deltas, and of the items that they open and close."""
        parts: list[bytes] = []
        for delta in deltas:
            if delta.kind is DeltaKind.FINISH:
                status = "incomplete" if delta.text == "length" else "completed"
                parts.append(self._close(status))
                break
            kind, name = _KINDS[delta.kind]
            item = self._open
            opens = item is None or (item.kind, item.call) != (kind, delta.index)
            # Each call begins a new item, even right after another call.
            if item is None or opens or delta.kind is DeltaKind.CALL:
                parts.append(self._close("completed"))
                item = _Item(kind, len(self._output), delta.index)
                if delta.kind is DeltaKind.CALL:
                    item.call_id, item.name = delta.id or f"call_{delta.index}", delta.text
                parts.append(self._begin(item))
            if delta.kind is DeltaKind.CALL:
                continue
            item.text += delta.text
            fields: dict[str, Json] = {"delta": delta.text}
            if kind == "message":
                fields["logprobs"] = []
            parts.append(self._event(f"response.{name}.delta", **self._place(item), **fields))
        return b"".join(parts)

    def closing(self, answers: Sequence[AnswerProgress]) -> bytes:
        """Return the event that closes the response."""
        (answer,) = answers
        response = self._response(answer)
        return self._event(f"response.{response['status']}", response=response)

    def error(self, error: ChatError) -> bytes:
        """Return the event of an error, as the API has it."""
        words = error.fields()
        named = {name: words[name] for name in ("message", "param")}
        return self._event("error", code=words["type"], **named, error=words)

    def _begin(self, item: _Item) -> bytes:
        self._open = item
        added = self._event(
            "response.output_item.added",
            output_index=item.index,
            item=item.fields("in_progress"),
        )
        if item.kind == "function_call":
            return added
        place = self._place(item)
        return added + self._event("response.content_part.added", **place, part=item.part)

    def _close(self, status: str) -> bytes:
        item, self._open = self._open, None
        if item is None:
            return b""
        fields = item.fields(status)
        self._output.append(fields)
        place, name = self._place(item), _EVENTS[item.kind]
        if item.kind == "function_call":
            done = self._event(
                f"response.{name}.done", **place, name=item.name, arguments=item.text
            )
        else:
            more: dict[str, Json] = {"logprobs": []} if item.kind == "message" else {}
            done = self._event(f"response.{name}.done", **place, text=item.text, **more)
            done += self._event("response.content_part.done", **place, part=item.part)
        return done + self._event("response.output_item.done", output_index=item.index, item=fields)

    @staticmethod
    def _place(item: _Item) -> dict[str, Json]:
        place: dict[str, Json] = {"item_id": item.id, "output_index": item.index}
        # A call has no parts; other items have exactly one.
        return place if item.kind == "function_call" else {**place, "content_index": 0}

    def _event(self, name: str, /, **fields: Json) -> bytes:
        self._number += 1
        return _named_event(name, sequence_number=self._number, **fields)

    def _response(self, answer: AnswerProgress | None) -> dict[str, Json]:
        cut = answer is not None and answer.reason == "length"
        ended = "incomplete" if cut else "completed"
        usage: Json = None
        if answer is not None:
            counts = token_usage([answer])
            usage = {
                "input_tokens": counts["prompt_tokens"],
                "input_tokens_details": counts["prompt_tokens_details"],
                "output_tokens": counts["completion_tokens"],
                # Backends count the tokens of the whole text only.
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": counts["total_tokens"],
            }
        return {
            "id": self._id,
            "object": "response",
            "created_at": self.created,
            "status": "in_progress" if answer is None else ended,
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "model": self.model,
            "output": list(self._output),
            "usage": usage,
            **{name: self.body.get(name, unset) for name, unset in _ECHOED.items()},
        }
