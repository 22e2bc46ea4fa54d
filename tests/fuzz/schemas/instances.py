"""Values for a schema at random: likely ones first; whether they meet it is jsonschema's to say."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice, permutations, product

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
