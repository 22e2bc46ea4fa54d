"""Where a template crashes: which line, on which messages, and whether agents send those.

What a template does not mean to do is not a refusal. A crash on a call, on text, or on both means
that requests fail; a crash on what nobody sends, such as an empty message, means nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.format import Part, TurnFormat
from autoparser.analysis.core.verdicts import Crash


def grouped(crashes: Iterable[Crash]) -> tuple[Crash, ...]:
    """Make one of those that differ in their messages alone."""
    found: dict[Crash, tuple[str, ...]] = {}
    for crash in crashes:
        cause = replace(crash, titles=())
        found[cause] = (*found.get(cause, ()), *crash.titles)
    return tuple(replace(cause, titles=titles) for cause, titles in found.items())


def is_needed(
    message: Message,
    format_: TurnFormat,
    error: TemplateRenderError,
    crash_on: Callable[[Message], TemplateRenderError | None],
) -> bool:
    """Whether agents send what a template crashes on.

    They send what says or calls something, and no null among the arguments. What can be left out
    so that the template crashes alike is not to blame: a template without calls that takes no
    empty message also takes none that is but a call, and one that takes no call takes none with
    a null either.
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
    if Part.CALLS not in written:
        message = replace(message, calls=())
    if Part.REASONING not in written:
        message = replace(message, reasoning="")
    return message


def _without_nulls(message: Message) -> Message:
    calls = [replace(call, arguments=_known(call.arguments)) for call in message.calls]
    return replace(message, calls=tuple(calls))


def _known(members: Mapping[str, Json]) -> dict[str, Json]:
    return {key: _without_null(value) for key, value in members.items() if value is not None}


def _without_null(value: Json) -> Json:
    match value:
        case list():
            return [_without_null(item) for item in value if item is not None]
        case dict():
            return _known(value)
        case _:
            return value
