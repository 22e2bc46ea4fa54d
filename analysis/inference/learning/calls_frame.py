"""The frame of the calls: what opens and closes a section and a call, seen with sentinels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from autoparser.analysis.core.alignment import Repetition, common_prefix, common_suffix, decompose
from autoparser.analysis.core.conversation import Message, Presence, ToolResult
from autoparser.analysis.core.format import CallLimit
from autoparser.analysis.inference.probing import Prober, call_of

from .indices import INDEX_MARK, counted, numbered
from .observer import ObservedTurn, Observer, SlotKind, SlotMark

CALLS_ONLY = Presence(calls=True)
_CALL_KINDS = (SlotKind.NAME, SlotKind.ID, SlotKind.KEY, SlotKind.VALUE)


@dataclass(frozen=True, slots=True)
class CallGroup:
    """One call in a turn: the text from its first to its last sentinel, and its surroundings."""

    before: str
    inner: str
    after: str
    end: int


@dataclass(frozen=True, slots=True)
class CallsFrame:
    """What surrounds the calls of a turn."""

    repetition: Repetition
    """Prefix: before the first call, in a turn of calls alone; suffix: to the end of the text."""
    inner: str
    """A call from its first to its last sentinel."""
    index_base: int = 0
    goes_on: bool = False
    """Whether the numbers of a later turn go on from those of an earlier one."""
    limit: CallLimit = CallLimit.MANY
    later_close: str = ""
    """Written after every call but the first."""

    def without_header(self, header: str) -> CallsFrame:
        """Leave the header of a turn out of what opens a call, where each call repeats it."""
        cut = self.repetition
        if not header.strip() or not cut.open.startswith(header):
            return self
        return replace(
            self,
            repetition=replace(
                cut,
                prefix=cut.prefix + header,
                open=cut.open.removeprefix(header),
                separator=cut.separator + header,
            ),
        )

    def with_close_before(self, afters: Sequence[str]) -> CallsFrame:
        """Keep of a call's close what is written whatever comes next.

        `afters` are the texts after the last call of a turn of one.
        """
        cut = self.repetition
        written = self.close_of(0)
        if INDEX_MARK in cut.close or all(after.startswith(written) for after in afters):
            return self
        close = common_prefix(written, *afters).rstrip()
        rest = written[len(close) :]
        return replace(
            self,
            repetition=replace(
                cut, close=close, separator=rest + cut.separator, suffix=rest + cut.suffix
            ),
        )

    @property
    def counts(self) -> bool:
        """Whether calls are numbered."""
        return INDEX_MARK in self.call

    @property
    def call(self) -> str:
        """One whole call, of sentinels, with marks where its number stands."""
        return f"{self.repetition.open}{self.inner}{self.repetition.close}"

    def written(self, at: int) -> str:
        """Return the call number `at`, in the sentinels of the first."""
        return numbered(self.call, self.index_base + at)

    def first_open(self) -> str:
        """Return what opens the first call."""
        return numbered(self.repetition.open, self.index_base)

    def close_of(self, at: int) -> str:
        """Return what closes the call number `at`."""
        return numbered(self.repetition.close, self.index_base + at)


def groups(observer: Observer, turn: ObservedTurn, count: int) -> list[CallGroup] | None:
    """Cut a turn into its calls; None where one is missing or they are interleaved."""
    pieces = observer.pieces(turn.text)
    starts = [0]
    for literal in pieces.literals[:-1]:
        starts.append(starts[-1] + len(literal))
    marks = observer.prober.sentinels
    word = {
        SlotKind.NAME: marks.names,
        SlotKind.ID: marks.ids,
        SlotKind.KEY: marks.keys,
        SlotKind.VALUE: marks.values,
    }
    spans: list[tuple[int, int]] = []
    position = 0
    found: dict[int, list[int]] = {}
    for literal, slot in zip(pieces.literals, pieces.slots, strict=False):
        position += len(literal)
        text = word[slot.kind][slot.at] if slot.kind in word else _text_of(observer, slot)
        spans.append((position, position + len(text)))
        if slot.kind in word:
            found.setdefault(slot.at, []).append(len(spans) - 1)
        position += len(text)
    if sorted(found) != list(range(count)):
        return None
    cuts = [(spans[found[at][0]][0], spans[found[at][-1]][1]) for at in range(count)]
    if any(cuts[at][1] > cuts[at + 1][0] for at in range(count - 1)):
        return None
    text = turn.text
    ends = [start for start, _ in cuts[1:]] + [len(text)]
    begins = [0] + [end for _, end in cuts[:-1]]
    return [
        CallGroup(text[begin:start], text[start:end], text[end:following], end)
        for begin, (start, end), following in zip(begins, cuts, ends, strict=True)
    ]


def _text_of(observer: Observer, slot: SlotMark) -> str:
    marks = observer.prober.sentinels
    return marks.reasoning if slot.kind is SlotKind.REASONING else marks.content


def learn_frame(observer: Observer) -> CallsFrame | None:
    """Learn the frame from turns of one, two and three calls; None where no call is shown."""
    one = observer.shown(CALLS_ONLY)
    single = groups(observer, one, 1)
    if single is None:
        return None
    limit = _limit(observer)
    if limit is CallLimit.MANY:
        turn = observer.shown(CALLS_ONLY, 3)
        three = None if turn.refusal else groups(observer, turn, 3)
        if three is not None:
            frame = _frame_of_three(observer, three) or _frame_of_later(single[0], three)
            if frame is not None:
                return replace(frame, goes_on=frame.counts and _goes_on(observer.prober, frame))
    only = single[0]
    # Nothing repeats, so nothing tells the call from its surroundings; its neighbours will.
    return CallsFrame(Repetition(only.before, "", "", "", only.after), only.inner, limit=limit)


def _goes_on(prober: Prober, frame: CallsFrame) -> bool:
    """Whether the first call of a turn is number two where a turn before it has a call."""
    one, other = call_of(prober), call_of(prober, 1)
    answers = [ToolResult(prober.sentinels.answer, each.name, each.id) for each in (other, one)]
    dialogue = (prober.user, Message(calls=(other,)), answers[0], Message(calls=(one,)))
    shown = prober.probe((*dialogue, answers[1]) if prober.shape.answered else dialogue)
    return frame.written(1) in shown.text and frame.written(0) not in shown.text


def _limit(observer: Observer) -> CallLimit:
    two = observer.shown(CALLS_ONLY, 2)
    if two.refusal:
        return CallLimit.REFUSED
    seen = {slot.at for slot in observer.pieces(two.text).slots if slot.kind in _CALL_KINDS}
    if seen == {0}:
        return CallLimit.FIRST
    if seen == {1}:
        return CallLimit.LAST
    return CallLimit.MANY


def _unified(observer: Observer, three: list[CallGroup]) -> list[str]:
    """Return each call's inner text in the words of the first call."""
    marks = observer.prober.sentinels
    texts: list[str] = []
    for at, group in enumerate(three):
        text = group.inner
        for words in (marks.names, marks.ids, marks.keys, marks.values):
            text = text.replace(words[at], words[0])
        texts.append(text)
    return texts


def _frame_of_three(observer: Observer, three: list[CallGroup]) -> CallsFrame | None:
    inner = counted(_unified(observer, three))
    between = counted([three[1].before, three[2].before])
    if inner is None or between is None:
        return None
    before, after = three[0].before, three[2].after
    base = inner[1]
    text = between[0]
    if between[1] >= 0:
        head, _, tail = text.partition(INDEX_MARK)
        first = between[1]
        # The number between two calls belongs to the call after it or to the one before it.
        if before.endswith(f"{first - 1}{tail}"):
            base = first - 1
            before = before[: -len(f"{base}{tail}")] + INDEX_MARK + tail
        elif after.startswith(f"{head}{first + 2}"):
            base = first
            after = head + INDEX_MARK + after[len(f"{head}{first + 2}") :]
        else:
            return None
    return CallsFrame(decompose(before, text, after), inner[0], max(base, 0))


def _frame_of_later(one: CallGroup, three: list[CallGroup]) -> CallsFrame | None:
    """Recognise a template that writes something after every call but the first."""
    first, second = three[1].before, three[2].before
    head = common_prefix(first, second)
    tail = common_suffix(first[len(head) :], second[len(head) :])
    later = second[len(head) : len(second) - len(tail)]
    if first != head + tail or not later:
        return None
    if not one.after.startswith(head) or three[2].after != head + later + one.after[len(head) :]:
        return None
    return CallsFrame(decompose(one.before, first, one.after), one.inner, later_close=later)
