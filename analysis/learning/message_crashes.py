"""Crashes of templates on messages: merged, and judged by whether agents send such messages.

An unintended error is not a refusal. A crash on a call, on text, or on both means that requests
fail; a crash on a message that no client sends, such as an empty one, does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from msgspec import structs

from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.verdicts import (
    TemplateCrash,
)


def group_failures(crashes: Iterable[TemplateCrash]) -> tuple[TemplateCrash, ...]:
    """Merge crashes that differ only in their messages."""
    found: dict[TemplateCrash, tuple[str, ...]] = {}
    for crash in crashes:
        cause = structs.replace(crash, titles=())
        found[cause] = (*found.get(cause, ()), *crash.titles)
    return tuple(structs.replace(cause, titles=titles) for cause, titles in found.items())


def is_needed(
    message: Message,
    format_: TurnFormat,
    error: TemplateRenderError,
    crash_on: Callable[[Message], TemplateRenderError | None],
) -> bool:
    """Whether agents send messages like the one that a template crashes on.

    They send messages with text or calls, and no null among the arguments. A part without which
    the template crashes alike is not the cause: a template without calls that rejects an empty
    message also rejects one with only a call, and one that rejects calls rejects those with a
    null, too.
    """

    def alike(less: Message) -> bool:
        other = None if less == message else crash_on(less)
        return other is not None and (other.line, other.reason) == (error.line, error.reason)

    less = _without_unwritten(message, format_)
    rest = less if alike(less) else message
    if not (rest.content or rest.calls):
        return False
    known = _without_nulls(rest)
    return known == rest or alike(known)


def _without_unwritten(message: Message, format_: TurnFormat) -> Message:
    written = {part for layout in format_.layouts.values() for part in layout.parts}
    if TurnPart.CALLS not in written:
        message = structs.replace(message, calls=())
    if TurnPart.REASONING not in written:
        message = structs.replace(message, reasoning="")
    return message


def _without_nulls(message: Message) -> Message:
    calls = [
        structs.replace(call, arguments=_non_null_members(call.arguments)) for call in message.calls
    ]
    return structs.replace(message, calls=tuple(calls))


def _non_null_members(members: Mapping[str, Json]) -> dict[str, Json]:
    return {key: _without_null(value) for key, value in members.items() if value is not None}


def _without_null(value: Json) -> Json:
    match value:
        case list():
            return [_without_null(item) for item in value if item is not None]
        case dict():
            return _non_null_members(value)
        case _:
            return value
