r"""Read calls in the target: rows of literals and slots (`row_field`), or JSON (`json_field`).

In a row the target captures the slots before the arguments, as in
`<tool_call>\n<function=f>\n…</function>\n</tool_call>`:

    >>> from autoparser import analyze, load_template
    >>> template = load_template("fixtures/templates/a1-function-parameter.jinja")
    >>> field = row_field(analyze(template).format.calls, r"\A", TurnEnds("", ()))
    >>> print(field.open)
    <tool_call>\s*<function=(?P<name>[^\s{}\[\]<>"']+?)>\s*
    >>> print(field.close)
    \n?</function>\s*</tool_call>
    >>> field.settings["transform"]["function"]
    {'name': '{name}', 'arguments': '{content}'}

The target's `json` reads calls that are JSON as a whole, and a transform arranges them, as in
`<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>`:

    >>> from autoparser import analyze, load_template
    >>> calls = analyze(load_template("fixtures/templates/j1-json-in-tags.jinja")).format.calls
    >>> field = json_field(calls, calls.json_fields, TurnEnds("", ()))
    >>> print(field.open, field.close)
    <tool_call>\s*(?=\{) (?<=\}\s*)</tool_call>
    >>> field.settings["transform"]["function"]
    {'name': '{content.name}', 'arguments': '{content.arguments}'}
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.core.call_format import CallFormat, CallLimit
from autoparser.analysis.core.call_notation import JsonFields, RowSlot
from autoparser.analysis.core.conversation import Json, ToolCall
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.text_alignment import TemplateLiteral

from .argument_patterns import ContentParser, arguments_reader, load_json, surviving_arguments
from .export_limits import ExportLimit, MessagePiece
from .field_patterns import (
    WORD,
    CallsField,
    TurnEnds,
    any_pattern,
    at_most,
    behind_pattern,
    exact_pattern,
    frame_patterns,
    loose_pattern,
    space_at_start,
)


def json_field(calls: CallFormat, fields: JsonFields, end: TurnEnds) -> CallsField | None:
    """Read each call, or the array of all, as JSON; return None if that does not give them back."""
    # A transform copies values, never a key.
    if fields.fun_name_is_key:
        return None
    paths = (*_path(fields, fields.name_field), *_path(fields, fields.args_field))
    # Placeholders such as `{content.name}` take word characters only.
    if not all(key.replace("_", "a").isalnum() for key in paths):
        return None
    limits = _limits(calls, fields)
    if limits is None:
        return None
    # Calls in an array have no markers of their own, so it is read as a whole.
    array = _array(calls, fields, end, limits)
    if array is not None:
        return array
    # Adjacent objects would be separated by their braces alone.
    touching = not (fields.after.strip() or calls.separator) and calls.limit is CallLimit.MANY
    return None if touching else _object_field(calls, fields, end, limits)


def _limits(calls: CallFormat, fields: JsonFields) -> tuple[ExportLimit, ...] | None:
    """Return the losses in the battery's calls, or None if they are too many."""
    limits: dict[ExportLimit, None] = {}
    for case in battery_messages():
        for call in case.message.calls:
            # The template raises on such a call, so nothing is lost.
            if calls.refused_type([call]) is not None:
                continue
            try:
                value = load_json(_json_of_call(calls, fields, call))
            except ValueError:
                return None
            arguments = _at(value, _path(fields, fields.args_field))
            if isinstance(arguments, str):
                why = "they are JSON inside a JSON string, and remain a string"
                limits[ExportLimit(MessagePiece.ARGUMENTS, why)] = None
            elif arguments is None and not call.arguments:
                why = "the template omits the arguments then, but the target requires the field"
                limits[ExportLimit(MessagePiece.NO_ARGUMENTS, why)] = None
            elif arguments != surviving_arguments(calls.arguments, call):
                return None
    return tuple(limits)


def _json_of_call(calls: CallFormat, fields: JsonFields, call: ToolCall) -> str:
    text = calls.write_call(call, 0).strip()
    return text.removeprefix(fields.before.strip()).removesuffix(fields.after.strip())


def _path(fields: JsonFields, key: str) -> list[str]:
    return [fields.function_field, key] if fields.function_field else [key]


def _at(value: Json, path: Sequence[str]) -> Json:
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def _transform(fields: JsonFields, root: str) -> dict[str, Json]:
    def placeholder(*keys: str) -> str:
        return "{" + ".".join([root, *keys] if root else keys) + "}"

    function: dict[str, Json] = {
        "name": placeholder(*_path(fields, fields.name_field)),
        "arguments": placeholder(*_path(fields, fields.args_field)),
    }
    call: dict[str, Json] = {"type": "function", "function": function}
    if fields.id_field:
        call["id"] = placeholder(fields.id_field)
    return call


def _array(
    calls: CallFormat, fields: JsonFields, end: TurnEnds, limits: tuple[ExportLimit, ...]
) -> CallsField | None:
    """Read all calls as one array; return None if the calls are not in one."""
    opening, closing = calls.section_open.strip(), calls.section_close.strip()
    # Markers around each call would be inside the array, where JSON has none.
    if fields.before.strip() or fields.after.strip() or calls.later_close:
        return None
    if not opening.endswith("[") or closing[:1] != "]" or calls.separator.strip() != ",":
        return None
    marker, closer = loose_pattern(opening[:-1].rstrip()), exact_pattern(closing[1:].strip())
    head = rf"(?=\[\s*{_head_pattern(calls)})"
    start = rf"{marker}\s*(?=\[)" if marker else head
    settings: dict[str, Json] = {
        "content": "json",
        "transform": _transform(fields, ""),
        "transform_each": True,
    }
    closes = any_pattern([closer, end.stopped_pattern(closing[1:])])
    # Without a closer, the bracket itself stays in the JSON that the target reads.
    close = rf"(?<=\]\s*){closes}" if closer else rf"(?<=\]){end.ahead}"
    return CallsField(start, start, close, closer or r"\]", settings, limits)


def _object_field(
    calls: CallFormat, fields: JsonFields, end: TurnEnds, limits: tuple[ExportLimit, ...]
) -> CallsField:
    """Read each call as one object."""
    before = loose_pattern(fields.before.strip())
    head = rf"(?={_head_pattern(calls)})"
    # After a marker the members may come in any order.
    opened = rf"{before}\s*(?=\{{)" if before else head
    after = loose_pattern(fields.after.strip())
    frame = frame_patterns(
        calls,
        opened=opened,
        ahead=opened,
        marked=bool(before),
        after=after,
        end=end,
        body_end=r"\}",
    )
    settings: dict[str, Json] = {
        "content": "json",
        "repeats": True,
        "transform": _transform(fields, "content"),
    }
    return replace(frame, settings=settings, limits=limits)


def _head_pattern(calls: CallFormat) -> str:
    """Match the beginning of a call's JSON, with its first key if that is written."""
    first = calls.row[0]
    text = "" if isinstance(first, RowSlot) else first
    key = text[text.find("{") + 1 :].lstrip() if "{" in text else ""
    end = key.find('"', 1) + 1 if key.startswith('"') else 0
    return rf"\{{\s*{exact_pattern(key[:end])}" if end else r"\{"


def row_field(calls: CallFormat, turn: str, end: TurnEnds) -> CallsField | None:
    """Read each call by the literals around its name; return None if the name cannot be found.

    `turn` matches the beginning of a turn, `end` its end.
    """
    if calls.row.count(RowSlot.ARGUMENTS) != 1:
        return None
    braced = _with_braces(calls)
    reader = arguments_reader(calls.arguments)
    if braced is not None:
        other = arguments_reader(braced.arguments)
        # As JSON, if that loses less: braces of the row make an object of the pairs.
        if other.content == "json" and other.weight < max(reader.weight, 1):
            calls, reader = braced, other
    at = calls.row.index(RowSlot.ARGUMENTS)
    head, tail = calls.row[:at], calls.row[at + 1 :]
    # The target captures groups only in what opens a call.
    if RowSlot.NAME not in head and RowSlot.ID not in head:
        return None
    seam = _seam(calls, head, tail, reader)
    head = head[: at - seam.piece_count]
    after = (seam.after or _pattern(tail, inner=True)).removesuffix(r"\s*")
    follows = seam.before or _follows(calls, head, after, calls is braced)
    opened, ahead = _captures(calls, head) + follows, _pattern(head) + follows
    first = head[0]
    marked = not isinstance(first, RowSlot) and bool(first.strip())
    # A call that begins with its name alone is one only at the beginning of a turn.
    if not marked and not calls.section_open.strip():
        opened, ahead = f"{behind_pattern(turn)}{opened}", f"{behind_pattern(turn)}{ahead}"
    frame = frame_patterns(
        calls,
        opened=opened,
        ahead=ahead,
        marked=marked,
        after=after,
        end=end,
        body_end=_body_end(calls, reader),
    )
    call: dict[str, Json] = {
        "type": "function",
        "function": {"name": "{name}", "arguments": "{content}"},
    }
    if RowSlot.ID in head:
        call["id"] = "{id}"
    settings: dict[str, Json] = {"content": reader.content}
    content_args = dict(reader.settings)
    if seam.limit is not None and reader.content == "json":
        # Otherwise the target raises on the whole message.
        content_args["allow_non_json"] = True
    if content_args:
        settings["content_args"] = content_args
    return replace(
        frame,
        settings={**settings, "repeats": True, "transform": call},
        limits=(
            *reader.limits,
            *([seam.limit] if seam.limit else ()),
            *_ids(tail),
            *(() if marked else _closers(tail)),
        ),
        needs_tools=reader.needs_tools,
        plain_names=not calls.arguments.is_json and not reader.any_names,
    )


def _follows(calls: CallFormat, head: Sequence[str | RowSlot], after: str, braced: bool) -> str:
    """Look ahead to the arguments, if no literal shows that the name has ended."""
    literal = head[-1]
    if not braced and not isinstance(literal, RowSlot) and literal.strip():
        return ""
    # An invented key shows the text that precedes every first key.
    begins = calls.arguments.write({_KEY: 1}).partition(_KEY)[0].strip()
    begins = begins[:1] if begins.endswith('"') else begins
    return f"(?={any_pattern([exact_pattern(begins), after])})" if begins else r"(?=\s)"


_KEY = "zkey"


def _body_end(calls: CallFormat, reader: ContentParser) -> str:
    """Match the invariable end of the arguments."""
    if reader.content == "json":
        return "" if reader.limits else exact_pattern(calls.arguments.write({_KEY: 1})[-1:])
    return exact_pattern(calls.arguments.members.close.strip())


def _ids(tail: Sequence[str | RowSlot]) -> tuple[ExportLimit, ...]:
    if RowSlot.ID not in tail:
        return ()
    why = "they follow the arguments, and the target captures only the opening of a call"
    return (ExportLimit(MessagePiece.IDS, why),)


def _closers(tail: Sequence[str | RowSlot]) -> tuple[ExportLimit, ...]:
    """Return the strings that end a call that only its name opens and a mere sign closes."""
    close = TemplateLiteral.of(tail[0] if tail and not isinstance(tail[0], RowSlot) else "")
    if not close.core or close.is_marker or close.mark:
        return ()
    why = f"a {close.core[0]} in them ends the call if the text after it looks like the next one"
    return (ExportLimit(MessagePiece.STRINGS, why, characters=close.core[0]),)


class _Seam(Struct, frozen=True):
    """The text right around the arguments, for calls without arguments, too."""

    before: str = ""
    r"""Replaces the text of the row before the arguments, e.g. `(?:<args>|(?=\s*\)))`; empty if
    nothing does."""
    after: str = ""
    r"""Replaces the text of the row after the arguments, e.g. `(?:</args>\)|(?<=\(call\s*…\s*)\))`;
    empty if nothing does."""
    piece_count: int = 0
    """How many pieces of the row `before` replaces."""
    limit: ExportLimit | None = None
    """The loss of calls without arguments, e.g. "such calls are written in another way than the
    rest", or None if they are read."""


def _seam(
    calls: CallFormat,
    head: Sequence[str | RowSlot],
    tail: Sequence[str | RowSlot],
    reader: ContentParser,
) -> _Seam:
    """Return patterns that hold for a call without arguments, too."""
    empty = calls.empty_row
    if empty is None:
        if not reader.empty and not _is_empty_object(calls.arguments.write({})):
            return _Seam(limit=_NO_ARGUMENTS)
        return _Seam()
    if not reader.empty:
        return _Seam(limit=_NO_ARGUMENTS)
    before = "" if isinstance(head[-1], RowSlot) else head[-1]
    after = tail[0] if tail and not isinstance(tail[0], RowSlot) else ""
    last = empty[-1]
    if isinstance(last, RowSlot) or len(tail) > 1:
        return _Seam() if not before.strip() and not after.strip() else _Seam(limit=_WRITTEN)
    if _without_space(last) == _without_space(before + after):
        return _Seam()
    closer = last.strip()
    if closer and after.rstrip().endswith(closer):
        rest = after.rstrip().removesuffix(closer)
        # Without arguments, the closer directly follows the name.
        short = rf"(?=\s*{loose_pattern(closer)})"
        called = _pattern(head[: -1 if before else None])
        at_once = rf"(?<={called}\s*){loose_pattern(closer)}"
        closing = (
            any_pattern([loose_pattern(rest + closer), at_once])
            if rest.strip()
            else loose_pattern(closer)
        )
        return _Seam(any_pattern([loose_pattern(before), short]), closing, bool(before))
    return _Seam(limit=_WRITTEN)


_NO_ARGUMENTS = ExportLimit(
    MessagePiece.NO_ARGUMENTS, "the text in their place is not JSON, and remains text"
)
_WRITTEN = ExportLimit(
    MessagePiece.NO_ARGUMENTS, "such calls are written differently from the others"
)


def _is_empty_object(text: str) -> bool:
    try:
        return load_json(text) == {}
    except ValueError:
        return False


def _without_space(text: str) -> str:
    return "".join(text.split())


def _with_braces(calls: CallFormat) -> CallFormat | None:
    """Move the braces around the arguments into the arguments."""
    at = calls.row.index(RowSlot.ARGUMENTS)
    if not 0 < at < len(calls.row) - 1 or calls.arguments.members.open:
        return None
    before, after = calls.row[at - 1], calls.row[at + 1]
    if isinstance(before, RowSlot) or isinstance(after, RowSlot):
        return None
    # As in `find{"city": "Oslo"}`, if the literals around the slot have the braces.
    if not before.endswith("{") or not after.startswith("}"):
        return None
    row = (*calls.row[: at - 1], before[:-1], RowSlot.ARGUMENTS, after[1:], *calls.row[at + 2 :])
    members = replace(calls.arguments.members, open="{", close="}", empty="{}")
    return replace(calls, row=row, arguments=replace(calls.arguments, members=members))


def _captures(calls: CallFormat, head: Sequence[str | RowSlot]) -> str:
    """Match the text before the arguments, and capture the name and the id in it."""
    named = {RowSlot.NAME: f"(?P<name>{WORD})", RowSlot.ID: f"(?P<id>{WORD})"}
    if calls.naming is not None:
        name = f"(?P<name>{WORD if calls.id_row else _PLAIN_WORD})"
        inside = calls.naming.pattern(name, exact_pattern, word=WORD, number=r"\d+")
        named[RowSlot.ID] = f"(?P<id>{inside})"
    return _pattern(head, named)


_PLAIN_WORD = r"""[\w-]*?[^\W\d][\w-]*?"""
"""A name within an id whose composition no render shows: it is not a number."""


def _pattern(
    row: Sequence[str | RowSlot],
    slot_patterns: Mapping[RowSlot, str] | None = None,
    *,
    inner: bool = False,
) -> str:
    """Match a piece of a call's row; `inner` is whether arguments stand right before it.

    `slot_patterns` has the patterns that capture a slot at its first place.
    """
    pieces: list[str] = []
    for at, piece in enumerate(row):
        if not isinstance(piece, RowSlot):
            space = at_most(space_at_start(piece)) if inner and not at else ""
            pieces.append(space + loose_pattern(piece if at else piece.lstrip()))
        elif piece is RowSlot.INDEX:
            pieces.append(r"\d+")
        else:
            pieces.append(
                WORD
                if slot_patterns is None or piece in row[:at]
                else slot_patterns.get(piece, WORD)
            )
    return "".join(pieces)
