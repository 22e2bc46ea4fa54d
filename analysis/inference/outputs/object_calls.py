"""Calls whose arguments are one value: an object in JSON or Python's notation that fits a tool.

Such an object belongs to the name that stands next to it on one side. That it fits the schema of
the function is jsonschema's to say, so the envelope around name and arguments does not count.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from autoparser.analysis.core.conversation import Json

from .offered import OfferedTools, WordSeen
from .sighted import SightedCall

__all__ = ["ObjectStyle", "holds_call", "misread", "object_calls"]


class ObjectStyle(NamedTuple):
    """Where objects are looked for."""

    name_first: bool
    encoded: bool
    """As JSON text inside a JSON string."""


class _Value(NamedTuple):
    start: int
    end: int
    value: dict[str, Json]


_AFTER_KEY = re.compile(r"[^\w\s.,;!?]|\n| *:?=")
"""What stands after a key in markup, and not after a word of a sentence."""


def holds_call(text: str, offered: OfferedTools) -> bool:
    """Whether a text holds what may be a call in some way or other: names alone are no call."""
    names = offered.names_in(text)
    for at, name in enumerate(names):
        end = names[at + 1].start if at + 1 < len(names) else len(text)
        for key in offered.keys_in(name.word, text, name.end, end):
            if _AFTER_KEY.match(text, key.end):
                return True
    styles = (ObjectStyle(first, encoded) for first in (True, False) for encoded in (False, True))
    sighted = (call for style in styles for call in object_calls(text, 0, offered, style))
    return bool(names) and any(call.arguments for call in sighted)


def misread(name: str, arguments: Mapping[str, Json], offered: OfferedTools) -> bool:
    """Whether a string holds another argument of its call, as where its end was not found."""
    return any(
        key.word != own and _AFTER_KEY.match(value, key.end)
        for own, value in arguments.items()
        if isinstance(value, str)
        for key in offered.keys_in(name, value, 0, len(value))
    )


def object_calls(
    text: str, start: int, offered: OfferedTools, style: ObjectStyle
) -> list[SightedCall]:
    """Return the calls in a text from a place on, in its order."""
    names = [name for name in offered.names_in(text) if name.start >= start]
    if style.name_first:
        return list(_names_first(text, names, offered, encoded=style.encoded))
    return list(_arguments_first(text, start, names, offered, encoded=style.encoded))


def _names_first(
    text: str, names: list[WordSeen], offered: OfferedTools, *, encoded: bool
) -> Iterator[SightedCall]:
    done = 0
    for at, name in enumerate(names):
        if name.start < done:
            continue
        end = next((each.start for each in names[at + 1 :]), len(text))
        for value in _values(text, name.end, encoded=encoded):
            if value.start >= end:
                break
            if offered.fits(name.word, value.value):
                place = (value.start, value.end)
                yield SightedCall(name.word, value.value, (name.start, name.end), place)
                done = value.end
                break


def _arguments_first(
    text: str, start: int, names: list[WordSeen], offered: OfferedTools, *, encoded: bool
) -> Iterator[SightedCall]:
    done = start
    for value in _values(text, start, encoded=encoded):
        if value.start < done:
            continue
        name = next((each for each in names if each.start >= value.end), None)
        if name is not None and offered.fits(name.word, value.value):
            place = (value.start, value.end)
            yield SightedCall(name.word, value.value, (name.start, name.end), place)
            done = name.end


def _values(text: str, start: int, *, encoded: bool) -> Iterator[_Value]:
    """Go through the objects in a text, the outer ones before those inside them."""
    opener = '"' if encoded else "{"
    at = text.find(opener, start)
    while at >= 0:
        value = _encoded_at(text, at) if encoded else _object_at(text, at)
        if value is not None:
            yield value
        at = text.find(opener, at + 1)


_DECODER = json.JSONDecoder()


def _object_at(text: str, at: int) -> _Value | None:
    try:
        value, end = _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        return _python_object_at(text, at)
    return _Value(at, end, value)


def _encoded_at(text: str, at: int) -> _Value | None:
    try:
        held, end = _DECODER.raw_decode(text, at)
        value = json.loads(held)
    except (ValueError, RecursionError):
        return None
    return _Value(at, end, value) if isinstance(value, dict) else None


_LONGEST = 4000
"""Characters that are looked at for the end of a Python literal."""


def _python_object_at(text: str, at: int) -> _Value | None:
    """Read a literal of balanced braces."""
    depth = 0
    for end in range(at, min(len(text), at + _LONGEST)):
        depth += (text[end] == "{") - (text[end] == "}")
        if depth:
            continue
        held = text[at : end + 1]
        if "'" not in held:
            return None
        try:
            value = ast.literal_eval(held)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        return _Value(at, end + 1, value) if isinstance(value, dict) else None
    return None
