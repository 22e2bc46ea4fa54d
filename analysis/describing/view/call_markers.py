"""The markers of tool calls, by name."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise

from autoparser.analysis.core.format import (
    CallFormat,
    CallLimit,
    JsonFields,
    JsonType,
    Literal,
    Slot,
    Text,
)

from .modes import CallIdPosition, ToolFormat

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
    if calls.arguments.verbatim or (members.open == "{" and members.key.open == '"'):
        return ToolFormat.TAG_WITH_JSON
    return ToolFormat.TAG_WITH_TAGGED


def call_id_position(calls: CallFormat | None, fields: JsonFields | None) -> CallIdPosition:
    """Say where the id stands, in formats that are not JSON."""
    if calls is None or fields is not None or not calls.has(Slot.ID):
        return CallIdPosition.NONE
    order = [piece for piece in calls.row if isinstance(piece, Slot)]
    at = order.index(Slot.ID)
    if Slot.NAME not in order or at < order.index(Slot.NAME):
        return CallIdPosition.PRE_FUNC_NAME
    if Slot.ARGUMENTS in order and at < order.index(Slot.ARGUMENTS):
        return CallIdPosition.BETWEEN_FUNC_AND_ARGS
    return CallIdPosition.POST_ARGS


def section_markers(calls: CallFormat, header: str) -> dict[str, str]:
    """Name what stands around all calls; brackets of an array and a header are not markers."""
    opening, close = calls.section_open.strip(), calls.section_close.strip()
    if is_array(calls):
        opening, close = opening.removesuffix("["), close.removeprefix("]")
    return {
        "tool_section_start": opening,
        "tool_section_end": close,
        "call_separator": calls.separator.replace(header, "") if header else calls.separator,
    }


def is_array(calls: CallFormat) -> bool:
    """Whether the calls stand in an array of their own."""
    return calls.section_open.rstrip().endswith("[") and calls.section_close.lstrip().startswith(
        "]"
    )


def json_call_markers(calls: CallFormat, fields: JsonFields) -> dict[str, str]:
    """Name what stands around the JSON of each call; what only opens an only call is a section."""
    if calls.limit is CallLimit.MANY or fields.after.strip():
        return {"per_call_start": fields.before, "per_call_end": fields.after}
    return {"tool_section_start": fields.before, "tool_section_end": fields.after}


@dataclass(frozen=True, slots=True)
class _Literals:
    """The literals of a call's row, by their neighbours."""

    opening: str
    name_to_id: str
    id_to_name: str
    before_arguments: str
    arguments_to_id: str
    close: str


def _literals(calls: CallFormat) -> _Literals:
    """Collect what stands between the slots; of a name that stands twice, the last counts."""
    slots: list[Slot] = []
    runs = [""]
    for piece in calls.row:
        if piece is Slot.INDEX:
            runs[-1] += str(calls.index_base)
        elif isinstance(piece, Slot):
            if piece in slots:
                slots, runs = [], runs[-1:]
            slots.append(piece)
            runs.append("")
        else:
            runs[-1] += piece
    between = dict(zip(pairwise(slots), runs[1:-1], strict=True))
    before = between.get((Slot.ID, Slot.ARGUMENTS), between.get((Slot.NAME, Slot.ARGUMENTS), ""))
    return _Literals(
        opening=runs[0],
        name_to_id=between.get((Slot.NAME, Slot.ID), ""),
        id_to_name=between.get((Slot.ID, Slot.NAME), ""),
        before_arguments=before,
        arguments_to_id=between.get((Slot.ARGUMENTS, Slot.ID), ""),
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
    """Tell the call's own opening marker from what leads to its first slot."""
    opening = opening.strip()
    own = _own_opening(opening, behind, calls)
    markers["per_call_start"] = own
    markers[rest_name] = opening[len(own) :].strip()


def _own_opening(opening: str, behind: str, calls: CallFormat) -> str:
    """Return the part of a call's opening that is a marker of its own, such as a complete tag."""
    literal = Literal.of(opening)
    line, _, below = opening.partition("\n")
    if literal.is_marked and below.strip():
        return line.strip()
    if not literal.is_marked:
        # A sign without brackets, before the bracket that holds the name.
        bracketed = bool(opening) and unicodedata.category(opening[-1]) in _OPENING
        return opening[:-1] if bracketed else ""
    first = literal.units[0]
    rest = opening[len(first) :].strip()
    entry = "".join(str(piece) for piece in calls.arguments.members.entry)
    if not _finished(first) or (rest and first in entry) or (not rest and _closes(first, behind)):
        return ""
    return first


def _finished(unit: str) -> bool:
    """Whether a unit is closed: it does not lead to the slot after it."""
    last = unit.rstrip()[-1]
    return not last.isalnum() and (last == ">" or not unit.startswith("<"))


def _closes(opening: str, behind: str) -> bool:
    """Whether the text after the name closes the tag before it."""
    units = Literal.of(behind).units
    return bool(units) and units[0].replace("/", "", 1) == opening and units[0] != opening


def _close_call(markers: dict[str, str], close: str) -> None:
    close = close.strip()
    if not markers.get("per_call_start"):
        markers["func_close"] = close
        return
    literal = Literal.of(close)
    last = literal.units[-1] if literal.units and literal.units[-1] in literal.markers else close
    markers["per_call_end"] = last
    markers["func_close"] = close[: len(close) - len(last)]


def _argument_brackets(calls: CallFormat, literals: _Literals) -> tuple[str, str, str, str]:
    """Split off what opens and closes the arguments as a whole."""
    before = literals.before_arguments
    after = literals.arguments_to_id or literals.close
    members = calls.arguments.members
    if calls.arguments.verbatim:
        return before, after, "{", "}"
    if members.open.strip() or members.close.strip():
        return before, after, members.open, members.close
    left, right = before.rstrip(), after.lstrip()
    if left and right and _BRACKETS.get(left[-1]) == right[0]:
        return left[:-1], right[1:], left[-1], right[0]
    if calls.empty_row is not None:
        return _vanishing(calls, before, after)
    return before, after, "", ""


def _vanishing(calls: CallFormat, before: str, after: str) -> tuple[str, str, str, str]:
    """Return to the arguments what is not written when there are none."""
    row = calls.empty_row or ()
    last = str(row[-1]) if row and not isinstance(row[-1], Slot) else ""
    if last == before + after:
        return before, after, "", ""
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
        if isinstance(piece, Slot):
            if piece is Slot.KEY and "value" in runs:
                break
            at = str(piece)
            runs[at] = ""
        else:
            runs[at] += piece
    text = calls.arguments.values.string
    opening, close = _quotes(text)
    suffix, prefix = _split_middle(runs.get("key", ""))
    return {
        "arg_name_prefix": runs["start"],
        "arg_name_suffix": suffix,
        "arg_value_prefix": prefix.strip() + opening,
        "arg_value_suffix": close + runs.get("value", "").rstrip(),
        "arg_separator": members.separator,
    }


def _quotes(text: Text) -> tuple[str, str]:
    if text.escape.value == "python":
        return "'", "'"
    return text.open, text.close


def _split_middle(middle: str) -> tuple[str, str]:
    """Tell what closes the key from what opens the value: the first complete unit closes."""
    literal = Literal.of(middle)
    first = literal.units[0] if literal.is_marked else ""
    if first and len(literal.units) > 1 and _finished(first):
        return first, literal.core[len(first) :]
    return literal.core, ""


def fence_markers(calls: CallFormat) -> dict[str, str]:
    """Name the language of a fenced code block around the calls, and what announces it."""
    for text in (calls.section_open, *(p for p in calls.row if not isinstance(p, Slot))):
        match = _FENCE.search(text.rstrip().removesuffix("[").rstrip() if text else "")
        if match:
            announced = text[: match.start()].strip()
            marker = "" if Literal.of(announced).markers else announced
            return {"code_block_language": match.group(2), "code_block_marker": marker}
    return {}
