"""JSON that was cut: as much of an object as engines make of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from autoparser.analysis.core.conversation import Json

__all__ = ["readable_part"]

_CLOSERS = {"{": "}", "[": "]"}


def readable_part(text: str) -> Mapping[str, Json]:
    """Give the object that stands in the longest beginning of a text that can be closed.

    A string that was cut ends where it was cut, a key without a value is left out, as the partial
    readers of engines do. Empty where no beginning holds an object.
    """
    for end in range(len(text), 0, -1):
        try:
            value = cast("Json", json.loads(text[:end] + _closers(text[:end])))
        except ValueError:
            continue
        return value if isinstance(value, dict) else {}
    return {}


def _closers(text: str) -> str:
    """Give what closes the strings, arrays and objects that are open at the end of a text."""
    waiting: list[str] = []
    quoted = escaped = False
    for letter in text:
        if escaped:
            escaped = False
        elif quoted:
            escaped = letter == "\\"
            quoted = letter != '"'
        elif letter == '"':
            quoted = True
        elif letter in _CLOSERS:
            waiting.append(_CLOSERS[letter])
        elif waiting and letter == waiting[-1]:
            waiting.pop()
    return ('"' if quoted else "") + "".join(reversed(waiting))
