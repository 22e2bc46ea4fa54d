"""Measure how much of the prefix cache an engine's real traffic loses between requests, and why.

    log lines -> read_traffic -> TrafficRecords -> prefix_losses -> Traffic: losses by cause

A record is a prompt and its completion. The next prompt of the same conversation should begin with
both; from where it departs from them, the rest has to be computed again. For example, after
`<u>Hi<a>` and `<t>Hm.</t>Yes.` the next prompt `<u>Hi<a>Yes.<u>So?<a>` reuses `<u>Hi<a>`, and the
completion is lost: its reasoning was dropped.
"""

from __future__ import annotations

import json
from bisect import bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

from msgspec import Meta, Struct

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import read_value
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.parsing.parsed_message import ParsedMessage, Status
from autoparser.analysis.sources.tokenizer import TokenText
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of

from .trip_causes import Cause, text_edits
from .trip_verdict import shared_tokens

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Lineage: the earlier request that each request of a log continues.
#
# It is the request whose turn is the last one in the later prompt. If nothing was rewritten, the
# earlier prompt is a prefix of the later one, up to the turn. Otherwise the turn is found by the
# end of the earlier prompt and the words after it: both are in the later prompt, after the place
# where the two diverge. Of several answers to one prompt, the one whose words follow is continued.
# A prompt that was sent before, e.g. by a retry or for several answers, continues nothing.
#
# For example, if the prompt `<u>Hi<a>` is answered by `Yes.` and again by `No.`, the second request
# is a repeat, and `<u>Hi<a>No.<u>Why?<a>` continues it.


LEAD = 64
"""Characters before a turn by which it is found again."""
ENOUGH_WORDS = 12
"""Characters of content that are enough to find a turn of which nothing else is found."""
RECENT = 256
"""Earlier requests that are searched for where a prompt was rewritten."""


@dataclass(frozen=True, slots=True)
class LoggedTurn:
    """A request, by the texts of it that can be found in later prompts."""

    head: str
    r"""Its prompt, without the part of the turn that the prompt has written, such as
    `"<|im_start|>user\nWho wrote Faust?<|im_end|>\n"`."""
    whole: str
    r"""Its prompt and the completion, such as
    `"<|im_start|>user\nWho wrote Faust?<|im_end|>\n…Goethe.<|im_end|>"`."""
    words: Callable[[], Sequence[str]]
    """The content, which may be empty, and the names of the calls, such as `("It is sunny.",)`."""
    conversation: str | None
    """The conversation's name in the log, such as `"one"`, or None."""


class Ancestry(NamedTuple):
    """The earlier request that a request continues."""

    before: int | None
    """The place of the earlier request, such as `0`, or None if it is the first of its
    conversation."""
    is_repeat: bool
    """Whether its prompt was sent before, as for `"n": 2`; then it continues the same request as
    the first one."""


class _Origin(NamedTuple):
    """A request that may be the one continued; the greatest is."""

    lead_stands: bool
    r"""Whether the text that leads to its turn, such as `"<|im_start|>assistant\n"`, is in the
    later prompt, not only its words."""
    place: int
    """Where its turn begins in the later prompt, such as `56`."""
    words_stand: bool
    """Whether all its words, such as `"It is sunny."`, are in the later prompt."""
    shared: int
    """The length of the common prefix with the later prompt, such as `78`."""
    at: int
    """Its place in the log, such as `0`; of equal ones, the latest is the greatest."""


@dataclass(slots=True)
class _Conversations:
    """The earlier requests of one conversation, or of all where none has a name."""

    by_head: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    """The places of the requests by their head, such as `[0]` for the one that asks
    `"Who wrote Faust?"`."""
    heads: list[str] = field(default_factory=list[str])
    """Sorted heads; a prefix precedes longer heads, e.g. the first question alone precedes the same
    question with its answer."""
    order: list[int] = field(default_factory=list[int])
    """The places of all requests, in the order of the log, such as `[0, 1, 2]`."""

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
            # A prefix of both comes before the nearest one, and is at most their common prefix.
            text = text[:shared]


def request_lineage(turns: Sequence[LoggedTurn]) -> tuple[Ancestry, ...]:
    """Return for each request of a log the one that it continues."""
    known: dict[str | None, _Conversations] = {}
    found: list[Ancestry] = []
    for at, turn in enumerate(turns):
        earlier = known.setdefault(turn.conversation, _Conversations())
        same_prompt = earlier.by_head.get(turn.head)
        # A retry loses nothing, and continues the same request as the first one.
        if same_prompt is not None:
            found.append(Ancestry(found[same_prompt[0]].before, is_repeat=True))
        else:
            found.append(Ancestry(_find_origin(turns, turn, earlier), is_repeat=False))
        earlier.add(at, turn.head)
    return tuple(found)


def _find_origin(
    turns: Sequence[LoggedTurn], turn: LoggedTurn, earlier: _Conversations
) -> int | None:
    beginning = earlier.beginning(turn.head)
    # Of several answers to a prompt, one that the later prompt contains whole is certain.
    for at in reversed(beginning):
        if turn.head.startswith(turns[at].whole):
            return at
    recent = earlier.order[-RECENT:]
    best = max(
        (*_by_beginning(turns, turn, beginning), *_by_words(turns, turn, recent)), default=None
    )
    if best is not None:
        return best.at
    # A named conversation has one order, whatever was rewritten.
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
    """Return the requests whose turns are in a prompt after its common prefix with theirs."""
    for at in recent:
        one = turns[at]
        # A rewritten prompt, e.g. with a new date in the system message, has the same end.
        lead, words = one.head[-LEAD:], one.words()
        lead_at = turn.head.rfind(lead) if lead else -1
        # A short answer such as Yes occurs in many conversations, and proves nothing.
        words_at = turn.head.rfind(words[0]) if len(words[0]) >= ENOUGH_WORDS else -1
        if lead_at < 0 and words_at < 0:
            continue
        parted = prefix_length(one.head, turn.head)
        shared = prefix_length(one.whole, turn.head)
        lead_end = lead_at + len(lead)
        if lead_at >= 0 and lead_end >= parted and _stand_after(words, turn.head, lead_end):
            yield _Origin(True, lead_end, True, shared, at)
        elif words_at >= parted:
            yield _Origin(False, words_at, True, shared, at)


def _stand_after(words: Sequence[str], text: str, place: int) -> bool:
    """Return whether there are words, and all of them are in a text after a place."""
    return any(words) and all(text.find(word, place) >= 0 for word in words)


@dataclass(frozen=True, slots=True)
class TrafficRecord:
    """One request: the engine's prompt and completion."""

    prompt: str
    """The text of the prompt, e.g. `"<u>Hi<a>"`."""
    completion: str
    r"""The text of the completion, with its stop string if the log has it, such as
    `"\n</think>\n\nGoethe.<|im_end|>"`."""
    prompt_ids: tuple[int, ...] | None = None
    """The token ids of the prompt, such as `(72, 105, 262)`, or None if the log has none."""
    completion_ids: tuple[int, ...] | None = None
    """The token ids of the completion, such as `(89, 101, 115, 263)`, or None if the log has
    none."""
    conversation: str | None = None
    """The conversation that it belongs to, such as `"one"`, or None if the log does not name it."""
    line: int = 0
    """Its line in the log, from 1; 0 without a log."""

    @property
    def whole(self) -> str:
        """The text that the engine has computed after it."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class PrefixLoss:
    """One request whose prompt does not begin with all that was computed before it."""

    record: int
    """Its place in the log, from 0."""
    after: int
    """The place of the request that it goes on from, such as `0`."""
    cause: Cause
    """Why the prefix breaks, e.g. `Cause.REASONING_DROPPED`."""
    lost: int
    """Tokens of the earlier request that could not be used again, such as `68`; characters without
    tokens."""
    sampled: str
    r"""The text of the earlier request from the departure on, such as
    `"<think>\nQuito, then.\n</think>\n\nIt rains there.<|im_end|>"`."""
    rendered: str
    r"""The text of the later prompt from the departure on, such as
    `"It rains there.<|im_end|>\n<|im_start|>user\nThanks.<|im_end|>"`."""
    lines: tuple[int, int] | None = None
    """The lines of the two in the log, if it has lines, such as `(2, 1)`."""

    @property
    def place(self) -> str:
        """The places of the two, in words."""
        if self.lines is not None:
            return f"line {self.lines[0]} after line {self.lines[1]}"
        return f"request {self.record + 1} after {self.after + 1}"


@dataclass(frozen=True, slots=True)
class CausedLosses:
    """The losses of one cause."""

    cause: Cause
    """The cause of all of them, such as `Cause.REASONING_DROPPED`."""
    losses: tuple[PrefixLoss, ...]
    """The losses, in the order of the log, such as
    `(PrefixLoss(record=1, after=0, cause=Cause.REASONING_DROPPED, lost=68, …),)`."""

    @property
    def lost(self) -> int:
        """The sum, in the unit of the losses."""
        return sum(loss.lost for loss in self.losses)


@dataclass(frozen=True, slots=True)
class Traffic:
    """The use of the prefix cache in a log."""

    records: int
    """The number of requests, such as `4`."""
    continued: int
    """Requests that go on from an earlier one, such as `2`."""
    repeats: int
    """Requests whose prompt was sent before, such as `1`, as for a retry or several answers; they
    lose nothing."""
    reused_units: int
    """Tokens of earlier requests that were used again, such as `242`; characters without tokens."""
    losses: tuple[PrefixLoss, ...]
    """The losses, in the order of the log, such as
    `(PrefixLoss(record=1, after=0, cause=Cause.REASONING_DROPPED, lost=68, …),)`."""
    tokenized: bool
    """Whether tokens are counted, not characters, as for a log with `prompt_token_ids`."""

    @property
    def lost(self) -> int:
        """All that was lost, in the same unit."""
        return sum(loss.lost for loss in self.losses)

    @property
    def by_cause(self) -> list[CausedLosses]:
        """The losses by cause, the most expensive cause first."""
        causes: dict[Cause, list[PrefixLoss]] = {}
        for loss in self.losses:
            causes.setdefault(loss.cause, []).append(loss)
        found = [CausedLosses(cause, tuple(losses)) for cause, losses in causes.items()]
        return sorted(found, key=lambda losses: -losses.lost)


CONTEXT = 60
"""Characters kept of a departing text."""


def prefix_losses(
    analysis: LearnedFormat, records: Sequence[TrafficRecord], *, tokenizer: Tokenizer | None = None
) -> Traffic:
    """Return the part of the earlier request's computed text that each request lost.

    Without token ids and without a tokenizer, characters are counted. Raises TokenizerError for a
    tokenizer that cannot encode.
    """
    reader = _TrafficReader(analysis, records, tokenizer)
    losses: list[PrefixLoss] = []
    continued = repeats = kept = 0
    for at, origin in enumerate(reader.origins):
        repeats += origin.is_repeat
        if origin.before is None or origin.is_repeat:
            continue
        continued += 1
        shared, whole = reader.count_shared(origin.before, at)
        kept += shared
        if shared < whole:
            losses.append(reader.loss(origin.before, at, whole - shared))
    return Traffic(len(records), continued, repeats, kept, tuple(losses), reader.tokenized)


class _TrafficReader:
    """Reads the records of one log."""

    def __init__(
        self, analysis: LearnedFormat, records: Sequence[TrafficRecord], tokenizer: Tokenizer | None
    ) -> None:
        self._analysis = analysis
        self._read_line = records
        self._tokenizer = None if tokenizer is None else tokenizer_of(tokenizer)
        self._parsed: dict[int, ParsedMessage] = {}
        self._ids = all(
            record.prompt_ids and record.completion_ids is not None for record in records
        )
        self.tokenized = self._ids or tokenizer is not None
        self.origins = request_lineage([self._logged_turn(at) for at in range(len(records))])
        """For each request, the one that it continues."""

    def _logged_turn(self, at: int) -> LoggedTurn:
        record, opening = self._read_line[at], self._opening_and_stops(at)[0]
        head = record.prompt.removesuffix(opening)
        return LoggedTurn(head, record.whole, partial(self._turn_words, at), record.conversation)

    def _turn_words(self, at: int) -> tuple[str, ...]:
        """Return the content and the called names, which later prompts are searched for."""
        message = self._message(at)
        calls = message.begun_calls
        return (message.content or "").strip(), *(call.name for call in calls)

    def _opening_and_stops(self, at: int) -> tuple[str, Sequence[str]]:
        """Return the part of the turn that a prompt has written, and the turn's stop strings."""
        begun = next(iter(self._analysis.formats.behind(self._read_line[at].prompt)), None)
        if begun is None or begun.opening is None:
            return "", self._analysis.format.stop_strings
        return begun.opening.text, begun.format.stop_strings

    def _message(self, at: int) -> ParsedMessage:
        if at not in self._parsed:
            record = self._read_line[at]
            parser = self._analysis.parser(prompt=record.prompt)
            self._parsed[at] = parser.parse(record.completion)
        return self._parsed[at]

    def count_shared(self, before: int, at: int) -> tuple[int, int]:
        """Return how many units could be reused, and how many were computed."""
        whole, new = self._cache_units(before, whole=True), self._cache_units(at, whole=False)
        return shared_tokens(whole, new), len(whole)

    def _cache_units(self, at: int, *, whole: bool) -> Sequence[object]:
        record = self._read_line[at]
        if self._ids:
            return (*(record.prompt_ids or ()), *((record.completion_ids or ()) if whole else ()))
        if self._tokenizer is None:
            return record.whole if whole else record.prompt
        written = self._tokenizer.encode(record.completion) if whole else []
        return [*self._tokenizer.encode(record.prompt), *written]

    def loss(self, before: int, at: int, lost: int) -> PrefixLoss:
        """Return the loss of a request with its cause."""
        whole, text = self._read_line[before].whole, self._read_line[at].prompt
        here = prefix_length(whole, text)
        # The texts agree, so only the tokens can differ.
        cause = Cause.RETOKENIZED if here == len(whole) else self._find_cause(before, at, here)
        lines = self._read_line[at].line, self._read_line[before].line
        return PrefixLoss(
            at,
            before,
            cause,
            lost,
            whole[here : here + CONTEXT],
            text[here : here + CONTEXT],
            lines if all(lines) else None,
        )

    def _find_cause(self, before: int, at: int, here: int) -> Cause:
        """Return why request `at` does not continue request `before`: they differ from `here` on.

        The causes are tried in the order of the text: before the turn, its reasoning, its header,
        its end, its calls, its content.
        """
        earlier, text = self._read_line[before], self._read_line[at].prompt
        opening, stops = self._opening_and_stops(before)
        # The difference precedes the turn, so nothing in this turn is its cause.
        if here < len(earlier.prompt) - len(opening):
            turns = (
                self._message(request).reasoning_content
                for request in self._continued_requests(before)
            )
            return (
                Cause.REASONING_DROPPED if _is_gone(turns, earlier.prompt, text) else Cause.EARLIER
            )
        parsed = self._message(before)
        later_text = text[min(here, len(earlier.prompt)) :]
        if _is_gone([parsed.reasoning_content], earlier.completion, later_text):
            return Cause.REASONING_DROPPED
        if here < len(earlier.prompt):
            return Cause.HEADER
        stop = next((stop for stop in stops if earlier.completion.endswith(stop)), "")
        if stop and here >= len(earlier.whole) - len(stop):
            return Cause.END
        later_text = text[len(earlier.prompt) :]
        later_message = self._read_again(before, later_text, stops)
        return (
            _call_cause(parsed, later_message, earlier.completion, later_text)
            or _cause_by_edit(parsed, earlier, text, here)
            or _content_cause(parsed, later_message, earlier.completion, later_text)
        )

    def _read_again(self, before: int, later_text: str, stops: Sequence[str]) -> ParsedMessage:
        """Parse the turn as it stands in a later prompt, up to the first stop string."""
        places = [at + len(stop) for stop in stops if stop and (at := later_text.find(stop)) >= 0]
        parser = self._analysis.parser(prompt=self._read_line[before].prompt)
        return parser.parse(later_text[: min(places, default=len(later_text))])

    def _continued_requests(self, at: int) -> Iterator[int]:
        """Yield the requests that one continues, the last first."""
        before = self.origins[at].before
        while before is not None:
            yield before
            before = self.origins[before].before


def _cause_by_edit(
    parsed: ParsedMessage, earlier: TrafficRecord, text: str, here: int
) -> Cause | None:
    """Return the cause of an edit, taken from the next prompt, after which the texts agree more."""
    for edit in text_edits(parsed, earlier.completion, text, here - len(earlier.prompt), here):
        whole = earlier.prompt + edit.sampled
        added = max(0, len(edit.sampled) - len(earlier.completion))
        if prefix_length(whole, text) > here + added:
            return edit.cause
    return None


def _call_cause(
    parsed: ParsedMessage, later_message: ParsedMessage, completion: str, later_text: str
) -> Cause | None:
    """Compare the calls of a turn with those in its place in the next prompt."""
    read = parsed.begun_calls
    named = [call.name for call in read] == [call.name for call in later_message.tool_calls]
    broken = [attempt for attempt in parsed.attempts if attempt.status in _BROKEN]
    if any(completion[call.start : call.end].strip() not in later_text for call in broken):
        return Cause.CALL_REPAIRED if read and named else Cause.CALL_LOST
    if not named:
        written_again = later_message.attempts and all(call.name in later_text for call in read)
        return None if written_again or not read else Cause.CALL_LOST
    pairs = [*zip(read, later_message.tool_calls, strict=True)]
    values = [
        (_argument_members(one.arguments), _argument_members(other.arguments))
        for one, other in pairs
    ]
    if any(_is_encoded_twice(call.arguments, later_text) for call in read):
        return Cause.ENCODED_TWICE
    # The values differ; an edit of the text may show why.
    if any(sorted(one) != sorted(other) for one, other in values):
        return None
    if any(one != other for one, other in values):
        return Cause.ORDER
    return Cause.IDS if any(one.id != other.id for one, other in pairs) else None


_BROKEN = (Status.REPAIRED, Status.MALFORMED, Status.CUT)


def _json_or_none(text: str) -> Json:
    try:
        return cast("Json", json.loads(text))
    except ValueError:
        return None


def _is_encoded_twice(arguments: str, later_text: str) -> bool:
    """Return whether a text has arguments as a JSON string, in a spelling that clients use."""
    value = _json_or_none(arguments)
    ways = (
        arguments,
        json.dumps(value),
        json.dumps(value, ensure_ascii=False),
        json.dumps(value, separators=(",", ":")),
    )
    # A string without quotes looks the same when encoded twice.
    return any('"' in way and json.dumps(way)[1:-1] in later_text for way in ways)


def _argument_members(arguments: str) -> list[tuple[str, str]]:
    """Return the arguments in their order, each value as JSON with sorted keys."""
    value = _json_or_none(arguments)
    members = value.items() if isinstance(value, dict) else [(arguments, value)]
    return [(str(name), json.dumps(value, sort_keys=True)) for name, value in members]


def _content_cause(
    parsed: ParsedMessage, later_message: ParsedMessage, completion: str, later_text: str
) -> Cause:
    """Distinguish content missing in the next prompt from a turn written differently."""
    is_missing = _is_gone([parsed.content], completion, later_text)
    # If other words replace the content, it was rewritten, not dropped.
    return Cause.CONTENT_DROPPED if is_missing and not later_message.content else Cause.REWRITTEN


def _is_gone(texts: Iterable[str | None], there: str, here: str) -> bool:
    """Return whether one of these texts is in `there` and not in `here`."""
    words = (text.strip() for text in texts if text and text.strip())
    return any(word in there and word not in here for word in words)


# Logs: JSON lines, `{"prompt": …, "completion": …}`, in chronological order.
#
# Prompt and completion are text or token ids; `conversation` names the request's conversation.
# Lines as engines write them are accepted, too: vLLM's responses with `return_token_ids`
# (`prompt_token_ids`, `token_ids`, `choices`), and SGLang's `--log-requests` in JSON, whose `obj`
# and `out` are its input and output. A log may be truncated or contain other events: a line that
# cannot be parsed is skipped, with the reason.


_WANTED = "write one object a line, with prompt and completion"


class TrafficLogError(AutoparserError):
    """A log, or a line of it, is invalid."""


@dataclass(frozen=True, slots=True)
class TrafficLog:
    """The readable part of a log."""

    records: tuple[TrafficRecord, ...]
    r"""The requests, in the order of the log, such as
    `(TrafficRecord("<|im_start|>user\nWho wrote Faust?…", "\n</think>\n\nGoethe.<|im_end|>"),)`;
    several for a line with several answers."""
    left_out: tuple[TrafficLogError, ...]
    """Why each of the other lines could not be read, such as `"missing completion"`."""


_Ids = tuple[int, ...]
_TextOrIds = Annotated[str | _Ids, Meta(description="text, or token ids")]


class _SglangGiven(Struct, frozen=True):
    text: str | None = None
    """The prompt's text, such as `"Hi<|a|>"`."""
    input_ids: _Ids | None = None
    """The prompt's token ids, such as `(72, 105, 262)`."""


class _SglangWritten(Struct, frozen=True):
    text: str | None = None
    """The completion's text, such as `"Yes"`."""
    output_ids: _Ids | None = None
    """The completion's token ids, such as `(89, 101, 115, 263)`."""


class _LoggedAnswer(Struct, frozen=True):
    """One of several answers to a prompt."""

    text: str = ""
    """The completion's text, such as `"Yes"`."""
    token_ids: _Ids | None = None
    """The completion's token ids, such as `(89, 101, 115, 263)`."""
    prompt_token_ids: _Ids | None = None
    """The prompt's token ids, such as `(72, 105, 262)`, which may stand in each answer."""


class _LoggedRequest(Struct, frozen=True):
    """A line of a log; engines write more than is read."""

    prompt: _TextOrIds = ""
    r"""The prompt, as text, such as
    `"<|im_start|>user\nWho wrote Faust?<|im_end|>\n<|im_start|>assistant\n<think>\n"`, or as ids.
    """
    completion: _TextOrIds = ""
    r"""The completion, as text, such as `"\n</think>\n\nGoethe.<|im_end|>"`, or as ids."""
    prompt_token_ids: _Ids | None = None
    """The prompt's token ids, such as `(72, 105, 262)`, beside its text."""
    token_ids: _Ids | None = None
    """The completion's token ids, such as `(89, 101, 115, 263)`, beside its text."""
    conversation: str | None = None
    """The name of the conversation, such as `"one"`."""
    choices: tuple[_LoggedAnswer, ...] = ()
    """The answers of a response of OpenAI's API, such as those with the texts `"Yes"` and
    `"No"`."""
    obj: _SglangGiven | None = None
    """The input of a line as SGLang logs it, such as one with the text `"Hi<|a|>"`."""
    out: _SglangWritten | None = None
    """The output of a line as SGLang logs it, such as one with the text `"Yes"`."""

    def answers(self) -> tuple[tuple[_TextOrIds, _Ids | None, _TextOrIds, _Ids | None], ...]:
        """Return the prompt and its ids, then the completion and its ids, of each answer."""
        if self.obj is not None:
            out = self.out or _SglangWritten()
            given = self.obj.text or "", self.obj.input_ids
            return ((*given, out.text or "", out.output_ids),) if self.out is not None else ()
        if self.choices:
            return tuple(
                (
                    self.prompt,
                    choice.prompt_token_ids or self.prompt_token_ids,
                    choice.text,
                    choice.token_ids,
                )
                for choice in self.choices
            )
        return ((self.prompt, self.prompt_token_ids, self.completion, self.token_ids),)


def read_traffic(text: str, file: str, *, tokenizer: Tokenizer | None = None) -> TrafficLog:
    """Read a log. Raises TrafficLogError if no line can be read, and TokenizerError.

    Token ids without a text need a tokenizer.
    """
    model = None if tokenizer is None else tokenizer_of(tokenizer, segmenting=True).text
    records: list[TrafficRecord] = []
    left_out: list[TrafficLogError] = []
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            records += _read_line(line, file, number, model) if line.strip() else ()
        except TrafficLogError as error:
            left_out.append(error)
        except LookupError as error:
            words, hint = "token ids need the model's tokenizer", "add --tokenizer PATH"
            place = f"line {number}"
            raise TrafficLogError(words, file=file, place=place, hint=hint) from error
    if not records:
        empty = TrafficLogError("the log is empty", file=file, hint=_WANTED)
        raise next(iter(left_out), empty)
    return TrafficLog(tuple(records), tuple(left_out))


def _read_line(line: str, file: str, number: int, model: TokenText | None) -> list[TrafficRecord]:
    place = f"line {number}"
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TrafficLogError("invalid JSON", file=file, place=place, hint=_WANTED) from error
    given = read_value(value, _LoggedRequest, file=file, place=place, wrong=TrafficLogError)
    found: list[TrafficRecord] = []
    for prompt, prompt_ids, written, ids in given.answers():
        prompt_text, prompt_tokens = _text_and_ids(prompt, prompt_ids, model, place)
        completion, tokens = _text_and_ids(written, ids, model, place)
        if not prompt_text:
            hint = "add prompt, or prompt_token_ids"
            raise TrafficLogError("missing prompt", file=file, place=place, hint=hint)
        whose = given.conversation
        found.append(
            TrafficRecord(prompt_text, completion, prompt_tokens, tokens, whose, line=number)
        )
    if not found:
        raise TrafficLogError("missing completion", file=file, place=place, hint=_WANTED)
    return found


def _text_and_ids(
    value: _TextOrIds, ids: _Ids | None, model: TokenText | None, place: str
) -> tuple[str, _Ids | None]:
    """Return a text and its ids, if known. Raises LookupError for ids alone without a tokenizer.

    The decoded ids are preferred, as the text in an engine's response may lack special tokens.
    """
    text = "" if isinstance(value, tuple) else value
    ids = value if isinstance(value, tuple) else ids
    if ids is None or (text and model is None):
        return text, ids
    if model is None:
        raise LookupError
    # Ids beyond the vocabulary show that the log and the tokenizer belong to different models.
    model.check(ids, f"{place}, ids")
    return model.decode(ids), ids
