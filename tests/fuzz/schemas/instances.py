"""Make random values for a schema; jsonschema decides whether they are valid."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from itertools import islice, permutations, product
from typing import Any

from autoparser.analysis.core.conversation import Json

from .random_schemas import PARTS, Parts

_ODD = 0.6
"""The share of texts that look like other values, where such are made."""


def orders(value: Json) -> Iterator[Json]:
    """Return a value with its members in every order, up to so many."""
    return islice(_orders(value), 60)


def _orders(value: Json) -> Iterator[Json]:
    if isinstance(value, list):
        yield from map(list, product(*(tuple(islice(_orders(item), 6)) for item in value)))
    elif isinstance(value, dict):
        for names in permutations(value):
            inner = (tuple(islice(_orders(value[name]), 6)) for name in names)
            for values in product(*inner):
                yield dict(zip(names, values, strict=True))
    else:
        yield value


class ArgumentMaker:
    """Arguments that meet a tool's schema, or miss it in one place: each a candidate for a judge.

    Every keyword is looked at that bounds a value, in the schema's own order of members. What other
    schemas say beside (`allOf`, `not`, `if`) is left to the judge.
    """

    def __init__(self, rng: random.Random, schema: Json, *, odd: bool = False) -> None:
        """Make arguments of this schema: `odd` ones for a grammar that has to take them all."""
        self._rng, self._root, self._odd = rng, schema, odd

    def meeting(self) -> Json:
        """Return a value that probably meets the schema."""
        return self._value(self._root, 5)

    def missing(self, value: Json) -> Json:
        """Return a value that meets the schema, changed in one place."""
        return self._changed(value, self._root)

    def _read(self, schema: Json) -> Parts:
        """Return a schema in whose place a reference or one option of a union is put."""
        rng, seen = self._rng, 0
        while isinstance(schema, dict) and seen < 8:
            seen += 1
            if isinstance(schema.get("$ref"), str):
                schema = self._at(str(schema["$ref"]))
                continue
            union = next((u for u in ("anyOf", "oneOf") if isinstance(schema.get(u), list)), None)
            options = schema.get(union) if union else None
            if not isinstance(options, list) or not options:
                break
            beside = {key: schema[key] for key in schema if key != union}
            option = rng.choice(options)
            schema = {**beside, **option} if isinstance(option, dict) else beside
        return schema if isinstance(schema, dict) else {}

    def _at(self, reference: str) -> Json:
        found = self._root
        for key in reference.removeprefix("#").split("/")[1:]:
            name = key.replace("~1", "/").replace("~0", "~")
            found = found.get(name, {}) if isinstance(found, dict) else {}
        return found

    def _value(self, given: Json, depth: int) -> Json:
        rng, schema = self._rng, self._read(given)
        if "const" in schema:
            return schema["const"]
        values = schema.get("enum")
        if isinstance(values, list) and values:
            return rng.choice(values)
        match self._kind(schema):
            case "string":
                return self._text(schema)
            case "integer":
                return self._integer(schema)
            case "number":
                return rng.choice((self._integer(schema), self._integer(schema, 8) + 0.5))
            case "boolean":
                return rng.random() < 0.5
            case "null":
                return None
            case "array":
                return self._array(schema, depth)
            case _:
                return self._object(schema, depth)

    def _kind(self, schema: Parts) -> str:
        kinds = schema.get("type")
        if isinstance(kinds, list) and kinds:
            return str(self._rng.choice(kinds))
        if isinstance(kinds, str):
            return kinds
        if "properties" in schema:
            return "object"
        return self._rng.choice(("string", "integer", "boolean", "object", "array"))

    def _text(self, schema: Parts) -> str:
        rng = self._rng
        if self._odd and rng.random() < _ODD:
            return str(rng.choice(PARTS["odd_texts"]))
        known = PARTS["by_format"].get(str(schema.get("format")))
        if known:
            return str(rng.choice(known))
        if isinstance(schema.get("pattern"), str):
            return text_of_pattern(rng, str(schema["pattern"]))
        text: str = rng.choice(PARTS["words"])
        least, most = schema.get("minLength"), schema.get("maxLength")
        if isinstance(least, int) and len(text) < least:
            text = (text or "ab ") * (least // max(len(text), 1) + 1)
        return text[:most] if isinstance(most, int) else text

    def _integer(self, schema: Parts, width: int = 40) -> int:
        least, most = schema.get("minimum"), schema.get("maximum")
        above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
        low = least if isinstance(least, (int, float)) else above
        high = most if isinstance(most, (int, float)) else below
        low = int(low) + 1 - (low is least) if isinstance(low, (int, float)) else None
        high = int(high) - 1 + (high is most) if isinstance(high, (int, float)) else None
        if low is None:
            low = -width if high is None else high - width
        high = low + width if high is None else high
        return self._rng.choice((low, high, self._rng.randint(low, max(low, high))))

    def _array(self, schema: Parts, depth: int) -> Json:
        least, most = schema.get("minItems", 0), schema.get("maxItems", 3)
        least = least if isinstance(least, int) else 0
        most = most if isinstance(most, int) else 3
        count = self._rng.randint(least, max(least, min(most, least + 3)))
        first = schema.get("prefixItems")
        prefix = first if isinstance(first, list) else []
        items: Json = schema.get("items", {}) if depth > 0 else {"type": "string"}
        return [
            self._value(prefix[at] if at < len(prefix) else items, depth - 1) for at in range(count)
        ]

    def _object(self, schema: Parts, depth: int) -> Json:
        rng = self._rng
        members, needed = schema.get("properties"), schema.get("required")
        known = members if isinstance(members, dict) else {}
        needed = needed if isinstance(needed, list) else []
        share = rng.choice((0.0, 0.3, 0.7, 1.0)) if depth > 0 else 0.0
        found: Parts = {
            name: self._value(inner, depth - 1)
            for name, inner in known.items()
            if name in needed or rng.random() < share
        }
        # A grammar takes made-up names only where the schema invites them.
        others = schema.get("additionalProperties", not self._odd)
        if others is not False and depth > 0:
            for name in rng.sample(PARTS["made_up_names"], rng.choice((0, 0, 1, 2))):
                found.setdefault(name, self._value(others, depth - 1))
        return found

    def _changed(self, value: Json, given: Json) -> Json:
        rng, schema = self._rng, self._read(given)
        members = schema.get("properties")
        known = members if isinstance(members, dict) else {}
        if isinstance(value, dict):
            if value and rng.random() < 0.7:
                name = rng.choice([*value])
                others = schema.get("additionalProperties", {})
                return {**value, name: self._changed(value[name], known.get(name, others))}
            if value and rng.random() < 0.6:
                dropped = rng.choice([*value])
                return {name: value[name] for name in value if name != dropped}
            return {**value, rng.choice(PARTS["made_up_names"]): rng.choice(PARTS["others"])}
        if isinstance(value, list) and value and rng.random() < 0.5:
            at = rng.randrange(len(value))
            changed = self._changed(value[at], schema.get("items", {}))
            return [*value[:at], changed, *value[at + 1 :]]
        if isinstance(value, list) and rng.random() < 0.4:
            return rng.choice(([], value * 6))
        if isinstance(value, str) and rng.random() < 0.6:
            return rng.choice((value + " ", "", value * 40, value.swapcase(), f"-{value}", "?"))
        numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
        if numeric and rng.random() < 0.6:
            assert isinstance(value, (int, float))
            return rng.choice((-1, 0, value + 0.5, value + 100_000, -value - 100_000))
        other: Json = rng.choice(PARTS["others"])
        return other


def text_of_pattern(rng: random.Random, pattern: str) -> str:
    """Return a text that a pattern of plain means matches: no references, nothing looked ahead."""
    # Python's own parser; its module has no other public name.
    return "".join(_spelled(rng, re._parser.parse(pattern)))  # type: ignore[attr-defined]


_ANY_ASCII = tuple(map(chr, range(0x20, 0x7F)))


def _spelled(rng: random.Random, nodes: Any) -> Iterator[str]:
    for at, (kind, held) in enumerate(nodes):
        match str(kind):
            case "LITERAL":
                yield chr(held)
            case "NOT_LITERAL":
                yield "a" if held != ord("a") else "b"
            case "ANY":
                yield rng.choice("aZ9 -_./")
            case "IN":
                # A class holds a character if it matches it alone; one without any gives nothing.
                matches = re._compiler.compile(nodes[at : at + 1]).match  # type: ignore[attr-defined]
                chosen = [*filter(matches, _ANY_ASCII)]
                yield rng.choice(chosen) if chosen else ""
            case "BRANCH":
                yield from _spelled(rng, rng.choice(held[1]))
            case "SUBPATTERN":
                yield from _spelled(rng, held[3])
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, inner = held
                for _ in range(rng.randint(least, min(int(most), least + 3))):
                    yield from _spelled(rng, inner)
            case _:
                continue
