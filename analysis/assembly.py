"""The format, put together from what the phases found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from autoparser.analysis.alignment import edge_units, first_marker, is_unit
from autoparser.analysis.conversation import Presence
from autoparser.analysis.format import (
    ArgumentForm,
    CallFormat,
    End,
    Limit,
    Part,
    TurnFormat,
    Written,
)
from autoparser.analysis.learning.calls import learn_calls
from autoparser.analysis.learning.history import (
    called_turn,
    following_text,
    historic_end,
    historic_turn,
)
from autoparser.analysis.learning.observer import Observer
from autoparser.analysis.learning.openings import describe_openings
from autoparser.analysis.phases import Draft
from autoparser.analysis.probing import EmptyContent, Setting


def assemble(observer: Observer, draft: Draft, settings: Sequence[Setting]) -> TurnFormat:
    """Put the format together that turns have under these settings."""
    calls = _calls(observer, draft)
    ends = _ends(observer, draft, calls)
    shape = observer.prober.shape
    form = ArgumentForm.STRING if shape.arguments_as_string else ArgumentForm.OBJECT
    format_ = TurnFormat(
        header=draft.header,
        layouts=draft.layouts,
        calls=calls,
        ends=ends,
        stop_strings=_stop_strings(observer, ends, calls),
        argument_form=form,
        setting=dict(observer.prober.setting),
        reasoning_cut=None if draft.cut is None else draft.cut.text,
        retention=draft.retention,
    )
    opening, close, unconfirmed = _reasoning(observer, draft, format_)
    if not draft.shows_reasoning:
        format_ = replace(format_, reasoning_open=opening, reasoning_close=close)
        if draft.fullest is not None and Part.REASONING in draft.fullest.shown:
            format_ = replace(format_, elsewhere=frozenset({Part.REASONING}))
    if calls is None and draft.worded_call is not None:
        format_ = replace(format_, calls=draft.worded_call.calls)
        unconfirmed |= {Part.CALLS}
    # By their texts, since to Python true is 1.
    known = {repr(setting) for setting in settings}
    own = [prompt for prompt in draft.prompts if repr(prompt.setting) in known]
    openings = describe_openings(own, draft.header, format_.reasoning)
    return _with_whole_header(replace(format_, openings=openings, unconfirmed=unconfirmed))


def _with_whole_header(format_: TurnFormat) -> TurnFormat:
    """Take all that the prompt has written for the header, where every turn begins with it.

    What the prompts of all settings share is less, where a switch decides what part comes first.
    """
    texts = {opening.text for opening in format_.openings}
    first = next(iter(format_.openings), None)
    if first is None or len(texts) > 1 or first.written is not Written.OTHER:
        return format_
    layouts = [layout for layout in format_.layouts.values() if not layout.refusal]
    if not layouts or not all(layout.literals[0].startswith(first.text) for layout in layouts):
        return format_
    openings = tuple(replace(each, written=Written.HEADER) for each in format_.openings)
    return replace(format_, header=first.text, openings=openings)


def _reasoning(
    observer: Observer, draft: Draft, format_: TurnFormat
) -> tuple[str, str, frozenset[Part]]:
    """Name what opens and closes reasoning, and whether only words say so."""
    if draft.shows_reasoning or Part.REASONING in format_.shown:
        return "", "", frozenset()
    if draft.fullest is not None and Part.REASONING in draft.fullest.shown:
        block = draft.fullest.reasoning
        opening, close = ("", "") if block is None else (block.open.text, block.close.text)
        return opening, close, frozenset()
    close = format_.reasoning_cut or ""
    alone = observer.prober.probe((observer.prober.user,), tools=False).text
    unconfirmed: set[Part] = set()
    confirmed = bool(close)
    opening, close = _from_prompts(draft, close, alone)
    if close and not confirmed:
        unconfirmed.add(Part.REASONING)
    if not close and draft.worded_reasoning is not None:
        opening, close = draft.worded_reasoning.open, draft.worded_reasoning.close
        unconfirmed.add(Part.REASONING)
    return opening, close, frozenset(unconfirmed)


def _calls(observer: Observer, draft: Draft) -> CallFormat | None:
    if draft.frame is None or draft.arguments is None or draft.section is None:
        return None
    section = draft.section
    calls = learn_calls(observer, draft.frame, draft.arguments, section.open, section.close)
    return None if calls is None else replace(calls, empty_row=draft.empty_row)


def _ends(observer: Observer, draft: Draft, calls: CallFormat | None) -> tuple[End, ...]:
    """Say what closes a turn after content, after reasoning and after calls."""
    marks = observer.prober.sentinels
    ends: list[End] = []
    for part, presence, last, later in (
        (Part.CONTENT, Presence(content=True), marks.content, historic_turn(observer)),
        (Part.CALLS, Presence(calls=True), _last_text(observer, calls), called_turn(observer)),
    ):
        layout = draft.layouts[presence]
        if not layout.parts or layout.parts[-1] is not part or not last:
            continue
        shown, end = last, layout.literals[-1]
        if part is Part.CONTENT and end.endswith(draft.turn_end):
            shown += end.removesuffix(draft.turn_end)
            end = draft.turn_end
        ends.append(End(part, end, historic_end(observer, later, shown, end, draft.header)))
    return tuple(ends)


def _last_text(observer: Observer, calls: CallFormat | None) -> str:
    return "" if calls is None else calls.write((observer.call(0),))


def _stop_strings(
    observer: Observer, ends: tuple[End, ...], calls: CallFormat | None
) -> tuple[str, ...]:
    """Name what a model's output stops at: the first marker behind the turn's last part."""
    found: dict[str, None] = {}
    for end in ends:
        text = end.text.strip()
        if not text and end.after is Part.CALLS and calls is not None:
            text = _close_of_only_call(calls)
        behind = text or following_text(observer, end.after).strip()
        units = edge_units(behind)
        if units and is_unit(units[0]):
            found[first_marker(behind).strip()] = None
        elif text:
            found[text] = None
    return tuple(found)


def _close_of_only_call(calls: CallFormat) -> str:
    """Where nothing may follow a call, its last marker ends the turn."""
    if calls.limit is Limit.MANY:
        return ""
    units = edge_units(calls.write(()) or str(calls.row[-1]))
    return units[-1] if units and is_unit(units[-1]) else ""


def _from_prompts(draft: Draft, close: str, alone: str) -> tuple[str, str]:
    """Read the reasoning's markers off generation prompts, where no turn shows them.

    A prompt that goes on where another stops has opened what the other leaves closed.
    """
    rests = sorted(
        {
            prompt.text[len(draft.header) :].strip()
            for prompt in draft.prompts
            if prompt.text.startswith(draft.header)
        },
        key=len,
    )
    rests = [rest for rest in rests if rest]
    if close:
        opening = next((rest for rest in rests if close not in rest), "")
        return opening, close
    for short in rests:
        for long in rests:
            if long != short and long.startswith(short):
                return short, long[len(short) :].strip()
    for rest in rests:
        if is_unit(rest) and draft.header.strip() and rest not in alone:
            # A prompt that opens what no turn shows: the closing tag is the usual one.
            return rest, f"{rest[0]}/{rest[1:]}"
        units = [unit for unit in edge_units(rest) if unit.strip()]
        match units:
            case [opening, closing] if is_unit(opening) and is_unit(closing):
                return opening, closing
            case _:
                pass
    return "", ""


def requires_nonnull_content(observer: Observer, draft: Draft) -> bool:
    """Whether null content beside a call raises or is printed as a word."""
    if not draft.shows_calls:
        return False
    message = observer.message(Presence(calls=True))
    null = replace(observer.prober.shape, empty_content=EmptyContent.NULL)
    shown = Observer(observer.prober.using(shape=null)).turn(message)
    return bool(shown.refusal) or shown.text != observer.turn(message).text
