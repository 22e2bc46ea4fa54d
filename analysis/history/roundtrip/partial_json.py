"""JSON that was cut: as much of an object as engines make of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

from jiter import from_json

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.value_kind import is_mapping

__all__ = ["readable_part"]


def readable_part(text: str) -> Mapping[str, Json]:
    """Return the object in the longest beginning of a text that more text could make JSON.

    A string that was cut ends where it was cut; a key without a value is left out, and so is a
    number or a word that was cut in its middle. Empty where no beginning holds an object.

    For example `{"city": "Oslo", "days": 3, "draft": tr` is the city and the days, and so is
    `{"city": "Oslo", "days": 3, draft`, which no text could make JSON.
    """
    text = text.lstrip()
    # What cannot become JSON cannot with more after it either, so halving finds where that begins.
    ends = range(1, len(text) + 1)
    readable = bisect_left(ends, 1, key=lambda end: _read(text[:end]) is _UNREADABLE)
    value = _read(text[:readable])
    return value if is_mapping(value) else {}


_UNREADABLE = object()


def _read(text: str) -> Any:
    try:
        return from_json(text.encode(errors="surrogatepass"), partial_mode="trailing-strings")
    except ValueError:
        return _UNREADABLE
