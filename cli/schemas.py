"""Whether what is given as a tool is one, and its parameters a schema of their draft."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, cast

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.schema import Document, Flaw, SchemaError, flaws, kinds_of

__all__ = ["check_schema", "check_tool"]

_TOOL = 'expected {"type": "function", "function": {"name": …, "parameters": …}}'

_EXPECTED = {
    "required": "expected a list of names",
    "enum": "expected a list of values",
    **dict.fromkeys(
        ("properties", "patternProperties", "$defs", "definitions"),
        'expected schemas by name: {"city": {"type": "string"}}',
    ),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), "expected a list of schemas"),
}
"""What a keyword should hold."""
_TOO_DEEP = ("it is nested too deep", "write a simpler one")

DEEPEST = 128
"""Objects and lists in one another."""

_Complaint: TypeAlias = tuple[tuple[str | int, ...], str, str]


def check_tool(tool: object, place: str, file: str) -> None:
    """Raise AutoparserError where this is not a tool, or its parameters are not a JSON schema."""
    if not isinstance(tool, Mapping):
        raise AutoparserError("this is not a valid tool", file=file, place=place, hint=_TOOL)
    members = cast("Mapping[object, object]", tool)
    function = members.get("function", members)
    if not isinstance(function, Mapping):
        raise AutoparserError(
            "this tool's function is not an object", file=file, place=place, hint=_TOOL
        )
    function = cast("Mapping[object, object]", function)
    name = function.get("name")
    if not isinstance(name, str) or not name:
        raise AutoparserError("this tool has no name", file=file, place=place, hint=_TOOL)
    parameters = function.get("parameters")
    for where, wrong, hint in _complaints(parameters, "parameters"):
        raise AutoparserError(
            f"the parameters of {name} are not a valid JSON schema: {wrong}",
            file=file,
            place=f"{place}.{where}",
            hint=hint,
        )


def check_schema(schema: object, file: str) -> None:
    """Raise AutoparserError where this is not JSON schema of an object or of anything else."""
    if not isinstance(schema, Mapping):
        raise AutoparserError(
            "this is not a valid JSON schema", file=file, hint="expected an object"
        )
    for where, wrong, hint in _complaints(cast("object", schema), "schema"):
        raise AutoparserError(
            f"this is not a valid JSON schema: {wrong}", file=file, place=where, hint=hint
        )


def _complaints(schema: object, place: str) -> Iterator[tuple[str, str, str]]:
    """Say where a schema is none, what is wrong there, and what was expected."""
    if schema is None:
        return
    for path, wrong, hint in _unreadable(schema, ()):
        yield _within(place, path), wrong, hint
        return
    try:
        found = [*flaws(cast("Json", schema))]
    except RecursionError:
        yield place, *_TOO_DEEP
        return
    for flaw in found:
        yield _within(place, flaw.path), *_words(flaw)


def _unreadable(value: object, path: tuple[str | int, ...]) -> Iterator[_Complaint]:
    """Say what of a value no JSON text could hold."""
    if len(path) > DEEPEST:
        yield path, *_TOO_DEEP
    elif isinstance(value, Mapping):
        for name, inner in cast("Mapping[object, object]", value).items():
            if not isinstance(name, str):
                yield path, f"the name {name!r} is not text", "put it in quotes"
            else:
                yield from _unreadable(inner, (*path, name))
    elif isinstance(value, list):
        for at, inner in enumerate(cast("Sequence[object]", value)):
            yield from _unreadable(inner, (*path, at))


def _within(place: str, path: Sequence[str | int]) -> str:
    return place + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


def _words(flaw: Flaw) -> tuple[str, str]:
    """Say what is wrong, and what was expected."""
    keyword = str(flaw.path[-1]) if flaw.path else ""
    if flaw.is_no_schema:
        if keyword == "items" and isinstance(flaw.value, list):
            return (
                "this is not a valid schema",
                'write prefixItems, or name an older draft as "$schema"',
            )
        return "this is not a valid schema", 'expected an object such as {"type": "string"}'
    if keyword == "type":
        try:
            kinds_of({"type": flaw.value}, Document(True))
        except SchemaError as error:
            return error.message, error.hint or ""
    return flaw.message, _EXPECTED.get(keyword, "correct it there")
