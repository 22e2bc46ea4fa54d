"""Label outputs by a model's own files: a `response_template`, or a `response_schema`.

Contract: the labels only suggest. The format learned from them counts as far as it writes the
outputs back; labels that a person gives take precedence, and a file that contradicts them is named.

A `response_schema` is a JSON schema whose patterns locate its values in an output.

Transformers read it as `response_schema` of `tokenizer_config.json` from 5.0 on, until the
`response_template` took its place; models that were published then have it. No library reads it
now, so this does, for what such files hold: `x-regex`, `x-regex-iterator`, `x-regex-key-value`,
`x-regex-substitutions`, and `x-parser` where that is `json`. Of the output
`~use~{"name": "look"}~used~` the schema

    {"type": "array", "x-regex-iterator": "~use~(.*?)~used~", "items": {"x-parser": "json"}}

yields `[{"name": "look"}]`. A value whose pattern finds nothing is absent.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from autoparser.analysis.core.conversation import Json, Message, Tool
from autoparser.analysis.core.error_words import (
    is_list,
    is_mapping,
)
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.provenance import NamedTemplate
from autoparser.analysis.export.export_limits import TemplateDialect
from autoparser.analysis.export.response_template import Parse, transformers_parser
from autoparser.analysis.learning.examples import Example, ExampleError, given_examples
from autoparser.analysis.learning.outputs import LoggedOutput
from autoparser.analysis.sources.local_files import read_json_object

from .taught_analysis import comparable_message, tools_called

_PATTERNS = ("x-regex", "x-regex-iterator", "x-regex-key-value", "x-regex-substitutions")
_TRANSFORMS = "jmespath"


class ResponseSchemaError(ValueError):
    """An output does not fit a schema, or the schema cannot be read."""


def read_by_schema(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return the value of a text by a schema, or None if its pattern finds nothing.

    `value` is the output, or the match of an outer pattern in it. Raises ValueError, usually
    ResponseSchemaError, if the output does not fit the schema, and AutoparserError if the schema
    needs a package that is not installed.
    """
    # A constant, such as the role, needs no match.
    if "const" in schema:
        return schema["const"]
    if value is None:
        return None
    found = _match_patterns(value, schema)
    if found is not None and "x-parser" in schema:
        found = _parse_value(found, schema)
    if found is None:
        return None
    match schema.get("type"):
        case "object":
            return _labeled_object(found, schema)
        case "array":
            return _array(found, schema)
        case "string" if not isinstance(found, str):
            raise ResponseSchemaError(f"not a string: {found!r}")
        case "integer" | "number" | "boolean" as kind:
            return _scalar(found, kind)
        case _:
            return found


def _match_patterns(value: Any, schema: Mapping[str, Any]) -> Any:
    if not any(key in schema for key in _PATTERNS):
        return value
    if not isinstance(value, str):
        raise ResponseSchemaError(f"a pattern needs a string, got {value!r}")
    text: str = value
    for pattern, replacement in schema.get("x-regex-substitutions", ()):
        text = re.sub(pattern, replacement, text, flags=re.DOTALL)
    found: Any = text
    if "x-regex" in schema:
        match = re.search(schema["x-regex"], text, re.DOTALL)
        found = None if match is None else _groups(match)
    if found is not None and "x-regex-iterator" in schema:
        # No match means that the message has none of these, so the member is absent, not empty.
        found = [_groups(match) for match in _each(schema["x-regex-iterator"], found)] or None
    if found is not None and "x-regex-key-value" in schema:
        pairs = [_groups(match) for match in _each(schema["x-regex-key-value"], found)]
        # Like a pattern without a match, a list of no matches counts as absent.
        found = {pair["key"]: pair["value"] for pair in pairs} or None
    return found


def _each(pattern: str, text: str) -> Iterator[re.Match[str]]:
    return re.finditer(pattern, text, re.DOTALL)


def _groups(match: re.Match[str]) -> Any:
    """Return the named groups that matched, or the only group."""
    named = match.groupdict()
    if named:
        return {name: text for name, text in named.items() if text is not None}
    (only,) = match.groups()
    return only


def _parse_value(raw_value: Any, schema: Mapping[str, Any]) -> Any:
    if schema["x-parser"] != "json" or not isinstance(raw_value, str):
        raise ResponseSchemaError(f"the parser {schema['x-parser']!r} cannot read {raw_value!r}")
    more: Mapping[str, Any] = schema.get("x-parser-args", {})
    try:
        value = json.loads(raw_value)
    except ValueError:
        if not more.get("allow_non_json", False):
            raise
        value = raw_value
    return _transform()(more["transform"], value) if more.get("transform") else value


def _transform() -> Callable[[str, Any], Any]:
    if find_spec(_TRANSFORMS) is None:
        raise AutoparserError(
            f"the response_schema transforms values with {_TRANSFORMS}, which is not installed",
            hint=f"pip install {_TRANSFORMS}",
        )
    search: Callable[[str, Any], Any] = import_module(_TRANSFORMS).search
    return search


def _labeled_object(raw_value: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    members: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    if isinstance(raw_value, str):
        if not members:
            raise ResponseSchemaError("an object in text has neither a pattern nor properties")
        # Every member searches the whole text.
        every = {name: read_by_schema(raw_value, member) for name, member in members.items()}
        read = {name: value for name, value in every.items() if value is not None}
    elif is_mapping(raw_value):
        read = dict(_members(raw_value, members, schema))
    else:
        raise ResponseSchemaError(f"not an object: {raw_value!r}")
    missing = [name for name in schema.get("required", ()) if name not in read]
    if missing:
        raise ResponseSchemaError(f"missing {', '.join(missing)}")
    return read


def _members(
    raw_value: Mapping[str, Any],
    members: Mapping[str, Mapping[str, Any]],
    schema: Mapping[str, Any],
) -> Iterator[tuple[str, Any]]:
    for name, member in members.items():
        if name in raw_value or "const" in member:
            yield name, read_by_schema(raw_value.get(name), member)
        elif "default" in member:
            yield name, member["default"]
    others: Any = schema.get("additionalProperties", True)
    if others is not False:
        rest: Mapping[str, Any] = others if is_mapping(others) else {}
        for name in raw_value:
            if name not in members:
                yield name, read_by_schema(raw_value[name], rest)


def _array(raw_value: Any, schema: Mapping[str, Any]) -> list[Any]:
    if not raw_value:
        return []
    # One match stands for a row of one, as in templates that write one call at most.
    if "items" not in schema and len(schema.get("prefixItems", ())) == 1 and raw_value:
        raw_value = raw_value if is_list(raw_value) else [raw_value]
    if not is_list(raw_value):
        raise ResponseSchemaError(f"not an array: {raw_value!r}")
    values: list[Any] = raw_value
    rows: Sequence[Mapping[str, Any]] = schema.get("prefixItems", [schema.get("items", {})])
    if "items" in schema:
        rows = [schema["items"]] * len(values)
    if len(rows) != len(values):
        raise ResponseSchemaError(f"{len(values)} items, and the schema has {len(rows)}")
    return [read_by_schema(value, row) for value, row in zip(values, rows, strict=True)]


def _scalar(raw_value: Any, kind: str) -> Any:
    if kind == "boolean":
        known = {"true": True, "1": True, "false": False, "0": False}
        if isinstance(raw_value, bool):
            return raw_value
        if isinstance(raw_value, str) and raw_value.lower() in known:
            return known[raw_value.lower()]
        raise ResponseSchemaError(f"not a boolean: {raw_value!r}")
    if not isinstance(raw_value, (str, int, float)):
        raise ResponseSchemaError(f"not a number: {raw_value!r}")
    if kind == "integer":
        # `int(3.5)` would drop the fraction; `int("3.5")` raises.
        return raw_value if isinstance(raw_value, int) else int(str(raw_value))
    return float(raw_value)


CONFIGURATION = "tokenizer_config.json"
TEMPLATE, SCHEMA = "response_template", "response_schema"
"""transformers reads by the first, if it is installed; the second is its older name."""


@dataclass(frozen=True, slots=True)
class SuggestedReader:
    """Reads outputs by a document of the model's own files."""

    file: str
    """The file of the document, e.g. ``model/tokenizer_config.json``."""
    key: str
    """Its key in that file, e.g. ``response_schema``."""
    document: Mapping[str, Any]
    """Its value, e.g. ``{"type": "object", "x-regex": "…", "properties": {…}}``."""
    parse: Parse
    """The function that reads an output by such a document, e.g. transformers'
    ``parse_response``."""
    prompt: str
    """The default prompt, e.g. ``<|user|>…<|assistant|>``, by which a document may find the
    beginning of the answer."""

    def label_outputs(
        self, outputs: Sequence[LoggedOutput], tools: Sequence[Tool] = ()
    ) -> tuple[Example, ...]:
        """Return outputs with their meaning, without those that it cannot read.

        A document without types reads arguments by the schemas of `tools`; without these, as texts.
        """
        offered: list[Json] = [{"type": "function", "function": tool} for tool in tools]
        logged = (
            Example(output.text, Message(), output.prompt, output.place) for output in outputs
        )
        return tuple(example for output in logged for example in self._read(output, offered))

    def contradicted_examples(self, examples: Sequence[Example]) -> tuple[Example, ...]:
        """Return the examples that it cannot read, or reads as another message."""
        return tuple(
            example
            for example in examples
            if [
                comparable_message(read.message)
                for read in self._read(example, tools_called([example.message]) or ())
            ]
            != [comparable_message(example.message)]
        )

    def _read(self, example: Example, tools: Sequence[Json]) -> Iterator[Example]:
        text, prefix = example.output, example.prompt or self.prompt
        try:
            found = self.parse(text, self.document, prefix=prefix, tools=tools)
            # Each dialect names the reasoning field like the program that reads it.
            reasoning = (found.get(dialect.reasoning) for dialect in TemplateDialect)
            message = {
                "content": found.get("content"),
                "reasoning": next(filter(None, reasoning), None),
                "tool_calls": found.get("tool_calls"),
            }
            (read,) = given_examples([{"output": text, "message": message}], self.file)
        except (ExampleError, ValueError, KeyError, TypeError, AttributeError, re.error):
            # The reader's errors, and values that are not a chat's message.
            return
        yield replace(example, message=read.message)


def suggested_reader(template: NamedTemplate, prompt: str) -> SuggestedReader | None:
    """Return a reader for the `response_template` beside a template, or its `response_schema`.

    Return None if there is neither, or only a template and transformers is not installed.
    """
    source = None if template.source is None else Path(template.source.id)
    if source is None or not source.exists():
        return None
    # A template's file is usually next to its tokenizer's configuration.
    file = (source if source.is_dir() else source.parent) / CONFIGURATION
    try:
        held: Mapping[str, object] = read_json_object(file) if file.is_file() else {}
    except AutoparserError:
        # The error is reported by the code that reads the file's special tokens.
        return None
    # The template first, since it took the schema's place.
    readers = ((TEMPLATE, transformers_parser()), (SCHEMA, _parse_by_schema))
    for key, parse in readers:
        document = held.get(key)
        if is_mapping(document) and parse is not None:
            return SuggestedReader(str(file), key, document, parse, prompt)
    return None


def _parse_by_schema(
    text: str, response_template: Mapping[str, Json], *, prefix: str, tools: Sequence[Json]
) -> Mapping[str, Any]:
    """Read an output alone; such a schema knows neither the prompt nor the tools."""
    del prefix, tools
    read = read_by_schema(text, response_template)
    if not is_mapping(read):
        raise ValueError(f"not a message: {read!r}")
    return read
