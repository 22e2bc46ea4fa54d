"""Parse sampled ids to a message, given the part of the turn that the prompt has written.

After the prompt `<u>Hi</s><a>`, whose `PromptEnd.opening` is `<a>`, and with one token for each
marker and letter, the output `Yes.</s>x` is

    ReadOutput(message=<content "Yes.">, text="Yes.", stop=4)

since the token 4 is the stop `</s>`; the `x` after it is ignored.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import ParsedMessage, Status
from autoparser.analysis.parsing.text_tape import SpanKind
from autoparser.analysis.parsing.turn_request import ReadingChoices, RequestError
from autoparser.analysis.sources.tokenizer import TokenText

from .request_arguments import checked_tools, tools_key
from .turn_stops import turn_stops

PROMPT_TAIL = 48
"""The number of tokens at a prompt's end that are searched first for a generation prompt."""

MOST_PARSERS = 64


@dataclass(frozen=True, slots=True)
class ReadOutput:
    """A parsed output."""

    message: ParsedMessage
    """The parsed message, such as
    `<ParsedMessage ok: reasoning 'The user asks about Rio.'; calls 'get_weather'>`."""
    text: str
    r"""The parsed text, up to the stop token, such as
    `"<think>\nThe user asks about Ulm.\n</think>\n\nIt is sunny in Ulm."`."""
    stop: int | None
    """The index of the stop token in the ids, or of the last token of a stop of several tokens,
    such as `102`; None without a stop."""
    stop_text: str = ""
    """The text of the stop, such as `"<|im_end|>"`."""
    behind: str = ""
    r"""The text that the engine returned after the stop, such as `"\n"`."""


@dataclass(frozen=True, slots=True)
class PromptEnd:
    """The end of a prompt."""

    tail: str
    r"""The text of its last tokens, such as
    `"r", "degrees": 10}\n</tool_response><|im_end|>\n<|im_start|>assistant\n"`."""
    opening: str
    r"""The generation prompt, such as `"<|im_start|>assistant\n"`, or the part of it that opens the
    reasoning; empty if the turn continues after a tool result, or if the prompt is unknown."""


class Responses:
    """Parses outputs, with one cached parser for each kind of prompt."""

    def __init__(
        self,
        analysis: Analysis,
        tokens: TokenText,
        switches: Mapping[str, object],
        choices: ReadingChoices,
    ) -> None:
        """Store the arguments; parsers are made on first use."""
        self._analysis, self._choices = analysis, choices
        self._text = tokens
        self._switches = switches
        self._parsers: dict[tuple[str, bytes], OutputParser] = {}
        # The output that was parsed last is usually bridged next.
        self._last: tuple[tuple[object, ...], ReadOutput] | None = None
        self._end: tuple[tuple[int, ...], PromptEnd] | None = None
        self.stops = turn_stops(analysis, tokens)
        self._spelled = [stop for stop in self.stops.all if stop.eos is None]
        openings = analysis.formats.openings
        self._longest = max((len(opening.text) for opening in openings), default=0)
        reasoning = analysis.formats.fullest.reasoning
        # After the result of a call some templates open the reasoning and write no header.
        self._cores = [opening.text.rstrip() for opening in openings] + (
            [] if reasoning is None else [reasoning.open.core]
        )

    def parse(
        self,
        ids: Sequence[int],
        prompt: Sequence[int],
        *,
        tools: Sequence[object] | None = None,
        complete: bool = True,
    ) -> ReadOutput:
        """Read an output up to the token that ends it."""
        self._text.check(ids, "token_ids")
        key = (tuple(ids), self.end_of(prompt), tools_key(tools), complete)
        if self._last is None or self._last[0] != key:
            self._last = (key, self._parse_ids(ids, prompt, tools, complete=complete))
        return self._last[1]

    def _parse_ids(
        self,
        ids: Sequence[int],
        prompt: Sequence[int],
        tools: Sequence[object] | None,
        *,
        complete: bool,
    ) -> ReadOutput:
        parser = self._parser(self.end_of(prompt), tools)
        stop = self._find_stop(ids, prompt, parser)
        if stop is None:
            text = self._text.decode(ids, prompt)
            spelled = self._spelled_stop(ids, prompt, text, parser)
            return spelled or ReadOutput(parser.parse(text, complete=complete), text, None)
        text = self._text.decode(ids[:stop], prompt)
        message = parser.parse(text)
        if message.status is Status.REPAIRED or message.tool_calls:
            # The stop token may close the call; any other end token counts as content here.
            closed = parser.parse(self._text.decode(ids[: stop + 1], prompt))
            message = closed if closed.status.regular else message
        until = stop + 1
        behind = self._text.decode(ids[until:], ids[:until]) if len(ids) > until else ""
        return ReadOutput(message.ended(), text, stop, self._text.decode([ids[stop]]), behind)

    def stop(
        self, ids: Sequence[int], prompt: Sequence[int], tools: Sequence[object] | None
    ) -> int | None:
        """Return the place of the token that ends an output, or None if none does."""
        parser = self._parser(self.end_of(prompt), tools)
        stop = self._find_stop(ids, prompt, parser)
        if stop is not None or not self._spelled:
            return stop
        spelled = self._spelled_stop(ids, prompt, self._text.decode(ids, prompt), parser)
        return None if spelled is None else spelled.stop

    def _spelled_stop(
        self, ids: Sequence[int], prompt: Sequence[int], text: str, parser: OutputParser
    ) -> ReadOutput | None:
        """Read an output with a stop of several tokens, or return None if none ends it.

        Such a text may be content, too, so the parser decides whether it ends the turn.
        """
        if not any(stop.text in text for stop in self._spelled):
            return None
        message = parser.parse(text)
        if message.missing_end:
            return None
        kinds = (SpanKind.MARKUP, SpanKind.JUNK)
        last = max((span.end for span in message.spans if span.kind not in kinds), default=0)
        begun = bool(message.content or message.tool_calls)
        stops = [stop.text for stop in self._spelled if begun or not stop.inside]
        found = [(at, -len(stop), stop) for stop in stops if (at := text.find(stop, last)) >= 0]
        if not found:
            return None
        start, _, stop = min(found)
        end = start + len(stop)
        decoded = TextLengths(ids, partial(self._text.decode, before=prompt))
        # The last token of the stop may hold text after it, too.
        at = bisect_left(range(len(ids)), end, key=lambda at: decoded.of(at + 1))
        return ReadOutput(message.ended(), text[:start], at, stop, text[end:])

    def _find_stop(
        self, ids: Sequence[int], prompt: Sequence[int], parser: OutputParser
    ) -> int | None:
        for at, id_ in enumerate(ids):
            if id_ in self.stops.ids:
                return at
            # Between two parts of a turn, e.g. after reasoning, this text does not end the output.
            if id_ in self.stops.inside_ids:
                message = parser.parse(self._text.decode(ids[:at], prompt), complete=False)
                if message.content or message.tool_calls:
                    return at
        return None

    def unwritten_closer(
        self,
        message: ParsedMessage,
        text: str,
        closer: str,
        prompt: Sequence[int],
        tools: Sequence[object] | None,
    ) -> str:
        """Return the end of `closer` that a text lacks, or "" if it has all of it.

        `message` was parsed from the text, which has no end of the turn. Also "" if no end of it
        closes the text, as after a call with another fault.
        """
        if not closer.strip() or text.rstrip().endswith(closer.strip()):
            return ""
        parser = self._parser(self.end_of(prompt), tools)
        for at in range(len(closer), -1, -1):
            if text.endswith(closer[:at]):
                # `}` may close an argument only, so the parser decides whether all is closed.
                closed = parser.parse(text + closer[at:])
                is_open = closed.reasoning_end is None and not (closed.content or closed.tool_calls)
                if (
                    closed.status.regular
                    and _comparable_parts(closed) == _comparable_parts(message)
                    and not is_open
                ):
                    return closer[at:]
        return ""

    def _parser(self, end: PromptEnd, tools: Sequence[object] | None) -> OutputParser:
        begun = end.opening or end.tail
        key = (begun, tools_key(tools))
        known = self._parsers.get(key)
        if known is None:
            if len(self._parsers) >= MOST_PARSERS:
                self._parsers.clear()
            checked_tools(tools)
            known = self._analysis.parser(
                tools,
                prompt=begun or None,
                chat_template_kwargs=self._switches or None,
                **self._choices,
            )
            self._parsers[key] = known
        return known

    def end_of(self, prompt: Sequence[int]) -> PromptEnd:
        """Return the end of a prompt: its text, and the part of it that belongs to the turn."""
        if not len(prompt):
            return PromptEnd("", "")
        ids = tuple(prompt[-PROMPT_TAIL:])
        if self._end is None or self._end[0] != ids:
            self._end = (ids, self._read_end(prompt))
        return self._end[1]

    def _read_end(self, prompt: Sequence[int]) -> PromptEnd:
        first = max(0, len(prompt) - max(PROMPT_TAIL, self._longest))
        # Only the part that is decoded: a long prompt costs time at every turn.
        self._text.check(prompt[first:], "prompt_ids", first)
        tail = self._text.decode(prompt[-PROMPT_TAIL:])
        if len(tail) < self._longest < len(prompt):
            tail = self._text.decode(prompt[-self._longest :])
        bare = tail.rstrip()
        matching = [core for core in self._cores if core and bare.endswith(core)]
        # The whitespace after an opening differs between prompts, and the parser needs it as it is.
        return PromptEnd(tail, max(matching, key=len) + tail[len(bare) :] if matching else "")


def _comparable_parts(message: ParsedMessage) -> tuple[object, ...]:
    """Return the texts of a message without their edges, and its calls."""
    texts = ((text or "").strip() for text in (message.reasoning_content, message.content))
    return (*texts, *((call.name, call.arguments) for call in message.tool_calls))


# A trajectory as one row of training data: its ids, its loss mask, and the places of its calls.
#
# Contract: the ids are exactly those that the model received and wrote. A prompt that does not
# begin with the ids before it is an error: one row could not represent it without ids that the
# model has never seen in that place.


@dataclass(frozen=True, slots=True)
class TrajectoryStep:
    """A prompt and the output sampled after it."""

    prompt_ids: Sequence[int]
    """The ids that the model was given, such as `(262, 115, 121, 115, …)`."""
    completion_ids: Sequence[int]
    """The ids that it sampled, such as `[70, 260, 101, 46, …, 263]`."""
    complete: bool = True
    """Whether the output was not truncated, so that it ends with a stop token such as `263`."""


@dataclass(frozen=True, slots=True)
class CallTokens:
    """The tokens of a call, or of a malformed one."""

    start: int
    """The index of the first token, such as `1384`."""
    end: int
    """The index after the last token, such as `1488`; a token that is partly the call's is
    included."""
    status: Status
    """How the call was parsed, such as `Status.OK`."""


@dataclass(frozen=True, slots=True)
class TrainingSample:
    """One row of training data; ids and mask have the same length."""

    token_ids: tuple[int, ...]
    """The ids of all prompts and outputs, each once, such as `(262, 115, 121, 115, …)`."""
    loss_mask: tuple[bool, ...]
    """By token: whether the model sampled it, stop tokens included, such as `(False, False, …)` for
    the prompt."""
    calls: tuple[CallTokens, ...]
    """The calls of all outputs, by their token indices in the sample, such as
    `(CallTokens(1384, 1488, Status.OK),)`."""


class TextLengths:
    """Counts the characters of the first tokens of an output, each number of tokens once."""

    def __init__(self, ids: Sequence[int], decode: Callable[[Sequence[int]], str]) -> None:
        """Store the arguments; decoding is lazy."""
        self._ids, self._decode = ids, decode
        self._known: dict[int, int] = {}

    def of(self, count: int) -> int:
        """Return the length of the text of so many tokens, without an incomplete character."""
        if count not in self._known:
            text = self._decode(self._ids[:count])
            self._known[count] = len(text.rstrip("\N{REPLACEMENT CHARACTER}"))
        return self._known[count]


def call_tokens(
    output: ReadOutput, ids: Sequence[int], decode: Callable[[Sequence[int]], str], first: int = 0
) -> tuple[CallTokens, ...]:
    """Return the tokens of an output's calls; `first` is the index of the output's first token."""
    # A stop token may close a call.
    until = len(ids) if output.stop is None else output.stop + 1
    length = TextLengths(ids, decode).of

    # Decoded lengths grow with the number of ids, so bisection finds a call with few decodings.
    places = range(until + 1)
    return tuple(
        CallTokens(
            first + max(0, bisect_right(places, attempt.start, key=length) - 1),
            first + min(until, bisect_left(places, attempt.end, key=length)),
            attempt.status,
        )
        for attempt in output.message.attempts
    )


def check_step(at: int, prompt_ids: Sequence[int], so_far: Sequence[int]) -> None:
    """Raise RequestError if the ids so far are not a prefix of a prompt."""
    prompt = tuple(prompt_ids)
    if prompt[: len(so_far)] == tuple(so_far):
        return
    pairs = zip(prompt, so_far, strict=False)
    parted = next((place for place, (one, other) in enumerate(pairs) if one != other), len(prompt))
    raise RequestError(
        f"the prompt differs from the tokens before it at token {parted}",
        place=f"trajectory[{at}].prompt_ids",
        hint="make prompts with bridge_to_next_turn, or split the trajectory there",
    )
