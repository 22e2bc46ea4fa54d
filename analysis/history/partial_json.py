"""The part of a JSON object that engines read where the text was cut.

For example

    >>> readable_part('{"city": "Oslo", "days": 3, "draft": tr')
    {'city': 'Oslo', 'days': 3}
    >>> readable_part('{"city": "Os')
    {'city': 'Os'}
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from typing import Any

from jiter import from_json

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.error_words import is_mapping


def readable_part(text: str) -> Mapping[str, Json]:
    """Return the object in the longest prefix of a text that more text could complete to JSON.

    A string that was cut ends where it was cut; a key without a value is left out, and so is a
    number or a word that was cut in its middle. Empty if no beginning holds an object.

    For example `{"city": "Oslo", "days": 3, "draft": tr` is the city and the days, and so is
    `{"city": "Oslo", "days": 3, draft`, which no text could make JSON.
    """
    text = text.lstrip()
    # A prefix that cannot become JSON cannot with more text either, so bisection finds the longest.
    ends = range(1, len(text) + 1)
    readable = bisect_left(ends, 1, key=lambda end: _parse_json(text[:end]) is _UNREADABLE)
    value = _parse_json(text[:readable])
    return value if is_mapping(value) else {}


_UNREADABLE = object()


def _parse_json(text: str) -> Any:
    try:
        return from_json(text.encode(errors="surrogatepass"), partial_mode="trailing-strings")
    except ValueError:
        return _UNREADABLE
