"""From a request in OpenAI's words to its grammar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Unpack

from autoparser.analysis.core.conversation import Json, function_of
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.format import Begun, Formats
from autoparser.analysis.core.schema import (
    Schema,
    mapped,
    with_names_told_apart,
    without_free_names,
)
from autoparser.analysis.loading.tokens import OpaqueTokens
from autoparser.analysis.reading.expression import RequestError, RequestOptions, build, request_of

from .grammar import Grammar


def grammar_of(
    formats: Formats,
    tools: Sequence[object] | None = None,
    *,
    begun: Begun | None = None,
    strict: bool | None = None,
    lazy: bool = False,
    loosen: bool | None = None,
    **asked: Unpack[RequestOptions],
) -> Grammar:
    """Make the grammar of a request; `begun` is what its prompt belongs to, where that is known.

    `tools` and `tool_choice` are OpenAI's; without tools nothing is called. With `strict`, the
    objects of every tool have no members but those that they name, as for a tool that says
    ``"strict": true`` itself; with False, arguments are any object, but for such tools. A `lazy`
    grammar begins with the calls. What schemas say and a grammar cannot hold is left out of it,
    unless the tool is strict; with `loosen` everywhere, with False nowhere. Raises RequestError
    where the request contradicts itself.
    """
    json_schema = asked.pop("json_schema", None)
    request = request_of(tools or [], begun=begun, **asked)
    offered = request.tools or {}
    if request.required and not offered:
        raise RequestError("a call is required, and no tool is offered", hint="offer tools")
    if request.required and json_schema is not None:
        raise RequestError(
            "a call is required, and json_schema asks for content",
            hint="give one of tool_choice and json_schema",
        )
    marked = {
        function["name"]: function.get("strict") is True
        for function in map(function_of, tools or ())
    }
    return Grammar(
        build(formats, request),
        {name: _held(schema, strict, marked[name]) for name, schema in offered.items()},
        parallel=request.parallel,
        required=request.required,
        json_schema=_written(dict(json_schema)) if json_schema is not None else None,
        lazy=lazy,
        loosen=loosen,
        strict=frozenset(name for name in offered if strict or marked[name]),
    )


def format_slices(formats: Formats, opaque: OpaqueTokens) -> tuple[str, ...]:
    """Return the slices of any request to a format (see `Grammar.slices`), by one tool's."""
    for tools in ([_SAMPLE], []):
        try:
            return grammar_of(formats, tools).slices(opaque)
        except AutoparserError:
            # This format has no calls that a grammar can say: there is its content still.
            continue
    return ()


_TEXT: Json = {"type": "string"}
_SAMPLE: Json = {
    "name": "f",
    "parameters": {
        "type": "object",
        "properties": {
            "text": _TEXT,
            "texts": {"type": "array", "items": _TEXT},
            "object": {"type": "object", "properties": {"text": _TEXT}},
        },
    },
}


def _held(schema: Json, strict: bool | None, marked: bool) -> Json:
    """Return the schema that a tool's arguments are held to."""
    if strict or marked:
        return _written(mapped(schema, _closed))
    return {"type": "object"} if strict is False else _written(schema)


def _written(schema: Json) -> Json:
    """Return the same schema in words that grammars can be held to."""
    return with_names_told_apart(without_free_names(schema))


def _closed(schema: Schema) -> Schema:
    """Close an object that names its members and does not say that it may have others."""
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        return {**schema, "additionalProperties": False}
    return schema
