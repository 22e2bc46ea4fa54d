"""From the ids that a model wrote to its message, aware of what the prompt had written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.loading.tokens import TokenText
from autoparser.analysis.reading.parsing import OutputParser, ParsedMessage, Status

from .asked import tools_key, tools_of
from .token_stops import turn_stops

PROMPT_TAIL = 48
"""Tokens at the end of a prompt that are looked at first for a generation prompt."""

MOST_PARSERS = 64


@dataclass(frozen=True, slots=True)
class ReadOutput:
    """A model's output, read."""

    message: ParsedMessage
    text: str
    """What was read: up to the stop token."""
    stop: int | None
    """The place of the stop token among the ids; None: there is none."""


@dataclass(frozen=True, slots=True)
class PromptEnd:
    """The end of a prompt."""

    tail: str
    """The text of its last tokens."""
    opening: str
    """The generation prompt, or what of it opens the reasoning; the whole tail where that is none
    of the template's own."""


class Responses:
    """Reads outputs; keeps the parser of each kind of prompt."""

    def __init__(
        self, analysis: Analysis, tokens: TokenText, switches: Mapping[str, object]
    ) -> None:
        """Prepare to read what the models of this template write under these switches."""
        self._analysis = analysis
        self._text = tokens
        self._switches = switches
        self._parsers: dict[tuple[str, bytes], OutputParser] = {}
        # An output is read, and then bridged: it is the same one.
        self._last: tuple[tuple[object, ...], ReadOutput] | None = None
        self._end: tuple[tuple[int, ...], PromptEnd] | None = None
        self.stops = turn_stops(analysis, tokens)
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
            self._last = (key, self._parsed(ids, prompt, tools, complete=complete))
        return self._last[1]

    def _parsed(
        self,
        ids: Sequence[int],
        prompt: Sequence[int],
        tools: Sequence[object] | None,
        *,
        complete: bool,
    ) -> ReadOutput:
        parser = self._parser(self.end_of(prompt).opening, tools)
        stop = self._stop(ids, prompt, parser)
        text = self._text.decode(ids if stop is None else ids[:stop], prompt)
        message = parser.parse(text, complete=complete or stop is not None)
        if stop is None:
            return ReadOutput(message, text, stop)
        if message.status is Status.REPAIRED:
            # The stop may be what closes the call; another token that ends outputs is content here.
            closed = parser.parse(self._text.decode(ids[: stop + 1], prompt))
            message = closed if closed.status.regular else message
        return ReadOutput(message.ended(), text, stop)

    def stop(
        self, ids: Sequence[int], prompt: Sequence[int], tools: Sequence[object] | None
    ) -> int | None:
        """Return the place of the token that ends an output; None where none does."""
        return self._stop(ids, prompt, self._parser(self.end_of(prompt).opening, tools))

    def _stop(self, ids: Sequence[int], prompt: Sequence[int], parser: OutputParser) -> int | None:
        for at, id_ in enumerate(ids):
            if id_ in self.stops.ids:
                return at
            if id_ in self.stops.inside_ids:
                message = parser.parse(self._text.decode(ids[:at], prompt), complete=False)
                if message.content or message.tool_calls:
                    return at
        return None

    def _parser(self, opening: str, tools: Sequence[object] | None) -> OutputParser:
        key = (opening, tools_key(tools))
        known = self._parsers.get(key)
        if known is None:
            if len(self._parsers) >= MOST_PARSERS:
                self._parsers.clear()
            tools_of(tools)
            known = self._analysis.parser(
                tools, prompt=opening or None, chat_template_kwargs=self._switches or None
            )
            self._parsers[key] = known
        return known

    def end_of(self, prompt: Sequence[int]) -> PromptEnd:
        """Return the end of a prompt: its text, and what of it says where the turn stands."""
        if not len(prompt):
            return PromptEnd("", "")
        ids = tuple(prompt[-PROMPT_TAIL:])
        if self._end is None or self._end[0] != ids:
            self._end = (ids, self._end_of(prompt))
        return self._end[1]

    def _end_of(self, prompt: Sequence[int]) -> PromptEnd:
        first = max(0, len(prompt) - max(PROMPT_TAIL, self._longest))
        self._text.check(prompt[first:], "prompt_ids", first)
        tail = self._text.decode(prompt[-PROMPT_TAIL:])
        if len(tail) < self._longest < len(prompt):
            tail = self._text.decode(prompt[-self._longest :])
        bare = tail.rstrip()
        matching = [core for core in self._cores if core and bare.endswith(core)]
        return PromptEnd(tail, max(matching, key=len) + tail[len(bare) :] if matching else tail)
