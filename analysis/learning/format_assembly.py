"""Assemble formats from the conclusions of the phases, one for each group of settings.

`learn_formats` groups the settings under which turns are written alike, runs the phases once per
group, first under the setting that shows most, and assembles a `TurnFormat` from each draft.
`format_under` finds the format of a setting that was not learned.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from msgspec import structs

from autoparser.analysis.core.call_format import ArgumentForm, ArgumentFormat, CallFormat, CallLimit
from autoparser.analysis.core.call_notation import RowSlot, json_notation
from autoparser.analysis.core.conversation import Json, Message, Presence
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.message_shape import Setting
from autoparser.analysis.core.text_alignment import diff_split
from autoparser.analysis.core.text_format import TurnLayout, TurnPart
from autoparser.analysis.core.turn_format import (
    Formats,
    PromptFormat,
    TurnFormat,
    share_settings,
    written_alike,
)
from autoparser.analysis.core.turn_shape import PromptProgress
from autoparser.analysis.core.verdicts import EvidenceKind

from .argument_containers import (
    Enclosure,
    container_of,
    learn_argument_list,
    learn_enclosure,
    writes_alike,
)
from .call_frame import (
    CallsFrame,
    PromptText,
    describe_openings,
    learn_frame,
    learn_leads,
    prompts_under,
)
from .call_rows import learn_id, learn_slot, put_together, row_without_arguments
from .found_switches import settings_to_learn, turns_under
from .observer import Observer, SlotKind
from .prober import Evidence, Finding, Prober, Sentinels, surroundings_words
from .prompt_words import NamedReasoning, find_worded_call, learn_free_words, place_stretches
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

# The phases on calls, and all phases in their order (`PHASES`, `run_phases`).
#
#     T1  no call / a call              T5  one argument / two
#     T2  one call / two                T6  no argument / one
#     T3  between calls and parts       T7  one call id / another
#     T4  one function name / another
#
# Each compares renders that differ in one thing, and returns the draft with what it learned, and a
# finding with its evidence. The other phases are in `turn_phases.py`.


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


def assemble_format(observer: Observer, draft: Draft, settings: Sequence[Setting]) -> TurnFormat:
    """Assemble the format of turns under these settings."""
    shape = observer.prober.shape
    form = ArgumentForm.STRING if shape.arguments_as_string else ArgumentForm.OBJECT
    named = draft.named_reasoning or NamedReasoning()
    calls, worded = _calls(observer, draft), draft.worded_call
    worded_parts = set[TurnPart]() if named.confirmed else {TurnPart.REASONING}
    if calls is None and worded is not None:
        calls = worded.calls
        worded_parts.add(TurnPart.CALLS)
    elsewhere = (
        set[TurnPart]()
        if draft.fullest is None
        else {TurnPart.REASONING} & draft.fullest.shown_parts
    )
    format_ = TurnFormat(
        header=draft.header,
        layouts=draft.layouts,
        calls=calls,
        ends=tuple(each.end for each in draft.ends),
        stop_strings=tuple(
            dict.fromkeys((*(each.stop for each in draft.ends if each.stop), *draft.leads.stops))
        ),
        argument_form=form,
        setting=dict(observer.prober.setting),
        reasoning_cut=None if draft.cut is None else draft.cut.text,
        reasoning_open=named.open,
        reasoning_close=named.close,
        not_rendered=dict.fromkeys(sorted(worded_parts), EvidenceKind.WORDS),
        elsewhere=frozenset() if draft.shows_reasoning else frozenset(elsewhere),
        retention=draft.retention,
    )
    # Compared by `repr`, since `True == 1` in Python.
    known = {repr(setting) for setting in settings}
    own = [prompt for prompt in draft.prompts if repr(prompt.setting) in known]
    openings = describe_openings(own, draft.header, format_.reasoning)
    return _with_whole_header(structs.replace(format_, openings=openings))


def _calls(observer: Observer, draft: Draft) -> CallFormat | None:
    """Assemble the calls: their frame, the slots in it, the arguments."""
    arguments = _arguments(observer.prober.sentinels, draft)
    frame, section = draft.frame, draft.section
    if frame is None or section is None or arguments is None:
        return None
    slots = [each for each in (draft.name, draft.call_id) if each is not None]
    call = observer.call()
    calls = put_together(
        frame, slots, arguments, arguments.write(call.arguments), (section.open, section.close)
    )
    if calls is not None:
        calls = _with_id(place_stretches(calls, call, draft.free), draft)
        # If a marker opens calls, no other one does.
        if not calls.is_marked:
            calls = structs.replace(calls, leads=draft.leads.markers)
    layout = draft.layouts.get(Presence(calls=True))
    bare = None if draft.enclosure is None else draft.enclosure.without
    if calls is None or bare is None or layout is None or layout.parts != (TurnPart.CALLS,):
        return calls
    head, tail = layout.literals[0] + calls.section_open, calls.section_close + layout.literals[1]
    if not bare.startswith(head) or not bare.endswith(tail):
        return calls
    text = bare[len(head) : len(bare) - len(tail)]
    return structs.replace(calls, empty_row=row_without_arguments(text, calls, slots))


def _with_id(calls: CallFormat, draft: Draft) -> CallFormat:
    """Add how ids carry names, if nothing else of a call does."""
    seen = draft.seen_id
    if seen is None or calls.naming is None:
        return calls
    numbered = RowSlot.INDEX in seen.row and not calls.has(RowSlot.INDEX)
    base = seen.base if numbered else calls.index_base
    return structs.replace(calls, id_row=seen.row, index_base=base)


def _arguments(marks: Sentinels, draft: Draft) -> ArgumentFormat | None:
    """Assemble the arguments' notation: T5's list, A1's to A3's entries, T6's brackets."""
    listed, strings, types = draft.listed, draft.strings, draft.types
    if listed is None or strings is None or types is None or draft.enclosure is None:
        return None
    refused = frozenset(types.refused)
    members = container_of(listed.entries, strings, types, draft.names)
    value = draft.enclosure.notation
    if value is None or not writes_alike(members, value, listed.entries, marks):
        value = json_notation() if listed.verbatim else None
    if value is not None:
        return ArgumentFormat(
            value.object,
            value,
            listed.entries.margin if value.object.indent else "",
            refused,
            encoded=listed.quoted is not None,
            verbatim=listed.verbatim,
        )
    if listed.quoted is not None:
        return None
    # The text that encloses the entries is a part of the call.
    values = members.values or json_notation()
    return ArgumentFormat(structs.replace(members, values=None), values, refused=refused)


def _with_whole_header(format_: TurnFormat) -> TurnFormat:
    """Extend the header to all that the prompt has written, if every turn begins with it.

    The prompts of all settings share less if a switch decides which part comes first.
    """
    texts = {opening.text for opening in format_.openings}
    first = next(iter(format_.openings), None)
    if first is None or len(texts) > 1:
        return format_
    begun = [layout.literals[0] for layout in format_.layouts.values() if not layout.refusal]
    if not begun or not all(text.startswith(first.text) for text in begun):
        return format_
    # An opening that no turn of these settings closes opens nothing in them.
    close = "" if format_.reasoning is None else format_.reasoning.close.core
    closed = any(close in text[len(first.text) :] for text in begun)
    opens = (
        first.written is PromptProgress.REASONING_OPEN and TurnPart.REASONING in format_.elsewhere
    )
    if first.written is not PromptProgress.OTHER and (not opens or closed):
        return format_
    openings = tuple(
        structs.replace(each, written=PromptProgress.HEADER) for each in format_.openings
    )
    return structs.replace(format_, header=first.text, openings=openings)


# Formats of all settings: the phases run once for all settings that write turns alike.


class LearnedFormats(NamedTuple):
    """All formats, and how the fullest one was found."""

    formats: Formats
    draft: Draft
    """The findings under the setting of the fullest format."""
    findings: tuple[Finding, ...]


class _Group(NamedTuple):
    """Settings under which turns are written alike."""

    settings: tuple[Setting, ...]
    turns: tuple[str, ...]

    def shows(self, words: tuple[str, ...]) -> bool:
        return any(word in text for word in words for text in self.turns)


def learn_formats(prober: Prober, draft: Draft, showing: Setting) -> LearnedFormats:
    """Learn the format of every setting; `prober` sets only what a render needs.

    The phases describe the format under `showing`, the setting that brings reasoning into the text:
    once it is known, the parts that other settings leave out of a turn can be named.
    """
    settings = settings_to_learn(prober.setting, showing, draft.switches)
    groups = _groups(prober, settings.each)
    turns = [turn for group in groups for turn in group.turns]
    draft = replace(
        draft,
        settings=settings.each,
        prompts=_signed(prober, groups, prompts_under(prober, settings.each)),
        beginnings=tuple(dict.fromkeys(_beginning(prober, turn) for turn in turns)),
    )
    # Compared by `repr`, since `True == 1` in Python.
    asked = repr(dict(showing))
    main = next(group for group in groups if asked in map(repr, group.settings))
    observer = Observer(prober.using(setting=showing))
    concluded, findings = run_phases(observer, draft)
    fullest = assemble_format(observer, concluded, main.settings)
    formats = [
        fullest if group is main else _under(prober, draft, group, fullest) for group in groups
    ]
    shared = share_settings(formats)
    # Sharing keeps the order, but may have replaced the fullest one by an equal one before it.
    full = next(each for each in shared if written_alike(each, fullest))
    together = Formats(tuple(shared), dict(prober.setting), fullest=full, untried=settings.untried)
    return LearnedFormats(together, concluded, findings)


def format_under(
    prober: Prober, draft: Draft, formats: Formats, setting: Setting, *, tools: bool = True
) -> PromptFormat:
    """Find the format of a setting that is not one of those learned, by renders.

    `draft` is the draft before the phases. Raises AutoparserError if the template raises on the
    setting itself.
    """
    asked, setting = setting, {**formats.base, **setting}
    error = prober.probe((prober.user,), setting=setting).error
    if error is not None and prober.probe((prober.user,)).rendered:
        words = ", ".join(f"{name}={json.dumps(value)}" for name, value in asked.items())
        raise AutoparserError(
            f"the template raises under {words}: {error.reason}",
            file=prober.template.origin,
            place=None if error.line is None else f"line {error.line}",
            hint="give values that it takes",
        ) from error
    turns = turns_under(prober, setting)
    alike = (each for each in formats if turns_under(prober, each.setting) == turns)
    format_ = next(alike, None)
    if format_ is None:
        group = _Group((setting,), turns)
        known_settings = (*(opening.setting for opening in formats.openings), setting)
        draft = replace(
            draft, settings=known_settings, prompts=prompts_under(prober, known_settings)
        )
        format_ = _under(prober, draft, group, formats.fullest)
        return PromptFormat(format_, next(iter(format_.openings), None))
    prompts = prompts_under(prober, (setting,))
    openings = describe_openings(prompts, format_.header, format_.reasoning)
    fitting = (opening for opening in openings if opening.tools is tools)
    opening = next(fitting, None) or next(iter(openings), None)
    return PromptFormat(format_, opening)


def _beginning(prober: Prober, turn: str) -> str:
    """Return a turn's text up to its first part."""
    marks = prober.sentinels
    words = (marks.reasoning, marks.content, *marks.names, *marks.ids)
    return turn[: min((at for word in words if (at := turn.find(word)) >= 0), default=0)]


def _groups(prober: Prober, settings: tuple[Setting, ...]) -> list[_Group]:
    """Group the settings under which turns are written alike, the default's first."""
    if len(settings) == 1:
        return [_Group(settings, ())]
    found: dict[tuple[str, ...], list[Setting]] = {}
    for setting in settings:
        found.setdefault(turns_under(prober, setting), []).append(setting)
    return [_Group(tuple(alike), turns) for turns, alike in found.items()]


def _signed(
    prober: Prober, groups: Sequence[_Group], prompts: Sequence[PromptText]
) -> tuple[PromptText, ...]:
    """Add to each prompt the texts that distinguish it from those of other groups.

    For example instructions on how to write calls, if a value changes these with the calls.
    """
    words = prober.sentinels.words()
    shown = [prober.probe((prober.user,), setting=group.settings[0]) for group in groups]
    before = [each.text.partition(prober.sentinels.user)[0] for each in shown]
    signs: dict[str, tuple[str, ...]] = {}
    for group, text in zip(groups, before, strict=True):
        found = [_sign(text, other, words) for other in before]
        for setting in group.settings:
            signs[repr(dict(setting))] = tuple(filter(None, found))
    return tuple(each._replace(signs=signs[repr(dict(each.setting))]) for each in prompts)


SHORTEST_SIGN = 8
"""The minimum length in characters; shorter texts may be in any prompt."""


def _sign(text: str, other: str, words: Sequence[str]) -> str:
    """Return the text of the one where the other differs, or an empty text if it is ambiguous."""
    split = diff_split(text, other)
    # A differing word is identified with its line before it, unless a tool is in that.
    line = split.prefix.rpartition("\n")[2]
    for sign in (f"{line}{split.left}".strip(), split.left.strip()):
        usable = len(sign) >= SHORTEST_SIGN and sign not in other
        if usable and not any(word in sign for word in words):
            return sign
    return ""


def _under(prober: Prober, draft: Draft, group: _Group, fullest: TurnFormat) -> TurnFormat:
    """Learn the format of a group of settings, given the fullest one."""
    marks = prober.sentinels
    draft = replace(
        draft,
        shows_reasoning=draft.shows_reasoning and group.shows((marks.reasoning,)),
        shows_calls=draft.shows_calls and group.shows((*marks.names, *marks.ids)),
        fullest=fullest,
    )
    observer = Observer(prober.using(setting=group.settings[0]))
    concluded, _ = run_phases(observer, draft)
    return assemble_format(observer, concluded, group.settings)
