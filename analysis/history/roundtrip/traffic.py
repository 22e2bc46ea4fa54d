"""Real traffic of an engine: what of the prefix cache was lost from one request to the next.

A record is what an engine was given and what it wrote. The next prompt of the same conversation
should begin with both; where it departs from them, the rest has to be computed again. For example
of `<u>Hi<a>` and `<t>Hm.</t>Yes.` the next prompt `<u>Hi<a>Yes.<u>So?<a>` uses `<u>Hi<a>` again,
and what the model wrote is lost: its reasoning was dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, cast

from autoparser.analysis.core.alignment import prefix_length
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.learnt import LearntFormat
from autoparser.analysis.loading.tokens import tokenizer_of
from autoparser.analysis.reading.parsing import ParsedMessage, Status

from .cause import Cause
from .edits import EditKind, edits_of
from .token_level import shared_tokens
from .traffic_lineage import LoggedTurn, lineage

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["CausedLosses", "PrefixLoss", "Traffic", "TrafficRecord", "prefix_losses"]


@dataclass(frozen=True, slots=True)
class TrafficRecord:
    """One request: what the engine was given, and what it wrote."""

    prompt: str
    completion: str
    prompt_ids: tuple[int, ...] | None = None
    completion_ids: tuple[int, ...] | None = None
    conversation: str | None = None
    """What it belongs to; None where the log does not say."""
    line: int = 0
    """Where it stands in the log, from 1; 0 where it comes from none."""

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
    lines: tuple[int, int] | None = None
    """Where the two stand in the log, where it has lines."""

    @property
    def place(self) -> str:
        """Where the two stand, in words."""
        if self.lines is not None:
            return f"line {self.lines[0]} after line {self.lines[1]}"
        return f"request {self.record + 1} after {self.after + 1}"


@dataclass(frozen=True, slots=True)
class CausedLosses:
    """What was lost by one cause."""

    cause: Cause
    losses: tuple[PrefixLoss, ...]

    @property
    def lost(self) -> int:
        """The sum, in the unit of the losses."""
        return sum(loss.lost for loss in self.losses)


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a log says of the prefix cache."""

    records: int
    continued: int
    """Requests that go on from an earlier one."""
    again: int
    """Requests whose prompt was asked before, as by a retry or for several answers; they lose
    nothing."""
    kept: int
    """Tokens of earlier requests that were used again; characters without tokens."""
    losses: tuple[PrefixLoss, ...]
    tokenized: bool

    @property
    def lost(self) -> int:
        """All that was lost, in the same unit."""
        return sum(loss.lost for loss in self.losses)

    @property
    def by_cause(self) -> list[CausedLosses]:
        """The losses by what caused them, that which costs most first."""
        causes: dict[Cause, list[PrefixLoss]] = {}
        for loss in self.losses:
            causes.setdefault(loss.cause, []).append(loss)
        found = [CausedLosses(cause, tuple(losses)) for cause, losses in causes.items()]
        return sorted(found, key=lambda each: -each.lost)


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
    continued = again = kept = 0
    for at, origin in enumerate(reader.origins):
        again += origin.again
        if origin.before is None or origin.again:
            continue
        continued += 1
        shared, whole = reader.shared(origin.before, at)
        kept += shared
        if shared < whole:
            losses.append(reader.loss(origin.before, at, whole - shared))
    return Traffic(len(records), continued, again, kept, tuple(losses), reader.tokenized)


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
        self.origins = lineage([self._turn(at) for at in range(len(records))])
        """What each request goes on from."""

    def _turn(self, at: int) -> LoggedTurn:
        record, opening = self._records[at], self._begun(at)[0]
        head = record.prompt.removesuffix(opening)
        return LoggedTurn(head, record.whole, partial(self._words, at), record.conversation)

    def _words(self, at: int) -> tuple[str, ...]:
        """Return what was said, as later prompts are searched for it."""
        message = self._message(at)
        calls = message.begun_calls
        return (message.content or "").strip(), *(call.name for call in calls)

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
        lines = self._records[at].line, self._records[before].line
        return PrefixLoss(
            at,
            before,
            cause,
            lost,
            whole[here : here + CONTEXT],
            text[here : here + CONTEXT],
            lines if all(lines) else None,
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
        begun = text[len(earlier.prompt) :]
        again = self._read_again(before, begun, stops)
        return (
            _calls_changed(parsed, again, earlier.completion, begun)
            or _edited(parsed, earlier, text, here)
            or _content_changed(parsed, again, earlier.completion, begun)
        )

    def _read_again(self, before: int, begun: str, stops: Sequence[str]) -> ParsedMessage:
        """Read the turn as it stands in a later prompt, up to the first that ends turns."""
        places = [at + len(stop) for stop in stops if stop and (at := begun.find(stop)) >= 0]
        parser = self._analysis.parser(prompt=self._records[before].prompt)
        return parser.parse(begun[: min(places, default=len(begun))])

    def _chain(self, at: int) -> Iterator[int]:
        """Return the requests that one goes on from, the last first."""
        before = self.origins[at].before
        while before is not None:
            yield before
            before = self.origins[before].before


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


def _calls_changed(
    parsed: ParsedMessage, again: ParsedMessage, written: str, begun: str
) -> Cause | None:
    """Compare the calls of a turn with those that the next prompt has in its place."""
    read = parsed.begun_calls
    named = [call.name for call in read] == [call.name for call in again.tool_calls]
    broken = [each for each in parsed.attempts if each.status in _BROKEN]
    if any(written[each.start : each.end].strip() not in begun for each in broken):
        return Cause.CALL_REPAIRED if read and named else Cause.CALL_LOST
    if not named:
        written_again = again.attempts and all(call.name in begun for call in read)
        return None if written_again or not read else Cause.CALL_LOST
    pairs = [*zip(read, again.tool_calls, strict=True)]
    values = [(_members(one.arguments), _members(other.arguments)) for one, other in pairs]
    if any(_encoded_twice(call.arguments, begun) for call in read):
        return Cause.ENCODED_TWICE
    if any(sorted(one) != sorted(other) for one, other in values):
        return None
    if any(one != other for one, other in values):
        return Cause.ORDER
    return Cause.IDS if any(one.id != other.id for one, other in pairs) else None


_BROKEN = (Status.REPAIRED, Status.MALFORMED, Status.CUT)


def _json(text: str) -> Json:
    try:
        return cast("Json", json.loads(text))
    except ValueError:
        return None


def _encoded_twice(arguments: str, begun: str) -> bool:
    """Whether a text has arguments as a JSON string; clients write JSON in one of these ways."""
    value = _json(arguments)
    ways = (
        arguments,
        json.dumps(value),
        json.dumps(value, ensure_ascii=False),
        json.dumps(value, separators=(",", ":")),
    )
    # Without a quote in it the string looks like what it holds.
    return any('"' in way and json.dumps(way)[1:-1] in begun for way in ways)


def _members(arguments: str) -> list[tuple[str, str]]:
    """Return the arguments in their order, each value as JSON that looks at no order within."""
    value = _json(arguments)
    members = value.items() if isinstance(value, dict) else [(arguments, value)]
    return [(str(name), json.dumps(each, sort_keys=True)) for name, each in members]


def _content_changed(
    parsed: ParsedMessage, again: ParsedMessage, written: str, begun: str
) -> Cause:
    """Tell content that is not in the next prompt from a turn that is written otherwise."""
    gone = _gone([parsed.content], written, begun)
    # Other words in the place of those are no content that was dropped.
    return Cause.CONTENT_DROPPED if gone and not again.content else Cause.REWRITTEN


def _gone(texts: Iterable[str | None], there: str, here: str) -> bool:
    """Whether one of these texts stands in one place and not in another."""
    words = (text.strip() for text in texts if text and text.strip())
    return any(word in there and word not in here for word in words)
