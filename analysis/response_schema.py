r"""A `response_schema`: a JSON schema whose patterns say where in an output its values stand.

Transformers read it as `response_schema` of `tokenizer_config.json` from 5.0 on, until the
`response_template` took its place; models that were published then have it. No library reads it
now, so this does, for what such files hold: `x-regex`, `x-regex-iterator`, `x-regex-key-value`,
`x-regex-substitutions`, and `x-parser` where that is `json`. Of the output
`~use~{"name": "look"}~used~` the schema

    {"type": "array", "x-regex-iterator": "~use~(.*?)~used~", "items": {"x-parser": "json"}}

makes `[{"name": "look"}]`. What a pattern does not find is not there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.value_kind import is_list, is_mapping

__all__ = ["ResponseSchemaError", "read_by_schema"]

_PATTERNS = ("x-regex", "x-regex-iterator", "x-regex-key-value", "x-regex-substitutions")
_TRANSFORMS = "jmespath"


class ResponseSchemaError(ValueError):
    """An output has not what a schema asks for, or the schema is not one that can be read."""


def read_by_schema(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return what a text means by a schema; None where its pattern finds nothing.

    `value` is the output, or what a pattern above has found in it. Raises ValueError where the
    output does not fit the schema, ResponseSchemaError most often, and AutoparserError where the
    schema takes a package that is not installed.
    """
    if "const" in schema:
        return schema["const"]
    if value is None:
        return None
    found = _matched(value, schema)
    if found is not None and "x-parser" in schema:
        found = _parsed(found, schema)
    if found is None:
        return None
    match schema.get("type"):
        case "object":
            return _object(found, schema)
        case "array":
            return _array(found, schema)
        case "string" if not isinstance(found, str):
            raise ResponseSchemaError(f"not a string: {found!r}")
        case "integer" | "number" | "boolean" as kind:
            return _scalar(found, kind)
        case _:
            return found


def _matched(value: Any, schema: Mapping[str, Any]) -> Any:
    if not any(key in schema for key in _PATTERNS):
        return value
    if not isinstance(value, str):
        raise ResponseSchemaError(f"a pattern is for a text, and this is none: {value!r}")
    text: str = value
    for pattern, replacement in schema.get("x-regex-substitutions", ()):
        text = re.sub(pattern, replacement, text, flags=re.DOTALL)
    found: Any = text
    if "x-regex" in schema:
        match = re.search(schema["x-regex"], text, re.DOTALL)
        found = None if match is None else _groups(match)
    if found is not None and "x-regex-iterator" in schema:
        found = [_groups(each) for each in _each(schema["x-regex-iterator"], found)] or None
    if found is not None and "x-regex-key-value" in schema:
        pairs = [_groups(each) for each in _each(schema["x-regex-key-value"], found)]
        found = {each["key"]: each["value"] for each in pairs} or None
    return found


def _each(pattern: str, text: str) -> Iterator[re.Match[str]]:
    return re.finditer(pattern, text, re.DOTALL)


def _groups(match: re.Match[str]) -> Any:
    """Return the named groups that took part, or the only group."""
    named = match.groupdict()
    if named:
        return {name: text for name, text in named.items() if text is not None}
    (only,) = match.groups()
    return only


def _parsed(found: Any, schema: Mapping[str, Any]) -> Any:
    if schema["x-parser"] != "json" or not isinstance(found, str):
        raise ResponseSchemaError(f"the parser {schema['x-parser']!r} cannot read {found!r}")
    more: Mapping[str, Any] = schema.get("x-parser-args", {})
    try:
        value = json.loads(found)
    except ValueError:
        if not more.get("allow_non_json", False):
            raise
        value = found
    return _transform()(more["transform"], value) if more.get("transform") else value


def _transform() -> Callable[[str, Any], Any]:
    if find_spec(_TRANSFORMS) is None:
        raise AutoparserError(
            f"the response_schema transforms what it reads by {_TRANSFORMS}, which is missing",
            hint=f"pip install {_TRANSFORMS}",
        )
    search: Callable[[str, Any], Any] = import_module(_TRANSFORMS).search
    return search


def _object(found: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    members: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    if isinstance(found, str):
        if not members:
            raise ResponseSchemaError("an object of a text has neither a pattern nor properties")
        # Every member looks for itself in the whole text.
        every = {name: read_by_schema(found, each) for name, each in members.items()}
        read = {name: value for name, value in every.items() if value is not None}
    elif is_mapping(found):
        read = dict(_members(found, members, schema))
    else:
        raise ResponseSchemaError(f"not an object: {found!r}")
    missing = [name for name in schema.get("required", ()) if name not in read]
    if missing:
        raise ResponseSchemaError(f"there is no {', '.join(missing)}")
    return read


def _members(
    found: Mapping[str, Any], members: Mapping[str, Mapping[str, Any]], schema: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    for name, each in members.items():
        if name in found or "const" in each:
            yield name, read_by_schema(found.get(name), each)
        elif "default" in each:
            yield name, each["default"]
    others: Any = schema.get("additionalProperties", True)
    if others is not False:
        rest: Mapping[str, Any] = others if is_mapping(others) else {}
        for name in found:
            if name not in members:
                yield name, read_by_schema(found[name], rest)


def _array(found: Any, schema: Mapping[str, Any]) -> list[Any]:
    if not found:
        return []
    if "items" not in schema and len(schema.get("prefixItems", ())) == 1 and found:
        found = found if is_list(found) else [found]
    if not is_list(found):
        raise ResponseSchemaError(f"not an array: {found!r}")
    values: list[Any] = found
    rows: Sequence[Mapping[str, Any]] = schema.get("prefixItems", [schema.get("items", {})])
    if "items" in schema:
        rows = [schema["items"]] * len(values)
    if len(rows) != len(values):
        raise ResponseSchemaError(f"{len(values)} items, and the schema has {len(rows)}")
    return [read_by_schema(value, each) for value, each in zip(values, rows, strict=True)]


def _scalar(found: Any, kind: str) -> Any:
    if kind == "boolean":
        known = {"true": True, "1": True, "false": False, "0": False}
        if isinstance(found, bool):
            return found
        if isinstance(found, str) and found.lower() in known:
            return known[found.lower()]
        raise ResponseSchemaError(f"not a boolean: {found!r}")
    if not isinstance(found, (str, int, float)):
        raise ResponseSchemaError(f"not a number: {found!r}")
    if kind == "integer":
        return found if isinstance(found, int) else int(str(found))
    return float(found)
