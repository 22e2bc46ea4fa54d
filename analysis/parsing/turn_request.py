"""What a caller asks for: the tools offered, the choice among them, the prompt."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock
from typing import Any, Generic, TypeAlias, TypedDict, TypeVar

from autoparser.analysis.core.call_format import ArgumentFormat, CallFormat, CallLimit
from autoparser.analysis.core.call_notation import NamingId, RowSlot
from autoparser.analysis.core.conversation import Json, Presence, function_of
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.literals import MarkerBlock, TemplateLiteral
from autoparser.analysis.core.text_format import StrippedEdges, TurnPart
from autoparser.analysis.core.turn_format import Begun, TurnFormat
from autoparser.analysis.core.turn_shape import PromptProgress, TurnOpening

# What was made of a format is cached for the requests that follow: engines ask again and again.


Made = TypeVar("Made")


class IdentityCache(Generic[Made]):
    """Keeps the latest of what was made of objects that do not change; threads may share it.

    Objects are told apart by their identity, since formats hold mappings and cannot be hashed. Each
    is held as long as what was made of it, so that no other takes its place in memory.
    """

    def __init__(self, most: int) -> None:
        """Keep so many."""
        self._most = most
        self._known: OrderedDict[Hashable, tuple[Made, tuple[object, ...]]] = OrderedDict()
        self._lock = Lock()

    def of(self, owners: tuple[object, ...], key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made of these objects under this key; `make` makes it where it is new.

        Two threads may make the same thing at once: then the first one is kept.
        """
        case = (tuple(map(id, owners)), key)
        with self._lock:
            known = self._known.get(case)
            if known is not None:
                self._known.move_to_end(case)
                return known[0]
        made = make()
        with self._lock:
            made, _ = self._known.setdefault(case, (made, owners))
            while len(self._known) > self._most:
                self._known.popitem(last=False)
        return made


# The expression of a turn: a tree of few node types that parser, grammar and printout walk.


@dataclass(frozen=True, slots=True)
class FunctionName:
    """The name of a function; one of those offered, where any are."""

    offered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SingleWord:
    """An id or a number, up to the next literal."""

    slot: RowSlot


@dataclass(frozen=True, slots=True)
class FreeText:
    """A word that a template writes by default, between two literals of a row."""

    default: str


@dataclass(frozen=True, slots=True)
class ArgumentList:
    """A call's arguments, typed by the schema of the function that was named."""

    arguments: ArgumentFormat
    schemas: Mapping[str, Json]
    """Parameters' JSON schema by function name."""


RowItem: TypeAlias = TemplateLiteral | FreeText | FunctionName | SingleWord | ArgumentList


@dataclass(frozen=True, slots=True)
class RowCall:
    """A call that is literals and slots in a row."""

    row: tuple[RowItem, ...]
    empty_row: tuple[RowItem, ...] | None = None
    naming: NamingId | None = None
    """How an id carries the name; None where the name is written apart."""
    loose_row: tuple[RowItem, ...] = ()
    """The row for a reader, where a model may write words in its literals otherwise; else empty."""


@dataclass(frozen=True, slots=True)
class JsonCall:
    """A call that is one JSON object; its members come in any order."""

    before: TemplateLiteral
    name: FunctionName
    arguments: ArgumentList
    after: TemplateLiteral
    name_is_key: bool = False
    function_field: str = ""
    name_field: str = ""
    arguments_field: str = ""
    id_field: str = ""


@dataclass(frozen=True, slots=True)
class CallSection:
    """All calls of a turn."""

    open: TemplateLiteral
    call: RowCall | JsonCall
    separator: TemplateLiteral
    close: TemplateLiteral
    limit: CallLimit
    later_close: TemplateLiteral = field(default_factory=TemplateLiteral)
    """What closes every call but the first, in templates that do so."""
    space: str = ""
    """Whitespace that the template writes between content and calls."""
    behind: str = ""
    """Whitespace that it writes between calls and content after them."""
    leads: tuple[str, ...] = ()
    """Markers that are markup where they stand right before a call."""
    single: bool = False
    """The request allows one call; more are junk."""


class TurnStart(StrEnum):
    """Where in the turn the prompt has ended."""

    TURN = "at the turn's beginning"
    HEADER = "after the header"
    REASONING = "in the reasoning"
    CONTENT = "after the reasoning"


@dataclass(frozen=True, slots=True)
class PartBody:
    """A part of the message in its place in a row, and what the template strips from it."""

    part: TurnPart
    edges: StrippedEdges = field(default_factory=StrippedEdges)
    begun: str = ""
    """What of it the prompt has already written."""


StrictItem: TypeAlias = str | PartBody


@dataclass(frozen=True, slots=True)
class StrictRow:
    """One way to write a turn: texts and parts in order, and what ends it."""

    items: tuple[StrictItem, ...]
    end: TemplateLiteral = field(default_factory=TemplateLiteral)
    """The end that the template writes; a model may stop before it."""

    def has(self, part: TurnPart) -> bool:
        """Whether the row writes this part."""
        return any(isinstance(item, PartBody) and item.part is part for item in self.items)


@dataclass(frozen=True, slots=True)
class StrictTurn:
    """Everything that a strict writer may write for one request."""

    rows: tuple[StrictRow, ...] = ()
    calls: CallFormat | None = None
    """How calls are written, if a row has any; None: the format has none."""


@dataclass(frozen=True, slots=True)
class TurnTree:
    """A whole turn."""

    start: TurnStart
    header: TemplateLiteral
    reasoning: MarkerBlock | None
    content: MarkerBlock
    calls: CallSection | None
    ends: tuple[TemplateLiteral, ...]
    unwritten: str = ""
    """Whitespace after what the prompt has opened, which it has left to the model."""
    lead: str = ""
    """Whitespace that the template writes between the header and content."""
    goes_on: bool = False
    """What ends a turn may also stand inside it, with another header after it."""
    tail: str = ""
    """Whitespace that ends the turn, where nothing else does."""
    json: bool = False
    """The answer is JSON."""
    prefill: str = ""
    """What the prompt has already written of the message itself."""
    strict: StrictTurn = field(default_factory=StrictTurn)
    """What a strict writer may write."""


class RequestError(AutoparserError):
    """The tools, the tool choice or the prompt of a request are not what they should be."""


@dataclass(frozen=True, slots=True)
class ParserRequest:
    """A request, its tools reduced to names and schemas."""

    tools: Mapping[str, Json] | None = None
    """Parameters' JSON schema by function name; None: any function may be called."""
    calls: bool = True
    """Whether calls may be written at all."""
    parallel: bool = True
    json: bool = False
    """Whether the answer is JSON."""
    prompt: str | None = None
    begun: Begun | None = None
    """What the prompt belongs to, where the caller said what was set; None: the prompt tells."""
    start: TurnStart | None = field(default=None)
    required: bool = False
    """Whether a call has to be written."""


class RequestOptions(TypedDict, total=False):
    """What a request says beside its tools; what is left out is as in `request_of`."""

    prompt: str | None
    """The rendered prompt, or any tail of it that holds the generation prompt; None stands for the
    template's default one."""
    tool_choice: object
    """OpenAI's: "auto", "none", "required", a tool's name, or an object that names it."""
    parallel_tool_calls: bool
    """Whether more than one call counts."""
    json_schema: Mapping[str, Any] | None
    """What the answer has to be, where it is JSON."""


def request_of(
    tools: Sequence[object] | None = None,
    *,
    prompt: str | None = None,
    begun: Begun | None = None,
    tool_choice: object = "auto",
    parallel_tool_calls: bool = True,
    json_schema: Mapping[str, object] | None = None,
) -> ParserRequest:
    """Read a request in OpenAI's words. Raises RequestError for tools that are not valid tools.

    Where a schema for the answer is given and no tools are, nothing in the answer is a call.
    """
    offered = None if tools is None else dict(map(_tool, range(len(tools)), tools))
    chosen = _chosen(tool_choice, offered)
    if chosen is not None and offered is not None:
        offered = {chosen: offered[chosen]}
    return ParserRequest(
        tools=offered,
        calls=tool_choice != "none"
        and offered != {}
        and (json_schema is None or tools is not None),
        parallel=parallel_tool_calls,
        json=json_schema is not None,
        prompt=prompt,
        begun=begun,
        required=tool_choice == "required" or chosen is not None,
    )


def _tool(at: int, tool: object) -> tuple[str, Json]:
    function = function_of(tool)
    name = None if function is None else function.get("name")
    if function is None or not isinstance(name, str) or not name:
        raise RequestError(
            "this is not a valid tool",
            place=f"tools[{at}]",
            hint='give {"type": "function", "function": {"name": …, "parameters": …}}',
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


def _chosen(tool_choice: object, offered: Mapping[str, Json] | None) -> str | None:
    """Name the one tool that is chosen; None where the model chooses."""
    function = function_of(tool_choice)
    if function is not None:
        tool_choice = function.get("name", tool_choice)
    elif tool_choice in _CHOICES:
        return None
    if not isinstance(tool_choice, str) or (offered is not None and tool_choice not in offered):
        names = ", ".join(offered or ()) or "none"
        raise RequestError(
            f"the tool choice {tool_choice!r} names no tool that is offered",
            hint=f"give auto, none, required or one of the tools: {names}",
        )
    return tool_choice


# Where in the turn a prompt has ended, and what of the turn's beginning it has left to write.


@dataclass(frozen=True, slots=True)
class PromptedTurn:
    """What the prompt has done of the turn."""

    start: TurnStart
    unwritten: str = ""
    """Whitespace after what the prompt has opened, which it has not written."""
    prefill: str = ""
    """What it has already written of the message itself."""


_STARTS = {
    PromptProgress.NOTHING: TurnStart.TURN,
    PromptProgress.PART_OF_HEADER: TurnStart.TURN,
    PromptProgress.HEADER: TurnStart.HEADER,
    PromptProgress.REASONING_OPEN: TurnStart.REASONING,
    PromptProgress.REASONING_CLOSED: TurnStart.CONTENT,
    PromptProgress.OTHER: TurnStart.HEADER,
}


def read_prompt(
    format_: TurnFormat, opening: TurnOpening | None, request: ParserRequest
) -> PromptedTurn:
    """Say where the prompt has ended, what of its whitespace is missing, and what it prefilled.

    `opening` is the one that the prompt ends with, None where it ends with none.
    """
    if request.start is not None:
        return PromptedTurn(
            request.start, leading_whitespace(format_, format_.header, request.start)
        )
    if opening is not None and (request.prompt is None or opening.text.strip()):
        prompt = opening.text if request.prompt is None else request.prompt
        return _behind(format_, opening, prompt)
    if request.prompt is None:
        return PromptedTurn(
            TurnStart.HEADER, leading_whitespace(format_, format_.header, TurnStart.HEADER)
        )
    reasoning = format_.reasoning
    opened = None if reasoning is None else reasoning.opened_by(request.prompt)
    if opened is not None:
        return PromptedTurn(TurnStart.REASONING, opened)
    prefill = prefilled_text(format_, request.prompt)
    if opening is not None and not prefill:
        # The template has no generation prompt, so a prompt of it begins no turn.
        return _behind(format_, opening, "")
    return PromptedTurn(
        TurnStart.HEADER, leading_whitespace(format_, format_.header, TurnStart.HEADER), prefill
    )


def prefilled_text(format_: TurnFormat, prompt: str) -> str:
    """Return what a prompt has written of the message itself, after the header of its last turn.

    Where turns have no header, it is what stands after the last opener that was left open.
    """
    mark = format_.header_mark
    if not format_.header.strip():
        return _left_open(format_, prompt)
    if not mark or mark not in prompt:
        return ""
    written = prompt.rpartition(mark)[2]
    # After a stop comes what is not the message: the results of its calls, in one turn.
    ended = any(stop in written for stop in format_.stop_strings)
    return "" if ended or written.isspace() else written


def _left_open(format_: TurnFormat, prompt: str) -> str:
    """Return the end of a prompt, from the last opener on, where nothing closes what it opened.

    No marker stands after it but those of a call: `[THINK]Let me` begins a message, and in
    `What does [THINK] mean?[/INST]` somebody else has written the opener. In open reasoning calls
    and content are text.
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
        places = ((prompt.rfind(each.core), each) for each in openers if each.is_marked)
        at, opener = max(places, key=lambda place: place[0], default=(-1, TemplateLiteral()))
        behind = prompt[at + len(opener.core) :]
        foreign = any(marker not in written for marker in TemplateLiteral.of(behind).markers)
        if at >= 0 and not foreign and not any(stop in behind for stop in format_.stop_strings):
            return prompt[at:]
    return ""


def _behind(format_: TurnFormat, opening: TurnOpening, prompt: str) -> PromptedTurn:
    """Say what is left to write after a prompt that ends with this opening."""
    core = opening.text.rstrip()
    space = prompt[len(prompt.rstrip()) :]
    missing = opening.text[len(core) :].removeprefix(space)
    if opening.written is PromptProgress.OTHER and _begins_to_reason(format_, opening.text):
        return PromptedTurn(TurnStart.REASONING, missing)
    start = _STARTS[opening.written]
    prefill = _prefill(format_, opening.text, opening.written)
    if start is not TurnStart.REASONING:
        return PromptedTurn(
            start, missing + leading_whitespace(format_, opening.turn_begun, start), prefill
        )
    after = "" if format_.reasoning is None else format_.reasoning.open.after
    if not missing and after.startswith(space):
        missing = after[len(space) :]
    return PromptedTurn(start, missing, prefill)


def _begins_to_reason(format_: TurnFormat, text: str) -> bool:
    """Whether a prompt has opened a turn in its own words, where only a closer tells reasoning.

    After `{bot}My steps:` comes reasoning where turns are `{bot}REASONING{answer}CONTENT` or
    `{bot}CONTENT`: what comes before `{answer}`, unless the prompt has written that.
    """
    block = format_.reasoning
    if block is None or not block.close.mark or block.close.mark in text:
        return False
    opener = block.open.core
    return opener == format_.content.open.core and opener in text


def _prefill(format_: TurnFormat, text: str, written: PromptProgress) -> str:
    """Give what a generation prompt has written after the header, where that is no whole part."""
    mark = format_.header_mark
    if written is not PromptProgress.OTHER or not mark or mark not in text:
        return ""
    return text.rpartition(mark)[2].lstrip()


def leading_whitespace(format_: TurnFormat, written: str, start: TurnStart) -> str:
    """Return the whitespace that the template writes between what is `written` and content."""
    layout = format_.layouts.get(Presence(content=True))
    if layout is None or layout.parts[:1] != (TurnPart.CONTENT,):
        return ""
    text = layout.literals[0]
    if text.startswith(written):
        text = text[len(written) :]
    elif start is TurnStart.CONTENT:
        return ""
    if text.isspace():
        return text
    reasoning, mark = format_.reasoning, format_.header_mark
    # What an empty reasoning block leaves after itself is skipped where that block is read.
    if start is TurnStart.CONTENT or (reasoning is not None and reasoning.close.core in text):
        return ""
    text = text.rpartition(mark)[2] if mark else text
    return text if text.isspace() else ""
