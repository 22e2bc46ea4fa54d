"""The markers of reasoning and content, by the seeds' names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from autoparser.analysis.alignment import common_prefix, common_suffix, first_marker
from autoparser.analysis.conversation import Presence
from autoparser.analysis.format import Layout, Opening, Part, TurnFormat, Written

from .modes import ContentMode, ReasoningMode


@dataclass(frozen=True, slots=True)
class Wrap:
    """What stands around a part, whatever its neighbours are."""

    open: str
    close: str


def _around(format_: TurnFormat, part: Part) -> tuple[list[str], list[str]]:
    """Collect the literals before and behind a part, over all layouts that have it."""
    befores: list[str] = []
    afters: list[str] = []
    for layout in format_.layouts.values():
        if part not in layout.parts:
            continue
        at = layout.parts.index(part)
        before = layout.literals[at]
        befores.append(before.removeprefix(format_.header) if at == 0 else before)
        afters.append(_without_end(format_, layout, at + 1))
    return befores, afters


def _without_end(format_: TurnFormat, layout: Layout, at: int) -> str:
    text = layout.literals[at]
    if at == len(layout.parts):
        for end in {end.text for end in format_.ends if end.text}:
            text = text.removesuffix(end)
    return text


def reasoning_wrap(format_: TurnFormat) -> Wrap:
    """Say what opens and closes the reasoning."""
    befores, afters = _around(format_, Part.REASONING)
    if not befores:
        return Wrap(format_.reasoning_open, format_.reasoning_close or format_.reasoning_cut or "")
    opening = common_suffix(*befores)
    followed = [
        layout.literals[layout.parts.index(Part.REASONING) + 1]
        for layout in format_.layouts.values()
        if Part.REASONING in layout.parts and layout.parts[-1] is not Part.REASONING
    ]
    close = common_prefix(*(followed or afters))
    if format_.header.strip():
        # A header that is written again opens the next part.
        close = close.partition(format_.header.strip())[0]
    return Wrap(opening or format_.reasoning_open, first_marker(close))


def reasoning_mode(format_: TurnFormat, openings: Sequence[Opening], wrap: Wrap) -> ReasoningMode:
    """Sort the reasoning by where it shows and by what the generation prompts write."""
    shown = [
        presence for presence, layout in format_.layouts.items() if Part.REASONING in layout.parts
    ]
    if not shown and not wrap.close.strip():
        return ReasoningMode.NONE
    written = {opening.written for opening in openings}
    if Written.REASONING_OPEN in written:
        if Written.REASONING_CLOSED in written:
            return ReasoningMode.FORCED_CLOSED
        return ReasoningMode.FORCED_OPEN
    if shown and all(presence.calls for presence in shown):
        return ReasoningMode.TOOLS_ONLY
    if not wrap.open.strip():
        return ReasoningMode.DELIMITER
    return ReasoningMode.TAG_BASED


def content_wrap(format_: TurnFormat, reasoning: Wrap) -> tuple[ContentMode, Wrap]:
    """Say what opens and closes the content, and when."""
    alone = format_.layouts.get(Presence(content=True))
    beside = format_.layouts.get(Presence(reasoning=True, content=True))
    plain = _wrap_in(format_, alone, reasoning)
    reasoned = _wrap_in(format_, beside, reasoning)
    if plain.open.strip():
        return ContentMode.ALWAYS_WRAPPED, plain
    if reasoned.open.strip() and beside is not None and Part.REASONING in beside.parts:
        return ContentMode.WRAPPED_WITH_REASONING, reasoned
    return ContentMode.PLAIN, Wrap("", "")


def _wrap_in(format_: TurnFormat, layout: Layout | None, reasoning: Wrap) -> Wrap:
    if layout is None or Part.CONTENT not in layout.parts:
        return Wrap("", "")
    at = layout.parts.index(Part.CONTENT)
    before = layout.literals[at]
    if at == 0:
        before = _without_empty_block(before.removeprefix(format_.header), reasoning)
    else:
        before = before.strip().removeprefix(reasoning.close.strip())
        if before.strip().startswith(format_.header.strip()) and format_.header.strip():
            before = before.strip().removeprefix(format_.header.strip())
    return Wrap(before, _content_close(format_, layout, at))


def _content_close(format_: TurnFormat, layout: Layout, at: int) -> str:
    """Say what follows the content, whether the turn ends there or calls come."""
    if at + 1 != len(layout.parts):
        return ""
    called = format_.layouts.get(Presence(content=True, calls=True))
    if called is not None and called.parts == (Part.CONTENT, Part.CALLS):
        shared = common_prefix(layout.literals[at + 1], called.literals[1])
        if shared.strip():
            return shared
    return _without_end(format_, layout, at + 1)


def _without_empty_block(text: str, reasoning: Wrap) -> str:
    """Leave out reasoning markers that are written although there is no reasoning."""
    opening, close = reasoning.open.strip(), reasoning.close.strip()
    rest = text.strip()
    if close and close in rest and (not opening or rest.startswith((opening, close))):
        return rest[rest.index(close) + len(close) :]
    return text
