"""The format, put together from what the phases concluded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autoparser.analysis.format import ArgumentForm, Part, TurnFormat, Written
from autoparser.analysis.learning.observer import Observer
from autoparser.analysis.learning.openings import describe_openings
from autoparser.analysis.learning.prompt_reasoning import NamedReasoning
from autoparser.analysis.phases import Draft
from autoparser.analysis.probing import Setting


def assemble(observer: Observer, draft: Draft, settings: Sequence[Setting]) -> TurnFormat:
    """Put the format together that turns have under these settings."""
    shape = observer.prober.shape
    form = ArgumentForm.STRING if shape.arguments_as_string else ArgumentForm.OBJECT
    named = draft.named_reasoning or NamedReasoning()
    calls, worded = draft.calls, draft.worded_call
    unconfirmed = {Part.REASONING} if not named.confirmed else set[Part]()
    if calls is None and worded is not None:
        calls = worded.calls
        unconfirmed.add(Part.CALLS)
    elsewhere = set[Part]() if draft.fullest is None else {Part.REASONING} & draft.fullest.shown
    format_ = TurnFormat(
        header=draft.header,
        layouts=draft.layouts,
        calls=calls,
        ends=tuple(each.end for each in draft.ends),
        stop_strings=tuple(dict.fromkeys(each.stop for each in draft.ends if each.stop)),
        argument_form=form,
        setting=dict(observer.prober.setting),
        reasoning_cut=None if draft.cut is None else draft.cut.text,
        reasoning_open=named.open,
        reasoning_close=named.close,
        unconfirmed=frozenset(unconfirmed),
        elsewhere=frozenset() if draft.shows_reasoning else frozenset(elsewhere),
        retention=draft.retention,
    )
    # By their texts, since to Python true is 1.
    known = {repr(setting) for setting in settings}
    own = [prompt for prompt in draft.prompts if repr(prompt.setting) in known]
    openings = describe_openings(own, draft.header, format_.reasoning)
    return _with_whole_header(replace(format_, openings=openings))


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
