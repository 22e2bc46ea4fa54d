"""The fields of a call that is one JSON value, found by reading it as JSON."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace

from autoparser.analysis.core.conversation import Json

from .notation import Row, Slot

_NAME, _ID, _ARGUMENTS = "zname", "zid", "zarguments"
_INDEX = 7


@dataclass(frozen=True, slots=True)
class JsonFields:
    """The names of its JSON fields, and where in the text of a call its JSON stands."""

    fun_name_is_key: bool = False
    """The function's name is the key, its arguments the value."""
    function_field: str = ""
    """The outer key, where name and arguments stand in an object of their own."""
    name_field: str = ""
    args_field: str = ""
    id_field: str = ""
    gen_id_field: str = ""
    """The key of an id that the template makes up by counting."""
    parameter_order: tuple[str, ...] = ()
    before: str = ""
    """The text of a call before its JSON."""
    after: str = ""
    """The text of a call after its JSON."""


def json_fields_of(row: Row) -> JsonFields | None:
    """Read a call as JSON (or as a Python literal); None where the name stands in no JSON."""
    if Slot.NAME not in row:
        return None
    python = any("'" in piece for piece in row if not isinstance(piece, Slot))
    text = _sample(row)
    for start, value, end in _values(text, python=python):
        if not start < text.index(_NAME) < end:
            continue
        found = _describe(value)
        if found is None:
            continue
        return replace(found, before=text[:start], after=text[end:])
    return None


def _sample(row: Row) -> str:
    words = {
        Slot.NAME: _NAME,
        Slot.ID: _ID,
        Slot.INDEX: str(_INDEX),
        Slot.ARGUMENTS: f'"{_ARGUMENTS}"',
    }
    return "".join(words.get(piece, "") if isinstance(piece, Slot) else piece for piece in row)


def _values(text: str, *, python: bool) -> Iterator[tuple[int, Json, int]]:
    decoder = json.JSONDecoder()
    for start, char in enumerate(text):
        if char not in "{[":
            continue
        try:
            value, end = decoder.raw_decode(text, start)
        except ValueError:
            if not python:
                continue
            read = _literal(text, start)
            if read is None:
                continue
            value, end = read
        yield start, value, end


def _literal(text: str, start: int) -> tuple[Json, int] | None:
    for end in range(len(text), start + 1, -1):
        if text[end - 1] not in "}]":
            continue
        try:
            return ast.literal_eval(text[start:end]), end
        except (ValueError, SyntaxError):
            continue
    return None


def _describe(value: Json) -> JsonFields | None:
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        return None
    if _NAME in value:
        return JsonFields(fun_name_is_key=True)
    outer, inner = _holder_of_name(value)
    name = _key_of(inner, _NAME)
    if name is None:
        return None
    arguments = _key_of(inner, _ARGUMENTS) or _key_of(value, _ARGUMENTS) or ""
    call_id = _key_of(value, _ID) or _key_of(inner, _ID) or ""
    counted = _key_of(value, _INDEX) or _key_of(value, str(_INDEX)) or ""
    wanted = {name, arguments, call_id, counted} - {""}
    order: list[str] = []
    for key in value:
        members = inner if key == outer else {key: value}
        order += [member for member in members if member in wanted]
    return JsonFields(
        function_field=outer,
        name_field=name,
        args_field=arguments,
        id_field=call_id,
        gen_id_field=counted,
        parameter_order=tuple(order),
    )


def _holder_of_name(value: dict[str, Json]) -> tuple[str, dict[str, Json]]:
    """Give the object that holds the name, and the key it stands under, if it is not the whole."""
    for key, nested in value.items():
        if isinstance(nested, dict) and _key_of(nested, _NAME) is not None:
            return key, nested
    return "", value


def _key_of(members: dict[str, Json], value: Json) -> str | None:
    return next((key for key, found in members.items() if found == value), None)
