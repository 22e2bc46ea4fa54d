"""Which values come out right: what the notation writes, read as transformers' parser reads it.

Its content parsers are few: text, JSON, JSON or else text. A text is then typed by the schema of
its parameter, where the tools are given (`_coerce` in transformers' `response_parser.py`).

For example, where all but arrays come back as they were:

    >>> losses(lambda value: not isinstance(value, list), unwritten=[]).types
    frozenset({<JsonType.ARRAY: 'array'>})
    >>> typed("3", JsonType.INTEGER), typed("three", JsonType.INTEGER)
    (3, 'three')
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from autoparser.analysis.core.battery import battery
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import JsonType, type_of
from autoparser.analysis.describing.export.export_limits import ExportLimit, MessagePiece

_CHARACTERS = f"{string.punctuation}\n\t\ré日🚀"
_PLAIN = "plain words"
_CONTAINERS = (JsonType.ARRAY, JsonType.OBJECT)

Reads = Callable[[Json], bool]
"""Whether a value that is written comes back."""


def loaded(text: str) -> Json:
    """Read JSON. Raises ValueError."""
    value: Json = json.loads(text)
    return value


def typed(value: Json, kind: JsonType) -> Json:
    """Type a text by its parameter's schema; what is not text stays."""
    if not isinstance(value, str):
        return value
    try:
        match kind:
            case JsonType.INTEGER:
                return int(value)
            case JsonType.NUMBER:
                return float(value)
            case JsonType.BOOLEAN if value.strip().lower() in ("true", "1", "false", "0"):
                return value.strip().lower() in ("true", "1")
            case JsonType.NULL if value.strip() in ("null", "None"):
                return None
            case JsonType.ARRAY | JsonType.OBJECT:
                return loaded(value)
            case _:
                return value
    except ValueError:
        return value


@dataclass(frozen=True, slots=True)
class Losses:
    """The values that do not come back."""

    types: frozenset[JsonType] = frozenset()
    characters: str = ""
    """Strings that hold one of these are lost, while others are not."""
    odd_strings: bool = False
    """Some strings are lost, and no single character is to blame."""

    @property
    def weight(self) -> int:
        """How much is lost, to choose the better of two ways to read."""
        strings = bool(self.characters) + 2 * self.odd_strings
        return 4 * len(self.types) + strings + 8 * (JsonType.STRING in self.types)

    def limits(self, why: str) -> Iterator[ExportLimit]:
        """Say what is lost, and why."""
        if self.types:
            words = ", ".join(sorted(self.types))
            yield ExportLimit(MessagePiece.TYPES, f"{words}: {why}", self.types)
        if self.odd_strings:
            yield ExportLimit(MessagePiece.STRINGS, f"texts that look like other values: {why}")
        elif self.characters:
            yield ExportLimit(MessagePiece.STRINGS, why, characters=self.characters)


def losses(reads: Reads, unwritten: Collection[JsonType]) -> Losses:
    """Try the battery's values; types that the template does not write cannot be lost."""
    values = [value for value in _battery_values() if type_of(value) not in unwritten]
    scalars = [value for value in values if type_of(value) not in _CONTAINERS]
    lost = {type_of(value) for value in scalars if not isinstance(value, str) and not reads(value)}
    if not reads(_PLAIN):
        lost.add(JsonType.STRING)
        return Losses(frozenset(lost))
    characters = "".join(char for char in _CHARACTERS if not reads(f"a{char}b"))
    strings = [value for value in scalars if isinstance(value, str)]
    odd = any(not reads(text) and not _holds(text, characters) for text in strings)
    for value in values:
        kind = type_of(value)
        if kind in _CONTAINERS and not reads(value) and not _spoiled(value, lost, characters):
            lost.add(kind)
    return Losses(frozenset(lost), characters, odd)


def _battery_values() -> Iterator[Json]:
    for case in battery():
        for call in case.message.calls:
            yield from call.arguments.values()


def _holds(text: str, characters: str) -> bool:
    return any(char in text for char in characters)


def _spoiled(value: Json, lost: set[JsonType], characters: str) -> bool:
    """Whether a value inside is lost by itself."""
    items = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return any(
        (type_of(item) in lost and type_of(item) not in _CONTAINERS)
        or (isinstance(item, str) and _holds(item, characters))
        or _spoiled(item, lost, characters)
        for item in items
    )
