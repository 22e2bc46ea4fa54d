r"""The phases on calls, which run after those on reasoning and content: T1, T2, T3, T4, T7.

Each phase compares turns that differ in their calls. For example
`fixtures/templates/a1-function-parameter.jinja` writes, with one call and with two,

    …<tool_call>\n<function=qkphffqx>…\n</tool_call><|im_end|>\n
    …<tool_call>\n<function=qkphffqx>…\n</tool_call>\n<tool_call>\n<function=frnctwxr>…<|im_end|>\n

where `qkphffqx` and `frnctwxr` are the sentinels of two names, and the phases find

    T1    calls are rendered
    T2    '<tool_call>\n<function=' and '\n</parameter>\n</function>\n</tool_call>' for each call
    T3    header '<|im_start|>assistant\n', no section around all calls, separator '\n', end
          '<|im_end|>\n' with the stop string '<|im_end|>'
    T4    the slot of the name, once, after '<tool_call>\n<function='
    T7    no slot: ids are not rendered

In a template that writes `<calls>` and `</calls>` around all calls, T3 separates that section, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct, structs

from autoparser.analysis.core.call_format import CallFormat, CallLimit
from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Message, Presence
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import TurnLayout
from autoparser.analysis.core.verdicts import EvidenceKind

from .call_frame import CallsFrame, learn_frame
from .call_leads import Leads, learn_leads
from .call_rows import SeenSlot, learn_slot
from .free_words import FreeStretch, learn_free_words
from .naming_ids import SeenId, learn_id
from .observer import Observer, SlotKind
from .prober import Evidence, Finding, Sentinels, surroundings_words
from .prompt_words import find_worded_call
from .reasoning_phases import CALLS, PartsStage, PhaseInput
from .turn_layouts import (
    SectionMarkers,
    SeenEnd,
    cut_calls,
    cut_section,
    learn_ends,
    learn_header,
    learn_turn_end,
    literals_after_calls,
)


class TurnEdges(Struct, frozen=True):
    """T3's result: the text around the parts of a turn, with or without calls."""

    header: str
    """The beginning of every turn, e.g. `"<|assistant|>\\n"`."""
    section: SectionMarkers
    """The markers around all calls of a turn, e.g. `<calls>` and `</calls>`, and the layouts
    without them."""
    ends: tuple[SeenEnd, ...]
    """The end of a turn after content and after calls, e.g. `"<|end|>\\n"`."""
    frame: CallsFrame | None
    """The text around each call, e.g. `<call>` and `</call>`, now without the header and the
    section, or None if no call shows."""
    leads: Leads
    """Markers before calls, and stop strings, that only a tool list or a constant shows, e.g.
    `"<|tool|>"`."""


class CallsStage(Struct, frozen=True):
    """The result of the phases on calls: a call, and the turn around it."""

    edges: TurnEdges
    """The text around the parts of a turn (T3), e.g. `<calls>` before the first call."""
    worded: CallFormat | None
    """The call that the words about tools spell out (T1), e.g. `<call>{…}</call>`, or
    None if turns show calls, or no words do."""
    free: tuple[FreeStretch, ...]
    """Stretches of a call that a field of the message replaces (T1), e.g. `json` before a body."""
    name: SeenSlot | None
    """The slot of a call's name (T4), e.g. of `f` in `<call>f`, or None if no name is written."""
    call_id: SeenSlot | None
    """The slot of a call's id (T7), e.g. of `call1a2b3` in `f#call1a2b3`, or None if no id is
    written."""
    seen_id: SeenId | None
    """How the id carries the name (T7), e.g. `functions.f:0`, if a call has an id and no name."""


def examine_calls(
    observer: Observer, start: PhaseInput, parts: PartsStage
) -> tuple[CallsStage, tuple[Finding, ...]]:
    """Run T1, T2, T3, T4 and T7."""
    # T3 takes the header and the section off T2's frame; T7 looks for the name in the id only if T4
    # finds none.
    free, worded, t1 = examine_t1(observer, start)
    frame, t2 = examine_t2(observer, start)
    edges, t3 = examine_t3(observer, start, parts, frame)
    name, t4 = examine_t4(observer, start, edges.frame)
    call_id, seen_id, t7 = examine_t7(observer, start, edges.frame, name)
    stage = CallsStage(edges, worded, free, name, call_id, seen_id)
    return stage, (t1, t2, t3, t4, t7)


# T1: no call compared with a call.


def examine_t1(
    observer: Observer, start: PhaseInput
) -> tuple[tuple[FreeStretch, ...], CallFormat | None, Finding]:
    """Find whether a call reaches the text, and if not, whether the prompt spells one out."""
    called = observer.sample(CALLS)
    evidence = [observer.compare("no call / a call", Presence(), CALLS)]
    free: tuple[FreeStretch, ...] = ()
    # Turns come first, because the prompt's words may describe calls in another form.
    worded = None if start.shows_calls else find_worded_call(observer)
    if worded is not None:
        evidence.append(worded[1])
    if start.shows_calls:
        free = learn_free_words(observer, start.suggestions)
        words = [repr(stretch.text[stretch.start : stretch.end]) for stretch in free]
        conclusion = "calls are rendered"
        if words:
            conclusion += f"; a message field can replace {' and '.join(words)}"
    elif worded is not None:
        conclusion = "calls are not rendered, but the text about the tools contains one"
    elif called.refusal:
        conclusion = f"calls raise: {called.refusal}"
    else:
        conclusion = "calls are not rendered"
    markers = ("tool_section_start", "tool_section_end")
    kind = EvidenceKind.RENDER if worded is None else EvidenceKind.WORDS
    finding = Finding("T1", "tool calls", conclusion, tuple(evidence), markers, kind=kind)
    return free, None if worded is None else worded[0], finding


# T2: one call compared with two.


def examine_t2(observer: Observer, start: PhaseInput) -> tuple[CallsFrame | None, Finding]:
    """Find the text that is written once for each call, and once around all of them."""
    frame = learn_frame(observer) if start.shows_calls else None
    evidence = Evidence(
        "one call / two calls", observer.sample(CALLS).probe, observer.sample(CALLS, 2).probe
    )
    if frame is None:
        conclusion = "no calls to compare"
    else:
        conclusion = str(frame.limit)
        if frame.later_close:
            conclusion += ", with a text after every call but the first"
    markers = ("per_call_start", "per_call_end")
    return frame, Finding("T2", "several calls", conclusion, (evidence,), markers)


# T3: the text between calls, and between the parts of a turn.


def examine_t3(
    observer: Observer, start: PhaseInput, parts: PartsStage, frame: CallsFrame | None
) -> tuple[TurnEdges, Finding]:
    """Separate the text of each call from separators, surroundings and ends of turns."""
    layouts = parts.layouts
    cut = "" if parts.cut is None else parts.cut.text
    prompts = [prompt.text for prompt in start.prompts]
    # Learn the header first: the rest of the text before the first part is that part's opening.
    header = learn_header(observer, layouts, prompts, cut, start.beginnings)
    # Under another setting, use the header of the fullest format, without an empty block.
    if start.fullest is not None and _leaves_empty(start.fullest, header, layouts):
        # The empty block is not part of the header: the model may write a full one in its place.
        header = start.fullest.header
    turn_end = learn_turn_end(layouts)
    # Remove the text of the calls from the layouts, now that their frame is known; joints remain.
    if frame is not None:
        frame = frame.without_header(header).with_close_before(literals_after_calls(layouts))
        layouts = {presence: cut_calls(layout, frame) for presence, layout in layouts.items()}
        if frame.limit is CallLimit.MANY and header.startswith(frame.repetition.prefix):
            # A part of the header that a later call repeats belongs to the call.
            header = frame.repetition.prefix
    section = cut_section(layouts, header, turn_end)
    ends = learn_ends(observer, section.layouts, header, turn_end, section, frame)
    leads = Leads() if frame is None else learn_leads(observer, start.suggestions)
    evidence = (
        Evidence(
            "two calls / three calls",
            observer.sample(CALLS, 2).probe,
            observer.sample(CALLS, 3).probe,
        ),
        *(
            Evidence(f"the last turn, of {seen.end.after} / an earlier one", seen.last, seen.later)
            for seen in ends
        ),
    )
    if frame is None:
        conclusion = "no calls to separate"
    elif frame.limit is not CallLimit.MANY:
        conclusion = "no second call, no separator"
    elif frame.repetition.separator:
        conclusion = f"{frame.repetition.separator!r} separates calls"
    else:
        conclusion = "calls have no separator"
    stops = dict.fromkeys(seen.stop for seen in ends if seen.stop)
    conclusion += f"; {' or '.join(map(repr, stops)) or 'nothing'} ends a turn"
    edges = TurnEdges(header, section, ends, frame, leads)
    return edges, Finding("T3", "separators", conclusion, evidence, ("call_separator",))


def _leaves_empty(fullest: TurnFormat, header: str, layouts: Mapping[Presence, TurnLayout]) -> bool:
    """Whether every turn begins with an empty block that the fullest turns lack.

    Under some settings every turn opens and closes reasoning at once: the model may still reason
    there, and only the history has no reasoning.
    """
    if not header.startswith(fullest.header) or fullest.reasoning is None:
        return False
    close = fullest.reasoning.close.core
    rests = [
        layout.literals[0][len(fullest.header) :]
        for layout in layouts.values()
        if not layout.refusal
    ]
    return bool(close) and all(not rest.strip() or close in rest for rest in rests)


# T4: one function name compared with another.


def examine_t4(
    observer: Observer, start: PhaseInput, frame: CallsFrame | None
) -> tuple[SeenSlot | None, Finding]:
    """Learn the place of the name, and how often it occurs: the text that changes with it."""
    marks = observer.prober.sentinels
    call = observer.call(0)
    one = observer.turn(Message(calls=(call,)))
    other = observer.turn(Message(calls=(structs.replace(call, name=marks.names[1]),)))
    slot = learn_slot(RowSlot.NAME, marks.names[0], one.text, other.text)
    if not start.shows_calls:
        conclusion = "no calls to compare"
    elif slot is None:
        conclusion = "the name is not rendered separately"
    else:
        times = "once" if slot.times == 1 else f"{slot.times} times"
        conclusion = f"the name is written {times}{_words_before_name(observer, frame)}"
    evidence = Evidence("one name / another name", one.probe, other.probe)
    markers = ("func_name_prefix", "func_name_suffix", "func_close", "function_namespace")
    return slot, Finding("T4", "function names", conclusion, (evidence,), markers)


def _words_before_name(observer: Observer, frame: CallsFrame | None) -> str:
    """Describe the text right before a call's name: an opening, a namespace, an id's end."""
    pieces = observer.pieces("" if frame is None else frame.call_text(0))
    kinds = [slot.kind for slot in pieces.slots]
    before = pieces.literals[kinds.index(SlotKind.NAME)] if SlotKind.NAME in kinds else ""
    return surroundings_words(before, "")


# T7: one call id compared with another.


def examine_t7(
    observer: Observer, start: PhaseInput, frame: CallsFrame | None, name: SeenSlot | None
) -> tuple[SeenSlot | None, SeenId | None, Finding]:
    """Learn the place of the id, if it is written, and whether calls are counted instead."""
    marks = observer.prober.sentinels
    call = observer.call(0)
    one = observer.turn(Message(calls=(call,)))
    other = observer.turn(Message(calls=(structs.replace(call, id=marks.ids[1]),)))
    slot = learn_slot(RowSlot.ID, marks.ids[0], one.text, other.text)
    seen_id = None
    # An id has to name the function only if no name is next to it.
    if slot is not None and name is None and frame is not None:
        several = frame.limit is CallLimit.MANY
        seen_id = learn_id(observer, start.suggestions, several=several)
    if not start.shows_calls:
        conclusion = "no calls to compare"
    elif one.refusal or other.refusal:
        conclusion = "ids raise"
    elif slot is not None:
        where = _nameless_words(seen_id) if name is None else _id_place_words(one.text, marks)
        conclusion = f"the caller's id is written {where}"
    elif one.text != other.text:
        conclusion = "the caller's id changes the text, but is not in it"
    elif frame is not None and frame.counts:
        conclusion = "calls are numbered; the caller's id is not rendered"
    else:
        conclusion = "ids are not rendered"
    evidence = Evidence("one id / another id", one.probe, other.probe)
    markers = ("call_id_prefix", "call_id_suffix")
    return slot, seen_id, Finding("T7", "call ids", conclusion, (evidence,), markers)


_ID_WORDS = {RowSlot.NAME: "NAME", RowSlot.INDEX: "INDEX", RowSlot.ID: "WORD"}


def _nameless_words(seen_id: SeenId | None) -> str:
    """Describe an id beside which no name is written, so that it has to carry the name."""
    row = () if seen_id is None else seen_id.row
    words = "".join(_ID_WORDS[piece] if isinstance(piece, RowSlot) else piece for piece in row)
    return f"and no name: it alone says which function is called{words and f', as {words}'}"


def _id_place_words(text: str, marks: Sentinels) -> str:
    """Describe the place of the id in a turn of one call."""
    at = text.find(marks.ids[0])
    if at < text.find(marks.names[0]):
        return "before the name"
    return (
        "between name and arguments" if at < text.find(marks.values[0]) else "after the arguments"
    )
