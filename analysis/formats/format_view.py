r"""A format in the words of reports, all of it.

For example, of calls such as `<tool_call>\n{"name": "find", "arguments": {}}\n</tool_call>`:

    >>> from autoparser import analyze, load_template
    >>> view = analyze(load_template("fixtures/templates/j1-json-in-tags.jinja")).view
    >>> view
    <FormatView: reasoning TAG_BASED, content PLAIN, tools JSON_NATIVE>
    >>> view.markers.per_call_start, view.json_fields.parameter_order
    ('<tool_call>', ('name', 'arguments'))
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import pairwise

from msgspec import Struct

from autoparser.analysis.core.call_format import CallFormat, CallLimit
from autoparser.analysis.core.call_notation import JsonFields, RowSlot
from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.string_notation import StringEscape
from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.turn_shape import PromptProgress, TurnOpening

# The modes that formats are sorted into; `docs/modes.md` explains each.


class ReasoningMode(StrEnum):
    """How a template handles reasoning."""

    NONE = "NONE"
    TAG_BASED = "TAG_BASED"
    DELIMITER = "DELIMITER"
    FORCED_OPEN = "FORCED_OPEN"
    FORCED_CLOSED = "FORCED_CLOSED"
    TOOLS_ONLY = "TOOLS_ONLY"


class ContentMode(StrEnum):
    """How a template wraps content."""

    PLAIN = "PLAIN"
    ALWAYS_WRAPPED = "ALWAYS_WRAPPED"
    WRAPPED_WITH_REASONING = "WRAPPED_WITH_REASONING"


class ToolFormat(StrEnum):
    """How a template writes tool calls."""

    NONE = "NONE"
    JSON_NATIVE = "JSON_NATIVE"
    TAG_WITH_JSON = "TAG_WITH_JSON"
    TAG_WITH_TAGGED = "TAG_WITH_TAGGED"


class CallNotation(StrEnum):
    """How a call writes its name and arguments: finer than `ToolFormat`."""

    JSON_IN_MARKERS = "a JSON object between markers"
    """E.g. `<call>{"name": "find", "arguments": {"city": "Oslo"}}</call>`."""
    BARE_JSON = "a JSON object without markers"
    """E.g. `{"name": "find", "parameters": {"city": "Oslo"}}`."""
    NAMED_JSON = "a name, then JSON arguments"
    """E.g. `<call>find{"city": "Oslo"}</call>`."""
    ELEMENTS = "an element for each argument"
    """E.g. `<function=find><parameter=city>Oslo</parameter></function>`."""
    PAIRS = "pairs, as in code"
    """E.g. `find(city='Oslo')`."""


class CallIdPosition(StrEnum):
    """Where a call's id stands in formats that are not JSON."""

    NONE = "NONE"
    PRE_FUNC_NAME = "PRE_FUNC_NAME"
    BETWEEN_FUNC_AND_ARGS = "BETWEEN_FUNC_AND_ARGS"
    POST_ARGS = "POST_ARGS"


# The registry of markers, derived from a format.


@dataclass(frozen=True, slots=True, repr=False)
class MarkerRegistry:
    """Every marker by its name; cores, without the whitespace at their edges."""

    reasoning_start: str = ""
    """Before reasoning, such as `"<think>"`."""
    reasoning_end: str = ""
    """After reasoning, such as `"</think>"`."""
    content_start: str = ""
    """Before content, such as `"<response>"`."""
    content_end: str = ""
    """After content, such as `"</response>"`."""
    tool_section_start: str = ""
    """Before all calls, such as `"<tool_calls>"`."""
    tool_section_end: str = ""
    """After all calls, such as `"</tool_calls>"`."""
    per_call_start: str = ""
    """Before each call, such as `"<tool_call>"`."""
    per_call_end: str = ""
    """After each call, such as `"</tool_call>"`."""
    call_separator: str = ""
    """Between two calls, such as `","`."""
    func_name_prefix: str = ""
    """Before a name, such as `"<function="`."""
    func_name_suffix: str = ""
    """After a name, such as `">"`."""
    func_close: str = ""
    """After the arguments, such as `"</function>"`."""
    args_start: str = ""
    """Before all arguments, such as `"{"`."""
    args_end: str = ""
    """After all arguments, such as `"}"`."""
    arg_name_prefix: str = ""
    """Before a key, such as `"<parameter="`."""
    arg_name_suffix: str = ""
    """After a key, such as `">"`."""
    arg_value_prefix: str = ""
    """Before a value, such as `"<arg_value>"`."""
    arg_value_suffix: str = ""
    """After a value, such as `"</parameter>"`."""
    arg_separator: str = ""
    """Between two arguments, such as `","`."""
    call_id_prefix: str = ""
    """Before an id, such as `"[CALL_ID]"`."""
    call_id_suffix: str = ""
    """After an id, such as `"[ARGS]"`."""
    code_block_marker: str = ""
    """Plain words before a fenced code block with the calls, such as `"Action:"`."""
    code_block_language: str = ""
    """The language of that block, such as `"json"`."""
    function_namespace: str = ""
    """Before every name, such as `"functions."`."""

    def __repr__(self) -> str:
        """Return the markers that are there, in one line."""
        markers = ", ".join(f"{name} {text!r}" for name, text in self.items().items())
        return f"<{type(self).__name__}: {markers or 'none'}>"

    def items(self) -> Mapping[str, str]:
        """Return the markers that are there, by name."""
        return {name: text for name, text in asdict(self).items() if text}


def marker_registry(*parts: Mapping[str, str]) -> MarkerRegistry:
    """Put the markers of the parts together, cut to their cores."""
    markers: dict[str, str] = {}
    for part in parts:
        markers |= {name: text.strip() for name, text in part.items()}
    return MarkerRegistry(**markers)


# The modes of reasoning and content.


def reasoning_mode(format_: TurnFormat, openings: Sequence[TurnOpening]) -> ReasoningMode:
    """Classify reasoning by the layouts with it and by the generation prompts."""
    reasoning = format_.reasoning
    if reasoning is None:
        return ReasoningMode.NONE
    shown = [
        presence
        for presence, layout in format_.layouts.items()
        if TurnPart.REASONING in layout.parts
    ]
    # Prompts under all settings: one that opens reasoning decides, whatever turns show.
    written = {opening.written for opening in openings}
    if PromptProgress.REASONING_OPEN in written:
        # A switch chooses between an open block and an empty one.
        if PromptProgress.REASONING_CLOSED in written:
            return ReasoningMode.FORCED_CLOSED
        return ReasoningMode.FORCED_OPEN
    if shown and all(presence.calls for presence in shown):
        return ReasoningMode.TOOLS_ONLY
    # Without an opening, only the text after reasoning separates it from content.
    return ReasoningMode.TAG_BASED if reasoning.open.core else ReasoningMode.DELIMITER


def content_mode(format_: TurnFormat) -> ContentMode:
    """Classify content by its opening: always, or only after reasoning."""
    opening = format_.content.open.core
    if not opening:
        return ContentMode.PLAIN
    alone = format_.layouts.get(Presence(content=True))
    before = "" if alone is None else alone.literals[0].removeprefix(format_.header)
    wrapped = opening in before
    return ContentMode.ALWAYS_WRAPPED if wrapped else ContentMode.WRAPPED_WITH_REASONING


# The markers of tool calls, by name.


# A fence is any sign three times, not only backticks, with a language after it.
_FENCE = re.compile(r"([^\w\s<>\[\](){}\"'])\1\1(\w+)\s*$", re.MULTILINE)
_NAMESPACE = re.compile(r"\w+\.$")
_OPENING = frozenset({"Ps", "Pi"})
"""Unicode's categories of opening brackets and quotes."""
_BRACKETS = {"(": ")", "{": "}", "[": "]"}


def tool_format(calls: CallFormat | None, fields: JsonFields | None) -> ToolFormat:
    """Sort a format by where the name stands and how the arguments are written."""
    if calls is None:
        return ToolFormat.NONE
    if fields is not None:
        return ToolFormat.JSON_NATIVE
    members = calls.arguments.members
    # Arguments inserted verbatim are the caller's JSON text, which is an object, too.
    if calls.arguments.verbatim or (members.open == "{" and members.key.open == '"'):
        return ToolFormat.TAG_WITH_JSON
    return ToolFormat.TAG_WITH_TAGGED


def call_notation(calls: CallFormat | None, fields: JsonFields | None) -> CallNotation | None:
    """Return how a call writes its name and arguments, or None if no call is written."""
    kind = tool_format(calls, fields)
    if calls is None or kind is ToolFormat.NONE:
        return None
    if kind is ToolFormat.JSON_NATIVE:
        return CallNotation.JSON_IN_MARKERS if calls.is_marked else CallNotation.BARE_JSON
    if kind is ToolFormat.TAG_WITH_JSON:
        return CallNotation.NAMED_JSON
    # Code closes a value with its quotes; an element has a closing marker.
    closing = calls.arguments.members.entry[-1]
    literal = TemplateLiteral.of(closing) if not isinstance(closing, RowSlot) else None
    return CallNotation.ELEMENTS if literal and literal.markers else CallNotation.PAIRS


def call_id_position(calls: CallFormat | None, fields: JsonFields | None) -> CallIdPosition:
    """Return the place of the id, in formats that are not JSON."""
    if calls is None or fields is not None or not calls.has(RowSlot.ID):
        return CallIdPosition.NONE
    order = [piece for piece in calls.row if isinstance(piece, RowSlot)]
    at = order.index(RowSlot.ID)
    if RowSlot.NAME not in order or at < order.index(RowSlot.NAME):
        return CallIdPosition.PRE_FUNC_NAME
    if RowSlot.ARGUMENTS in order and at < order.index(RowSlot.ARGUMENTS):
        return CallIdPosition.BETWEEN_FUNC_AND_ARGS
    return CallIdPosition.POST_ARGS


def section_markers(calls: CallFormat, header: str) -> dict[str, str]:
    """Name the literals around all calls; brackets of an array and a header are not markers."""
    opening, close = calls.section_open.strip(), calls.section_close.strip()
    if is_array(calls):
        # The brackets belong to JSON; `tools_array_wrapped` reports them.
        opening, close = opening.removesuffix("["), close.removeprefix("]")
    return {
        "tool_section_start": opening,
        "tool_section_end": close,
        # If each call is a turn of its own, the next turn's header is between two calls.
        "call_separator": calls.separator.replace(header, "") if header else calls.separator,
    }


def is_array(calls: CallFormat) -> bool:
    """Whether the calls stand in an array of their own."""
    return calls.section_open.rstrip().endswith("[") and calls.section_close.lstrip().startswith(
        "]"
    )


def json_call_markers(calls: CallFormat, fields: JsonFields) -> dict[str, str]:
    """Name the literals around the JSON of each call; around an only call, they are a section."""
    if calls.limit is CallLimit.MANY or fields.after.strip():
        return {"per_call_start": fields.before, "per_call_end": fields.after}
    return {"tool_section_start": fields.before, "tool_section_end": fields.after}


class _Literals(Struct, frozen=True):
    """The literals of a call's row, by their neighbors."""

    opening: str
    """Before the first slot, such as `"<｜tool▁call▁begin｜>"`."""
    name_to_id: str
    """Between name and id, such as `'" id="'`."""
    id_to_name: str
    """Between id and name, such as `"<|name|>"`."""
    before_arguments: str
    """Between the name or the id and the arguments, such as `"<｜tool▁sep｜>"`."""
    arguments_to_id: str
    """Between arguments and id, such as `"<|id|>"`."""
    close: str
    """After the last slot, such as `"<｜tool▁call▁end｜>"`."""


def _literals(calls: CallFormat) -> _Literals:
    """Collect the literals between the slots; the last one counts of a name that is repeated."""
    slots: list[RowSlot] = []
    runs = [""]
    for piece in calls.row:
        if piece is RowSlot.INDEX:
            # Markers are fixed texts, so the number of the first call stands in for the slot.
            runs[-1] += str(calls.index_base)
        elif isinstance(piece, RowSlot):
            if piece in slots:
                slots, runs = [], runs[-1:]
            slots.append(piece)
            runs.append("")
        else:
            runs[-1] += piece
    between = dict(zip(pairwise(slots), runs[1:-1], strict=True))
    before = between.get(
        (RowSlot.ID, RowSlot.ARGUMENTS), between.get((RowSlot.NAME, RowSlot.ARGUMENTS), "")
    )
    return _Literals(
        opening=runs[0],
        name_to_id=between.get((RowSlot.NAME, RowSlot.ID), ""),
        id_to_name=between.get((RowSlot.ID, RowSlot.NAME), ""),
        before_arguments=before,
        arguments_to_id=between.get((RowSlot.ARGUMENTS, RowSlot.ID), ""),
        close=runs[-1],
    )


def tagged_call_markers(calls: CallFormat) -> dict[str, str]:
    """Name the literals of a call whose name stands outside JSON."""
    literals = _literals(calls)
    markers: dict[str, str] = {}
    before, after, start, end = _argument_brackets(calls, literals)
    markers["args_start"], markers["args_end"] = start, end
    position = call_id_position(calls, None)
    if position is CallIdPosition.PRE_FUNC_NAME:
        _open_call(markers, literals.opening, "call_id_prefix", "", calls)
        # An id that carries the name is followed by the arguments.
        markers["call_id_suffix"] = literals.id_to_name or before
        if literals.id_to_name:
            markers["func_name_suffix"] = before
    else:
        _open_call(markers, literals.opening, "func_name_prefix", before, calls)
        if position is CallIdPosition.BETWEEN_FUNC_AND_ARGS:
            markers["call_id_prefix"] = literals.name_to_id
            markers["call_id_suffix"] = before
        else:
            markers["func_name_suffix"] = before
        if position is CallIdPosition.POST_ARGS:
            markers["call_id_prefix"] = after
            after = literals.close
    _close_call(markers, after)
    namespace = _NAMESPACE.search(markers.get("func_name_prefix", ""))
    if namespace:
        markers["function_namespace"] = namespace.group()
    return markers


def _open_call(
    markers: dict[str, str], opening: str, rest_name: str, behind: str, calls: CallFormat
) -> None:
    """Split a call's own opening marker from the text before its first slot."""
    opening = opening.strip()
    own = _own_opening(opening, behind, calls)
    markers["per_call_start"] = own
    markers[rest_name] = opening[len(own) :].strip()


def _own_opening(opening: str, behind: str, calls: CallFormat) -> str:
    """Return the part of a call's opening that is a marker of its own, such as a complete tag."""
    literal = TemplateLiteral.of(opening)
    line, _, below = opening.partition("\n")
    # A marker on a line of its own belongs to the call, not to the name below it.
    if literal.is_marked and below.strip():
        return line.strip()
    if not literal.is_marked:
        # A sign outside of the brackets, before the bracket that encloses the name.
        bracketed = bool(opening) and unicodedata.category(opening[-1]) in _OPENING
        return opening[:-1] if bracketed else ""
    first = literal.units[0]
    rest = opening[len(first) :].strip()
    entry = "".join(str(piece) for piece in calls.arguments.members.entry)
    # `<function=` belongs to the name, a unit that entries repeat to them, and `<f>` before a name
    # to the `</f>` after it.
    if not _is_closed(first) or (rest and first in entry) or (not rest and _closes(first, behind)):
        return ""
    return first


def _is_closed(unit: str) -> bool:
    """Whether a unit is closed: it does not lead to the slot after it."""
    last = unit.rstrip()[-1]
    return not last.isalnum() and (last == ">" or not unit.startswith("<"))


def _closes(opening: str, behind: str) -> bool:
    """Whether the text after the name closes the tag before it."""
    units = TemplateLiteral.of(behind).units
    return bool(units) and units[0].replace("/", "", 1) == opening and units[0] != opening


def _close_call(markers: dict[str, str], close: str) -> None:
    close = close.strip()
    if not markers.get("per_call_start"):
        markers["func_close"] = close
        return
    literal = TemplateLiteral.of(close)
    # The last marker closes the call, the text before it the function.
    last = literal.units[-1] if literal.units and literal.units[-1] in literal.markers else close
    markers["per_call_end"] = last
    markers["func_close"] = close[: len(close) - len(last)]


def _argument_brackets(calls: CallFormat, literals: _Literals) -> tuple[str, str, str, str]:
    """Split off the brackets around the arguments as a whole."""
    before = literals.before_arguments
    after = literals.arguments_to_id or literals.close
    members = calls.arguments.members
    if calls.arguments.verbatim:
        # The template inserts the caller's JSON text, which is an object.
        return before, after, "{", "}"
    if members.open.strip() or members.close.strip():
        return before, after, members.open, members.close
    # The parentheses of `find(city='Oslo')` are in the row, since the entries have no others.
    left, right = before.rstrip(), after.lstrip()
    if left and right and _BRACKETS.get(left[-1]) == right[0]:
        return left[:-1], right[1:], left[-1], right[0]
    if calls.empty_row is not None:
        return _vanishing(calls, before, after)
    return before, after, "", ""


def _vanishing(calls: CallFormat, before: str, after: str) -> tuple[str, str, str, str]:
    """Move to the arguments the literals that a call without arguments lacks."""
    row = calls.empty_row or ()
    last = str(row[-1]) if row and not isinstance(row[-1], RowSlot) else ""
    # A call without arguments has both literals, so none of them belongs to the arguments.
    if last == before + after:
        return before, after, "", ""
    # Both literals are short, so every split of them is tried.
    for cut in range(len(before) + 1):
        for keep in range(len(after) + 1):
            if before[:cut] + after[keep:] == last:
                return before[:cut], after[keep:], before[cut:], after[:keep]
    return before, after, "", ""


def argument_markers(calls: CallFormat) -> dict[str, str]:
    """Name the literals around an argument's key and its value, as a string has them."""
    members = calls.arguments.members
    row = members.row(JsonType.STRING) or ()
    runs: dict[str, str] = {"start": ""}
    at = "start"
    for piece in row:
        if isinstance(piece, RowSlot):
            # A closing tag may repeat the key, as in `<city>Oslo</city>`.
            if piece is RowSlot.KEY and "value" in runs:
                break
            at = str(piece)
            runs[at] = ""
        else:
            runs[at] += piece
    text = calls.arguments.values.string
    # Python's repr writes the quotes itself, so the format has none.
    python = text.escape is StringEscape.PYTHON
    opening, close = ("'", "'") if python else (text.open, text.close)
    suffix, prefix = _split_middle(runs.get("key", ""))
    return {
        "arg_name_prefix": runs["start"],
        "arg_name_suffix": suffix,
        "arg_value_prefix": prefix.strip() + opening,
        "arg_value_suffix": close + runs.get("value", "").rstrip(),
        "arg_separator": members.separator,
    }


def _split_middle(middle: str) -> tuple[str, str]:
    """Split the text between key and value: the first complete unit closes the key."""
    literal = TemplateLiteral.of(middle)
    first = literal.units[0] if literal.is_marked else ""
    if first and len(literal.units) > 1 and _is_closed(first):
        return first, literal.core[len(first) :]
    return literal.core, ""


def fence_markers(calls: CallFormat) -> dict[str, str]:
    """Name the language of a fenced code block around the calls, and what announces it."""
    for text in (calls.section_open, *(p for p in calls.row if not isinstance(p, RowSlot))):
        # A fence may hold an array, whose bracket ends the same literal.
        match = _FENCE.search(text.rstrip().removesuffix("[").rstrip() if text else "")
        if match:
            announced = text[: match.start()].strip()
            # Markers are named by their own places; here only plain words are left.
            marker = "" if TemplateLiteral.of(announced).markers else announced
            return {"code_block_language": match.group(2), "code_block_marker": marker}
    return {}


@dataclass(frozen=True, slots=True)
class FormatFlags:
    """Yes-or-no properties of a format."""

    supports_tools: bool
    """Whether it writes calls, such as `<tool_call>…</tool_call>`."""
    supports_parallel_calls: bool
    """Whether a message may have several calls, as with the limit `"many calls"`."""
    requires_nonnull_content: bool
    """Content that is null, as in `{"role": "assistant", "content": null}`, raises, or is printed
    as a word."""
    tools_array_wrapped: bool
    """Whether the calls are in a JSON array, as in `[{"name": "get_forecast", …}]`."""


@dataclass(frozen=True, slots=True, repr=False)
class FormatView:
    """A format in the words of reports."""

    reasoning: ReasoningMode
    """How turns begin reasoning, such as `ReasoningMode.TAG_BASED`."""
    content: ContentMode
    """Whether content has markers, such as `ContentMode.PLAIN`."""
    tools: ToolFormat
    """The kind of notation of calls, such as `ToolFormat.JSON_NATIVE`."""
    call_id: CallIdPosition
    """The place of the id in a call, such as `CallIdPosition.POST_ARGS`."""
    markers: MarkerRegistry
    """All markers by name, such as `<MarkerRegistry: tool_section_start '<|tool_calls|>'>`."""
    json_fields: JsonFields | None
    """The keys of a call that is one JSON value, such as
    `JsonFields(name_field="name", args_field="arguments", …)`, or None if it is not JSON."""
    flags: FormatFlags
    """Yes-or-no properties of the format, such as `supports_tools`."""
    preserved_tokens: tuple[str, ...]
    """Markers that a tokenizer must keep, so that they can be seen in the output, such as
    `("<tool_call>", "</tool_call>", "<|eot|>")`."""

    def __repr__(self) -> str:
        """Return the modes of its parts, in one line."""
        modes = f"reasoning {self.reasoning}, content {self.content}, tools {self.tools}"
        return f"<{type(self).__name__}: {modes}>"


def compute_view(formats: Formats, *, requires_nonnull_content: bool) -> FormatView:
    """Compute the view of the format that shows most; modes go by all generation prompts."""
    format_ = formats.fullest
    calls = format_.calls
    fields = None if calls is None else calls.json_fields
    reasoning, content, mode = format_.reasoning, format_.content, content_mode(format_)
    kind = tool_format(calls, fields)
    parts: list[dict[str, str]] = []
    if reasoning is not None:
        parts.append(
            {"reasoning_start": reasoning.open.core, "reasoning_end": reasoning.close.core}
        )
    if mode is not ContentMode.PLAIN:
        parts.append({"content_start": content.open.core, "content_end": content.close.core})
    if calls is not None:
        parts.append(section_markers(calls, format_.header))
        parts.append(fence_markers(calls))
        parts.append(
            tagged_call_markers(calls) if fields is None else json_call_markers(calls, fields)
        )
        if kind is ToolFormat.TAG_WITH_TAGGED:
            parts.append(argument_markers(calls))
    # Later parts override earlier ones: a single call's section is named by its own literals.
    markers = marker_registry(*parts)
    return FormatView(
        reasoning=reasoning_mode(format_, formats.openings),
        content=mode,
        tools=kind,
        call_id=call_id_position(calls, fields),
        markers=markers,
        json_fields=fields,
        flags=FormatFlags(
            supports_tools=calls is not None,
            supports_parallel_calls=calls is not None and calls.limit is CallLimit.MANY,
            requires_nonnull_content=requires_nonnull_content,
            tools_array_wrapped=calls is not None and is_array(calls),
        ),
        preserved_tokens=_preserved_markers(markers, format_),
    )


def _preserved_markers(markers: MarkerRegistry, format_: TurnFormat) -> tuple[str, ...]:
    found: dict[str, None] = {}
    # The registry has no ends of turns, which engines have to see as well.
    for text in (*markers.items().values(), *format_.stop_strings):
        found |= dict.fromkeys(TemplateLiteral.of(text).markers)
    return tuple(found)
