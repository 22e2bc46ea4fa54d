"""From a format and a request to the expression of the turn that the model may write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autoparser.analysis.format import TurnFormat

from .blocks import content_of, ends_of, reasoning_of
from .nodes import Literal, Start, Turn
from .prompted import header_mark, lead, prompted, whole_header
from .request import Request
from .section import section_of
from .strict import strict


def build(format_: TurnFormat, request: Request) -> Turn:
    """Build the expression of a turn."""
    format_ = replace(format_, header=whole_header(format_))
    reasoning = reasoning_of(format_)
    content = content_of(format_, reasoning)
    ends = ends_of(format_)
    begun = prompted(format_, request, reasoning)
    return Turn(
        start=begun.start,
        header=Literal.of(format_.header),
        reasoning=reasoning,
        content=content,
        calls=section_of(format_, request, reasoning, content),
        ends=ends,
        goes_on=_goes_on(format_, ends),
        lead=lead(format_, reasoning, format_.header, Start.HEADER),
        tail=next((end.text for end in format_.ends if end.text.isspace()), ""),
        unwritten=begun.unwritten,
        json=request.json,
        prefill=begun.prefill,
        strict=strict(format_, request, begun.start, reasoning),
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
