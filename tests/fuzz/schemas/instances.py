"""Values for a schema at random: likely ones first; whether they meet it is jsonschema's to say."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, permutations, product
from typing import Any

from autoparser.analysis.core.conversation import Json

from .random_schemas import DEFS, NAMES, VALUES, Parts

_TEXTS = (
    *("a", "b", "ab", "abb", "aXb", "xyz", "yzx", "12", "2024", "ABC-1", "", "a b", "it's", "x"),
    *("2024-02-29", "12:30:05Z", "2024-02-29T12:30:05+01:00", "P1DT2H", "a@b.example", "b.example"),
    *("10.0.0.1", "::1", "https://a.example/b?c#d", "../x", "/a/b~1", "0#", "{x}", "<", "&", '"'),
    *("123e4567-e89b-12d3-a456-426614174000", "'a'", '"b"', "[1", "{", "null", "1.0", "a\nb", "\\"),
    *(
        "é",
        "日本",
        "it's 'so'",
        "a, b=c",
        "</i>",
        "GET /a",
        "#0af",
        "-0",
        "$1",
        "[1, 2]",
        '{"a": 1}',
    ),
)
_NUMBERS: tuple[Json, ...] = (0, 1, -1, 2, 3, 5, 6, 7, 10, 12, 100, 0.5, 1.5, -2.5)


def value_for(rng: random.Random, schema: Json, depth: int = 4) -> Json:
    """Return a value that probably meets a schema."""
    if not isinstance(schema, dict) or depth < 0:
        found: Json = rng.choice(VALUES)
        return found
    if "const" in schema:
        return schema["const"]
    values = schema.get("enum")
    if isinstance(values, list) and values:
        return rng.choice(values)
    if "$ref" in schema:
        return value_for(rng, DEFS[str(schema["$ref"]).rpartition("/")[2]], depth - 1)
    for union in ("anyOf", "oneOf", "allOf"):
        options = schema.get(union)
        if isinstance(options, list) and options and ("type" not in schema or rng.random() < 0.2):
            return value_for(rng, rng.choice(options), depth - 1)
    kinds = schema.get("type", "string" if rng.random() < 0.5 else "integer")
    kind = rng.choice(kinds) if isinstance(kinds, list) else kinds
    return _typed(rng, schema, str(kind), depth)


def _typed(rng: random.Random, schema: Parts, kind: str, depth: int) -> Json:
    match kind:
        case "string":
            return rng.choice(_TEXTS)
        case "integer":
            return rng.choice([number for number in _NUMBERS if isinstance(number, int)])
        case "number":
            return rng.choice(_NUMBERS)
        case "boolean":
            return rng.random() < 0.5
        case "array":
            return _array(rng, schema, depth)
        case "object":
            return _object(rng, schema, depth)
        case _:
            return None


def _array(rng: random.Random, schema: Parts, depth: int) -> Json:
    first = schema.get("prefixItems")
    prefix = first if isinstance(first, list) else []
    items = schema.get("items", True)
    return [
        value_for(rng, prefix[at] if at < len(prefix) else items, depth - 1)
        for at in range(rng.randint(0, 3))
    ]


def _object(rng: random.Random, schema: Parts, depth: int) -> Json:
    members = schema.get("properties")
    required = schema.get("required")
    known = members if isinstance(members, dict) else {}
    needed = required if isinstance(required, list) else []
    found: Parts = {
        name: value_for(rng, inner, depth - 1)
        for name, inner in known.items()
        if name in needed or rng.random() < 0.5
    }
    others = schema.get("additionalProperties", False)
    if others is not False and rng.random() < 0.4:
        name = rng.choice(("other", *NAMES))
        found.setdefault(name, value_for(rng, others, depth - 1))
    return found


def orders(value: Json, most: int = 60) -> Iterator[Json]:
    """Return a value with its members in every order, up to so many."""
    return islice(_orders(value), most)


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


_BY_FORMAT: dict[str, tuple[str, ...]] = {
    "date": ("2024-02-29", "1999-12-31"),
    "time": ("12:30:05Z", "23:59:59.5+01:00"),
    "date-time": ("2024-02-29T12:30:05+01:00", "2026-11-23T00:00:00Z"),
    "duration": ("P1DT2H", "PT30M", "P2W"),
    "email": ("a@b.example", "first.last+tag@mail.example.org"),
    "hostname": ("b.example", "localhost"),
    "ipv4": ("10.0.0.1", "255.255.255.255"),
    "ipv6": ("::1", "2001:db8::8a2e:370:7334"),
    "uri": ("https://a.example/b?c=d&e#f", "mailto:a@b.example", "http://localhost:8080/"),
    "uri-reference": ("../x", "https://a.example/"),
    "uuid": ("123e4567-e89b-42d3-a456-426614174000", "00000000-0000-0000-0000-000000000000"),
    "json-pointer": ("/a/b~1", ""),
    "regex": ("^a+$",),
}
_WORDS = (
    *("Lisbon", "fix the login page", "src/main.py", "C:\\temp\\new", 'say "hi"', "it's", "a\nb"),
    *("https://a.example/?q=1&r=<2>", "{x}", "Zürich", "日本語", "🙂", "a, b=c", "x < y && z > w"),
    *("SELECT * FROM t WHERE a = 'b';", "- one\n- two\n", "\tindented", "end ", "", "\\n", "$1"),
)
"""What people and models write where any text may stand."""
_OTHERS: tuple[Json, ...] = ("text", "", 7, -2.5, True, None, [], ["a"], {}, {"a": 1})
"""One value or two of every type."""
_MADE_UP = ("note", "X-Api-Key", "user_id", "other2")


class ArgumentMaker:
    """Arguments that meet a tool's schema, or miss it in one place: each a candidate for a judge.

    Every keyword is looked at that bounds a value, in the schema's own order of members. What other
    schemas say beside (`allOf`, `not`, `if`) is left to the judge.
    """

    def __init__(self, rng: random.Random, schema: Json) -> None:
        self._rng, self._root = rng, schema

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
        if isinstance(schema.get("format"), str) and schema["format"] in _BY_FORMAT:
            return rng.choice(_BY_FORMAT[str(schema["format"])])
        if isinstance(schema.get("pattern"), str):
            return text_of_pattern(rng, str(schema["pattern"]))
        text = rng.choice(_WORDS)
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
        others = schema.get("additionalProperties", True)
        if others is not False and depth > 0:
            for name in rng.sample(_MADE_UP, rng.choice((0, 0, 1, 2))):
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
            dropped = rng.choice([*value]) if value and rng.random() < 0.6 else None
            if dropped is not None:
                return {name: value[name] for name in value if name != dropped}
            return {**value, rng.choice(_MADE_UP): rng.choice(_OTHERS)}
        if isinstance(value, list) and value and rng.random() < 0.5:
            at = rng.randrange(len(value))
            changed = self._changed(value[at], schema.get("items", {}))
            return [*value[:at], changed, *value[at + 1 :]]
        if isinstance(value, list) and rng.random() < 0.4:
            return rng.choice(([], [*value, *value, *value, *value, *value, *value]))
        if isinstance(value, str) and rng.random() < 0.6:
            return rng.choice((value + " ", "", value * 40, value.swapcase(), f"-{value}", "?"))
        numeric = isinstance(value, (int, float)) and not isinstance(value, bool)
        if numeric and rng.random() < 0.6:
            assert isinstance(value, (int, float))
            return rng.choice((-1, 0, value + 0.5, value + 100_000, -value - 100_000))
        return rng.choice(_OTHERS)


def text_of_pattern(rng: random.Random, pattern: str) -> str:
    """Return a text that a pattern of plain means matches: no references, nothing looked ahead."""
    # Python's own parser; its module has no other public name.
    return "".join(_spelled(rng, re._parser.parse(pattern)))  # type: ignore[attr-defined]


def _spelled(rng: random.Random, nodes: Iterable[tuple[Any, Any]]) -> Iterator[str]:
    for kind, held in nodes:
        match str(kind):
            case "LITERAL":
                yield chr(held)
            case "NOT_LITERAL":
                yield "a" if held != ord("a") else "b"
            case "ANY":
                yield rng.choice("aZ9 -_./")
            case "IN":
                yield _one_of(rng, held)
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


_ANY_ASCII = tuple(map(chr, range(0x20, 0x7F)))
_OF_CATEGORY: dict[str, Callable[[str], bool]] = {
    "CATEGORY_DIGIT": str.isdigit,
    "CATEGORY_WORD": lambda char: char.isalnum() or char == "_",
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_NOT_DIGIT": lambda char: not char.isdigit(),
    "CATEGORY_NOT_WORD": lambda char: not (char.isalnum() or char == "_"),
    "CATEGORY_NOT_SPACE": lambda char: not char.isspace(),
}


def _one_of(rng: random.Random, items: Sequence[tuple[Any, Any]]) -> str:
    """Return an ASCII character of a class; of a class without any, nothing."""
    excluded = str(items[0][0]) == "NEGATE"
    chosen = [
        char
        for char in _ANY_ASCII
        if any(_holds(item, char) for item in items[excluded:]) is not excluded
    ]
    return rng.choice(chosen) if chosen else ""


def _holds(item: tuple[Any, Any], char: str) -> bool:
    kind, held = item
    match str(kind):
        case "LITERAL":
            return bool(ord(char) == held)
        case "RANGE":
            return bool(held[0] <= ord(char) <= held[1])
        case _:
            return _OF_CATEGORY[str(held)](char)
