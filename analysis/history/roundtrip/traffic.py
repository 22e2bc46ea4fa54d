"""Real traffic of an engine: what of the prefix cache was lost from one request to the next.

A record is what an engine was given and what it wrote. The next prompt of the same conversation
should begin with both; where it departs from them, the rest has to be computed again. For example
of `<u>Hi<a>` and `<t>Hm.</t>Yes.` the next prompt `<u>Hi<a>Yes.<u>So?<a>` uses `<u>Hi<a>` again,
and what the model wrote is lost: its reasoning was dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoparser.analysis.core.alignment import prefix_length
from autoparser.analysis.learnt import LearntFormat
from autoparser.analysis.loading.tokens import tokenizer_of
from autoparser.analysis.reading.parsing import ParsedMessage

from .cause import Cause
from .edits import EditKind, edits_of
from .remembering import unreadable
from .token_level import shared_tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["PrefixLoss", "Traffic", "TrafficRecord", "prefix_losses"]


@dataclass(frozen=True, slots=True)
class TrafficRecord:
    """One request: what the engine was given, and what it wrote."""

    prompt: str
    completion: str
    prompt_ids: tuple[int, ...] | None = None
    completion_ids: tuple[int, ...] | None = None
    conversation: str | None = None
    """What it belongs to; None where the log does not say."""

    @property
    def whole(self) -> str:
        """What the engine has computed after it."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class PrefixLoss:
    """One request whose prompt does not begin with all that was computed before it."""

    record: int
    """Its place in the log, from 0."""
    after: int
    """The place of the request that it goes on from."""
    cause: Cause
    lost: int
    """Tokens of the earlier request that could not be used again; characters without tokens."""
    sampled: str
    """What was written from the departure on."""
    rendered: str


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a log says of the prefix cache."""

    records: int
    continued: int
    """Requests that go on from an earlier one."""
    kept: int
    """Tokens of earlier requests that were used again; characters without tokens."""
    losses: tuple[PrefixLoss, ...]
    tokenized: bool

    @property
    def lost(self) -> int:
        """All that was lost, in the same unit."""
        return sum(loss.lost for loss in self.losses)


CONTEXT = 60
"""So many characters are kept of what departs."""


def prefix_losses(
    analysis: LearntFormat, records: Sequence[TrafficRecord], *, tokenizer: Tokenizer | None = None
) -> Traffic:
    """Say what each request lost of what the one before it had computed.

    Without token ids and without a tokenizer characters are counted. Raises TokenizerError for a
    tokenizer that cannot encode.
    """
    reader = _TrafficReader(analysis, records, tokenizer)
    losses: list[PrefixLoss] = []
    continued = kept = 0
    for at in range(len(records)):
        before = reader.before(at)
        if before is None:
            continue
        continued += 1
        shared, whole = reader.shared(before, at)
        kept += shared
        if shared < whole:
            losses.append(reader.loss(before, at, whole - shared))
    return Traffic(len(records), continued, kept, tuple(losses), reader.tokenized)


class _TrafficReader:
    """Reads the records of one log."""

    def __init__(
        self, analysis: LearntFormat, records: Sequence[TrafficRecord], tokenizer: Tokenizer | None
    ) -> None:
        self._analysis = analysis
        self._records = records
        self._tokenizer = None if tokenizer is None else tokenizer_of(tokenizer)
        self._parsed: dict[int, ParsedMessage] = {}
        self._ids = all(each.prompt_ids and each.completion_ids is not None for each in records)
        self.tokenized = self._ids or tokenizer is not None

    def before(self, at: int) -> int | None:
        """Return the request that one goes on from: of its conversation, or the most alike.

        Where the log names no conversations, one goes on from a request if its prompt has the
        earlier prompt, or what was said after it. None for the first of a conversation.
        """
        name = self._records[at].conversation
        earlier = range(at - 1, -1, -1)
        if name is not None:
            return next(
                (each for each in earlier if self._records[each].conversation == name), None
            )
        longest = max(earlier, key=lambda each: self._text_shared(each, at), default=None)
        return longest if longest is not None and self._goes_on(longest, at) else None

    def _text_shared(self, before: int, at: int) -> int:
        return prefix_length(self._records[before].whole, self._records[at].prompt)

    def _goes_on(self, before: int, at: int) -> bool:
        earlier, text = self._records[before], self._records[at].prompt
        shared = self._text_shared(before, at)
        said = (self._message(before).content or "").strip()
        return shared >= len(earlier.prompt) - len(self._begun(before)[0]) or (
            bool(said) and said in text[shared:]
        )

    def _begun(self, at: int) -> tuple[str, Sequence[str]]:
        """Return what a prompt has written of the turn, and the strings that stop it."""
        begun = next(iter(self._analysis.formats.behind(self._records[at].prompt)), None)
        if begun is None or begun.opening is None:
            return "", self._analysis.format.stop_strings
        return begun.opening.text, begun.format.stop_strings

    def _message(self, at: int) -> ParsedMessage:
        if at not in self._parsed:
            record = self._records[at]
            parser = self._analysis.parser(prompt=record.prompt)
            self._parsed[at] = parser.parse(record.completion)
        return self._parsed[at]

    def shared(self, before: int, at: int) -> tuple[int, int]:
        """Count what could be used again, and all that was computed."""
        whole, new = self._units(before, whole=True), self._units(at, whole=False)
        return shared_tokens(whole, new), len(whole)

    def _units(self, at: int, *, whole: bool) -> Sequence[object]:
        record = self._records[at]
        if self._ids:
            return (*(record.prompt_ids or ()), *((record.completion_ids or ()) if whole else ()))
        if self._tokenizer is None:
            return record.whole if whole else record.prompt
        written = self._tokenizer.encode(record.completion) if whole else []
        return [*self._tokenizer.encode(record.prompt), *written]

    def loss(self, before: int, at: int, lost: int) -> PrefixLoss:
        """Say why a request lost what it did."""
        whole, text = self._records[before].whole, self._records[at].prompt
        here = prefix_length(whole, text)
        cause = Cause.RETOKENIZED if here == len(whole) else self._cause(before, at, here)
        return PrefixLoss(
            at, before, cause, lost, whole[here : here + CONTEXT], text[here : here + CONTEXT]
        )

    def _cause(self, before: int, at: int, here: int) -> Cause:
        earlier, text = self._records[before], self._records[at].prompt
        opening, stops = self._begun(before)
        if here < len(earlier.prompt) - len(opening):
            turns = (self._message(each).reasoning_content for each in self._chain(before))
            return Cause.REASONING_DROPPED if _gone(turns, earlier.prompt, text) else Cause.EARLIER
        parsed = self._message(before)
        begun = text[min(here, len(earlier.prompt)) :]
        if _gone([parsed.reasoning_content], earlier.completion, begun):
            return Cause.REASONING_DROPPED
        if here < len(earlier.prompt):
            return Cause.HEADER
        stop = next((stop for stop in stops if earlier.completion.endswith(stop)), "")
        if stop and here >= len(earlier.whole) - len(stop):
            return Cause.END
        return _edited(parsed, earlier, text, here) or _lost(parsed, earlier, text)

    def _chain(self, at: int) -> Iterator[int]:
        """Return the requests that one goes on from, the last first."""
        before = self.before(at)
        while before is not None:
            yield before
            before = self.before(before)


_CAUSES: Mapping[EditKind, Cause] = {
    EditKind.REASONING_EDGE: Cause.REASONING_STRIPPED,
    EditKind.CONTENT_EDGE: Cause.CONTENT_STRIPPED,
    EditKind.ARGUMENT_SPACE: Cause.JSON_SPACING,
    EditKind.JOINT: Cause.WHITESPACE,
    EditKind.LITERAL: Cause.LITERALS,
    EditKind.ESCAPE: Cause.JSON_ESCAPES,
    EditKind.VALUE: Cause.VALUES,
}


def _edited(parsed: ParsedMessage, earlier: TrafficRecord, text: str, here: int) -> Cause | None:
    """Find what has to be taken over from the next prompt for the text to go on as it was."""
    for edit in edits_of(parsed, earlier.completion, text, here - len(earlier.prompt), here):
        whole = earlier.prompt + edit.sampled
        added = max(0, len(edit.sampled) - len(earlier.completion))
        if prefix_length(whole, text) > here + added:
            return _CAUSES[edit.kind]
    return None


def _lost(parsed: ParsedMessage, earlier: TrafficRecord, text: str) -> Cause:
    """Name what of a turn is not in the next prompt at all."""
    begun = text[len(earlier.prompt) :]
    if unreadable(parsed) or any(call.name not in begun for call in parsed.tool_calls):
        return Cause.CALL_LOST
    if _gone([parsed.content], earlier.completion, begun):
        return Cause.CONTENT_DROPPED
    return Cause.REWRITTEN


def _gone(texts: Iterable[str | None], there: str, here: str) -> bool:
    """Whether one of these texts stands in one place and not in another."""
    words = (text.strip() for text in texts if text and text.strip())
    return any(word in there and word not in here for word in words)
