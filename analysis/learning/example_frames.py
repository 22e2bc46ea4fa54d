r"""Conclude the frame of calls from examples: their opening, separator, numbers and close.

`conclude_frame` gathers the literals before, between and after calls, and removes the text that the
prompt, the header or the turn's end has. If no example has two calls, the separator is a guess. Of

    <a><c>look {"city": "Oslo"}</c>\n<c>note {"text": "Ask"}</c><end>

with the header `<a>` and the turn's end `<end>`, before the first call is `<a><c>`, between two
calls `</c>\n<c>` and after the last `</c><end>`. So a call opens with `<c>` and closes with `</c>`,
`\n` separates, and inside is NAME, a space, ARGUMENTS.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from autoparser.analysis.core.call_notation import Row, RowSlot
from autoparser.analysis.core.text_alignment import (
    RepeatedText,
    common_prefix,
    common_suffix,
    split_repetition,
)

from .call_frame import CallsFrame, close_of_later_calls
from .call_numbers import INDEX_MARK
from .call_rows import SeenSlot, row_with_places
from .example_alignment import ShownCall, leading_space, most_frequent
from .example_arguments import ShownArguments
from .examples import ARGUMENTS_MARK, ID_MARK, NAME_MARK

_MARKS = {RowSlot.NAME: NAME_MARK, RowSlot.ID: ID_MARK, RowSlot.ARGUMENTS: ARGUMENTS_MARK}
_SLOTS = [SeenSlot(slot, mark) for slot, mark in _MARKS.items()]


class ShownFrame(Struct, frozen=True):
    """The frame, and a guess if no example has two calls."""

    frame: CallsFrame
    """The literals around calls, with marks in place of names, ids and arguments, e.g. open
    `"[do "` and close `")]"`."""
    guesses: tuple[str, ...] = ()
    """The conclusions that no example shows, in words; at most
    `"the separator of two calls in one turn"`."""


def row_with_slots(text: str) -> Row:
    """Turn the text of a call with marks into a row."""
    return row_with_places(text, _SLOTS)


def conclude_frame(
    calls: Sequence[ShownCall],
    shown_arguments: ShownArguments,
    header: str,
    turn_end: str,
    prompted: Collection[str] = (),
) -> ShownFrame | None:
    """Conclude the frame, or return None if no call shows arguments beside its name.

    `prompted` are texts before calls that do not belong to them: the parts of turns that prompts
    have written, with the header, and the close of reasoning.
    """
    # Calls without arguments may be written differently.
    whole = [call for call in calls if any(slot is RowSlot.ARGUMENTS for slot, _ in call.fields)]
    # With marks for name, id and arguments, calls of one format have one inner text.
    inner = most_frequent(inner_text(call, shown_arguments) for call in whole)
    if inner is None:
        return None
    base = 0
    inners = [(call.at, inner_text(call, shown_arguments)) for call in whole]
    for first in (0, 1):
        marked = {_with_index_mark(text, first + at) for at, text in inners}
        if len(marked) == 1 and len({text for _, text in inners}) > 1:
            inner, base = marked.pop(), first
    befores = [
        _without_prompted(text_before_call(call, shown_arguments), prompted).removeprefix(header)
        for call in whole
        if not call.at
    ]
    afters = [
        _text_before_turn_end(text_after_call(call, shown_arguments), turn_end)
        for call in whole
        if call.last
    ]
    # A call without arguments shows the text before it, too, after one that has some.
    gaps = _gaps_between_calls(whole, shown_arguments) or [
        gap
        for previous, call in pairwise(calls)
        if previous in whole and call.fields[0][0] is previous.fields[0][0]
        for gap in _gaps_between_calls((previous, call), shown_arguments)
    ]
    if not befores or not afters:
        return None
    before, after = common_suffix(*befores), common_prefix(*afters)
    # Some formats write a closer after every call but the first.
    later = _find_later_close(whole, gaps, shown_arguments)
    if later is not None:
        frame = split_repetition(before, later.gap, _text_before_turn_end(later.only, turn_end))
        return ShownFrame(CallsFrame(frame, inner, base, later_close=later.close))
    # Ignore rare texts, so that a few malformed turns do not decide.
    gap = most_frequent(text for _, text in gaps)
    if gap is None:
        return _guess_separator(before, after, inner, base)
    for first in (0, 1):
        marked = {_with_index_mark(text, at + first) for at, text in gaps}
        opened = _with_index_mark(before, first)
        if len(marked) == 1 and INDEX_MARK in common_suffix(opened, next(iter(marked))):
            before, gap, base = opened, marked.pop(), first
            break
    return ShownFrame(CallsFrame(split_repetition(before, gap, after), inner, base))


def without_opened_calls(
    header: str, calls: Sequence[ShownCall], shown_arguments: ShownArguments
) -> str:
    r"""Remove the opening of calls from a header: the prompt has written the first call's opening.

    After a prompt that ends in `>>>`, `look {}` and `all\nWell.>>>look {}>>>note {}` open alike.
    """
    # The prompt may begin the first call of a turn; then later calls show the whole opening.
    firsts = [text_before_call(call, shown_arguments) for call in calls if not call.at]
    others = [text for text in firsts if not text.startswith(header)]
    # A separator ends with the opening that the prompt has written for the first call.
    others += [text for _, text in _gaps_between_calls(calls, shown_arguments)]
    opened = common_suffix(header, *others) if others and header in firsts else ""
    return header.removesuffix(opened) if opened.strip() else header


def inner_text(call: ShownCall, shown_arguments: ShownArguments) -> str:
    """Return a call from its first to its last place, with marks for the places."""
    text = ""
    for at, (slot, _) in enumerate(call.fields):
        if at:
            literal = call.joints[at - 1]
            if slot is RowSlot.ARGUMENTS:
                literal = shown_arguments.before(literal)
            if call.fields[at - 1][0] is RowSlot.ARGUMENTS:
                literal = shown_arguments.after(literal, call.fields[at - 1][1])
            text += literal
        text += _MARKS[slot]
    return text


def text_before_call(call: ShownCall, shown_arguments: ShownArguments) -> str:
    """Return the literal before a call's first place."""
    first = call.fields[0][0]
    return shown_arguments.before(call.before) if first is RowSlot.ARGUMENTS else call.before


def text_after_call(call: ShownCall, shown_arguments: ShownArguments) -> str:
    """Return the literal after a call's last place."""
    slot, marks = call.fields[-1]
    return shown_arguments.after(call.after, marks) if slot is RowSlot.ARGUMENTS else call.after


def _gaps_between_calls(
    calls: Sequence[ShownCall], shown_arguments: ShownArguments
) -> list[tuple[int, str]]:
    """Return the literals between two calls, each with the number of the second."""
    gaps: list[tuple[int, str]] = []
    for previous, call in pairwise(calls):
        if not call.at or previous.at != call.at - 1:
            continue
        text = text_after_call(previous, shown_arguments)
        first = call.fields[0][0]
        gaps.append((call.at, shown_arguments.before(text) if first is RowSlot.ARGUMENTS else text))
    return gaps


class _LaterCalls(NamedTuple):
    """The text after every call but the first."""

    gap: str
    r"""The text between the first call and the second, e.g. `"</c>\n<c>"`."""
    only: str
    """The text after a single call, e.g. `"</c>"`."""
    close: str
    """The text after every call but the first, e.g. `"</all>"`."""


def _find_later_close(
    calls: Sequence[ShownCall], gaps: Sequence[tuple[int, str]], shown_arguments: ShownArguments
) -> _LaterCalls | None:
    r"""Find the close of every call but the first, or return None if all are followed alike.

    Of turns `<c>A</c>`, `<c>A</c>\n<c>B</c></all>` and `<c>A</c>\n<c>B</c></all>\n<c>C</c></all>`
    it is `</all>`. If no turn has three calls, the end of those with two shows it.
    """
    only = most_frequent(
        text_after_call(call, shown_arguments) for call in calls if call.last and not call.at
    )
    several = most_frequent(
        text_after_call(call, shown_arguments) for call in calls if call.last and call.at
    )
    gap = most_frequent(text for at, text in gaps if at == 1)
    if only is None or several is None or gap is None:
        return None
    later_gap = most_frequent(text for at, text in gaps if at > 1)
    if later_gap is not None:
        close = close_of_later_calls(gap, later_gap, only, several)
    else:
        # `head` closes a call, and `rest` ends the turn.
        head = common_prefix(gap, only, several)
        rest = only[len(head) :]
        close = several[len(head) :].removesuffix(rest)
        close = close if several == head + close + rest else ""
    return _LaterCalls(gap, only, close) if close.strip() else None


def _with_index_mark(text: str, number: int) -> str:
    return re.sub(rf"(?<!\d){number}(?!\d)", INDEX_MARK, text)


def _without_prompted(text: str, prompted: Collection[str]) -> str:
    """Remove the text that the prompt has written, as an empty block, unless it opens the call."""
    rests = [text.removeprefix(begun) for begun in prompted if text.startswith(begun)]
    # The longest of the texts that prompts wrote.
    rest = min(rests, key=len, default=text)
    return rest if rest.strip() else text


def _text_before_turn_end(text: str, turn_end: str) -> str:
    core = turn_end.strip()
    return text.partition(core)[0] if core else text


GUESSED_SEPARATOR = "the separator of two calls in one turn"


def _guess_separator(before: str, after: str, inner: str, base: int) -> ShownFrame:
    """Guess the separator of calls from turns of one, by their lines or the list around them."""
    # One call shows no separator: take the whole text around it for its opening and close.
    opening, close = before.lstrip(), after.rstrip()
    section_open = section_close = ""
    # A bracket before an object belongs to a list, whose items are separated by commas.
    listed = re.search(r"\[\s*(?=\{|$)", opening)
    ended = list(re.finditer(r"(?:(?<=[})])|^)\s*\]", close))
    separator = "\n" if "\n" in opening + close else ""
    # `[{…}]`: the brackets belong to the list, and another call would follow a comma.
    if listed and ended:
        section_open, opening = opening[: listed.end()], opening[listed.end() :]
        close, section_close = close[: ended[-1].start()], close[ended[-1].start() :]
        separator = ", "
    space = leading_space(before)
    rest = after[len(after.rstrip()) :]
    repetition = RepeatedText(space + section_open, opening, separator, close, section_close + rest)
    return ShownFrame(CallsFrame(repetition, inner, base), (GUESSED_SEPARATOR,))
