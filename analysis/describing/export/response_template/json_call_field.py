r"""Calls that are JSON as a whole: the target's `json` reads them, a transform arranges them.

For example, of `<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>`:

    >>> from autoparser import analyze, load_template
    >>> calls = analyze(load_template("fixtures/templates/j1-json-in-tags.jinja")).format.calls
    >>> field = json_field(calls, calls.json_fields, TurnEnds("", ()))
    >>> print(field.open, field.close)
    <tool_call>\s*(?=\{) (?<=\}\s*)</tool_call>
    >>> field.settings["transform"]["function"]
    {'name': '{content.name}', 'arguments': '{content.arguments}'}
"""

from __future__ import annotations

from collections.abc import Sequence

from autoparser.analysis.core.battery import battery
from autoparser.analysis.core.conversation import Json, ToolCall
from autoparser.analysis.core.format import CallFormat, CallLimit, JsonFields, Slot
from autoparser.analysis.describing.export.export_limits import ExportLimit, MessagePiece

from .arguments import surviving
from .framing import CallsField, TurnEnds, framed
from .patterns import either, exact, loose
from .value_losses import loaded


def json_field(calls: CallFormat, fields: JsonFields, end: TurnEnds) -> CallsField | None:
    """Read each call, or the array of all, as JSON; None where that does not give them back."""
    if fields.fun_name_is_key:
        return None
    paths = (*_path(fields, fields.name_field), *_path(fields, fields.args_field))
    if not all(key.replace("_", "a").isalnum() for key in paths):
        return None
    limits = _limits(calls, fields)
    if limits is None:
        return None
    array = _array(calls, fields, end, limits)
    if array is not None:
        return array
    # Objects that touch each other would be told apart by nothing but their braces.
    touching = not (fields.after.strip() or calls.separator) and calls.limit is CallLimit.MANY
    return None if touching else _object(calls, fields, end, limits)


def _limits(calls: CallFormat, fields: JsonFields) -> tuple[ExportLimit, ...] | None:
    """Say what of the battery's calls is lost; None where it is too much."""
    limits: dict[ExportLimit, None] = {}
    for case in battery():
        for call in case.message.calls:
            if calls.refused_type([call]) is not None:
                continue
            try:
                value = loaded(_text(calls, fields, call))
            except ValueError:
                return None
            arguments = _at(value, _path(fields, fields.args_field))
            if isinstance(arguments, str):
                why = "they are JSON text inside JSON, and come out as that text"
                limits[ExportLimit(MessagePiece.ARGUMENTS, why)] = None
            elif arguments is None and not call.arguments:
                why = "the arguments are left out then, and the target wants what it is to copy"
                limits[ExportLimit(MessagePiece.NO_ARGUMENTS, why)] = None
            elif arguments != surviving(calls.arguments, call):
                return None
    return tuple(limits)


def _text(calls: CallFormat, fields: JsonFields, call: ToolCall) -> str:
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
    """Read all calls as one array; None where they stand in none."""
    opening, closing = calls.section_open.strip(), calls.section_close.strip()
    if fields.before.strip() or fields.after.strip() or calls.later_close:
        return None
    if not opening.endswith("[") or closing[:1] != "]" or calls.separator.strip() != ",":
        return None
    marker, closer = loose(opening[:-1].rstrip()), exact(closing[1:].strip())
    head = rf"(?=\[\s*{_head(calls)})"
    start = rf"{marker}\s*(?=\[)" if marker else head
    settings: dict[str, Json] = {
        "content": "json",
        "transform": _transform(fields, ""),
        "transform_each": True,
    }
    closes = either([closer, end.stopped(closing[1:])])
    close = rf"(?<=\]\s*){closes}" if closer else rf"(?<=\]){end.ahead}"
    return CallsField(start, start, close, closer or r"\]", settings, limits)


def _object(
    calls: CallFormat, fields: JsonFields, end: TurnEnds, limits: tuple[ExportLimit, ...]
) -> CallsField:
    """Read each call as one object."""
    before = loose(fields.before.strip())
    head = rf"(?={_head(calls)})"
    # After a marker the members may come in any order.
    opened = rf"{before}\s*(?=\{{)" if before else head
    after = loose(fields.after.strip())
    frame = framed(
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
    return CallsField(
        frame.open,
        frame.ahead,
        frame.close,
        frame.behind,
        settings,
        limits,
        section_close=frame.section_close,
        separator=frame.separator,
    )


def _head(calls: CallFormat) -> str:
    """Match how the JSON of a call begins: with its first key, where that is written."""
    first = calls.row[0]
    text = "" if isinstance(first, Slot) else first
    key = text[text.find("{") + 1 :].lstrip() if "{" in text else ""
    end = key.find('"', 1) + 1 if key.startswith('"') else 0
    return rf"\{{\s*{exact(key[:end])}" if end else r"\{"
