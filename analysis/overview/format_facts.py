"""The facts of a format by name, and those that differ between two.

For two templates whose reasoning stands between `<t>` and `</t>`, and `<th>` and `</th>`, two of
the five changes are

    markers, reasoning_start          <t> and <th>
    joints, reasoning → content       </t> and </th>, in turns of reasoning + content (+ calls)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.call_format import CallFormat
from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import document_json
from autoparser.analysis.core.json_types import json_type
from autoparser.analysis.core.media_treatment import ContentParts, MediaSlot, Placeholder
from autoparser.analysis.core.turn_format import TurnFormat, format_joints
from autoparser.analysis.core.turn_parts import EdgeStrip
from autoparser.analysis.core.turn_shape import ReasoningRetention
from autoparser.analysis.formats.analysis_document import SwitchDocument, describe_format
from autoparser.analysis.formats.format_document import check_counts
from autoparser.analysis.formats.learned_format import LearnedFormat

DOCUMENTED = {"JSON fields": "json_fields", "shape of messages": "shape"}
"""The keys of aspects in the document of an analysis, where they have another name there."""


class FactChange(Struct, frozen=True):
    """A fact of the format that differs."""

    aspect: str
    """The group of facts, e.g. `markers`, `calls`, `switches`."""
    name: str
    """The fact, such as `requires_nonnull_content`."""
    turns: tuple[str, ...]
    """The kinds of turns that differ, by their parts, such as `("content", "content + calls")`;
    empty if it is not about a kind of turn."""
    left: Json
    """The value in the first template, such as `"dropped"`; null if it has none."""
    right: Json
    """The value in the second template, such as `"crashes"`; null if it has none."""


def changed_facts(left: LearnedFormat, right: LearnedFormat) -> tuple[FactChange, ...]:
    """Return the facts that differ, or that only one has, sorted by aspect."""
    ours, theirs = dict(_format_facts(left)), dict(_format_facts(right))
    # Content parts are only known from renders, so a format without its template has no such facts.
    if isinstance(left, Analysis) and isinstance(right, Analysis):
        ours |= dict(_part_facts(left.content_parts))
        theirs |= dict(_part_facts(right.content_parts))
    names = dict.fromkeys([*ours, *theirs])
    # A change that is equal in several kinds of turns is one.
    merged: dict[tuple[str, ...], FactChange] = {}
    for aspect, name, where in names:
        left_value, right_value = (side.get((aspect, name, where)) for side in (ours, theirs))
        # By `repr`, since `True == 1` in Python, and lists cannot be keys.
        key = (aspect, name, repr(left_value), repr(right_value))
        if key[2] != key[3]:
            known = merged.get(key, FactChange(aspect, name, (), left_value, right_value))
            merged[key] = replace(known, turns=(*known.turns, where) if where else known.turns)
    order = list(dict.fromkeys(aspect for aspect, _, _ in names))
    return tuple(sorted(merged.values(), key=lambda change: order.index(change.aspect)))


Fact = tuple[tuple[str, str, str], Json]
"""A key (aspect, name, kind of turn or empty) and a value."""


def _format_facts(analysis: LearnedFormat) -> Iterator[Fact]:
    # The order here is the order of the aspects in reports.
    described = describe_format(analysis)
    whole = document_json(described)
    yield from _documented_facts(whole, "modes", "flags", "markers")
    yield from _turn_facts(analysis)
    if analysis.formats.united.calls is not None:
        yield from _call_facts(analysis.formats.united.calls)
    yield from _documented_facts(whole, "JSON fields")
    yield from _retention_facts(analysis.formats.united.retention)
    yield from _switch_facts(described["switches"])
    yield from _documented_facts(whole, "shape of messages")
    string = analysis.string_arguments
    if string is not None:
        yield ("shape of messages", "arguments as JSON text", ""), string.value


def _documented_facts(whole: Mapping[str, Json], *aspects: str) -> Iterator[Fact]:
    for aspect in aspects:
        for name, leaf in _document_leaves(whole.get(DOCUMENTED.get(aspect, aspect)), ""):
            yield (aspect, name, ""), leaf


def _document_leaves(value: Json, path: str) -> Iterator[tuple[str, Json]]:
    """Yield the values that are not objects by their dotted path; lists are values."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _document_leaves(inner, f"{path}.{key}" if path else key)
    elif value is not None and path:
        yield path, value


def _turn_facts(analysis: LearnedFormat) -> Iterator[Fact]:
    format_ = analysis.formats.united
    yield from _joint_facts(format_)
    for presence, layout in sorted(format_.layouts.items()):
        if layout.refusal:
            yield ("joints", "refused", str(presence)), layout.refusal
        for part, edges in (("reasoning", layout.reasoning), ("content", layout.content)):
            for side, strip in (("beginning", edges.left), ("end", edges.right)):
                if strip is not EdgeStrip.NOTHING:
                    name = f"stripped at the {part}'s {side}"
                    yield ("joints", name, str(presence)), strip.value
    # Leave out combinations of values, which would repeat facts; renders compare them.
    most = len(analysis.formats.base) + 1
    for opening in format_.openings:
        if len(opening.setting) > most:
            continue
        setting = ", ".join(
            f"{name}={_json_text(value)}" for name, value in opening.setting.items()
        )
        yield ("generation prompt", setting or "nothing set", ""), opening.text
    yield ("end of turn", "stop strings", ""), list(format_.stop_strings)
    for end in format_.ends:
        yield ("end of turn", f"after {end.after.value}", ""), end.text
        yield ("end of turn", f"after {end.after.value}, in the history", ""), end.historic


SAMPLES: Mapping[str, Json] = {
    "a string": "text",
    "a string with quotes, newline and markup": "a \"b\" 'c'\n1 < 2 & é",
    "an integer": 3,
    "a number": 0.5,
    "a boolean": True,
    "null": None,
    "an array": [1, "a", None],
    "an object": {"k": "v", "n": {"deep": False}},
}
"""Values that are written in both notations to compare these."""


def _call_facts(calls: CallFormat) -> Iterator[Fact]:
    arguments = calls.arguments
    members = arguments.members
    values = members.values or arguments.values
    texts: dict[str, str] = {
        "the section opens": calls.section_open,
        "the section closes": calls.section_close,
        "between two calls": calls.separator,
        "a call": slot_text(calls.row),
        "a call without arguments": "" if calls.empty_row is None else slot_text(calls.empty_row),
        "after later calls": calls.later_close,
        "several calls": calls.limit.value,
        "arguments open": members.open,
        "arguments close": members.close,
        "between two arguments": members.separator,
        "an argument": slot_text(members.entry),
        "the order of arguments": members.order.value,
        "types that raise": ", ".join(sorted(arguments.refused)),
        "arguments as a whole": _arguments_form(calls),
    }
    for name, text in texts.items():
        yield ("calls", name, ""), text
    for name, value in SAMPLES.items():
        written = (
            "raises"
            if json_type(value) in arguments.refused
            else "not written"
            if members.row(json_type(value)) is None
            else values.write(value, arguments.margin)
        )
        yield ("values", name, ""), written


def _joint_facts(format_: TurnFormat) -> Iterator[Fact]:
    for (before, after), texts in format_joints(format_).items():
        for text, presences in texts.items():
            for presence in presences:
                yield ("joints", f"{before} → {after}", str(presence)), text


def _arguments_form(calls: CallFormat) -> str:
    if calls.arguments.verbatim:
        return "the caller's JSON text"
    return "JSON text inside a JSON string" if calls.arguments.encoded else "written out"


def slot_text(pieces: Iterable[str | RowSlot]) -> str:
    """Return a row of literals with its slots by name: `<call>«name»</call>`."""
    return "".join(f"«{piece.value}»" if isinstance(piece, RowSlot) else piece for piece in pieces)


def placeholder_text(pieces: Placeholder) -> str:
    """Return a placeholder with its slots by name: `<image_«number»>`."""
    slots = {slot: f"«{slot.value}»" for slot in MediaSlot}
    return "".join(piece.filled(slots) for piece in pieces)


def _retention_facts(retention: ReasoningRetention) -> Iterator[Fact]:
    for name, kept in (
        ("in a tool loop", retention.tool_loop),
        ("after the next user message", retention.next_user),
        ("after a finished tool loop", retention.answered_loop),
        ("after the next user message, without tools", retention.next_user_without_tools),
    ):
        # None: no render shows it.
        if kept is not None:
            yield ("reasoning in the history", name, ""), "kept" if kept else "dropped"


def _switch_facts(switches: Iterable[SwitchDocument]) -> Iterator[Fact]:
    for switch in switches:
        yield ("switches", switch.name, ""), f"unset is {_json_text(switch.default)}"
        for described in switch.values:
            # Having no effect is a result, too.
            does = ", ".join(described.effects) or "as if unset"
            for value in (described.value, *described.equal_values):
                yield ("switches", f"{switch.name}={_json_text(value)}", ""), does


def _part_facts(parts: ContentParts) -> Iterator[Fact]:
    aspect = "parts of the content"
    yield (aspect, "a list of texts", ""), parts.texts.value
    for media in parts.media:
        name = media.kind.value
        yield (aspect, name, ""), placeholder_text(media.placeholder) or media.outcome.value
        if media.alone:
            yield (aspect, f"the only {name}", ""), placeholder_text(media.alone)
        if media.place is not None:
            many = "for each part" if media.each else "once"
            yield (aspect, f"position of {name}", ""), f"{many}, {media.place.value}"
            yield (aspect, f"roles that may send {name}", ""), ", ".join(media.roles)
        for form, outcome in media.forms.items():
            yield (aspect, f"the form {form}", ""), outcome.value


def _json_text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


# Two formats side by side, where one of them or both have no template to render.


class FormatComparison(Struct, frozen=True):
    """The differences of two learned formats, found without a render."""

    left: LearnedFormat
    """The first format, such as one with `requires_nonnull_content=False`."""
    right: LearnedFormat
    """The second format, such as one with `requires_nonnull_content=True`."""
    facts: tuple[FactChange, ...]
    """The facts that differ, such as
    `(FactChange("flags", "requires_nonnull_content", (), False, True),)`."""

    @property
    def same_text(self) -> bool:
        """Whether both were learned from the same text."""
        return self.left.sha256 == self.right.sha256

    @property
    def equal(self) -> bool:
        """Whether the formats are equal."""
        return not self.facts and check_counts(self.left.check) == check_counts(self.right.check)


def compare_formats(left: LearnedFormat, right: LearnedFormat) -> FormatComparison:
    """Compare the formats of two templates, or of one at two times."""
    return FormatComparison(left, right, changed_facts(left, right))
