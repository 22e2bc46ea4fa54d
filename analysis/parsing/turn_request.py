"""Read a parser's request: its tools, the tool choice, and the options of a caller.

    read_request(tools, tool_choice, ...)  ->  ParserRequest: schemas by function name, flags

`CallSchemas` reads the schema of a tool when it is first called. `IdentityCache` keeps the values
that are made of a format, since engines ask for the same format again and again.

    >>> tool = {"type": "function", "function": {"name": "get_weather"}}
    >>> request = read_request([tool], tool_choice="required", parallel_tool_calls=False)
    >>> request.tools, request.required, request.parallel
    ({'get_weather': None}, True, False)
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import lru_cache
from threading import Lock
from typing import Any, Generic, Literal, TypedDict, TypeVar, Unpack

from msgspec import Struct
from msgspec.json import decode, encode
from msgspec.structs import replace

from autoparser.analysis.core.conversation import Json, tool_function
from autoparser.analysis.core.documents import read_value
from autoparser.analysis.core.error_words import is_mapping, value_kind
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.format_choice import PromptFormat
from autoparser.analysis.core.schema_parts import SchemaPart

from .parsed_message import Forgiven, MarkupIn, ReasoningIn, UnclosedReasoning

Made = TypeVar("Made")


class IdentityCache(Generic[Made]):
    """LRU cache of values made of immutable objects; threads may share it.

    The keys are the identities of the objects, since formats hold mappings and cannot be hashed. An
    object is kept as long as its value, so that its identity is not reused.
    """

    def __init__(self, most: int) -> None:
        """Keep at most `most` values."""
        self._most = most
        self._cache: OrderedDict[Hashable, tuple[Made, tuple[object, ...]]] = OrderedDict()
        self._lock = Lock()

    def of(self, owners: tuple[object, ...], key: Hashable, make: Callable[[], Made]) -> Made:
        """Return the cached value of these objects and this key, or call `make` for it.

        Two threads may make the same value at once: the first one is kept.
        """
        case = (tuple(map(id, owners)), key)
        # Without the lock: a value that is found changes nothing while the cache is small.
        known = self._cache.get(case)
        if known is not None:
            if 2 * len(self._cache) > self._most:
                # Only a cache that fills up needs to know what was used last.
                with self._lock:
                    # Stored again, in case another thread has dropped it meanwhile.
                    self._cache[case] = known
                    self._cache.move_to_end(case)
            return known[0]
        made = make()
        with self._lock:
            made, _ = self._cache.setdefault(case, (made, owners))
            while len(self._cache) > self._most:
                self._cache.popitem(last=False)
        return made


class CallSchemas:
    """The parameters of the offered tools; a schema is read when its tool is first called."""

    def __init__(self, schemas: Mapping[str, Json]) -> None:
        """Store the JSON schemas by function name."""
        self._schemas = schemas
        self._parts: dict[str, SchemaPart] = {}

    def given(self, name: str) -> Json:
        """Return the JSON schema of a tool's parameters, or None if it has no schema."""
        return self._schemas.get(name)

    def of(self, name: str) -> SchemaPart:
        """Return the parameters of a tool; those of an unknown tool may be anything."""
        part = self._parts.get(name)
        if part is None:
            part = _parameters_of(self._schemas.get(name))
            # Names made up by a model are not cached: their number has no limit.
            if name in self._schemas:
                self._parts[name] = part
        return part


def _parameters_of(schema: Json) -> SchemaPart:
    """Return a schema's part, which is kept for the next requests with an equal schema."""
    if not isinstance(schema, _OBJECTS):
        return SchemaPart.of(None)
    try:
        known, part = _kept_part(encode(schema))
    except (TypeError, ValueError, RecursionError):
        # It cannot be written as JSON, e.g. with an object of a caller's class in it.
        return SchemaPart.of(dict(schema))
    # Schemas that differ only to Python, such as a tuple and a list, must not be confused.
    return part if known == schema else SchemaPart.of(dict(schema))


_OBJECTS = (dict, Mapping)
"""Nearly all are dicts, which takes a tenth of asking an abstract class."""


@lru_cache(maxsize=256)
def _kept_part(schema: bytes) -> tuple[Json, SchemaPart]:
    known = decode(schema)
    return known, SchemaPart.of(known)


class RequestError(AutoparserError):
    """The tools, the tool choice or the prompt of a request are not valid."""


class ParserRequest(Struct, frozen=True):
    """A request, its tools reduced to names and schemas."""

    tools: Mapping[str, Json] | None = None
    """JSON schema of the parameters by function name, e.g. {"get_weather": {"type": "object"}}, or
    None if any function may be called."""
    calls: bool = True
    """Whether calls may be written at all, e.g. False for the tool choice "none"."""
    parallel: bool = True
    """Whether several calls are allowed, e.g. False with `parallel_tool_calls=False`."""
    json: bool = False
    """Whether the answer is JSON, e.g. with `json_schema`."""
    prompt: str | None = None
    r"""The rendered prompt, e.g. "<|im_start|>assistant\n", or any tail of it with the generation
    prompt; None for the default one."""
    begun_turn: PromptFormat | None = None
    """The format and opening if the caller named the settings, e.g. `{"enable_thinking": False}`,
    or None to infer them."""
    required: bool = False
    """Whether a call has to be written, e.g. for the tool choice "required"."""


class RequestOptions(TypedDict, total=False):
    """The options of a request beside its tools; an option that is None is left out."""

    prompt: str | None
    r"""The rendered prompt, or any suffix of it that contains the generation prompt, e.g.
    "<|im_start|>assistant\n". Without it, the template's default one."""
    tool_choice: object
    """As in OpenAI's API: "auto", "none", "required", a tool's name, or an object that names it."""
    parallel_tool_calls: bool | None
    """Whether more than one call counts. With False, calls after the first are junk, e.g. the
    second of two `<tool_call>`."""
    json_schema: Mapping[str, Any] | None
    """The schema of the answer if it is JSON, e.g. `{"type": "object"}`. Markers inside its strings
    are text, and without tools nothing in it is a call."""


class ReadingChoices(TypedDict, total=False):
    """Which texts count as calls, and how other text is returned: a caller's choices."""

    unclosed_reasoning: UnclosedReasoning | None
    """Whether reasoning that never closes may hold a call. With "calls", text is held from the
    call's opener on, and an opener of content ends the reasoning; with "keep", all is reasoning.
    With "content" it is the answer, so that a stream holds reasoning until it closes."""
    forgive: Forgiven | None
    """Which calls count: "exact", those of turns as the template writes them; "repairs", also those
    that lose and guess nothing; "all", also bare JSON of a tool, and arguments by position."""
    markup: MarkupIn | None
    """Where the text of calls goes that could not be read: "keep", into the content; "drop",
    nowhere; "separate", into `ParsedMessage.unread`."""


class ParserOptions(RequestOptions, ReadingChoices, total=False):
    """The options of a parser: those of its request, and the form of the message."""

    reasoning: ReasoningIn | None
    """Where reasoning goes: "separate", or into the content, "inline" without its markers and "raw"
    with them."""
    call_deltas: Literal["incremental", "whole"] | None
    """When a stream sends a call: as its arguments come, or once it has closed, with "whole"."""
    strip_code_fence: bool | None
    """Whether the Markdown fence around an answer by `json_schema` is left out, e.g. "```json"."""
    reasoning_over: bool | None
    """Whether texts begin after the reasoning, e.g. after "</think>", whatever the prompt says: it
    was cut off already."""


class RequestFields(Struct, frozen=True, forbid_unknown_fields=True):
    """The `RequestOptions` as they are read, with their defaults."""

    tools: Any = None
    """Given apart. As a field, it is what `tool=` is taken to be a misspelling of, e.g. in
    `parser(tool=[…])`."""
    prompt: str | None = None
    r"""The rendered prompt, e.g. "<|im_start|>assistant\n", or any tail of it with the generation
    prompt; None for the default one."""
    tool_choice: Any = "auto"
    """OpenAI's `tool_choice`, such as `"required"`."""
    parallel_tool_calls: bool = True
    """Whether several calls are allowed, e.g. False for one at most."""
    json_schema: Mapping[str, Any] | None = None
    """The schema of an answer in JSON, e.g. {"type": "object"}, or None."""


class ParserFields(RequestFields, frozen=True, forbid_unknown_fields=True):
    """The `ParserOptions` as they are read, with their defaults."""

    reasoning: ReasoningIn = "separate"
    """Where reasoning goes, e.g. "inline"."""
    call_deltas: Literal["incremental", "whole"] = "incremental"
    """When a stream sends a call, e.g. "whole"."""
    unclosed_reasoning: UnclosedReasoning = "calls"
    """How reasoning that nothing closes is read, e.g. "calls"."""
    forgive: Forgiven = "repairs"
    """Which departures from the format are allowed, e.g. "repairs"."""
    markup: MarkupIn = "keep"
    """What becomes of markup in content, e.g. "keep"."""
    strip_code_fence: bool = False
    """Whether the Markdown fence around an answer in JSON is left out, e.g. "```json"."""
    reasoning_over: bool = False
    """Whether texts begin after the reasoning, e.g. after "</think>"."""


Fields = TypeVar("Fields", bound=RequestFields)


def read_options(kind: type[Fields], tools: object, options: Mapping[str, object]) -> Fields:
    """Read the options of a request, as every caller's are read: None is one that is left out.

    Raises RequestError for an unknown option, and for a value of another type.
    """
    if tools is not None:
        _check_array(tools)
    given = {name: value for name, value in options.items() if value is not None}
    if not given:
        return kind(tools=tools)
    fields = read_value(given, kind, file="the request", wrong=RequestError)
    return replace(fields, tools=tools)


def read_request(
    tools: Sequence[object] | None = None,
    *,
    begun_turn: PromptFormat | None = None,
    **options: Unpack[RequestOptions],
) -> ParserRequest:
    """Read a request in OpenAI's form. Raises RequestError if a part of it is not valid.

    With a schema for the answer and without tools, nothing in the answer is a call.
    """
    return request_with(read_options(RequestFields, tools, options), begun_turn)


def request_with(fields: RequestFields, begun_turn: PromptFormat | None = None) -> ParserRequest:
    """Return the request of options that were read. Raises RequestError as `read_request` does."""
    tools, choice = fields.tools, fields.tool_choice
    offered = None if tools is None else schemas_by_name(tools)
    chosen = _chosen_tool(choice, offered)
    if chosen is not None and offered is not None:
        # A named tool excludes all others.
        offered = {chosen: offered[chosen]}
    return ParserRequest(
        tools=offered,
        # An empty list offers no tool; without a list any function may be called.
        calls=choice != "none"
        and offered != {}
        and (fields.json_schema is None or tools is not None),
        parallel=fields.parallel_tool_calls,
        json=fields.json_schema is not None,
        prompt=fields.prompt,
        begun_turn=begun_turn,
        required=choice == "required" or chosen is not None,
    )


_TOOL = '{"type": "function", "function": {"name": …, "parameters": …}}'


_WITHOUT_SCHEMA = {"name", "description", "strict"}


def _check_array(tools: object) -> None:
    """Raise RequestError unless the tools are an array."""
    # Nearly always a list: the abstract class takes longer to ask.
    if type(tools) is list or (isinstance(tools, Sequence) and not isinstance(tools, str | bytes)):
        return
    raise RequestError(
        f"must be an array, got {value_kind(tools)}",
        place="tools",
        # An answer of MCP's `tools/list`, or the whole of a file with tools.
        hint="give the list that is its `tools`"
        if is_mapping(tools) and not tools.keys().isdisjoint(("tools", "result"))
        else f"give [{_TOOL}]",
    )


def schemas_by_name(tools: Sequence[Any]) -> dict[str, Json]:
    """Return the schemas of the parameters by function name.

    Raises RequestError for invalid tools.
    """
    _check_array(tools)
    found: dict[str, Json] = {}
    # Fast path: nearly all tools of a request are the dicts that a JSON parser returns.
    try:
        for tool in tools:
            function = tool["function"]
            schema = function.get("parameters")
            # Keys beside these may hold the schema in the form of another API.
            if type(schema) is not dict and not function.keys() <= _WITHOUT_SCHEMA:
                break
            found[function["name"]] = schema
        else:
            # Texts alone can be joined, so that every name is one.
            if "".join(found) and "" not in found:
                return found
    except (AttributeError, KeyError, TypeError):
        pass
    return dict(_name_and_schema(at, tool) for at, tool in enumerate(tools))


def _name_and_schema(at: int, tool: object) -> tuple[str, Json]:
    function = tool_function(tool)
    name = None if function is None else function.get("name")
    if function is None or not isinstance(name, str) or not name:
        hint = "give its model_dump()" if hasattr(tool, "model_dump") else f"give {_TOOL}"
        raise RequestError("invalid tool", place=f"tools[{at}]", hint=hint)
    parameters = function.get("parameters")
    if parameters is not None and not isinstance(parameters, Mapping | bool):
        raise RequestError(
            f"the parameters of {name} are not a valid JSON schema",
            place=f"tools[{at}]",
            hint='give an object such as {"type": "object", "properties": …}',
        )
    schema: Json = function.get("parameters")
    # A schema of true or false names no parameters, as if there were none.
    return name, None if isinstance(schema, bool) else schema


_CHOICES = ("auto", "none", "required")


def _chosen_tool(tool_choice: object, offered: Mapping[str, Json] | None) -> str | None:
    """Return the name of the chosen tool, or None if the model chooses."""
    if isinstance(tool_choice, str) and tool_choice in _CHOICES:
        return None
    function = tool_function(tool_choice)
    if function is not None:
        tool_choice = function.get("name", tool_choice)
    if not isinstance(tool_choice, str) or (offered is not None and tool_choice not in offered):
        names = ", ".join(offered or ())
        choices = ", ".join(_CHOICES)
        hint = f"{choices} and the tools: {names}" if names else f"{choices} (no tools are offered)"
        raise RequestError(f"unknown tool_choice {tool_choice!r}", hint=f"choose from {hint}")
    return tool_choice
