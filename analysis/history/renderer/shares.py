"""Which stretch of a render is whose: the share of each message, and what the prompt wrote of it.

The rule: a message's share is what the template writes when the conversation comes to end with
it. So the text between two messages is cut where the render of the conversation up to the first
of them ends; and what the template would write as the generation prompt before an assistant
message is the prompt's, not the model's. Both are read off renders of the first so many
messages, in which marks show where the last text of the earlier message ended.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

from autoparser.analysis.core.alignment import common_prefix
from autoparser.analysis.core.format import TurnFormat

from .history_renders import HistoryRenders, Messages
from .message_places import Places, find_places
from .text_marks import Run

TEMPLATE = -1
"""Stands for a message's number where the text is of no message."""


@dataclass(frozen=True, slots=True)
class MessageShare:
    """One message's stretch of the render."""

    message: int
    start: int
    end: int
    prompted: int
    """Up to where a generation prompt writes it; `start` where none does."""


@dataclass(frozen=True, slots=True)
class Tail:
    """What a conversation of the first so many messages ends with, after a text of theirs."""

    plain: str | None
    """None: the template refuses to end there, or does not write that text."""
    prompt: str | None
    """With the generation prompt."""


TailKey: TypeAlias = tuple[tuple[str, ...], str, str, bool]


@dataclass(slots=True)
class Joints:
    """What was learnt about the texts between messages; serves all renders of one renderer."""

    format: TurnFormat
    tails: dict[TailKey, tuple[Tail, ...]] = field(
        default_factory=dict["TailKey", "tuple[Tail, ...]"]
    )
    """By the roles on both sides, the kind of the last text, the text between, and with tools."""
    headers: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """What was seen to begin a message of each role."""


class Shares:
    """Cuts one render between its messages."""

    def __init__(
        self, renders: HistoryRenders, messages: Messages, text: str, places: Places, joints: Joints
    ) -> None:
        """Prepare to cut `text`, the render of `messages`."""
        self._renders = renders
        self._messages = messages
        self._text = text
        self._places = places
        self._joints = joints
        self._roles = [str(message.get("role")) for message in messages]

    def cut(self) -> list[MessageShare]:
        """Return the shares in the order of the text; what is in none is the template's."""
        return list(self._cut())

    def _cut(self) -> Iterator[MessageShare]:
        runs = self._places.runs
        if not runs:
            return
        message = self._places.message
        start, prompted = self._first(runs[0])
        for run, following in zip(runs, [*runs[1:], None], strict=True):
            current = message(run)
            if following is not None and message(following) == current:
                continue
            end = len(self._text) if following is None else following.start
            then = len(self._messages) if following is None else message(following)
            if then <= current:
                # Written out of order: what stands between goes with what it leads to.
                yield MessageShare(current, start, run.end, prompted)
                start = prompted = run.end
                continue
            cuts = [*self._cuts(run, end, then)]
            yield MessageShare(current, start, cuts[0][0], prompted)
            for at, ((begin, opened), (stop, _)) in enumerate(pairwise(cuts), 1):
                if stop > begin:
                    yield MessageShare(current + at, begin, stop, opened)
            start, prompted = cuts[-1]
            if following is not None:
                header = self._text[start:end]
                self._joints.headers.setdefault(self._roles[then], set()).add(header)

    def _cuts(self, run: Run, end: int, then: int) -> Iterator[tuple[int, int]]:
        """Say where each message after `run`, up to `then`, begins, and its prompt ends."""
        current = self._places.message(run)
        gap = self._text[run.end : end]
        tails = self._tails(run, gap, then)
        cut = 0
        for at, tail in enumerate(tails, 1):
            assistant = self._roles[current + at - 1] == "assistant"
            cut = max(cut, self._cut_at(tail.plain, gap, assistant=assistant))
            prompted = cut
            if tail.prompt is not None and self._is_assistant(current + at):
                prompted = max(cut, self._prompted(tail.prompt, run.end, end))
            yield run.end + cut, run.end + prompted

    def _prompted(self, prompt: str, start: int, end: int) -> int:
        """Count the characters after `start` that a prompt writes; the turn's text is at `end`.

        A prompt that goes on otherwise may begin like the model's text at random.
        """
        if self._text.startswith(prompt, start):
            return len(prompt)
        return agreed(prompt, self._text[start:end])

    def _is_assistant(self, at: int) -> bool:
        return at < len(self._roles) and self._roles[at] == "assistant"

    def _cut_at(self, tail: str | None, gap: str, *, assistant: bool) -> int:
        cut = 0 if tail is None else agreed(tail, gap)
        if not assistant:
            return cut
        # A turn may be closed only once another message follows it.
        for end in self._joints.format.ends:
            close = (end.text if end.historic is None else end.historic).strip()
            rest = gap[cut:]
            at = rest.find(close) if tail is None else len(rest) - len(rest.lstrip())
            if close and at >= 0 and rest.startswith(close, at):
                behind = rest[at + len(close) :]
                space = len(behind) - len(behind.lstrip()) if tail is None else 0
                return cut + at + len(close) + space
        return cut

    def _tails(self, run: Run, gap: str, then: int) -> tuple[Tail, ...]:
        current = self._places.message(run)
        roles = tuple(self._roles[current : then + 1])
        kind = self._places.marks.leaves[run.leaf].kind
        key = (roles, kind.value, gap, bool(self._renders.tools))
        known = self._joints.tails.get(key)
        if known is None:
            known = tuple(self._tail(run.leaf, count) for count in range(current + 1, then + 1))
            self._joints.tails[key] = known
        return known

    def _tail(self, leaf: int, count: int) -> Tail:
        plain = self._behind(leaf, count, generation=False)
        prompt = self._behind(leaf, count, generation=True) if self._is_assistant(count) else None
        return Tail(plain, prompt)

    def _behind(self, leaf: int, count: int, *, generation: bool) -> str | None:
        """Render the first messages, and give what stands after a text of theirs."""
        marked = self._places.marked(self._messages[:count])
        rendered = self._renders.attempt(marked, generation=generation)
        if rendered is None:
            return None
        text, runs = self._places.read(rendered)
        end = max((run.end for run in runs if run.leaf == leaf), default=None)
        return None if end is None else text[end:]

    def _first(self, run: Run) -> tuple[int, int]:
        """Say where the share of the first message begins, and where its prompt ends."""
        before = self._text[: run.start]
        message = self._places.message(run)
        begin = self._header_start(before, message)
        if not self._is_assistant(message):
            return begin, begin
        written = max(
            (agreed(opening.text, before[begin:]) for opening in self._joints.format.openings),
            default=0,
        )
        return begin, begin + written

    def _header_start(self, before: str, message: int) -> int:
        """Say where the header of the first message begins; before it the text is the template's.

        The header is what the template writes before a later message of that role. No later one
        tells that of a system message: all but the beginning of the text is its turn.
        """
        role = self._roles[message]
        if role in _ONLY_FIRST:
            bos = str(self._renders.template.special_tokens.get("bos_token") or "")
            return len(bos) if before.startswith(bos) else 0
        if role not in self._joints.headers:
            self._joints.headers[role] = set()
            self._learn_header(message)
        known = [header for header in self._joints.headers[role] if before.endswith(header)]
        return len(before) - max(map(len, known), default=0)

    def _learn_header(self, message: int) -> None:
        """Render a message of that role after an assistant's, where its header is seen."""
        one = self._messages[message]
        dialogue = [one, {"role": "assistant", "content": "done"}, one]
        text = self._renders.attempt(dialogue)
        if text is not None:
            places = find_places(self._renders, dialogue, text, generation=False)
            Shares(self._renders, dialogue, text, places, self._joints).cut()


_ONLY_FIRST = ("system", "developer")
"""Roles that most templates take in the first message alone."""


def agreed(left: str, right: str) -> int:
    """Count the characters with which both begin; where they part in a marker, not its own."""
    return len(left) if right.startswith(left) else len(common_prefix(left, right))
