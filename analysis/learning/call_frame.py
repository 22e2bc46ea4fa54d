r"""Learn the frame of calls by sentinels: the text that opens and closes a section and a call.

`learn_frame` renders turns of one, two and three calls and splits the repeated text from its
surroundings. From the turn of three calls, with inner texts A, B and C,

    <|assistant|><c>A</c>;<c>B</c>;<c>C</c><|end|>

the text between two calls is `</c>;<c>`. What it shares with the text before the first call, `<c>`,
opens a call; what it shares with the text after the last, `</c>`, closes it; `;` separates. For
`fixtures/templates/a1-function-parameter.jinja` that gives

    prefix       '<|im_start|>assistant\n<think>\n\n</think>\n\n'
    open         '<tool_call>\n<function='
    inner        'qkphffqx>\n<parameter=mcdsbpxt>\nzhvwxqzm'    first sentinel to last
    close        '\n</parameter>\n</function>\n</tool_call>'
    separator    '\n'
    suffix       '<|im_end|>\n'
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct, structs
from msgspec.structs import replace

from autoparser.analysis.core.call_format import CallLimit
from autoparser.analysis.core.conversation import Message, Presence, ToolResult
from autoparser.analysis.core.text_alignment import RepeatedText, common_prefix, split_repetition

from .call_numbers import INDEX_MARK, fill_number, mark_numbers
from .observer import ObservedTurn, Observer, SlotKind

_CALLS = Presence(calls=True)
_CALL_KINDS = (SlotKind.NAME, SlotKind.ID, SlotKind.KEY, SlotKind.VALUE)


class CallGroup(NamedTuple):
    """One call in a turn: the text from its first to its last sentinel, and its surroundings."""

    before: str
    r"""From the previous call, or the turn's start, e.g. `"\n<tool_call>\n<function="`."""
    inner: str
    r"""E.g. `"qkphffqx>\n<parameter=mcdsbpxt>\nzhvwxqzm"`."""
    after: str
    r"""Up to the next call, or the turn's end, e.g.
    `"\n</parameter>\n</function>\n</tool_call>"`."""


class CallsFrame(Struct, frozen=True):
    """The text around the calls of a turn."""

    repetition: RepeatedText
    r"""E.g. open `"<tool_call>\n<function="`, separator `"\n"`, close
    `"\n</parameter>\n</function>\n</tool_call>"`; `prefix` is the text before the first call in a
    turn of calls alone, `suffix` the rest of the turn, e.g. `"<|im_end|>\n"`."""
    inner: str
    r"""A call from its first to its last sentinel, e.g.
    `"qkphffqx>\n<parameter=mcdsbpxt>\nzhvwxqzm"`."""
    index_base: int = 0
    """The number of the first call, e.g. 0 for `functions.f:0`; 0 if calls are not numbered."""
    goes_on: bool = False
    """Whether the numbers of a later turn continue those of an earlier one, as `functions.g:1`
    does."""
    limit: CallLimit = CallLimit.MANY
    """Whether a turn may have several calls, e.g. `CallLimit.MANY`."""
    later_close: str = ""
    """The text after every call but the first, e.g. `"</all>"`; usually empty."""

    def without_header(self, header: str) -> CallsFrame:
        """Remove the turn's header from the opening of a call, if each call repeats it."""
        cut = self.repetition
        if not header.strip() or not cut.open.startswith(header):
            return self
        return replace(
            self,
            repetition=structs.replace(
                cut,
                prefix=cut.prefix + header,
                open=cut.open.removeprefix(header),
                separator=cut.separator + header,
            ),
        )

    def with_close_before(self, afters: Sequence[str]) -> CallsFrame:
        """Reduce a call's close to the text that is written whatever comes next.

        `afters` are the texts after the call in turns of one call.
        """
        cut = self.repetition
        written = self.first_close()
        # A close with a number belongs to its call, not to the text after it.
        if INDEX_MARK in cut.close or all(after.startswith(written) for after in afters):
            return self
        # Whitespace at the end of the close separates the call from the text after it.
        close = common_prefix(written, *afters).rstrip()
        rest = written[len(close) :]
        return replace(
            self,
            repetition=structs.replace(
                cut, close=close, separator=rest + cut.separator, suffix=rest + cut.suffix
            ),
        )

    @property
    def counts(self) -> bool:
        """Whether calls are numbered."""
        return INDEX_MARK in self.call

    @property
    def call(self) -> str:
        """One whole call of sentinels, with marks for its number."""
        return f"{self.repetition.open}{self.inner}{self.repetition.close}"

    def call_text(self, at: int) -> str:
        """Return call number `at`, in the sentinels of the first."""
        return fill_number(self.call, self.index_base + at)

    def first_open(self) -> str:
        """Return the opening of the first call."""
        return fill_number(self.repetition.open, self.index_base)

    def first_close(self) -> str:
        """Return the close of the first call."""
        return fill_number(self.repetition.close, self.index_base)


def group_calls(observer: Observer, turn: ObservedTurn, count: int) -> list[CallGroup] | None:
    """Cut a turn into its calls; return None if one is missing or they are interleaved."""
    marks = observer.prober.sentinels
    words = {
        word: at
        for sentinels in (marks.names, marks.ids, marks.keys, marks.values)
        for at, word in enumerate(sentinels)
    }
    spans: dict[int, list[tuple[int, int]]] = {}
    text = turn.text
    for found in re.finditer("|".join(words), text):
        spans.setdefault(words[found.group()], []).append(found.span())
    # A missing or additional call would give literals of other calls.
    if sorted(spans) != list(range(count)):
        return None
    cuts = [(spans[at][0][0], spans[at][-1][1]) for at in range(count)]
    # All names precede all arguments, so no text belongs to a single call.
    if any(one[1] > other[0] for one, other in pairwise(cuts)):
        return None
    begins = [0] + [end for _, end in cuts[:-1]]
    ends = [start for start, _ in cuts[1:]] + [len(text)]
    return [
        CallGroup(text[begin:start], text[start:end], text[end:following])
        for begin, (start, end), following in zip(begins, cuts, ends, strict=True)
    ]


def learn_frame(observer: Observer) -> CallsFrame | None:
    """Learn the frame from turns of one, two and three calls; return None if no call is shown."""
    alone = group_calls(observer, observer.sample(_CALLS), 1)
    if alone is None:
        return None
    single = alone[0]
    # Three calls show the separator twice, so that counting numbers show, too.
    limit = _learn_limit(observer)
    if limit is CallLimit.MANY:
        turn = observer.sample(_CALLS, 3)
        three = None if turn.refusal else group_calls(observer, turn, 3)
        if three is not None:
            frame = _frame_of_three(observer, three) or _frame_of_later(single, three)
            if frame is not None:
                return replace(frame, goes_on=frame.counts and _continues_numbers(observer, frame))
    # Nothing repeats, so no separator shows where the call begins and ends; its neighbors will.
    return CallsFrame(
        RepeatedText(single.before, "", "", "", single.after), single.inner, limit=limit
    )


def _continues_numbers(observer: Observer, frame: CallsFrame) -> bool:
    """Whether the first call of a turn is number two if an earlier turn has a call."""
    prober = observer.prober
    one, other = observer.call(), observer.call(1)
    answers = [ToolResult(prober.sentinels.answer, call.name, call.id) for call in (other, one)]
    dialogue = (prober.user, Message(calls=(other,)), answers[0], Message(calls=(one,)))
    shown = prober.probe((*dialogue, answers[1]) if prober.shape.answered else dialogue)
    return frame.call_text(1) in shown.text and frame.call_text(0) not in shown.text


def _learn_limit(observer: Observer) -> CallLimit:
    two = observer.sample(_CALLS, 2)
    if two.refusal:
        return CallLimit.REFUSED
    # Which of two calls are in the text decides whether the template drops one.
    seen = {slot.at for slot in observer.pieces(two.text).slots if slot.kind in _CALL_KINDS}
    if seen == {0}:
        return CallLimit.FIRST
    if seen == {1}:
        return CallLimit.LAST
    return CallLimit.MANY


def _inner_texts(observer: Observer, three: list[CallGroup]) -> list[str]:
    """Return each call's inner text in the sentinels of the first call."""
    marks = observer.prober.sentinels
    texts: list[str] = []
    for at, group in enumerate(three):
        text = group.inner
        for words in (marks.names, marks.ids, marks.keys, marks.values):
            text = text.replace(words[at], words[0])
        texts.append(text)
    return texts


def _frame_of_three(observer: Observer, three: list[CallGroup]) -> CallsFrame | None:
    """Split the texts around three calls into section, separator and call, and find their numbers.

    A number between two calls belongs to the earlier or the later one: the other edge decides.
    """
    # Seen with the sentinels of the first call, three calls are equal except for their numbers.
    inner = mark_numbers(_inner_texts(observer, three))
    between = mark_numbers([three[1].before, three[2].before])
    if inner is None or between is None:
        return None
    before, after = three[0].before, three[2].after
    base = inner[1]
    text = between[0]
    if between[1] >= 0:
        head, _, tail = text.partition(INDEX_MARK)
        first = between[1]
        # The number between two calls belongs to the call on one side or the other.
        if before.endswith(f"{first - 1}{tail}"):
            base = first - 1
            before = before[: -len(f"{base}{tail}")] + INDEX_MARK + tail
        elif after.startswith(f"{head}{first + 2}"):
            base = first
            after = head + INDEX_MARK + after[len(f"{head}{first + 2}") :]
        else:
            return None
    return CallsFrame(split_repetition(before, text, after), inner[0], max(base, 0))


def _frame_of_later(single: CallGroup, three: list[CallGroup]) -> CallsFrame | None:
    """Recognize a template that writes something after every call but the first."""
    first = three[1].before
    later = close_of_later_calls(first, three[2].before, single.after, three[2].after)
    if not later:
        return None
    return CallsFrame(
        split_repetition(single.before, first, single.after), single.inner, later_close=later
    )


def close_of_later_calls(first: str, second: str, single: str, last: str) -> str:
    """Return the text after every call but the first, or an empty text if all are followed alike.

    `first` and `second` are the texts between three calls, `single` is the text after a single
    call, `last` the text after the last of several.
    """
    head = common_prefix(first, second)
    rest = first[len(head) :]
    close = second[len(head) :].removesuffix(rest)
    repeats = second == head + close + rest
    repeats = repeats and single.startswith(head) and last.startswith(head + close)
    return close if repeats and close.strip() else ""
