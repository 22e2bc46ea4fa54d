"""What opens and closes content: alone, beside reasoning, beside calls."""

from __future__ import annotations

from autoparser.analysis.core.alignment import common_prefix
from autoparser.analysis.core.conversation import Presence

from .layout import Layout, Part
from .literal import Block, Literal
from .shape import TurnShape

ALONE = Presence(content=True)
REASONED = Presence(reasoning=True, content=True)


def content_of(format_: TurnShape, reasoning: Block | None) -> Block:
    """Find what opens and closes content; what an empty reasoning block leaves is not it.

    It opens as where content stands alone, else as after reasoning; what opens it beside other
    parts alone is among `others`. What ends the turn closes content where a part may follow it.
    """
    opens: dict[Presence, Literal] = {}
    closes: list[str] = []
    goes_on = False
    for presence, layout in format_.layouts.items():
        if Part.CONTENT not in layout.parts:
            continue
        at = layout.parts.index(Part.CONTENT)
        opens[presence] = Literal.of(_opening(format_, reasoning, layout, at))
        if opens[presence].core:
            closes.append(layout.literals[at + 1])
            goes_on = goes_on or at + 1 < len(layout.parts)
    close = common_prefix(*closes) if closes else _close_of_opened(format_)
    if closes and not goes_on:
        close = format_.without_end(close)
    usual = [opens[each] for each in (ALONE, REASONED) if each in opens and opens[each].core]
    opening = usual[0] if usual else Literal()
    others = {each.core: each for each in opens.values() if each.core}
    others.pop(opening.core, None)
    return Block(opening, Literal.of(close), tuple(others.values()))


def _close_of_opened(format_: TurnShape) -> str:
    """Return what closes content that the header has opened: it stands there whatever comes next.

    What ends the turn is not it, so content has to be seen both last and before another part.
    """
    behind = {
        (at + 1 < len(layout.parts)): layout.literals[at + 1]
        for layout in format_.layouts.values()
        for at, part in enumerate(layout.parts)
        if part is Part.CONTENT
    }
    if len(behind) == 1 or not behind:
        return ""
    shared = format_.without_end(common_prefix(*behind.values()))
    core = shared.strip()
    ends = (*(end.text for end in format_.ends), *format_.stop_strings)
    return shared if core and not any(end.strip().startswith(core) for end in ends) else ""


def _opening(format_: TurnShape, reasoning: Block | None, layout: Layout, at: int) -> str:
    """Return what stands before content, without header and reasoning."""
    text, mark = layout.literals[at], format_.header_mark
    text = text.removeprefix(format_.header) if at == 0 else text
    if reasoning is not None and reasoning.close.core and reasoning.close.core in text:
        text = text.rpartition(reasoning.close.core)[2]
    return text.rpartition(mark)[2] if mark and mark in text else text
