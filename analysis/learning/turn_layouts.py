r"""Learn the layouts of turns: for every combination of parts, their order and the text between.

`learn_layout` observes one combination, `cut_section` separates the markers around all calls from
the joints, `learn_turn_end` and `learn_ends` find the end of a turn, `learn_header` its beginning.
For example the turns of content, of content and a call, and of a call alone,

    <|assistant|>wpzqqmqw<|end|>
    <|assistant|>wpzqqmqw\n<calls><call>qkphffqx {"mcdsbpxt": "zhvwxqzm"}</call></calls><|end|>
    <|assistant|><calls><call>qkphffqx {"mcdsbpxt": "zhvwxqzm"}</call></calls><|end|>

become, once the frame of the call is cut off,

    content           '<|assistant|>', '<|end|>'
    content, calls    '<|assistant|>', '\n<calls>', '</calls><|end|>'
    calls             '<|assistant|><calls>', '</calls><|end|>'

`<calls>` precedes calls in every layout, so it opens their section, `</calls>` closes it, and the
literals that are left are `<|assistant|>`, `\n` and `<|end|>`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from autoparser.analysis.core.call_format import CallLimit
from autoparser.analysis.core.conversation import Message, Presence
from autoparser.analysis.core.text_alignment import (
    common_prefix,
    common_suffix,
    edge_units,
    first_marker,
    is_unit,
)
from autoparser.analysis.core.turn_parts import EdgeStrip, StrippedEdges, TurnLayout, TurnPart
from autoparser.analysis.core.turn_shape import TurnEnd

from .call_frame import CallsFrame
from .historic_turns import (
    called_turn,
    following_text,
    historic_end,
    historic_opening,
    historic_turn,
)
from .observer import Observer, SlotKind, SlotMark
from .prober import Probe
from .suggestions import Suggestions

# Reasoning that a template never writes, but cuts out of the given content.


_SHORTEST, _LONGEST = 3, 60


class Cut(NamedTuple):
    """A text that is lost from the content, with everything before it."""

    text: str
    """E.g. `"</think>"`."""
    remainder: Probe
    """The render without the text and everything before it: of `dxdpspvg</think>wpzqqmqw` it has
    only `wpzqqmqw`."""


def find_cut(observer: Observer, suggestions: Suggestions) -> Cut | None:
    """Try the template's own text constants inside a content; renders decide."""
    constants = [
        text
        for text in suggestions.constants
        if _SHORTEST <= len(text.strip()) <= _LONGEST and not text.strip().isalnum()
    ]
    if not constants:
        return None
    marks = observer.prober.sentinels
    # One render with all constants shows whether any of them cuts text off.
    mixed = marks.content + "".join(constant + marks.content for constant in constants)
    turn = observer.turn(Message(mixed))
    # Every copy of the content is still there, so no constant cuts text off.
    if turn.refusal or turn.text.count(marks.content) == len(constants) + 1:
        return None
    # The shortest is the marker itself, others may contain it: `</think>` in `</think>\n`.
    for constant in sorted(constants, key=len):
        cut = observer.turn(Message(f"{marks.reasoning}{constant}{marks.content}"))
        if marks.content in cut.text and marks.reasoning not in cut.text:
            return Cut(constant.strip(), cut.probe)
    return None


PRESENCES = tuple(
    Presence(reasoning, content, calls)
    for calls in (False, True)
    for reasoning in (False, True)
    for content in (True, False)
)


def learn_layout(observer: Observer, presence: Presence) -> TurnLayout:
    """Observe the layout of a turn with these parts.

    Until the frame is known, a call extends from its first sentinel to its last one.
    """
    turn = observer.sample(presence)
    if turn.refusal:
        return TurnLayout(refusal=turn.refusal)
    pieces = observer.pieces(turn.text)
    parts, literals = join_calls([_part_of_slot(slot) for slot in pieces.slots], pieces.literals)
    return _with_edges(observer, presence, TurnLayout(parts, literals))


def join_calls(
    parts: Sequence[TurnPart], literals: Sequence[str]
) -> tuple[tuple[TurnPart, ...], tuple[str, ...]]:
    """Make one place of the many that calls have in a turn, without the literals between them."""
    before = (None, *parts[:-1])
    # Name, id, key and value of a call count as one part here.
    repeats = [part is last is TurnPart.CALLS for part, last in zip(parts, before, strict=False)]
    joined = tuple(part for part, same in zip(parts, repeats, strict=True) if not same)
    kept = (text for text, same in zip(literals, (*repeats, False), strict=True) if not same)
    return joined, tuple(kept)


def cut_calls(layout: TurnLayout, frame: CallsFrame) -> TurnLayout:
    """Remove the opening of the first and the close of the last call from a layout's literals."""
    called = TurnPart.CALLS in layout.parts
    return _without_section(layout, frame.first_open(), frame.first_close()) if called else layout


def _part_of_slot(slot: SlotMark) -> TurnPart:
    match slot.kind:
        case SlotKind.REASONING:
            return TurnPart.REASONING
        case SlotKind.CONTENT:
            return TurnPart.CONTENT
        case _:
            return TurnPart.CALLS


def literals_after_calls(layouts: Mapping[Presence, TurnLayout]) -> list[str]:
    """Return the literals right after the calls, of every layout with calls."""
    return [
        layout.literals[layout.parts.index(TurnPart.CALLS) + 1]
        for layout in layouts.values()
        if TurnPart.CALLS in layout.parts
    ]


_LEAD, _TRAIL = "\n\n \t\n", "\n\t \n\n"
"""Whitespace that reveals every kind of stripping."""


def _with_edges(observer: Observer, presence: Presence, layout: TurnLayout) -> TurnLayout:
    """Find the whitespace that a text loses, by adding some at its edges."""
    marks = observer.prober.sentinels
    plain = observer.sample(presence)
    if TurnPart.REASONING in layout.parts:
        # Spaces, tabs and breaks are mixed, so that each kind of stripping leaves another rest.
        padded = replace(plain.message, reasoning=f"{_LEAD}{marks.reasoning}{_TRAIL}")
        edges = _lost_edges(plain.text, observer.turn(padded).text, marks.reasoning)
        layout = replace(layout, reasoning=edges)
    if TurnPart.CONTENT in layout.parts:
        padded = replace(plain.message, content=f"{_LEAD}{marks.content}{_TRAIL}")
        edges = _lost_edges(plain.text, observer.turn(padded).text, marks.content)
        layout = replace(layout, content=edges)
    return layout


def _lost_edges(plain: str, padded: str, word: str) -> StrippedEdges:
    """Return the whitespace that `padded` lacks around a word, by default none."""
    plain_before, _, plain_after = plain.partition(word)
    before, found, after = padded.partition(word)
    lefts = [strip for strip in EdgeStrip if before == plain_before + strip.left(_LEAD)]
    rights = [strip for strip in EdgeStrip if after == strip.right(_TRAIL) + plain_after]
    return StrippedEdges(lefts[0], rights[0]) if found and lefts and rights else StrippedEdges()


class SectionMarkers(NamedTuple):
    """The markers around all calls of a turn, and the layouts without them."""

    open: str
    """E.g. `"<calls>"`; empty if calls stand alone."""
    close: str
    """E.g. `"</calls>"`."""
    layouts: Mapping[Presence, TurnLayout]
    r"""The layouts without these markers, e.g. with the literals `("A:", "<end>\n")` for content
    alone."""


def cut_section(
    layouts: Mapping[Presence, TurnLayout], header: str, turn_end: str = ""
) -> SectionMarkers:
    """Separate the markers of the section from the joints around it.

    The text before the calls that does not depend on the previous part opens the section; the
    text after them that is not the end of every other turn closes it.
    """
    befores: dict[Presence, str] = {}
    afters: list[str] = []
    for presence, layout in layouts.items():
        if TurnPart.CALLS not in layout.parts:
            continue
        at = layout.parts.index(TurnPart.CALLS)
        before = layout.literals[at]
        befores[presence] = before.removeprefix(header) if at == 0 else before
        after = layout.literals[at + 1]
        afters.append(_text_before_end(after, turn_end) if at + 1 == len(layout.parts) else after)
    if not befores:
        return SectionMarkers("", "", layouts)
    # The opening of a section directly precedes the calls, whatever comes before it.
    opening = common_suffix(*befores.values()).lstrip().removeprefix(header).lstrip()
    # Empty content may be rendered before calls: its close does not open them.
    close_of_content = _content_close(layouts, turn_end)
    if close_of_content and opening.startswith(close_of_content):
        opening = opening[len(close_of_content) :].lstrip()
    if _empty_wrapper(layouts, befores, header, opening):
        opening = ""
    opening = _without_reasoning_close(layouts, befores, opening)
    # Without an opening, a closing text is the end of the turn.
    close = common_prefix(*afters).rstrip() if opening else ""
    cut = {
        presence: _without_section(layout, opening, close) if presence in befores else layout
        for presence, layout in layouts.items()
    }
    return SectionMarkers(opening, close, cut)


def _without_reasoning_close(
    layouts: Mapping[Presence, TurnLayout], befores: Mapping[Presence, str], opening: str
) -> str:
    """Remove the close of reasoning from the opening, if calls were seen only after reasoning."""
    behind = all(
        TurnPart.REASONING in (parts := layouts[presence].parts)
        and parts.index(TurnPart.CALLS) == parts.index(TurnPart.REASONING) + 1
        for presence in befores
    )
    if (
        not opening
        or not behind
        or any(text.removesuffix(opening).strip() for text in befores.values())
    ):
        return opening
    return opening.removeprefix(edge_units(opening)[0]).lstrip()


def _without_section(layout: TurnLayout, opening: str, close: str) -> TurnLayout:
    at = layout.parts.index(TurnPart.CALLS)
    literals = list(layout.literals)
    literals[at] = literals[at].removesuffix(opening)
    literals[at + 1] = literals[at + 1].removeprefix(close)
    return replace(layout, literals=tuple(literals))


def _text_before_end(text: str, turn_end: str) -> str:
    """Return the text before the turn's end."""
    units = edge_units(turn_end.strip())
    for wanted in (turn_end.strip(), *units[:1]):
        at = text.find(wanted)
        if wanted and at >= 0:
            return text[:at]
    return text


def _content_close(layouts: Mapping[Presence, TurnLayout], turn_end: str) -> str:
    layout = layouts.get(Presence(content=True))
    if layout is None or not layout.parts or layout.parts[-1] is not TurnPart.CONTENT:
        return ""
    return layout.literals[-1].removesuffix(turn_end).strip()


def _empty_wrapper(
    layouts: Mapping[Presence, TurnLayout],
    befores: Mapping[Presence, str],
    header: str,
    opening: str,
) -> bool:
    """Whether the text before the calls is the content's wrapper with nothing in it."""
    layout = layouts.get(Presence(content=True, calls=True))
    alone = befores.get(Presence(calls=True))
    if layout is None or layout.parts != (TurnPart.CONTENT, TurnPart.CALLS) or alone is None:
        return False
    before = layout.literals[0].removeprefix(header)
    usual = layouts[Presence(content=True)].literals[0].removeprefix(header)
    return before != usual and bool(opening) and alone == before + layout.literals[1]


def learn_turn_end(layouts: Mapping[Presence, TurnLayout]) -> str:
    """Find the end of a turn that does not depend on its last part."""
    # The common suffix of the ends after content and after calls is the end of the turn itself.
    ends = {layout.parts[-1]: layout.literals[-1] for layout in layouts.values() if layout.parts}
    content = ends.get(TurnPart.CONTENT)
    if content is None:
        return next(iter(ends.values()), "")
    shared = common_suffix(content, *ends.values())
    return shared if shared.strip() else content


# The end of a turn, as the last one and as an earlier one, and the stop strings.


class SeenEnd(NamedTuple):
    """The end of turns with this last part, and the renders that show it."""

    end: TurnEnd
    r"""E.g. `"<|im_end|>\n"`, as the last turn and as an earlier one."""
    stop: str
    """The stop string: the first marker after the part, e.g. `"<|im_end|>"`; empty if there is
    none."""
    last: Probe
    r"""The conversation that ends with the turn, e.g. `"…wpzqqmqw<|im_end|>\n"`."""
    later: Probe
    """The conversation in which a message follows it, e.g. the user's `bgjwfpgs`."""


def learn_ends(
    observer: Observer,
    layouts: Mapping[Presence, TurnLayout],
    header: str,
    turn_end: str,
    section: SectionMarkers,
    frame: CallsFrame | None,
) -> tuple[SeenEnd, ...]:
    """Learn the end of a turn after content and after calls."""
    calls = "" if frame is None else f"{section.open}{frame.call_text(0)}{section.close}"
    found: list[SeenEnd] = []
    for part, presence, shown, later in (
        (
            TurnPart.CONTENT,
            Presence(content=True),
            observer.prober.sentinels.content,
            historic_turn(observer),
        ),
        (TurnPart.CALLS, Presence(calls=True), calls, called_turn(observer)),
    ):
        layout = layouts[presence]
        if layout.parts[-1:] != (part,) or not shown:
            continue
        # A wrapper of content is closed before the turn ends: `</answer><|end|>`.
        inner, text = "", layout.literals[-1]
        if part is TurnPart.CONTENT and text.endswith(turn_end):
            inner, text = text.removesuffix(turn_end), turn_end
        end = TurnEnd(part, text, historic_end(observer, later, shown + inner, text, header))
        closer = ""
        # No second call may follow, so a model that has written the closer is done.
        if part is TurnPart.CALLS and frame is not None and frame.limit is not CallLimit.MANY:
            closer = _last_marker(observer, calls)
        stop = _stop_string(observer, end, closer)
        found.append(SeenEnd(end, stop, observer.sample(presence).probe, later))
    return tuple(found)


def _stop_string(observer: Observer, end: TurnEnd, closer: str) -> str:
    """Return the stop string: the first marker after the turn's last part.

    If nothing may follow a call and nothing ends the turn, it is the call's `closer`.
    """
    text = end.text.strip() or closer
    following = following_text(observer, end.after)
    # Exclude ids and names of calls, which differ in every conversation: `<result>call_1<of>`.
    marks = observer.prober.sentinels
    shared = re.split("|".join(map(re.escape, (*marks.ids, *marks.names))), following)[0]
    behind = text or shared.strip()
    units = edge_units(behind)
    if units and is_unit(units[0]):
        return first_marker(behind).strip()
    # A single sign, as in `[get_weather]`, occurs in any text.
    return behind if shared != following and behind[1:] else text


def _last_marker(observer: Observer, calls: str) -> str:
    units = edge_units(observer.pieces(calls).literals[-1])
    return units[-1] if units and is_unit(units[-1]) else ""


# The header: the beginning of every assistant turn, whatever comes next.


def learn_header(
    observer: Observer,
    layouts: Mapping[Presence, TurnLayout],
    prompts: Sequence[str],
    reasoning_close: str,
    elsewhere: Sequence[str] = (),
) -> str:
    """Find the prefix of all turns: last ones, earlier ones, and the generation prompt.

    `elsewhere` are the beginnings of turns under other settings, whose prompts are in `prompts`.
    `reasoning_close` is the text that reasoning is cut at, if it is only cut.
    """
    # Every turn begins with the header, and so does an earlier turn, and what prompts have written.
    beginnings = [layout.literals[0] for layout in layouts.values() if layout.parts]
    asked = [text for text in prompts if text]
    beginnings += _prompts_like_turns(asked, beginnings, [*beginnings, *elsewhere])
    earlier = historic_opening(observer)
    if earlier is not None:
        beginnings.append(earlier)
    header = common_prefix(*beginnings) if beginnings else ""
    # If all turns open reasoning at once, the opening looks like a part of the header.
    opened = any(
        layout.parts[:1] == (TurnPart.REASONING,) and layout.literals[0].rstrip() == header.rstrip()
        for layout in layouts.values()
    )
    rests = [text[len(header) :].lstrip() for text in beginnings]
    closed = bool(reasoning_close) and any(rest.startswith(reasoning_close) for rest in rests)
    return _without_reasoning_opening(observer, header) if opened or closed else header


def _prompts_like_turns(
    prompts: Sequence[str], beginnings: Sequence[str], everywhere: Sequence[str]
) -> list[str]:
    """Return the generation prompts that begin as turns do, of `everywhere` in all settings.

    Some begin with the text before the turn, some differ at the front of the header under a switch;
    these are ignored if there are others that turns continue.
    """
    whole = [
        prompt
        for prompt in prompts
        if any(text.startswith(prompt) or prompt.startswith(text) for text in everywhere)
    ]
    # Under another setting the header may begin differently; then the common part contains no role.
    return [
        prompt
        for prompt in whole or prompts
        if any(map(str.isalnum, "".join(common_prefix(prompt, text) for text in beginnings)))
    ]


def _without_reasoning_opening(observer: Observer, header: str) -> str:
    """Remove the reasoning's opening from the header, if every turn opens it.

    The header's markers surround the user's role as well; a marker right before the reasoning
    that the user's turn lacks belongs to the reasoning.
    """
    units = edge_units(header.rstrip())
    alone = observer.prober.probe((observer.prober.user,), tools=False).text
    if len(units) > 1 and is_unit(units[-1]) and units[-1] not in alone:
        return header.rstrip()[: -len(units[-1])]
    return header
