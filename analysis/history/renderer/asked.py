"""What a caller gives, checked: messages, tools, switches, and what reasoning to keep.

Contract: what is not as it should be is a RequestError that names its place, such as
`messages[2]`, and what was expected there. Nothing is asked of a message but a role: what it may
hold is for the template to say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import cast

import msgspec

from autoparser.analysis.core.spelling import misspelt, suggest
from autoparser.analysis.core.value_kind import is_mapping
from autoparser.analysis.loading.template import PASSED, plain, prepared_messages, prepared_tools
from autoparser.analysis.reading.expression import RequestError

from .history_renders import Message
from .retention import Retention

_MESSAGE = "give {role: user, content: …}"
_TOOL = "give {type: function, function: {name: …, parameters: …}}"


def messages_of(given: object, what: str = "messages") -> list[Message]:
    """Return messages as a template sees them. Raises RequestError."""
    listed = _listed(given, what, "messages", "[{role: user, content: …}, …]")
    if not listed:
        raise RequestError("there is no message", place=what, hint=_MESSAGE)
    return [_message(each, f"{what}[{at}]") for at, each in enumerate(listed)]


def _message(given: object, place: str) -> Message:
    try:
        message = prepared_messages([given])[0]
    except TypeError:
        raise RequestError(
            f"{type(given).__name__} is not a message", place=place, hint=_MESSAGE
        ) from None
    if not isinstance(message.get("role"), str):
        raise RequestError(
            "this message has no role",
            place=place,
            hint=misspelt("role", message, "give one such as user, assistant, system or tool"),
        )
    return message


def ids_of(given: Sequence[int]) -> Sequence[int]:
    """Return ids that may stand in an array of numpy or torch as a list of integers."""
    if isinstance(given, list | tuple):
        return given
    listed = getattr(given, "tolist", None)
    return cast("Sequence[int]", given if listed is None else listed())


def tools_of(given: object) -> list[object] | None:
    """Return tools as a template sees them; None stays None. Raises RequestError."""
    if given is None:
        return None
    listed = _listed(
        given, "tools", "tools", "[{type: function, function: {name: …, parameters: …}}, …]"
    )
    for at, each in enumerate(listed):
        if not isinstance(each, Mapping):
            raise RequestError(
                f"{type(each).__name__} is not a tool", place=f"tools[{at}]", hint=_TOOL
            )
    return prepared_tools(listed)


def tools_key(tools: Sequence[object] | None) -> bytes:
    """Return what tells tools from others by their content: a caller may change them in place.

    Every turn asks it, and `json.dumps` takes eight times as long.
    """
    try:
        return b"" if tools is None else msgspec.json.encode(tools, enc_hook=repr)
    except UnicodeEncodeError:  # of half a pair of UTF-16, which a schema may hold
        return json.dumps(tools, default=repr).encode()


def switches_of(given: object) -> dict[str, object]:
    """Return the template's variables. Raises RequestError for those that a render sets itself."""
    if given is None:
        return {}
    if not is_mapping(given):
        raise RequestError(
            f"{type(given).__name__} is not a mapping of the template's variables",
            place="switches",
            hint='give them by name, such as {"today": "Monday"}',
        )
    switches = {str(name): plain(value) for name, value in given.items()}
    for name in switches:
        if name in PASSED:
            raise RequestError(
                f"{name} is not a switch", place="switches", hint="give it with each render"
            )
    return switches


def retention_of(given: str) -> Retention:
    """Return which reasoning a bridge keeps. Raises RequestError."""
    known = [each.value for each in Retention]
    if given in known:
        return Retention(given)
    raise RequestError(
        f"there is no retention {given!r}",
        place="thinking_retention",
        hint=suggest(str(given), known, f"there are {', '.join(known)}"),
    )


def _listed(given: object, place: str, what: str, hint: str) -> Sequence[object]:
    if isinstance(given, Sequence) and not isinstance(given, str | bytes):
        return cast("Sequence[object]", given)
    raise RequestError(
        f"{type(given).__name__} is not a list of {what}", place=place, hint=f"give {hint}"
    )
