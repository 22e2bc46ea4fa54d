"""From a format and a request to the expression of the turn that the model may write."""

from __future__ import annotations

from dataclasses import dataclass, replace

from autoparser.analysis.core.format import Begun, Block, Formats, Literal, TurnFormat, ending

from .call_section import opening_of_calls, section_of
from .identity_cache import IdentityCache
from .nodes import Start, Strict, Turn
from .prompted import lead, prompted
from .request import Request
from .strict import either, strict, written_of


@dataclass(frozen=True, slots=True)
class _ExpressionFrame:
    """What a format says of every turn, whatever the request."""

    format: TurnFormat
    """With its whole header."""
    header: Literal
    content: Block
    """Closed by what does not end the turn as well."""
    opening_of_calls: Literal
    goes_on: bool
    lead: str
    tail: str


_FRAMES: IdentityCache[_ExpressionFrame] = IdentityCache(64)
_ROWS: IdentityCache[Strict] = IdentityCache(256)


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
        return (_after(begun, prompt),)
    if prompt is None:
        return (formats.under({}, tools=tools) or formats.default,)
    found = formats.behind(prompt)
    if found:
        return found
    inside = formats.within(prompt)
    if inside:
        return tuple(Begun(each.format, None) for each in inside)
    return (_after(formats.under({}, tools=tools) or formats.default, prompt),)


def _after(begun: Begun, prompt: str) -> Begun:
    """Say which of a format's openings a prompt ends with, where its setting is known."""
    opening = ending(begun.format, prompt)
    if opening is None and begun.opening is not None and not begun.opening.text.strip():
        # The template writes no generation prompt, and that is what the prompt ends with.
        opening = begun.opening
    return Begun(begun.format, opening)


def _turn(begun: Begun, request: Request) -> Turn:
    frame = _FRAMES.of((begun.format,), None, lambda: _frame(begun.format))
    format_ = frame.format
    prompted_ = prompted(format_, begun.opening, request)
    written = written_of(format_, begun.opening, request)
    asked = (written, prompted_.start, request.calls, request.required)
    return Turn(
        start=prompted_.start,
        header=frame.header,
        reasoning=format_.reasoning,
        content=frame.content,
        calls=section_of(format_, request, frame.opening_of_calls),
        ends=format_.end_literals,
        goes_on=frame.goes_on,
        lead=frame.lead,
        tail=frame.tail,
        unwritten=prompted_.unwritten,
        json=request.json,
        prefill=prompted_.prefill,
        strict=_ROWS.of(
            (frame,), asked, lambda: strict(format_, request, written, prompted_.start)
        ),
    )


def _frame(format_: TurnFormat) -> _ExpressionFrame:
    format_ = format_.whole
    content = format_.content
    close = Literal.of(format_.without_end(content.close.text))
    return _ExpressionFrame(
        format=format_,
        header=Literal.of(format_.header),
        content=replace(content, close=close),
        opening_of_calls=opening_of_calls(format_),
        goes_on=_goes_on(format_),
        lead=lead(format_, format_.header, Start.HEADER),
        tail=next((end.text for end in format_.ends if end.text.isspace()), ""),
    )


def _goes_on(format_: TurnFormat) -> bool:
    """Whether what ends a turn also stands between its parts."""
    header = format_.header_mark
    inner = [text for layout in format_.layouts.values() for text in layout.literals[1:-1]]
    calls = format_.calls
    inner += [calls.separator] if calls is not None else []
    return bool(header) and any(
        end.core in text and header in text for end in format_.end_literals for text in inner
    )
