"""Run the phases on calls (T1 to T7), and all phases in their order (`PHASES`, `run_phases`).

    T1  no call / a call              T5  one argument / two
    T2  one call / two                T6  no argument / one
    T3  between calls and parts       T7  one call id / another
    T4  one function name / another

Each compares renders that differ in one thing, and returns the draft with what it learned, and a
finding with its evidence. The other phases are in `turn_phases.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from msgspec import structs

from autoparser.analysis.core.call_format import CallLimit
from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import Json, Message, Presence
from autoparser.analysis.core.text_format import TurnLayout
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.verdicts import EvidenceKind

from .argument_containers import Enclosure, learn_argument_list, learn_enclosure
from .call_frame import CallsFrame, learn_frame, learn_leads
from .call_rows import learn_id, learn_slot
from .observer import Observer, SlotKind
from .prober import Evidence, Finding, Sentinels, surroundings_words
from .prompt_words import find_worded_call, learn_free_words
from .turn_layouts import (
    behind_calls,
    cut_calls,
    cut_section,
    learn_ends,
    learn_header,
    learn_turn_end,
)
from .turn_phases import (
    CALLS,
    Draft,
    examine_a1,
    examine_a2,
    examine_a3,
    examine_c1,
    examine_r1,
    examine_r2,
    examine_r3,
)

# T2: one call compared with two.


def examine_t2(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Find the text that is written once for each call, and once around all of them."""
    frame = learn_frame(observer) if draft.shows_calls else None
    draft = replace(draft, frame=frame)
    evidence = Evidence(
        "one call / two calls", observer.sample(CALLS).probe, observer.sample(CALLS, 2).probe
    )
    if frame is None:
        conclusion = "no calls to compare"
    else:
        conclusion = str(frame.limit)
        if frame.later_close:
            conclusion += ", every call but the first followed by a text of its own"
    markers = ("per_call_start", "per_call_end")
    return draft, Finding("T2", "several calls", conclusion, (evidence,), markers)


# T3: the text between calls, and between the parts of a turn.


def _leaves_empty(fullest: TurnFormat, header: str, layouts: Mapping[Presence, TurnLayout]) -> bool:
    """Whether every turn begins with an empty block that the fullest turns lack.

    Under some settings every turn opens and closes reasoning at once: the model may still reason
    there, and only the history has no reasoning.
    """
    if not header.startswith(fullest.header) or fullest.reasoning is None:
        return False
    close = fullest.reasoning.close.core
    rests = [layout.literals[0][len(fullest.header) :] for layout in layouts.values()]
    begun = [
        rest for rest, layout in zip(rests, layouts.values(), strict=True) if not layout.refusal
    ]
    return bool(close) and all(not rest.strip() or close in rest for rest in begun)


def examine_t3(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Separate the text of each call from separators, surroundings and ends of turns."""
    layouts = draft.layouts
    cut = "" if draft.cut is None else draft.cut.text
    header = learn_header(
        observer, layouts, [prompt.text for prompt in draft.prompts], cut, draft.beginnings
    )
    if draft.fullest is not None and _leaves_empty(draft.fullest, header, layouts):
        header = draft.fullest.header
    frame = None if draft.frame is None else draft.frame.without_header(header)
    turn_end = learn_turn_end(layouts)
    if frame is not None:
        frame = frame.with_close_before(behind_calls(layouts))
        layouts = {presence: cut_calls(layout, frame) for presence, layout in layouts.items()}
        if frame.limit is CallLimit.MANY and header.startswith(frame.repetition.prefix):
            # A part of the header that a later call repeats belongs to the call.
            header = frame.repetition.prefix
    section = cut_section(layouts, header, turn_end)
    ends = learn_ends(observer, section.layouts, header, turn_end, section, frame)
    draft = replace(
        draft,
        layouts=section.layouts,
        header=header,
        section=section,
        frame=frame,
        ends=ends,
    )
    if frame is not None:
        leads = learn_leads(observer, draft.suggestions)
        draft = replace(draft, leads=leads) if leads != draft.leads else draft
    evidence = (
        Evidence(
            "two calls / three calls",
            observer.sample(CALLS, 2).probe,
            observer.sample(CALLS, 3).probe,
        ),
        *(
            Evidence(f"the last turn, of {each.end.after} / an earlier one", each.last, each.later)
            for each in ends
        ),
    )
    if frame is None:
        conclusion = "no calls to separate"
    elif frame.limit is not CallLimit.MANY:
        conclusion = "no second call, no separator"
    elif frame.repetition.separator:
        conclusion = f"{frame.repetition.separator!r} separates calls"
    else:
        conclusion = "nothing separates calls"
    stops = dict.fromkeys(each.stop for each in ends if each.stop)
    conclusion += f"; {' or '.join(map(repr, stops)) or 'nothing'} ends a turn"
    return draft, Finding("T3", "separators", conclusion, evidence, ("call_separator",))


# T4: one function name compared with another.


def examine_t4(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Learn the place of the name, and how often it occurs: the text that changes with it."""
    marks = observer.prober.sentinels
    call = observer.call(0)
    one = observer.turn(Message(calls=(call,)))
    other = observer.turn(Message(calls=(structs.replace(call, name=marks.names[1]),)))
    slot = learn_slot(RowSlot.NAME, marks.names[0], one.text, other.text)
    if not draft.shows_calls:
        conclusion = "no calls to compare"
    elif slot is None:
        conclusion = "the name does not reach the turn by itself"
    else:
        times = "once" if slot.times == 1 else f"{slot.times} times"
        conclusion = f"the name is written {times}{_after(observer, draft.frame)}"
    evidence = Evidence("one name / another name", one.probe, other.probe)
    markers = ("func_name_prefix", "func_name_suffix", "func_close", "function_namespace")
    draft = replace(draft, name=slot)
    return draft, Finding("T4", "function names", conclusion, (evidence,), markers)


def _after(observer: Observer, frame: CallsFrame | None) -> str:
    """Describe the text right before a call's name: an opening, a namespace, an id's end."""
    pieces = observer.pieces("" if frame is None else frame.call_text(0))
    kinds = [slot.kind for slot in pieces.slots]
    return surroundings_words(
        pieces.literals[kinds.index(SlotKind.NAME)] if SlotKind.NAME in kinds else "", ""
    )


# T5: one argument compared with two.


def examine_t5(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Learn the separator and the order of arguments."""
    marks = observer.prober.sentinels
    listed = None if draft.frame is None else learn_argument_list(observer)
    one: dict[str, Json] = {marks.keys[0]: marks.values[0]}
    pair: dict[str, Json] = {**one, marks.keys[1]: marks.values[1]}
    evidence = observer.compare_arguments("one argument / two arguments", one, pair)
    if draft.frame is None:
        conclusion = "no arguments to compare"
    elif listed is None:
        conclusion = "the arguments cannot be made out in the text"
    elif listed.verbatim:
        conclusion = "the caller's JSON text is pasted"
    else:
        separator = listed.entries.repetition.separator
        separated = f"{separator!r} separates" if separator else "nothing separates"
        conclusion = f"{separated} arguments, their order: {listed.entries.order}"
    draft = replace(draft, listed=listed)
    return draft, Finding("T5", "several arguments", conclusion, (evidence,), ("arg_separator",))


# T6: no argument compared with one.


def examine_t6(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Learn the brackets around arguments, whether they are one value, and a call without any."""
    marks = observer.prober.sentinels
    one: dict[str, Json] = {marks.keys[0]: marks.values[0]}
    evidence = observer.compare_arguments("no argument / one argument", {}, one)
    if draft.listed is None or draft.types is None:
        conclusion = "no arguments to compare"
    else:
        enclosure = learn_enclosure(observer, draft.listed, draft.types)
        draft = replace(draft, enclosure=enclosure)
        conclusion = _in_words(enclosure)
    return draft, Finding(
        "T6", "argument container", conclusion, (evidence,), ("args_start", "args_end")
    )


def _in_words(enclosure: Enclosure) -> str:
    if enclosure.without is not None:
        return "a call without arguments is written differently"
    if enclosure.notation is None:
        return "nothing encloses the arguments alone"
    members = enclosure.notation.object
    return f"arguments stand between {members.open!r} and {members.close!r}"


# T7: one call id compared with another.


def examine_t7(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Learn the place of the id, if it is written, and whether calls are counted instead."""
    marks = observer.prober.sentinels
    call = observer.call(0)
    one = observer.turn(Message(calls=(call,)))
    other = observer.turn(Message(calls=(structs.replace(call, id=marks.ids[1]),)))
    slot = learn_slot(RowSlot.ID, marks.ids[0], one.text, other.text)
    if slot is not None and draft.name is None and draft.frame is not None:
        several = draft.frame.limit is CallLimit.MANY
        draft = replace(draft, seen_id=learn_id(observer, draft.suggestions, several=several))
    if not draft.shows_calls:
        conclusion = "no calls to compare"
    elif one.refusal or other.refusal:
        conclusion = "an id is refused"
    elif slot is not None:
        conclusion = f"the caller's id is written {_place(draft, one.text, marks)}"
    elif one.text != other.text:
        conclusion = "something that depends on the caller's id is written"
    elif draft.frame is not None and draft.frame.counts:
        conclusion = "calls are counted; the caller's id is not written"
    else:
        conclusion = "ids are not written"
    evidence = Evidence("one id / another id", one.probe, other.probe)
    markers = ("call_id_prefix", "call_id_suffix")
    return replace(draft, call_id=slot), Finding("T7", "call ids", conclusion, (evidence,), markers)


def _place(draft: Draft, text: str, marks: Sentinels) -> str:
    """Describe the place of a call's id; if no name is written, the id has to carry it."""
    if draft.name is None:
        row = () if draft.seen_id is None else draft.seen_id.row
        words = "".join(_WORDS[piece] if isinstance(piece, RowSlot) else piece for piece in row)
        return f"and no name: it alone says which function is called{words and f', as {words}'}"
    at = text.find(marks.ids[0])
    if at < text.find(marks.names[0]):
        return "before the name"
    return (
        "between name and arguments" if at < text.find(marks.values[0]) else "after the arguments"
    )


_WORDS = {RowSlot.NAME: "NAME", RowSlot.INDEX: "INDEX", RowSlot.ID: "WORD"}


def examine_t1(observer: Observer, draft: Draft) -> tuple[Draft, Finding]:
    """Find whether a call reaches the text."""
    called = observer.sample(CALLS)
    evidence = [observer.compare("no call / a call", Presence(), CALLS)]
    worded = None if draft.shows_calls else find_worded_call(observer)
    if worded is not None:
        draft = replace(draft, worded_call=worded)
        evidence.append(Evidence("no tools / tools", worded.without, worded.with_words))
    if draft.shows_calls:
        draft = replace(draft, free=learn_free_words(observer, draft.suggestions))
        words = [repr(each.text[each.start : each.end]) for each in draft.free]
        conclusion = "a call is written"
        if words:
            conclusion += f"; a field of the message may replace {' and '.join(words)}"
    elif worded is not None:
        conclusion = "a call is not written, but the words about the tools spell one out"
    elif called.refusal:
        conclusion = f"a call is refused: {called.refusal}"
    else:
        conclusion = "a call is not written"
    markers = ("tool_section_start", "tool_section_end")
    kind = EvidenceKind.RENDER if worded is None else EvidenceKind.WORDS
    return draft, Finding(
        "T1",
        "tool calls",
        conclusion,
        tuple(evidence),
        markers,
        kind=kind,
    )


# The order of the phases.


Phase: TypeAlias = Callable[[Observer, Draft], tuple[Draft, Finding]]

PHASES: tuple[Phase, ...] = (
    examine_r1,
    examine_r3,
    examine_c1,
    examine_t1,
    examine_t2,
    examine_t3,
    examine_r2,
    examine_t4,
    examine_t7,
    examine_t5,
    examine_a1,
    examine_a2,
    examine_a3,
    examine_t6,
)
"""Each phase follows those that it needs: R2 reads prompts by the header, which T3 learns; T6 tests
whether A3's notation of objects holds for all arguments together."""

_ORDER = "RCTA"
"""The order of the findings: reasoning, content, calls, arguments."""


def run_phases(observer: Observer, draft: Draft) -> tuple[Draft, tuple[Finding, ...]]:
    """Run every phase; each receives the draft of those before it."""
    findings: list[Finding] = []
    for examine in PHASES:
        draft, finding = examine(observer, draft)
        findings.append(finding)
    findings.sort(key=lambda each: (_ORDER.index(each.phase[0]), each.phase))
    return draft, tuple(findings)
