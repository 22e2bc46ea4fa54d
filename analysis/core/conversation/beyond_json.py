"""What YAML and Python have and JSON has not: dates, sets, keys that are not text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

__all__ = ["beyond_json"]


def beyond_json(value: object, place: str) -> Iterator[tuple[str, str]]:
    """Return the place of each value that JSON does not have, and what it is.

    A template would see a placeholder for it: `date: 2025-01-01` in YAML is a date, no text.
    """
    if isinstance(value, Mapping):
        for key, item in cast("Mapping[object, object]", value).items():
            if isinstance(key, str):
                yield from beyond_json(item, f"{place}.{key}")
            else:
                yield place, f"the key {key!r}"
    elif isinstance(value, list):
        for at, item in enumerate(cast("list[object]", value)):
            yield from beyond_json(item, f"{place}[{at}]")
    elif value is not None and not isinstance(value, str | int | float | bool):
        yield place, f"a {type(value).__name__}"
