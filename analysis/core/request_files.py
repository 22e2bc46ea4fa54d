"""Tools, messages and schemas in files of users, for all commands.

For example, the tools of MCP's `tools/list` are returned in OpenAI's form:

    >>> tool = {"name": "find", "inputSchema": {"type": "object"}}
    >>> given_tools({"result": {"tools": [tool]}}, "tools.json")
    ({'type': 'function', 'function': {'name': 'find', 'parameters': {'type': 'object'}}},)

Contract: `wrong` is raised with the file, the place in it, such as `tools[1].function.parameters`,
the fault and the expected value. Values are returned unchanged: a template may read more of them
than is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, TypeAlias

from msgspec import Meta, Struct

from .conversation import FOREIGN_SCHEMAS, Tool, openai_tool, tool_function
from .documents import place_in, read_value
from .error_words import (
    is_list,
    is_mapping,
    missing_name_hint,
    nearest_word,
    spelling_hint,
)
from .errors import AutoparserError
from .schema_document import SchemaDocument
from .schema_errors import SchemaError
from .schema_parts import allowed_types
from .schema_validation import (
    SchemaFlaw,
    schema_flaws,
)

_TOOL = '{"type": "function", "function": {"name": …, "parameters": …}}'
_MESSAGE = "{role: user, content: …}"
_CALL = "{type: function, function: {name: …, arguments: {…}}}"
_SAYING = ("content", "tool_calls", "reasoning_content", "reasoning", "thinking")
"""Fields with a message's text or calls; a template may read others, too."""


_EXPECTED = {
    "required": "expected a list of names",
    "enum": "expected a list of values",
    **dict.fromkeys(
        ("properties", "patternProperties", "$defs", "definitions"),
        'expected schemas by name: {"city": {"type": "string"}}',
    ),
    **dict.fromkeys(("anyOf", "oneOf", "allOf", "prefixItems"), "expected a list of schemas"),
}
"""The expected value of a keyword."""
_TOO_DEEP = ("it is nested too deep", "write a simpler one")

DEEPEST = 128
"""The deepest nesting of a request; no client sends as many levels."""
_QUOTE = "put it in quotes"
_SHOWN = 60
"""How many characters of a too deep place are shown."""

_Complaint: TypeAlias = tuple[tuple[str | int, ...], str, str]


class _ToolFile(Struct, frozen=True):
    tools: Annotated[
        tuple[Annotated[dict[str, Any], Meta(description=_TOOL)], ...],
        Meta(description=f"a list of {_TOOL}"),
    ]
    """The tools, such as `[{"type": "function", "function": {"name": "get_weather"}}]`."""


class _FunctionGiven(Struct, frozen=True):
    name: Annotated[str, Meta(min_length=1, description=_TOOL)]
    """The name of the tool, such as `"get_weather"`."""
    parameters: Any = None
    """The schema of the arguments, checked by `given_schema`, or None."""


class _WrappedTool(Struct, frozen=True):
    function: Annotated[_FunctionGiven, Meta(description=_TOOL)]
    """The tool in OpenAI's form, such as `{"name": "get_weather"}`."""


class _MessageFile(Struct, frozen=True):
    messages: Annotated[
        tuple[Annotated[dict[str, Any], Meta(description=_MESSAGE)], ...],
        Meta(min_length=1, description=f"a list of {_MESSAGE}"),
    ]
    """The messages, such as `[{"role": "user", "content": "Who are you?"}]`."""


class _CalledFunction(Struct, frozen=True):
    name: Annotated[str, Meta(description=f"a name, as in {_CALL}")]
    """The name of the called tool, such as `"get_weather"`."""


class _CallGiven(Struct, frozen=True):
    function: Annotated[_CalledFunction | None, Meta(description=_CALL)] = None
    """The called tool, such as `{"name": "get_weather", "arguments": {"city": "Paris"}}`."""
    name: str | None = None
    """The name of a call without `function`, e.g. `"find"`."""


class _MessageGiven(Struct, frozen=True):
    role: Annotated[str, Meta(description="one such as user, assistant, system or tool")]
    """The role, such as `"user"`."""
    content: str | list[Any] | dict[str, Any] | None = None
    """Text, or parts such as `[{"type": "text", "text": "Hi."}]`."""
    tool_calls: Annotated[
        tuple[Annotated[_CallGiven, Meta(description=_CALL)], ...] | None,
        Meta(description=f"a list of {_CALL}"),
    ] = None
    """The calls, such as `[{"type": "function", "function": {"name": "list_rooms"}}]`."""


def given_tools(
    value: object, file: str, wrong: type[AutoparserError] = AutoparserError
) -> tuple[Tool, ...]:
    """Read tools: a list, or a mapping with it as `tools`.

    Answers of MCP's `tools/list` and Anthropic's tools are accepted, too, and are returned in
    OpenAI's form.
    """
    answer = value.get("result") if is_mapping(value) else None
    # MCP servers answer with `{"result": {"tools": […]}}`.
    listed = answer if is_mapping(answer) else value if is_mapping(value) else {"tools": value}
    tools = read_value(listed, _ToolFile, file=file, wrong=wrong).tools
    return tuple(
        _given_tool(tool, place_in("tools", at), file, wrong) for at, tool in enumerate(tools)
    )


def _given_tool(raw_tool: Tool, place: str, file: str, wrong: type[AutoparserError]) -> Tool:
    """Read one tool. Raises `wrong` if it lacks a name, or its parameters are not a schema."""
    # Checked as the user wrote it, so that places in errors are those of the file.
    tool: Tool = openai_tool(raw_tool)
    keyword = "parameters"
    if "function" in raw_tool:
        function = read_value(tool, _WrappedTool, file=file, place=place, wrong=wrong).function
        place = place_in(place, "function")
    else:
        function = read_value(raw_tool, _FunctionGiven, file=file, place=place, wrong=wrong)
        if tool is not raw_tool:
            keyword = next(key for key in FOREIGN_SCHEMAS if key in raw_tool)
    keys = tool_function(tool)
    # A tool without parameters is valid, so a misspelled key would pass as such a tool.
    close = None if "parameters" in keys else nearest_word("parameters", keys)
    if close is not None:
        words, hint = f"unknown key {close!r}", spelling_hint(close, ["parameters"])
        raise wrong(words, file=file, place=place, hint=hint)
    given_schema(
        keys.get("parameters"),
        file,
        place_in(place, keyword),
        f"the parameters of {function.name} are not a valid JSON schema",
        wrong,
    )
    return tool


def given_messages(value: object, file: str) -> list[dict[str, Any]]:
    """Read messages: a list, or a mapping with it as `messages`."""
    listed = value if is_mapping(value) else {"messages": value}
    messages = read_value(listed, _MessageFile, file=file).messages
    for at, message in enumerate(messages):
        place = place_in("messages", at)
        calls = read_value(message, _MessageGiven, file=file, place=place).tool_calls or ()
        # A template may read other fields, so only a key that looks misspelled is an error.
        if not any(field in message for field in _SAYING) and nearest_word("content", message):
            hint = missing_name_hint("content", message, "add content, or tool_calls")
            raise AutoparserError("the message is empty", file=file, place=place, hint=hint)
        for number, call in enumerate(calls):
            # Both forms exist: OpenAI wraps the function, some templates take a bare call.
            if call.function is None and call.name is None:
                where = place_in(place, "tool_calls", number)
                raise AutoparserError(
                    "the call has no function", file=file, place=where, hint=f"write {_CALL}"
                )
        for where, words, hint in beyond_json(message, place):
            raise AutoparserError(words, file=file, place=where, hint=hint)
    return list(messages)


def given_schema(
    schema: object,
    file: str,
    place: str = "schema",
    words: str = "invalid JSON schema",
    wrong: type[AutoparserError] = AutoparserError,
) -> None:
    """Raise `wrong` unless this is a JSON schema or None."""
    for where, complaint, hint in _complaints(schema, place):
        raise wrong(f"{words}: {complaint}", file=file, place=where, hint=hint)


def _complaints(schema: Any, place: str) -> Iterator[tuple[str, str, str]]:
    """Yield each place that is not a schema, with the fault and the expected value."""
    if schema is None:
        return
    # Only the first: jsonschema cannot check a schema that is not JSON at all.
    for path, wrong, hint in _unreadable(schema, ()):
        yield _within(place, path), wrong, hint
        return
    try:
        # A list, so that a recursion error is raised here and not in the loop below.
        found = [*schema_flaws(schema)]
    except RecursionError:
        yield place, *_TOO_DEEP
        return
    for flaw in found:
        yield _within(place, flaw.path), *_describe_flaw(flaw)


def _unreadable(value: object, path: tuple[str | int, ...]) -> Iterator[_Complaint]:
    """Yield the parts of a value that JSON cannot represent."""
    if len(path) > DEEPEST:
        yield path, *_TOO_DEEP
    elif is_mapping(value):
        for name, inner in value.items():
            if not isinstance(name, str):
                yield path, f"the name {name!r} is not a string", "put it in quotes"
            else:
                yield from _unreadable(inner, (*path, name))
    elif is_list(value):
        for at, inner in enumerate(value):
            yield from _unreadable(inner, (*path, at))


def _within(place: str, path: Sequence[str | int]) -> str:
    return place + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)


def _describe_flaw(flaw: SchemaFlaw) -> tuple[str, str]:
    """Describe the fault and the expected value."""
    keyword = str(flaw.path[-1]) if flaw.path else ""
    if flaw.is_no_schema:
        if keyword == "items" and isinstance(flaw.value, list):
            return (
                "not a valid schema",
                'write prefixItems, or name an older draft as "$schema"',
            )
        return "not a valid schema", 'expected an object such as {"type": "string"}'
    if keyword == "type":
        try:
            # Its error suggests the nearest type, which jsonschema's does not.
            allowed_types({"type": flaw.value}, SchemaDocument(True))
        except SchemaError as error:
            return error.message, error.hint or ""
    return flaw.message, _EXPECTED.get(keyword, "correct it there")


def beyond_json(value: object, place: str, depth: int = 0) -> Iterator[tuple[str, str, str]]:
    """Yield the place of each value that is not JSON, the fault, and the way out.

    A template would see a placeholder for it: `date: 2025-01-01` in YAML is a date, not a string.
    An anchor of YAML may contain itself, as in `&a [*a]`, which never ends.
    """
    if depth > DEEPEST:
        words = f"this is nested more than {DEEPEST} levels deep, or contains itself"
        yield f"{place[:_SHOWN]}…", words, "write a flatter value"
    elif is_mapping(value):
        for key, item in value.items():
            if isinstance(key, str):
                yield from beyond_json(item, f"{place}.{key}", depth + 1)
            else:
                yield place, f"the key {key!r} is not a string", _QUOTE
    elif is_list(value):
        for at, item in enumerate(value):
            yield from beyond_json(item, f"{place}[{at}]", depth + 1)
    elif value is not None and not isinstance(value, str | int | float | bool):
        yield place, f"a {type(value).__name__} is not a JSON value", _QUOTE
