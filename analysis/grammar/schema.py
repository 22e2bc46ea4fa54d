"""JSON Schema as a grammar's maker needs it: references, types, and parts that stand alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, cast

from autoparser.analysis.conversation import Json
from autoparser.analysis.errors import AutoparserError
from autoparser.analysis.format import JsonType, Order, type_of

Schema: TypeAlias = dict[str, Json]

ANY: frozenset[JsonType] = frozenset(JsonType)
_NUMBERS = frozenset({JsonType.INTEGER, JsonType.NUMBER})
_ROOT = "root"
_UNIONS = ("anyOf", "oneOf")


class SchemaError(AutoparserError):
    """A schema that cannot be read, or that the notation of a format cannot be held to."""


class SchemaReader:
    """Reads the parts of one schema."""

    def __init__(self, root: Json, place: str = "schema") -> None:
        """Take a whole schema; `place` names it in errors."""
        self.root = root
        self.place = place

    def resolved(self, schema: Json) -> Schema:
        """Follow references, and join what stands beside them; true and {} allow everything."""
        seen: list[str] = []
        found: Schema = _members(schema, self.place)
        while "$ref" in found:
            target = str(found["$ref"])
            if target in seen:
                raise SchemaError(f"{target} refers to itself", place=self.place)
            seen.append(target)
            found = {**_members(self._at(target), self.place), **_without(found, "$ref")}
        for part in _list(found.get("allOf")):
            found = _both(found, self.resolved(part))
        return _without(found, "allOf")

    def _at(self, target: str) -> Json:
        if not target.startswith("#"):
            raise SchemaError(
                f"{target} refers to another document",
                place=self.place,
                hint="put what it refers to under $defs",
            )
        at: Json = self.root
        for step in filter(None, target[1:].split("/")):
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(at, dict) and key in at:
                at = at[key]
            elif isinstance(at, list) and key.isdigit() and int(key) < len(at):
                at = at[int(key)]
            else:
                raise SchemaError(f"{target} refers to nothing", place=self.place)
        return at

    def kinds(self, schema: Json) -> frozenset[JsonType]:
        """Name the types that a schema allows; a number may be a whole one."""
        if schema is False:
            return frozenset()
        found = self.resolved(schema)
        kinds = ANY
        declared = found.get("type")
        if declared is not None:
            kinds = frozenset(_kinds_of(declared, self.place))
        if "const" in found:
            kinds &= _whole(type_of(found["const"]))
        values = found.get("enum")
        if isinstance(values, list):
            kinds &= frozenset[JsonType]().union(*(_whole(type_of(value)) for value in values))
        for union in _UNIONS:
            options = _list(found.get(union))
            if options:
                kinds &= frozenset[JsonType]().union(*map(self.kinds, options))
        return kinds

    def options(self, schema: Schema) -> list[Schema]:
        """Take a union apart: each option with what stands beside the union."""
        for union in _UNIONS:
            options = _list(schema.get(union))
            if options:
                beside = _without(schema, union)
                return [_both(beside, self.resolved(option)) for option in options]
        return [schema]

    def alone(
        self,
        schema: Schema,
        kinds: frozenset[JsonType] | None = None,
        order: Order = Order.GIVEN,
    ) -> Json:
        """Give a part as a schema of its own, held to some types, its keys in a format's order."""
        part: dict[str, Json] = dict(schema)
        if kinds is not None and not (kinds >= ANY and "type" not in part):
            names: list[Json] = [str(kind) for kind in JsonType if kind in kinds]
            if JsonType.NUMBER in kinds and "integer" in names:
                names.remove("integer")
            part["type"] = names[0] if len(names) == 1 else names
        if any(True for _ in _references(part)):
            if part == self.root and not any(
                each == "#" or not each.startswith(("#/$defs/", "#/definitions/"))
                for each in _references(part)
            ):
                return _ordered(part, order)
            definitions = {**_members(part.get("$defs", {}), self.place), _ROOT: self.root}
            part = {**part, "$defs": definitions}
            part = cast("dict[str, Json]", _moved(part))
        return _ordered(part, order)


def only_values(schema: Schema) -> list[Json] | None:
    """Give the only values that are allowed, where they are told."""
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return values if isinstance(values, list) else None


def _members(schema: Json, place: str) -> dict[str, Json]:
    if schema is None or schema is True:
        return {}
    if isinstance(schema, dict):
        return schema
    raise SchemaError(
        f"{schema!r} is no JSON schema that a value could meet",
        place=place,
        hint='give an object such as {"type": "string"}',
    )


def _without(schema: Schema, keyword: str) -> Schema:
    return {key: value for key, value in schema.items() if key != keyword}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _whole(kind: JsonType) -> frozenset[JsonType]:
    return _NUMBERS if kind is JsonType.NUMBER else frozenset({kind})


def _kinds_of(declared: Json, place: str) -> Iterator[JsonType]:
    for name in declared if isinstance(declared, list) else [declared]:
        try:
            kind = JsonType(str(name))
        except ValueError:
            raise SchemaError(
                f"{name!r} is no type of JSON Schema",
                place=place,
                hint=f"the types are {', '.join(JsonType)}",
            ) from None
        yield from _whole(kind)


def _both(one: Schema, other: Schema) -> dict[str, Json]:
    """Join two schemas that both have to hold, as far as their keywords do not collide."""
    joined: dict[str, Json] = {**one, **other}
    for keyword in ("properties", "$defs", "definitions"):
        if keyword in one and keyword in other:
            joined[keyword] = {**_members(one[keyword], ""), **_members(other[keyword], "")}
    if "required" in one and "required" in other:
        joined["required"] = [*_list(one["required"]), *_list(other["required"])]
    return joined


def _references(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        target = value.get("$ref")
        if isinstance(target, str):
            yield target
        for inner in value.values():
            yield from _references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _references(inner)


def _moved(value: Json) -> Json:
    """Let references to the document find it among the definitions."""
    if isinstance(value, dict):
        return {
            key: f"#/$defs/{_ROOT}{inner[1:]}"
            if key == "$ref" and isinstance(inner, str) and inner.startswith("#")
            else _moved(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_moved(inner) for inner in value]
    return value


def _ordered(value: Json, order: Order) -> Json:
    """Put the properties of every object into the order in which a format writes them."""
    if order is Order.GIVEN:
        return value
    if isinstance(value, list):
        return [_ordered(inner, order) for inner in value]
    if not isinstance(value, dict):
        return value
    members = {key: _ordered(inner, order) for key, inner in value.items()}
    properties = members.get("properties")
    if isinstance(properties, dict):
        members["properties"] = {key: properties[key] for key in order.arrange(list(properties))}
    return members
