"""What of a message a template does not write as it was read: the smallest difference, in words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import SequenceMatcher

from autoparser.analysis.core.alignment import prefix_length
from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.reading.parsing import ParsedMessage, message_of

_SHOWN = 40
"""Characters that are shown of each text from where they part."""
_LOOKED_AT = 200
"""Characters from there on in which the smallest difference is looked for."""


def message_difference(text: str, parsed: ParsedMessage, again: str, read: ParsedMessage) -> str:
    """Name the first part of a message that is written otherwise; empty: all say the same."""
    try:
        one, other = message_of(parsed, text), message_of(read, again)
    except (ValueError, RecursionError):
        return ""
    return next(_differences(one, other), "")


def dropped_parts(text: str, parsed: ParsedMessage) -> str:
    """Name the parts that the text has and the message has not; empty: the message has all."""
    one, other = message_of(parsed, text), message_of(parsed)
    parts = ("reasoning", "content")
    return " and the ".join(part for part in parts if getattr(one, part) != getattr(other, part))


def _differences(one: Message, other: Message) -> Iterator[str]:
    for part in ("reasoning", "content"):
        yield from _of_text(getattr(one, part), getattr(other, part), f"the {part}")
    names, written = ([call.name for call in each.calls] for each in (one, other))
    if names != written:
        yield _of_names(names, written)
        return
    for call, again in zip(one.calls, other.calls, strict=True):
        yield from _of_arguments(call, again)
        if call.id and call.id != again.id:
            yield f"the template writes the id {call.id!r} of {call.name!r} as {again.id!r}"


def _of_names(names: list[str], written: list[str]) -> str:
    if sorted(names) == sorted(written):
        return f"the template writes the calls in another order: {', '.join(written)}"
    gone = next((name for name in names if name not in written), None)
    if gone is not None:
        return f"the template does not write the call of {gone!r}"
    return f"the template writes {len(written)} calls, and {len(names)} were read"


def _of_arguments(call: ToolCall, again: ToolCall) -> Iterator[str]:
    for key, value in call.arguments.items():
        where = f"the argument {key!r} of {call.name!r}"
        if key not in again.arguments:
            yield f"the template does not write {where}"
        elif _shown(value) != _shown(again.arguments[key]):
            written = again.arguments[key]
            texts = isinstance(value, str) and isinstance(written, str)
            yield from _of_text(
                str(value) if texts else _shown(value),
                str(written) if texts else _shown(written),
                where,
            )
    added = next((key for key in again.arguments if key not in call.arguments), None)
    if added is not None:
        yield f"the template adds the argument {added!r} to {call.name!r}"
    if list(call.arguments) != list(again.arguments):
        order = ", ".join(again.arguments)
        yield f"the template writes the arguments of {call.name!r} in another order: {order}"


def _shown(value: Json) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _of_text(one: str, other: str, where: str) -> Iterator[str]:
    """Name what of a text is lost, put in, or put in its place."""
    if one == other:
        return
    if not other.strip():
        yield f"the template does not write {where}"
        return
    at = prefix_length(one, other)
    left, right = one[at : at + _LOOKED_AT], other[at : at + _LOOKED_AT]
    edits = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    _, start, end, begin, stop = next(edit for edit in edits if edit[0] != "equal")
    lost, put = left[start:end][:_SHOWN], right[begin:stop][:_SHOWN]
    if not put:
        yield f"the template does not write {lost!r} in {where}"
    elif not lost:
        yield f"the template adds {put!r} to {where}"
    else:
        yield f"the template writes {put!r} for {lost!r} in {where}"


def parting(text: str, again: str) -> str:
    """Show where two texts part; empty where they do not."""
    if text == again:
        return ""
    at = prefix_length(text, again)
    here, there = (repr(each[at : at + _SHOWN]) for each in (text, again))
    return f"after {text[max(0, at - _SHOWN) : at]!r} stands {here}, rendered {there}"
