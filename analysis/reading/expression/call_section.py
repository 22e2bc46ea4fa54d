"""How a turn's calls are written: the section around them, and one call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from autoparser.analysis.core.alignment import common_suffix
from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format import (
    CallFormat,
    FreeWord,
    JsonFields,
    Literal,
    Part,
    Slot,
    TurnFormat,
)

from .nodes import ArgumentList, FreeText, JsonCall, Name, RowCall, RowItem, Section, Word
from .request import Request


def section_of(format_: TurnFormat, request: Request, opening: Literal) -> Section | None:
    """Build the section; None where the format or the request has no calls.

    `opening` is what `opening_of_calls` gives for the format.
    """
    calls = format_.calls
    if calls is None or not request.calls:
        return None
    fields = calls.json_fields
    call = _row_call(calls, request) if fields is None else _json_call(calls, fields, request)
    separator = calls.separator
    return Section(
        open=opening,
        call=call,
        separator=Literal.of(
            separator.replace(format_.header, "") if format_.header else separator
        ),
        close=Literal.of(calls.section_close),
        limit=calls.limit,
        later_close=Literal.of(calls.later_close),
        space=_space(format_, Presence(content=True, calls=True), Part.CALLS),
        behind=_space(format_, Presence(content=True, calls=True), Part.CONTENT),
        leads=calls.leads,
        single=not request.parallel,
    )


def opening_of_calls(format_: TurnFormat) -> Literal:
    """Return what opens the calls of a turn, whatever is offered; empty where nothing does."""
    calls, reasoning = format_.calls, format_.reasoning
    if calls is None:
        return Literal()
    opening = Literal.of(calls.section_open or _opened(format_))
    return _without_close(opening, "" if reasoning is None else reasoning.close.core)


def _opened(format_: TurnFormat) -> str:
    """Return the marker that stands before the calls of every turn, where the end closes it."""
    befores = [
        layout.literals[layout.parts.index(Part.CALLS)].removeprefix(format_.header)
        for layout in format_.layouts.values()
        if Part.CALLS in layout.parts
    ]
    shared = common_suffix(*befores) if befores else ""
    return "" if shared.strip() in ("", format_.content.close.core) else shared


def _without_close(opening: Literal, close: str) -> Literal:
    """Leave what closes the reasoning out of what opens the calls."""
    if not close or not opening.core.startswith(close):
        return opening
    return Literal.of(opening.core[len(close) :] + opening.after)


def _space(format_: TurnFormat, presence: Presence, part: Part) -> str:
    """Return the whitespace right before the second of two parts, where this one is the second."""
    layout = format_.layouts.get(presence)
    if layout is None or len(layout.parts) != 2 or layout.parts[1] is not part:  # noqa: PLR2004
        return ""
    text = layout.literals[1]
    return text[len(text.rstrip()) :] if text.strip() else text


def _arguments(calls: CallFormat, request: Request) -> ArgumentList:
    return ArgumentList(calls.arguments, request.tools or {})


def _json_call(calls: CallFormat, fields: JsonFields, request: Request) -> JsonCall:
    return JsonCall(
        before=Literal.of(fields.before),
        name=Name(tuple(request.tools or ())),
        arguments=_arguments(calls, request),
        after=Literal.of(fields.after),
        name_is_key=fields.fun_name_is_key,
        function_field=fields.function_field,
        name_field=fields.name_field,
        arguments_field=fields.args_field,
        id_field=fields.id_field,
    )


def _row_call(calls: CallFormat, request: Request) -> RowCall:
    empty = None if calls.empty_row is None else _row(calls.empty_row, calls, request)
    free = calls.free_words
    loose = _row(calls.row, calls, request, free) if free else ()
    return RowCall(_row(calls.row, calls, request), empty, calls.naming, loose)


def _row(
    row: Sequence[str | Slot],
    calls: CallFormat,
    request: Request,
    free: Sequence[FreeWord] = (),
) -> tuple[RowItem, ...]:
    items: list[RowItem] = []
    for at, piece in enumerate(row):
        match piece:
            case Slot.NAME:
                items.append(Name(tuple(request.tools or ())))
            case Slot.ID:
                items.append(Word(Slot.ID))
            case Slot.INDEX:
                items.append(Word(Slot.INDEX))
            case Slot.ARGUMENTS:
                items.append(_arguments(calls, request))
            case _:
                words = [word for word in free if word.piece == at]
                named = at > 0 and row[at - 1] is Slot.NAME
                items += _literals(str(piece), () if named and _framed(str(piece)) else words)
    return tuple(items)


@lru_cache(maxsize=256)
def _framed(text: str) -> bool:
    """Whether two markers frame a literal: whatever the words in it, its last marker ends it."""
    literal = Literal.of(text)
    return len(literal.markers) > 1 and literal.core.endswith(literal.markers[-1])


def _literals(text: str, free: Sequence[FreeWord]) -> Iterator[RowItem]:
    """Cut a literal where it has words that a model may write otherwise."""
    begun = 0
    for word in free:
        if word.start > begun:
            yield Literal.of(text[begun : word.start])
        yield FreeText(text[word.start : word.end])
        begun = word.end
    if text[begun:]:
        yield Literal.of(text[begun:])
