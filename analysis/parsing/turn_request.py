"""Define a parser's request, the tree of a turn's expression, and the state of a prompt.

    read_request(tools, tool_choice, ...)   ->  ParserRequest: schemas by function name, flags
    read_prompt_end(format, opening, request) ->  PromptedTurn: where in the turn the prompt ended
    build_expression (turn_expression.py) ->  TurnTree, made of the node types defined here

Parser, grammar and printout walk the same tree. `IdentityCache` keeps the values that are made of
a format, since engines ask for the same format again and again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from threading import Lock
from typing import Any, Generic, Literal, TypeAlias, TypedDict, TypeVar, Unpack

from msgspec import Struct
from msgspec.json import decode, encode
from msgspec.structs import replace

from autoparser.analysis.core.call_format import ArgumentFormat, CallFormat, CallLimit
from autoparser.analysis.core.call_notation import NamingId, RowSlot
from autoparser.analysis.core.conversation import Json, Presence, tool_function
from autoparser.analysis.core.documents import JsonDocument, read_value
from autoparser.analysis.core.error_words import value_kind
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.format_choice import PromptFormat
from autoparser.analysis.core.schema_parts import SchemaPart
from autoparser.analysis.core.text_alignment import MarkerBlock, TemplateLiteral
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import StrippedEdges, TurnPart
from autoparser.analysis.core.turn_shape import PromptProgress, TurnOpening

from .parsed_message import Forgiven, MarkupIn, ReasoningIn, UnclosedReasoning

# The cache of values derived from formats.


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
        known = self._cache.get(case)
        if known is not None:
            if 2 * len(self._cache) > self._most:
                # Only a cache that fills up needs to know what was used last.
                with self._lock:
                    self._cache[case] = known
                    self._cache.move_to_end(case)
            return known[0]
        made = make()
        with self._lock:
            made, _ = self._cache.setdefault(case, (made, owners))
            while len(self._cache) > self._most:
                self._cache.popitem(last=False)
        return made


# The node types of a turn's expression.


class FunctionName(Struct, frozen=True):
    """The name of a function: one of those offered, if any are."""


class SingleWord(Struct, frozen=True):
    """An id or a number, up to the next literal."""

    slot: RowSlot
    """The slot, such as `RowSlot.ID`."""


class FreeText(Struct, frozen=True):
    """A word that a template writes by default, between two literals of a row."""

    default: str
    """The word, e.g. "json" in `<|call|>look_up:json<|args|>`."""


class ArgumentList(Struct, frozen=True):
    """A call's arguments, typed by the schema of the function that was named."""

    arguments: ArgumentFormat
    """How the arguments are written, e.g. as JSON with ", " between members."""


RowItem: TypeAlias = TemplateLiteral | FreeText | FunctionName | SingleWord | ArgumentList


class RowCall(Struct, frozen=True):
    """A call that is a row of literals and slots."""

    row: tuple[RowItem, ...]
    r"""One call: literals and the parts between them, e.g. "<function=", the name, ">\n", the
    arguments and "</function>"."""
    empty_row: tuple[RowItem, ...] | None = None
    """A call without arguments, e.g. '<call name="', the name and '"/>', or None if it is the row
    with empty arguments."""
    naming: NamingId | None = None
    """How an id contains the name, e.g. "tool/", the name, "#" and the index, or None if the name
    is written apart."""
    loose_row: tuple[RowItem, ...] = ()
    """The row for a reader if a model may change words in its literals, e.g. "json" in
    `:json<|args|>`; otherwise empty."""


class JsonCallFields(JsonDocument, frozen=True):
    """The text around a call that is one JSON object, and the keys of its members."""

    before: TemplateLiteral
    """The text before the JSON, such as `<tool_call>`."""
    after: TemplateLiteral
    """The text after the JSON, such as `</tool_call>`."""
    name_is_key: bool = False
    """Whether the name is the key of the arguments, such as in `{"get_weather": {"city": "Oslo"}}`.
    """
    function_field: str = ""
    """The key of the object with name and arguments, such as `"function"`; empty if not nested."""
    name_field: str = ""
    """The key of the name, such as `"name"`."""
    arguments_field: str = ""
    """The key of the arguments, such as `"arguments"`."""
    id_field: str = ""
    """The key of the id, such as `"id"`; empty if the call has none."""


class JsonCall(JsonCallFields, frozen=True, kw_only=True):
    """A call that is one JSON object; its members come in any order."""

    name: FunctionName
    """The names that the call may have, e.g. those of the offered tools."""
    arguments: ArgumentList
    """The arguments, e.g. as JSON with ", " between members."""


class CallSection(Struct, frozen=True):
    """All calls of a turn."""

    open: TemplateLiteral
    """Before the first call, such as `<tool_calls>`."""
    call: RowCall | JsonCall
    """One call, as a row, e.g. "<function=", the name and the arguments, or as a JSON object."""
    separator: TemplateLiteral
    """Between two calls, e.g. ", "."""
    close: TemplateLiteral
    """After the last call, such as `</tool_calls>`."""
    limit: CallLimit
    """Whether a message may have several calls, such as `CallLimit.FIRST`."""
    later_close: TemplateLiteral = TemplateLiteral()
    """The text that closes every call but the first, e.g. "!" in `(call f {}),(call g {})!`, in
    templates that have one."""
    space: str = ""
    r"""Whitespace that the template writes between content and calls, e.g. "\n\n"."""
    behind: str = ""
    r"""Whitespace that it writes between calls and content after them, e.g. "\n"."""
    leads: tuple[str, ...] = ()
    """Markers that are markup where they stand right before a call, e.g. ("<|run|>",)."""
    single: bool = False
    """Whether the request allows one call only, e.g. with `parallel_tool_calls=False`; others are
    junk."""


class TurnStart(StrEnum):
    """Where in the turn the prompt has ended."""

    TURN = "at the turn's beginning"
    HEADER = "after the header"
    REASONING = "in the reasoning"
    CONTENT = "after the reasoning"


class PartBody(Struct, frozen=True):
    """A part of the message in a row, and the edges that the template strips from it."""

    part: TurnPart
    """The part, such as `TurnPart.CONTENT`."""
    edges: StrippedEdges = StrippedEdges()
    """The whitespace that the template strips from it, e.g. `EdgeStrip.WHITESPACE` at both."""
    written_start: str = ""
    """The beginning of it that the prompt has already written, e.g. ">>>"."""
    begun: bool = False
    """Whether the prompt has written a part of it, e.g. "Sure", so that the rest may be empty."""


StrictItem: TypeAlias = str | PartBody


class StrictRow(Struct, frozen=True):
    """One way to write a turn: texts and parts in order, and the end."""

    items: tuple[StrictItem, ...]
    """Literals, and the parts between them, e.g. "<think>", the reasoning and "</think>"."""
    end: TemplateLiteral = TemplateLiteral()
    """The end that the template writes, e.g. "<|im_end|>"; a model may stop before it."""

    def has(self, part: TurnPart) -> bool:
        """Return whether the row writes this part."""
        return any(isinstance(item, PartBody) and item.part is part for item in self.items)


class StrictTurn(Struct, frozen=True):
    """Everything that a strict writer may write for one request."""

    rows: tuple[StrictRow, ...] = ()
    """The rows that a turn may have, e.g. content alone, and reasoning before content."""
    calls: CallFormat | None = None
    """How calls are written if a row has any, e.g. '<invoke name="', the name and the arguments, or
    None if the format has none."""
    free: tuple[StrictRow, ...] | None = None
    """The rows of a free answer if the prompt has continued a message, e.g. with content after
    calls; None if they are to be made of `rows`."""
    start: TurnStart | None = None
    """Where in the turn the rows begin if the prompt has continued a message, e.g.
    `TurnStart.CONTENT` after "<think></think>Sure"; None if they begin as the turn does."""
    stopped: str = ""
    """Why nothing can be written after the prompt, e.g. "the prompt ends inside a tool call"."""


class TurnTree(Struct, frozen=True):
    """A whole turn."""

    start: TurnStart
    """Where in the turn the prompt has ended, e.g. `TurnStart.HEADER`."""
    header: TemplateLiteral
    """The text before every turn, such as `<|im_start|>assistant`."""
    reasoning: MarkerBlock | None
    """The markers around reasoning, e.g. "<think>" and "</think>", or None if the format has
    none."""
    content: MarkerBlock
    """The markers around content, e.g. "<answer>" and "</answer>"; they may be empty."""
    calls: CallSection | None
    """The section of calls, e.g. rows between "<tool_calls>" and "</tool_calls>", or None if the
    format has none."""
    ends: tuple[TemplateLiteral, ...]
    """The ends of turns, such as `<|im_end|>`."""
    unwritten: str = ""
    r"""Whitespace after the opening in the prompt, e.g. "\n", which the prompt leaves to the
    model."""
    lead: str = ""
    r"""Whitespace that the template writes between the header and content, e.g. "\n"."""
    goes_on: bool = False
    """Whether an end of the turn, e.g. "<|im_end|>", may also occur inside it, with another header
    after it."""
    tail: str = ""
    r"""Whitespace that ends the turn if nothing else does, e.g. "\n\n"."""
    json: bool = False
    """Whether the answer is JSON, e.g. with `json_schema`."""
    prefill: str = ""
    """The beginning of the message that the prompt has already written, e.g. ">>>"."""
    continues: bool = False
    """Whether the prompt has written more of the message than its generation prompt, e.g. "Sure";
    `strict` then has the rows of the whole message, from its beginning."""
    strict: StrictTurn = StrictTurn()
    """The rows that a strict writer may write, e.g. content and then calls."""
    offered: frozenset[str] | None = None
    """The offered tools, e.g. {"get_weather"}, or None if any may be called."""
    schemas: Mapping[str, Json] = {}
    """JSON schema of the parameters by function name, e.g. {"get_weather": {"type": "object"}}; the
    nodes do not depend on it."""

    @property
    def rows_start(self) -> TurnStart:
        """Where in the turn the rows of `strict` begin."""
        return self.strict.start or self.start


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
    if type(tools) is not list and (
        tools is not None and (not isinstance(tools, Sequence) or isinstance(tools, str | bytes))
    ):
        raise RequestError(
            f"must be an array, got {value_kind(tools)}", place="tools", hint=f"give [{_TOOL}]"
        )
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
    offered = None if tools is None else _schemas_by_name(tools)
    chosen = _chosen_tool(choice, offered)
    if chosen is not None and offered is not None:
        offered = {chosen: offered[chosen]}
    return ParserRequest(
        tools=offered,
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


def _schemas_by_name(tools: Sequence[Any]) -> dict[str, Json]:
    """Return the schemas of the parameters by function name."""
    found: dict[str, Json] = {}
    # Fast path: nearly all tools of a request are the dicts that a JSON parser returns.
    try:
        for tool in tools:
            function: Any = tool["function"] if tool.__class__ is dict else None
            if function.__class__ is not dict:
                break
            name, schema = function["name"], function.get("parameters")
            # Keys beside these may hold the schema in the form of another API.
            plain = type(schema) is dict or function.keys() <= _WITHOUT_SCHEMA
            if name.__class__ is not str or not (name and plain):
                break
            found[name] = schema
        else:
            return found
    except KeyError:
        pass
    return dict(_name_and_schema(at, tool) for at, tool in enumerate(tools))


def _name_and_schema(at: int, tool: object) -> tuple[str, Json]:
    function = tool_function(tool)
    name = None if function is None else function.get("name")
    if function is None or not isinstance(name, str) or not name:
        raise RequestError(
            "invalid tool",
            place=f"tools[{at}]",
            hint=f"give {_TOOL}",
        )
    parameters = function.get("parameters")
    if parameters is not None and not isinstance(parameters, Mapping | bool):
        raise RequestError(
            f"the parameters of {name} are not a valid JSON schema",
            place=f"tools[{at}]",
            hint='give an object such as {"type": "object", "properties": …}',
        )
    schema: Json = function.get("parameters")
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


# The state of the turn at the end of a prompt.


class PromptedTurn(Struct, frozen=True):
    """The part of the turn that the prompt has written."""

    start: TurnStart
    """Where in the turn the prompt has ended, e.g. `TurnStart.REASONING`."""
    unwritten: str = ""
    r"""Whitespace after the opening in the prompt, which the prompt has not written, e.g. "\n"."""
    prefill: str = ""
    """The beginning of the message that the prompt has already written, e.g. ">>>"."""


_STARTS = {
    PromptProgress.NOTHING: TurnStart.TURN,
    PromptProgress.PART_OF_HEADER: TurnStart.TURN,
    PromptProgress.HEADER: TurnStart.HEADER,
    PromptProgress.REASONING_OPEN: TurnStart.REASONING,
    PromptProgress.REASONING_CLOSED: TurnStart.CONTENT,
    PromptProgress.OTHER: TurnStart.HEADER,
}


def read_prompt_end(
    format_: TurnFormat, opening: TurnOpening | None, request: ParserRequest
) -> PromptedTurn:
    """Return where in the turn the prompt ended, its missing whitespace, and its prefill.

    `opening` is the generation prompt that the prompt ends with, or None if it ends with none.
    """
    prompt, prefill = request.prompt, ""
    if opening is not None and (prompt is None or opening.text.strip()):
        return _after_opening(format_, opening, opening.text if prompt is None else prompt)
    if prompt is not None:
        reasoning = format_.reasoning
        opened = None if reasoning is None else reasoning.opened_by(prompt)
        if opened is not None:
            return PromptedTurn(TurnStart.REASONING, opened)
        prefill = prefilled_text(format_, prompt)
        if opening is not None and not prefill:
            # The template has no generation prompt, so a prompt of it begins no turn.
            return _after_opening(format_, opening, "")
    unwritten = leading_whitespace(format_, format_.header, TurnStart.HEADER)
    return PromptedTurn(TurnStart.HEADER, unwritten, prefill)


def prefilled_text(format_: TurnFormat, prompt: str) -> str:
    """Return the beginning of the message that a prompt wrote after the header of its last turn.

    If turns have no header, it begins with the last opener that was left open.
    """
    mark = format_.header_mark
    if not format_.header.strip():
        return _left_open(format_, prompt)
    if not mark or mark not in prompt:
        return ""
    written = prompt.rpartition(mark)[2]
    # Text after a stop does not belong to the message: it is results of calls in the same turn.
    ended = any(stop in written for stop in format_.stop_strings)
    return "" if ended or written.isspace() else written


def _left_open(format_: TurnFormat, prompt: str) -> str:
    """Return the suffix of a prompt from the last opener that is still open, or empty.

    Only markers of a call may come after it: `[THINK]Let me` begins a message, and in
    `What does [THINK] mean?[/INST]` the user wrote the opener. In open reasoning, calls and content
    are text.
    """
    reasoning, calls = format_.reasoning, format_.calls
    row = () if calls is None else (calls.section_open, *calls.row)
    written = "".join(piece for piece in row if not isinstance(piece, RowSlot))
    others = (
        format_.content.open,
        *format_.content.others,
        TemplateLiteral.of(TemplateLiteral.of(written).first),
    )
    for openers in (() if reasoning is None else (reasoning.open,), others):
        places = ((prompt.rfind(opener.core), opener) for opener in openers if opener.is_marked)
        at, opener = max(places, key=lambda place: place[0], default=(-1, TemplateLiteral()))
        behind = prompt[at + len(opener.core) :]
        foreign = any(marker not in written for marker in TemplateLiteral.of(behind).markers)
        if at >= 0 and not foreign and not any(stop in behind for stop in format_.stop_strings):
            return prompt[at:]
    return ""


def _after_opening(format_: TurnFormat, opening: TurnOpening, prompt: str) -> PromptedTurn:
    """Return the state of the turn after a prompt that ends with this opening."""
    core = opening.text.rstrip()
    space = prompt[len(prompt.rstrip()) :]
    missing = opening.text[len(core) :].removeprefix(space)
    if opening.written is PromptProgress.OTHER and _begins_to_reason(format_, opening.text):
        return PromptedTurn(TurnStart.REASONING, missing)
    start = _STARTS[opening.written]
    prefill, mark = "", format_.header_mark
    if opening.written is PromptProgress.OTHER and mark and mark in opening.text:
        # The text after the header is only a fragment of a part.
        prefill = opening.text.rpartition(mark)[2].lstrip()
    if start is not TurnStart.REASONING:
        return PromptedTurn(
            start, missing + leading_whitespace(format_, opening.turn_begun, start), prefill
        )
    after = "" if format_.reasoning is None else format_.reasoning.open.after
    if not missing and after.startswith(space):
        missing = after[len(space) :]
    return PromptedTurn(start, missing, prefill)


def _begins_to_reason(format_: TurnFormat, text: str) -> bool:
    """Return whether a prompt of its own words opened reasoning that only a closer marks.

    After `{bot}My steps:` comes reasoning if turns are `{bot}REASONING{answer}CONTENT` or
    `{bot}CONTENT`: it is the text before `{answer}`, unless the prompt has written that.
    """
    block = format_.reasoning
    if block is None or not block.close.mark or block.close.mark in text:
        return False
    opener = block.open.core
    return opener == format_.content.open.core and opener in text


def leading_whitespace(format_: TurnFormat, written_text: str, start: TurnStart) -> str:
    """Return the whitespace that the template writes between `written_text` and content."""
    layout = format_.layouts.get(Presence(content=True))
    if layout is None or layout.parts[:1] != (TurnPart.CONTENT,):
        return ""
    text = layout.literals[0]
    if text.startswith(written_text):
        text = text[len(written_text) :]
    elif start is TurnStart.CONTENT:
        return ""
    if text.isspace():
        return text
    reasoning, mark = format_.reasoning, format_.header_mark
    # Whitespace after an empty reasoning block is skipped where that block is read.
    if start is TurnStart.CONTENT or (reasoning is not None and reasoning.close.core in text):
        return ""
    text = text.rpartition(mark)[2] if mark else text
    return text if text.isspace() else ""
