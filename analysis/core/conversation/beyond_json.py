"""What YAML and Python have and JSON has not: dates, sets, keys that are not text."""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.value_kind import is_list, is_mapping

__all__ = ["beyond_json"]


def beyond_json(value: object, place: str) -> Iterator[tuple[str, str]]:
    """Return the place of each value that JSON does not have, and what it is.

    A template would see a placeholder for it: `date: 2025-01-01` in YAML is a date, no text.
    """
    if is_mapping(value):
        for key, item in value.items():
            if isinstance(key, str):
                yield from beyond_json(item, f"{place}.{key}")
            else:
                yield place, f"the key {key!r}"
    elif is_list(value):
        for at, item in enumerate(value):
            yield from beyond_json(item, f"{place}[{at}]")
    elif value is not None and not isinstance(value, str | int | float | bool):
        yield place, f"a {type(value).__name__}"
