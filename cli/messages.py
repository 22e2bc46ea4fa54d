"""Whether what is given as a message is one: a role, and fields that hold what they should."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from autoparser.analysis.core.conversation import beyond_json
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.spelling import misspelt, nearest
from autoparser.analysis.core.value_kind import kind_of

__all__ = ["checked_message"]

_SAYING = ("content", "tool_calls", "reasoning_content", "reasoning", "thinking")
"""Fields that say something; a template may read others, too."""

_CALL = "give {type: function, function: {name: …, arguments: {…}}}"


def checked_message(value: object, place: str, file: str) -> dict[str, object]:
    """Return a message. Raises AutoparserError where a template could not read it as one."""
    for where, wrong, hint in _complaints(value):
        raise AutoparserError(wrong, file=file, place=f"{place}{where}", hint=hint)
    for where, what in beyond_json(value, place):
        words = f"{what} is nothing that JSON has"
        raise AutoparserError(words, file=file, place=where, hint="put it in quotes")
    return cast("dict[str, object]", value)


def _complaints(value: object) -> Iterator[tuple[str, str, str]]:
    """Say where in a message something is wrong, what, and what was expected."""
    if not isinstance(value, dict):
        yield "", f"this is {kind_of(value)}, not a message", "give {role: user, content: …}"
        return
    message = cast("dict[str, object]", value)
    if not isinstance(message.get("role"), str):
        hint = "give one such as user, assistant, system or tool"
        yield "", "this message has no role", misspelt("role", message, hint)
    if not any(field in message for field in _SAYING) and nearest("content", message):
        hint = misspelt("content", message, "give content, or tool_calls")
        yield "", "this message says nothing", hint
    content = message.get("content")
    if isinstance(content, int | float):
        yield ".content", f"the content is {kind_of(content)}", "put it in quotes"
    calls = message.get("tool_calls")
    if not isinstance(calls, list | None):
        yield (
            ".tool_calls",
            f"this is {kind_of(calls)}, not a list of calls",
            f"{_CALL} in a list",
        )
        return
    for at, call in enumerate(cast("list[object]", calls or [])):
        if not _is_call(call):
            yield f".tool_calls[{at}]", "this is not a valid call", _CALL


def _is_call(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    members = cast("Mapping[str, object]", value)
    function = members.get("function", members)
    return isinstance(function, Mapping) and isinstance(
        cast("Mapping[str, object]", function).get("name"), str
    )
