"""Check the arguments of a caller: messages, tools, switches, and the reasoning to keep.

Contract: anything invalid is a RequestError that names its place, such as `messages[2]`, and the
value expected there. A message must have a role; the template decides what else it may have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from autoparser.analysis.core.conversation import openai_tool
from autoparser.analysis.core.error_words import (
    is_mapping,
    missing_name_hint,
    spelling_hint,
    value_kind,
)
from autoparser.analysis.parsing.turn_request import RequestError
from autoparser.analysis.templates.chat_template import (
    plain_value,
    prepared_messages,
    prepared_tools,
)
from autoparser.analysis.templates.source_text import PASSED

from .bridge_refusals import Retention
from .history_renders import Message

_MESSAGE = "give {role: user, content: …}"
_TOOL = "give {type: function, function: {name: …, parameters: …}}"


def checked_messages(argument: object, what: str = "messages") -> list[Message]:
    """Return messages as a template sees them. Raises RequestError."""
    listed = _check_list(argument, what, "messages", "[{role: user, content: …}, …]")
    if not listed:
        raise RequestError("no messages", place=what, hint=_MESSAGE)
    return [_checked_message(message, f"{what}[{at}]") for at, message in enumerate(listed)]


def _checked_message(argument: object, place: str) -> Message:
    try:
        message = prepared_messages([argument])[0]
    except TypeError:
        raise RequestError(
            f"a message must be a mapping, got {value_kind(argument)}", place=place, hint=_MESSAGE
        ) from None
    if not isinstance(message.get("role"), str):
        raise RequestError(
            "missing role",
            place=place,
            hint=missing_name_hint(
                "role", message, "give one such as user, assistant, system or tool"
            ),
        )
    return message


def token_list(argument: Sequence[int]) -> Sequence[int]:
    """Return ids, which may be an array of numpy or torch, as a list of integers."""
    if isinstance(argument, list | tuple):
        return argument
    listed = getattr(argument, "tolist", None)
    return cast("Sequence[int]", argument if listed is None else listed())


def checked_tools(argument: object) -> list[object] | None:
    """Return tools as a template sees them; None stays None. Raises RequestError."""
    if argument is None:
        return None
    listed = _check_list(
        argument, "tools", "tools", "[{type: function, function: {name: …, parameters: …}}, …]"
    )
    for at, tool in enumerate(listed):
        if not isinstance(tool, Mapping):
            raise RequestError(
                f"a tool must be a mapping, got {value_kind(tool)}",
                place=f"tools[{at}]",
                hint=_TOOL,
            )
    return prepared_tools([openai_tool(tool) for tool in listed])


def tools_key(tools: Sequence[object] | None) -> bytes:
    """Return a key of tools by their content, since a caller may change them in place.

    It is computed at every turn, and `json.dumps` takes eight times as long.
    """
    try:
        return b"" if tools is None else msgspec.json.encode(tools, enc_hook=repr)
    except UnicodeEncodeError:  # a schema may contain a lone surrogate
        return json.dumps(tools, default=repr).encode()


def checked_switches(argument: object) -> dict[str, object]:
    """Return the template's variables. Raises RequestError for those that a render sets itself."""
    if argument is None:
        return {}
    if not is_mapping(argument):
        raise RequestError(
            f"must be a mapping of template variables, got {value_kind(argument)}",
            place="switches",
            hint='give them by name, such as {"today": "Monday"}',
        )
    switches = {str(name): plain_value(value) for name, value in argument.items()}
    for name in switches:
        if name in PASSED:
            raise RequestError(
                f"{name} cannot be set as a switch", place="switches", hint="pass it to each render"
            )
    return switches


def checked_retention(argument: str) -> Retention:
    """Return which reasoning a bridge keeps. Raises RequestError."""
    known = [retention.value for retention in Retention]
    if argument in known:
        return Retention(argument)
    raise RequestError(
        f"unknown retention {argument!r}",
        place="thinking_retention",
        hint=spelling_hint(str(argument), known, f"choose from {', '.join(known)}"),
    )


def _check_list(argument: object, place: str, what: str, hint: str) -> Sequence[object]:
    if isinstance(argument, Sequence) and not isinstance(argument, str | bytes):
        return cast("Sequence[object]", argument)
    raise RequestError(
        f"must be a list of {what}, got {value_kind(argument)}", place=place, hint=f"give {hint}"
    )
