"""The format, put together from what the phases concluded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format import (
    ArgumentForm,
    Arguments,
    CallFormat,
    EvidenceKind,
    Part,
    Slot,
    TurnFormat,
    Written,
    json_notation,
)
from autoparser.analysis.inference.learning.call_assembly import put_together, row_without_arguments
from autoparser.analysis.inference.learning.containers import container_of, writes_alike
from autoparser.analysis.inference.learning.free_words import placed
from autoparser.analysis.inference.learning.observer import Observer
from autoparser.analysis.inference.learning.openings import describe_openings
from autoparser.analysis.inference.learning.prompt_reasoning import NamedReasoning
from autoparser.analysis.inference.phases import Draft
from autoparser.analysis.inference.probing import Sentinels, Setting


def assemble(observer: Observer, draft: Draft, settings: Sequence[Setting]) -> TurnFormat:
    """Put the format together that turns have under these settings."""
    shape = observer.prober.shape
    form = ArgumentForm.STRING if shape.arguments_as_string else ArgumentForm.OBJECT
    named = draft.named_reasoning or NamedReasoning()
    calls, worded = _calls(observer, draft), draft.worded_call
    worded_parts = set[Part]() if named.confirmed else {Part.REASONING}
    if calls is None and worded is not None:
        calls = worded.calls
        worded_parts.add(Part.CALLS)
    elsewhere = set[Part]() if draft.fullest is None else {Part.REASONING} & draft.fullest.shown
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
    # By their texts, since to Python true is 1.
    known = {repr(setting) for setting in settings}
    own = [prompt for prompt in draft.prompts if repr(prompt.setting) in known]
    openings = describe_openings(own, draft.header, format_.reasoning)
    return _with_whole_header(replace(format_, openings=openings))


def _calls(observer: Observer, draft: Draft) -> CallFormat | None:
    """Put the calls together: their frame, the slots in it, the arguments."""
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
        calls = _with_id(placed(calls, call, draft.free), draft)
        # Where a marker opens calls, no other one does.
        if not calls.is_marked:
            calls = replace(calls, leads=draft.leads.markers)
    layout = draft.layouts.get(Presence(calls=True))
    bare = None if draft.enclosure is None else draft.enclosure.without
    if calls is None or bare is None or layout is None or layout.parts != (Part.CALLS,):
        return calls
    head, tail = layout.literals[0] + calls.section_open, calls.section_close + layout.literals[1]
    if not bare.startswith(head) or not bare.endswith(tail):
        return calls
    text = bare[len(head) : len(bare) - len(tail)]
    return replace(calls, empty_row=row_without_arguments(text, calls, slots))


def _with_id(calls: CallFormat, draft: Draft) -> CallFormat:
    """Say how ids carry names, where nothing else of a call does."""
    seen = draft.seen_id
    if seen is None or calls.naming is None:
        return calls
    numbered = Slot.INDEX in seen.row and not calls.has(Slot.INDEX)
    base = seen.base if numbered else calls.index_base
    return replace(calls, id_row=seen.row, index_base=base)


def _arguments(marks: Sentinels, draft: Draft) -> Arguments | None:
    """Put the arguments' notation together: T5's list, A1's to A3's entries, T6's brackets."""
    listed, strings, types = draft.listed, draft.strings, draft.types
    if listed is None or strings is None or types is None or draft.enclosure is None:
        return None
    refused = frozenset(types.refused)
    members = container_of(listed.entries, strings, types, draft.names)
    value = draft.enclosure.notation
    if value is None or not writes_alike(members, value, listed.entries, marks):
        value = json_notation() if listed.verbatim else None
    if value is not None:
        return Arguments(
            value.object,
            value,
            listed.entries.margin if value.object.indent else "",
            refused,
            encoded=listed.quoted is not None,
            verbatim=listed.verbatim,
        )
    if listed.quoted is not None:
        return None
    # What encloses the entries is a part of the call.
    values = members.values or json_notation()
    return Arguments(replace(members, values=None), values, refused=refused)


def _with_whole_header(format_: TurnFormat) -> TurnFormat:
    """Take all that the prompt has written for the header, where every turn begins with it.

    What the prompts of all settings share is less, where a switch decides what part comes first.
    """
    texts = {opening.text for opening in format_.openings}
    first = next(iter(format_.openings), None)
    if first is None or len(texts) > 1:
        return format_
    begun = [layout.literals[0] for layout in format_.layouts.values() if not layout.refusal]
    if not begun or not all(text.startswith(first.text) for text in begun):
        return format_
    # An opening that no turn of these settings closes again opens nothing in them.
    close = "" if format_.reasoning is None else format_.reasoning.close.core
    closed = any(close in text[len(first.text) :] for text in begun)
    opens = first.written is Written.REASONING_OPEN and Part.REASONING in format_.elsewhere
    if first.written is not Written.OTHER and (not opens or closed):
        return format_
    openings = tuple(replace(each, written=Written.HEADER) for each in format_.openings)
    return replace(format_, header=first.text, openings=openings)
