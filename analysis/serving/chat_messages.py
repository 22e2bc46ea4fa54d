"""The messages of OpenAI's clients in the shape that a template takes.

A client sends calls with their arguments as JSON text, reasoning in a field of its server's choice,
texts now and then as a list of parts, and no name with a tool's result. What the template wants
instead was found by the analysis (`Shape`). What cannot be put into it is left as it came: the
template says what it thinks of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autoparser.analysis.core.conversation import Json, Message, ToolCall, function_of
from autoparser.analysis.core.message_shape import Shape
from autoparser.analysis.core.value_kind import is_list, is_mapping

REASONING = ("reasoning_content", "reasoning")
"""The fields in which servers give reasoning, and clients give it back."""


def shaped_messages(messages: Sequence[Mapping[str, Any]], shape: Shape) -> list[Mapping[str, Any]]:
    """Return the messages as the template takes them."""
    names: dict[str, str] = {}
    shaped: list[Mapping[str, Any]] = []
    for given in messages:
        said = _said(given) if given.get("role") == "assistant" else None
        if said is not None:
            names.update({call.id: call.name for call in said.calls})
            shaped.append(shape.message(said))
        else:
            shaped.append(_other(given, names, shape))
    return shaped


def shaped_tools(tools: Iterable[Mapping[str, Any]], shape: Shape) -> list[Json]:
    """Return the tools as the template takes them."""
    return [shape.tool(function_of(tool)) for tool in tools]


def _other(given: Mapping[str, Any], names: Mapping[str, str], shape: Shape) -> Mapping[str, Any]:
    text = _text(given.get("content"))
    if given.get("role") not in ("user", "system", "developer", "tool") or text is None:
        return given
    shaped = {**given, "content": shape.user_text(text)}
    called = names.get(str(given.get("tool_call_id")))
    if called is not None and given.get("role") == "tool":
        shaped.setdefault("name", called)
    return shaped


def _said(given: Mapping[str, Any]) -> Message | None:
    """Read an assistant message; None where it holds what a message of ours cannot."""
    content = "" if given.get("content") is None else _text(given["content"])
    reasoning = next((given[name] for name in REASONING if given.get(name)), "")
    calls = [_call(each) for each in given.get("tool_calls") or ()]
    if content is None or not isinstance(reasoning, str) or None in calls:
        return None
    return Message(content, reasoning, tuple(call for call in calls if call is not None))


def _call(given: object) -> ToolCall | None:
    function = given.get("function") if is_mapping(given) else None
    if not is_mapping(given) or not is_mapping(function):
        return None
    name, arguments = function.get("name"), function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except ValueError:
            return None
    if not isinstance(name, str) or not is_mapping(arguments):
        return None
    return ToolCall(name, arguments, str(given.get("id") or ""))


def _text(content: object) -> str | None:
    """Return the text of a content; None where it is not text alone."""
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
