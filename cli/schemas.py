"""Whether what is given as a tool is one, down to the keywords that decide how values are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from autoparser.analysis.errors import AutoparserError
from autoparser.analysis.spelling import suggest

__all__ = ["check_schema", "check_tool"]

TYPES = ("string", "integer", "number", "boolean", "null", "array", "object")

_TOOL = 'expected {"type": "function", "function": {"name": …, "parameters": …}}'

_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_SCHEMAS = ("items", "additionalProperties", "not")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
"""Keywords that hold schemas by name, one schema, a list of schemas."""

DEEPEST = 64


def check_tool(tool: object, place: str, file: str) -> None:
    """Raise AutoparserError where this is no tool, or its parameters are no JSON schema."""
    if not isinstance(tool, Mapping):
        raise AutoparserError("this is no tool", file=file, place=place, hint=_TOOL)
    members = cast("Mapping[object, object]", tool)
    function = members.get("function", members)
    if not isinstance(function, Mapping):
        raise AutoparserError(
            "this tool's function is no object", file=file, place=place, hint=_TOOL
        )
    function = cast("Mapping[object, object]", function)
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise AutoparserError("this tool has no name", file=file, place=place, hint=_TOOL)
    parameters = function.get("parameters")
    for where, wrong, hint in _complaints(parameters, "parameters", 0):
        raise AutoparserError(
            f"the parameters of {name} are no JSON schema: {wrong}",
            file=file,
            place=f"{place}.{where}",
            hint=hint,
        )


def check_schema(schema: object, file: str) -> None:
    """Raise AutoparserError where this is no JSON schema of an object or of anything else."""
    if not isinstance(schema, Mapping):
        raise AutoparserError("this is no JSON schema", file=file, hint="expected an object")
    for where, wrong, hint in _complaints(cast("object", schema), "schema", 0):
        raise AutoparserError(f"this is no JSON schema: {wrong}", file=file, place=where, hint=hint)


def _complaints(schema: object, place: str, depth: int) -> Iterator[tuple[str, str, str]]:
    """Say where a schema is none, what is wrong there, and what was expected."""
    if depth > DEEPEST:
        yield place, "it is nested too deep", "write a simpler one"
        return
    if schema is None and not depth:
        return
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        yield place, "this is no schema", 'expected an object such as {"type": "string"}'
        return
    members = cast("Mapping[object, object]", schema)
    yield from _types(members.get("type"), f"{place}.type")
    yield from _inner(members, place, depth)
    if "enum" in members and not isinstance(members["enum"], list):
        yield f"{place}.enum", "these are no values", "expected a list of values"
    if "required" in members and not isinstance(members["required"], list | bool):
        yield f"{place}.required", "these are no names", "expected a list of names"


def _inner(
    members: Mapping[object, object], place: str, depth: int
) -> Iterator[tuple[str, str, str]]:
    """Say what is wrong with the schemas that a schema holds."""
    for keyword, value in members.items():
        inside = f"{place}.{keyword}"
        if keyword in _MAPS:
            yield from _by_name(value, inside, depth)
        # Older drafts give a list of schemas for the items of a tuple.
        elif keyword in _LISTS or (keyword == "items" and _is_list(value)):
            yield from _listed(value, inside, depth)
        elif keyword in _SCHEMAS:
            yield from _complaints(value, inside, depth + 1)


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _types(given: object, place: str) -> Iterator[tuple[str, str, str]]:
    if given is None:
        return
    names = cast("Sequence[object]", given) if isinstance(given, list) else [given]
    for name in names:
        if name in TYPES:
            continue
        hint = suggest(str(name), TYPES, f"the types are {', '.join(TYPES)}")
        yield place, f"there is no type {name!r}", hint


def _by_name(given: object, place: str, depth: int) -> Iterator[tuple[str, str, str]]:
    if not isinstance(given, Mapping):
        yield place, "this is no object", 'expected schemas by name: {"city": {"type": "string"}}'
        return
    for name, schema in cast("Mapping[object, object]", given).items():
        if not isinstance(name, str):
            yield place, f"the name {name!r} is no text", "put it in quotes"
        else:
            yield from _complaints(schema, f"{place}.{name}", depth + 1)


def _listed(given: object, place: str, depth: int) -> Iterator[tuple[str, str, str]]:
    if not isinstance(given, list):
        yield place, "this is no list", "expected a list of schemas"
        return
    for at, schema in enumerate(cast("Sequence[object]", given)):
        yield from _complaints(schema, f"{place}[{at}]", depth + 1)
