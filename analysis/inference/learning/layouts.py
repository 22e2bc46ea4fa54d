"""How turns are laid out: for every combination of parts, their order and the text between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from autoparser.analysis.core.alignment import common_prefix, common_suffix, edge_units
from autoparser.analysis.core.conversation import Message, Presence
from autoparser.analysis.core.format import Edges, Layout, Part, Strip

from .calls_frame import CallsFrame
from .observer import Observer, SlotKind, SlotMark

PRESENCES = tuple(
    Presence(reasoning, content, calls)
    for calls in (False, True)
    for reasoning in (False, True)
    for content in (True, False)
)


def learn_layout(observer: Observer, presence: Presence) -> Layout:
    """Observe the layout of a turn with these parts.

    A call reaches from its first sentinel to its last one until the frame is known.
    """
    turn = observer.shown(presence)
    if turn.refusal:
        return Layout(refusal=turn.refusal)
    pieces = observer.pieces(turn.text)
    parts: list[Part] = []
    literals: list[str] = [""]
    for literal, slot in zip(pieces.literals, (*pieces.slots, None), strict=True):
        part = None if slot is None else _part(slot)
        if parts and part is Part.CALLS and parts[-1] is Part.CALLS:
            literals[-1] = ""
            continue
        literals[-1] += literal
        if part is not None:
            parts.append(part)
            literals.append("")
    return _with_edges(observer, presence, Layout(tuple(parts), tuple(literals)))


def cut_calls(layout: Layout, frame: CallsFrame) -> Layout:
    """Take what opens the first and closes the last call out of a layout's literals."""
    if Part.CALLS not in layout.parts:
        return layout
    at = layout.parts.index(Part.CALLS)
    literals = list(layout.literals)
    literals[at] = literals[at].removesuffix(frame.first_open())
    literals[at + 1] = literals[at + 1].removeprefix(frame.close_of(0))
    return replace(layout, literals=tuple(literals))


def _part(slot: SlotMark) -> Part:
    match slot.kind:
        case SlotKind.REASONING:
            return Part.REASONING
        case SlotKind.CONTENT:
            return Part.CONTENT
        case _:
            return Part.CALLS


def behind_calls(layouts: Mapping[Presence, Layout]) -> list[str]:
    """Return what stands right after the calls, in every layout that has some."""
    return [
        layout.literals[layout.parts.index(Part.CALLS) + 1]
        for layout in layouts.values()
        if Part.CALLS in layout.parts
    ]


_LEAD, _TRAIL = "\n\n \t\n", "\n\t \n\n"
"""Whitespace on which every way of stripping shows itself."""


def _with_edges(observer: Observer, presence: Presence, layout: Layout) -> Layout:
    """Find what the text loses at its edges, by giving it whitespace there."""
    marks = observer.prober.sentinels
    plain = observer.message(presence)
    for part, word in ((Part.REASONING, marks.reasoning), (Part.CONTENT, marks.content)):
        if part not in layout.parts:
            continue
        padded = f"{_LEAD}{word}{_TRAIL}"
        message = (
            replace(plain, reasoning=padded)
            if part is Part.REASONING
            else replace(plain, content=padded)
        )
        edges = _edges(observer, message, part, word)
        if edges is not None:
            layout = (
                replace(layout, reasoning=edges)
                if part is Part.REASONING
                else replace(layout, content=edges)
            )
    return layout


def _edges(observer: Observer, message: Message, part: Part, word: str) -> Edges | None:
    turn = observer.turn(message)
    before, found, after = turn.text.partition(word)
    plain = observer.turn(_bare(message, part, word))
    plain_before, _, plain_after = plain.text.partition(word)
    if not found:
        return None
    lefts = [strip for strip in Strip if before == plain_before + strip.left(_LEAD)]
    rights = [strip for strip in Strip if after == strip.right(_TRAIL) + plain_after]
    if lefts and rights:
        return Edges(lefts[0], rights[0])
    return None


def _bare(message: Message, part: Part, word: str) -> Message:
    if part is Part.REASONING:
        return replace(message, reasoning=word)
    return replace(message, content=word)


@dataclass(frozen=True, slots=True)
class SectionMarkers:
    """The markers around all calls of a turn, and the layouts without them."""

    open: str
    close: str
    layouts: Mapping[Presence, Layout]


def cut_section(
    layouts: Mapping[Presence, Layout], header: str, turn_end: str = ""
) -> SectionMarkers:
    """Tell the markers of the section from the joints around it.

    What stands before the calls whatever comes before them opens the section; what stands
    after them and is not what ends every other turn closes it.
    """
    befores: dict[Presence, str] = {}
    afters: list[str] = []
    for presence, layout in layouts.items():
        if Part.CALLS not in layout.parts:
            continue
        at = layout.parts.index(Part.CALLS)
        before = layout.literals[at]
        befores[presence] = before.removeprefix(header) if at == 0 else before
        after = layout.literals[at + 1]
        afters.append(_before_end(after, turn_end) if at + 1 == len(layout.parts) else after)
    if not befores:
        return SectionMarkers("", "", layouts)
    opening = common_suffix(*befores.values()).lstrip().removeprefix(header).lstrip()
    close_of_content = _content_close(layouts, turn_end)
    if close_of_content and opening.startswith(close_of_content):
        opening = opening[len(close_of_content) :].lstrip()
    if _empty_wrapper(layouts, befores, header, opening):
        opening = ""
    opening = _behind_reasoning(layouts, befores, opening)
    # What only closes, and nothing opened it, ends the turn.
    close = common_prefix(*afters).rstrip() if opening else ""
    cut = {
        presence: _without(layout, opening, close) if presence in befores else layout
        for presence, layout in layouts.items()
    }
    return SectionMarkers(opening, close, cut)


def _behind_reasoning(
    layouts: Mapping[Presence, Layout], befores: Mapping[Presence, str], opening: str
) -> str:
    """Leave to reasoning what closes it, where calls were seen behind reasoning alone."""
    behind = all(
        Part.REASONING in (parts := layouts[each].parts)
        and parts.index(Part.CALLS) == parts.index(Part.REASONING) + 1
        for each in befores
    )
    if (
        not opening
        or not behind
        or any(text.removesuffix(opening).strip() for text in befores.values())
    ):
        return opening
    return opening.removeprefix(edge_units(opening)[0]).lstrip()


def _without(layout: Layout, opening: str, close: str) -> Layout:
    at = layout.parts.index(Part.CALLS)
    literals = list(layout.literals)
    literals[at] = literals[at].removesuffix(opening)
    literals[at + 1] = literals[at + 1].removeprefix(close)
    return replace(layout, literals=tuple(literals))


def _before_end(text: str, turn_end: str) -> str:
    """Cut a text where the turn's end begins."""
    units = edge_units(turn_end.strip())
    for wanted in (turn_end.strip(), *units[:1]):
        at = text.find(wanted)
        if wanted and at >= 0:
            return text[:at]
    return text


def _content_close(layouts: Mapping[Presence, Layout], turn_end: str) -> str:
    layout = layouts.get(Presence(content=True))
    if layout is None or not layout.parts or layout.parts[-1] is not Part.CONTENT:
        return ""
    return layout.literals[-1].removesuffix(turn_end).strip()


def _empty_wrapper(
    layouts: Mapping[Presence, Layout],
    befores: Mapping[Presence, str],
    header: str,
    opening: str,
) -> bool:
    """Whether the text before the calls is the content's wrapper with nothing in it."""
    layout = layouts.get(Presence(content=True, calls=True))
    alone = befores.get(Presence(calls=True))
    if layout is None or layout.parts != (Part.CONTENT, Part.CALLS) or alone is None:
        return False
    before = layout.literals[0].removeprefix(header)
    usual = layouts[Presence(content=True)].literals[0].removeprefix(header)
    return before != usual and bool(opening) and alone == before + layout.literals[1]


def learn_turn_end(layouts: Mapping[Presence, Layout]) -> str:
    """Find what ends a turn, whatever its last part is."""
    ends = {layout.parts[-1]: layout.literals[-1] for layout in layouts.values() if layout.parts}
    content = ends.get(Part.CONTENT)
    if content is None:
        return next(iter(ends.values()), "")
    shared = common_suffix(content, *ends.values())
    return shared if shared.strip() else content
