"""Find the earlier request that each request of a log continues.

A request goes on from the earlier one whose turn stands last in its prompt. Where nothing was
rewritten, the earlier prompt begins the later one, up to the turn. Else the turn is told by what
led to it, the end of the earlier prompt, with what was said after it: both stand in the later
prompt, after the place where the two part. Of several answers to one prompt that one is meant
whose words follow. A prompt that was asked before, as by a retry, or for several answers, goes on
from nothing.

For example of the prompts `<u>Hi<a>` twice, answered by `Yes.` and `No.`, the second asks again,
and `<u>Hi<a>No.<u>Why?<a>` goes on from it.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from autoparser.analysis.core.text_alignment import prefix_length

LEAD = 64
"""Characters of what led to a turn by which it is found again."""
SAID = 12
"""Characters that are enough to tell what was said where nothing else of a turn is found."""
RECENT = 256
"""Earlier requests that are searched for where a prompt was rewritten."""


@dataclass(frozen=True, slots=True)
class LoggedTurn:
    """A request, by what can be found of it in later prompts."""

    head: str
    """Its prompt, without what that has written of the turn."""
    whole: str
    """Its prompt and what the model wrote."""
    words: Callable[[], Sequence[str]]
    """What was said: the content, which may be empty, and the names of the calls."""
    conversation: str | None


class Ancestry(NamedTuple):
    """What a request goes on from."""

    before: int | None
    """The place of the earlier request, or None if it is the first of its conversation."""
    is_repeat: bool
    """Whether its prompt was asked before; then it goes on from what the first one does."""


class _Origin(NamedTuple):
    """A request that may be gone on from; the greatest is."""

    led: bool
    """Whether what led to its turn stands in the later prompt, not only what was said."""
    place: int
    """Where its turn begins in the later prompt."""
    words_stand: bool
    shared: int
    at: int


@dataclass(slots=True)
class _Conversations:
    """The earlier requests of one conversation, or of all where none has a name."""

    by_head: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    heads: list[str] = field(default_factory=list[str])
    """Sorted: what begins a text stands before it."""
    order: list[int] = field(default_factory=list[int])

    def add(self, at: int, head: str) -> None:
        if head not in self.by_head:
            insort(self.heads, head)
        self.by_head.setdefault(head, []).append(at)
        self.order.append(at)

    def beginning(self, head: str) -> Sequence[int]:
        """Return the requests with the longest prompt that begins a later one."""
        text = head
        while True:
            at = bisect_right(self.heads, text)
            if not at:
                return ()
            nearest = self.heads[at - 1]
            shared = prefix_length(nearest, text)
            if shared == len(nearest):
                return self.by_head[nearest] if nearest else ()
            # What begins both stands before the nearest one, and is no longer than they share.
            text = text[:shared]


def request_lineage(turns: Sequence[LoggedTurn]) -> tuple[Ancestry, ...]:
    """Say of each request of a log what it goes on from."""
    known: dict[str | None, _Conversations] = {}
    found: list[Ancestry] = []
    for at, turn in enumerate(turns):
        earlier = known.setdefault(turn.conversation, _Conversations())
        asked = earlier.by_head.get(turn.head)
        if asked is not None:
            found.append(Ancestry(found[asked[0]].before, is_repeat=True))
        else:
            found.append(Ancestry(_find_origin(turns, turn, earlier), is_repeat=False))
        earlier.add(at, turn.head)
    return tuple(found)


def _find_origin(
    turns: Sequence[LoggedTurn], turn: LoggedTurn, earlier: _Conversations
) -> int | None:
    beginning = earlier.beginning(turn.head)
    for at in reversed(beginning):
        if turn.head.startswith(turns[at].whole):
            return at
    recent = earlier.order[-RECENT:]
    best = max(
        (*_by_beginning(turns, turn, beginning), *_by_words(turns, turn, recent)), default=None
    )
    if best is not None:
        return best.at
    return earlier.order[-1] if earlier.order and turn.conversation is not None else None


def _by_beginning(
    turns: Sequence[LoggedTurn], turn: LoggedTurn, beginning: Iterable[int]
) -> Iterator[_Origin]:
    """Return the requests whose prompts begin the later one."""
    for at in beginning:
        one = turns[at]
        words_stand = _stand_after(one.words(), turn.head, len(one.head))
        yield _Origin(True, len(one.head), words_stand, prefix_length(one.whole, turn.head), at)


def _by_words(
    turns: Sequence[LoggedTurn], turn: LoggedTurn, recent: Iterable[int]
) -> Iterator[_Origin]:
    """Return the requests whose turns stand in a prompt, after where it parts from theirs."""
    for at in recent:
        one = turns[at]
        lead, words = one.head[-LEAD:], one.words()
        led = turn.head.rfind(lead) if lead else -1
        words_at = turn.head.rfind(words[0]) if len(words[0]) >= SAID else -1
        if led < 0 and words_at < 0:
            continue
        parted = prefix_length(one.head, turn.head)
        shared = prefix_length(one.whole, turn.head)
        if (
            led >= 0
            and led + len(lead) >= parted
            and _stand_after(words, turn.head, led + len(lead))
        ):
            yield _Origin(True, led + len(lead), True, shared, at)
        elif words_at >= parted:
            yield _Origin(False, words_at, True, shared, at)


def _stand_after(words: Sequence[str], text: str, place: int) -> bool:
    """Whether there are words, and all of them stand in a text after a place."""
    return any(words) and all(text.find(word, place) >= 0 for word in words)
