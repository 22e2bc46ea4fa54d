"""From a format and a request to the expression of the turn that the model may write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autoparser.analysis.format import Begun, Formats, TurnFormat, ending

from .blocks import content_of, ends_of, reasoning_of
from .kept import Kept
from .nodes import Block, Literal, Start, Strict, Turn
from .prompted import header_mark, lead, prompted, whole_header
from .request import Request
from .section import section_of
from .strict import either, strict, written_of


@dataclass(frozen=True, slots=True)
class _Frame:
    """What a format says of every turn, whatever the request."""

    format: TurnFormat
    """With its whole header."""
    header: Literal
    reasoning: Block | None
    content: Block
    ends: tuple[Literal, ...]
    goes_on: bool
    lead: str
    tail: str


_FRAMES: Kept[_Frame] = Kept(64)
_ROWS: Kept[Strict] = Kept(256)


def build(formats: Formats, request: Request) -> Turn:
    """Build the expression of a turn, in the format that the request's prompt belongs to.

    Where the prompt may belong to several settings, what any of them writes may be written, and
    any of their ends ends the turn; all else is read as under the first.
    """
    turns = [_turn(begun, request) for begun in belonging(formats, request)]
    first = turns[0]
    if len(turns) == 1:
        return first
    ends = {end.core: end for turn in reversed(turns) for end in turn.ends}
    return replace(first, strict=either([turn.strict for turn in turns]), ends=tuple(ends.values()))


def belonging(formats: Formats, request: Request) -> tuple[Begun, ...]:
    """Say which formats a request may be about; more than one where its prompt does not tell.

    An opening comes with a format where the prompt ends with it.
    """
    tools = request.tools != {}
    prompt = request.prompt
    begun = request.begun
    if begun is not None:
        if prompt is None:
            return (begun,)
        return (Begun(begun.format, ending(begun.format, prompt)),)
    if prompt is None:
        return (formats.under({}, tools=tools) or formats.default,)
    found = formats.behind(prompt)
    if found:
        return found
    inside = formats.within(prompt) or (formats.default,)
    return tuple(Begun(each.format, None) for each in inside)


def _turn(begun: Begun, request: Request) -> Turn:
    frame = _FRAMES.of((begun.format,), None, lambda: _frame(begun.format))
    format_, reasoning = frame.format, frame.reasoning
    prompted_ = prompted(format_, begun.opening, request, reasoning)
    written = written_of(format_, begun.opening, request, reasoning)
    asked = (written, prompted_.start, request.calls, request.required)
    return Turn(
        start=prompted_.start,
        header=frame.header,
        reasoning=reasoning,
        content=frame.content,
        calls=section_of(format_, request, reasoning, frame.content),
        ends=frame.ends,
        goes_on=frame.goes_on,
        lead=frame.lead,
        tail=frame.tail,
        unwritten=prompted_.unwritten,
        json=request.json,
        prefill=prompted_.prefill,
        strict=_ROWS.of(
            (frame,),
            asked,
            lambda: strict(format_, request, written, prompted_.start, reasoning),
        ),
    )


def _frame(format_: TurnFormat) -> _Frame:
    format_ = replace(format_, header=whole_header(format_))
    reasoning = reasoning_of(format_)
    ends = ends_of(format_)
    return _Frame(
        format=format_,
        header=Literal.of(format_.header),
        reasoning=reasoning,
        content=content_of(format_, reasoning),
        ends=ends,
        goes_on=_goes_on(format_, ends),
        lead=lead(format_, reasoning, format_.header, Start.HEADER),
        tail=next((end.text for end in format_.ends if end.text.isspace()), ""),
    )


def _goes_on(format_: TurnFormat, ends: Sequence[Literal]) -> bool:
    """Whether what ends a turn also stands between its parts."""
    header = header_mark(format_.header)
    inner = [text for layout in format_.layouts.values() for text in layout.literals[1:-1]]
    calls = format_.calls
    inner += [calls.separator] if calls is not None else []
    return bool(header) and any(
        end.core in text and header in text for end in ends for text in inner
    )
