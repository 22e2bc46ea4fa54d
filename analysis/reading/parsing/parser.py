"""The parser of one request: in one shot, or as the text comes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from autoparser.analysis.core.format import Part
from autoparser.analysis.reading.expression import Body, RequestError, Start, StrictRow, Turn

from .call_ids import CallIds
from .collector import Collector
from .parsed_message import ParsedMessage, ReasoningIn
from .stop_marks import call_stops
from .stream import StreamParser
from .turn_reader import TurnReader

if TYPE_CHECKING:
    from autoparser.analysis.loading.tokens import ModelTokenizer

    from .reasoning_end import ReasoningEnd
    from .spelled_markers import MarkerTokens


def after_reasoning(turn: Turn) -> Turn:
    """Return the turn for a text that begins where the reasoning has ended."""
    if turn.reasoning is None:
        return replace(turn, start=Start.CONTENT, unwritten="", prefill="")
    close = turn.reasoning.close
    rows = [_after_reasoning(row, close.core) for row in turn.strict.rows]
    strict = replace(turn.strict, rows=tuple(dict.fromkeys(rows)))
    return replace(turn, start=Start.CONTENT, unwritten=close.after, prefill="", strict=strict)


def _after_reasoning(row: StrictRow, close: str) -> StrictRow:
    """Return what of a row comes after the text that closes reasoning."""
    if not close or not row.has(Part.REASONING):
        return row
    items = list(row.items)
    while items:
        item = items.pop(0)
        if isinstance(item, Body) and item.part is Part.REASONING and items:
            closing = items[0]
            if isinstance(closing, str) and close in closing:
                rest = closing.partition(close)[2]
                return replace(row, items=(*([rest] if rest else []), *items[1:]))
    return row


class OutputParser:
    """Reads what a model wrote for one request. Nothing that it is given makes it raise."""

    def __init__(
        self,
        turn: Turn,
        *,
        offered: frozenset[str] | None = None,
        reasoning: ReasoningIn = "separate",
        whole_calls: bool = False,
        call_ids: Callable[[str, int], str] | int | None = None,
        tokenizer: ModelTokenizer | None = None,
        strip_code_fence: bool = False,
        keeps_reasoning: bool = False,
    ) -> None:
        """Make the parser of an expression; `offered` are the tools, None: any.

        `whole_calls` gives a call only once it closed. `call_ids` makes the ids of calls that are
        written without one; a number is the seed of such a maker. Where it makes an empty one, the
        call's number stands for it in OpenAI's form. With a `tokenizer`, texts come with their ids.
        `strip_code_fence` leaves out the fence around an answer in JSON. With `keeps_reasoning`
        only its close and the turn's end can end reasoning.
        """
        self.turn = turn
        self._reader = TurnReader(
            turn, offered, fenced=strip_code_fence, keeps_reasoning=keeps_reasoning
        )
        self.offered = offered
        self._reasoning: ReasoningIn = reasoning
        self._whole_calls = whole_calls
        self._make_id = call_ids if callable(call_ids) else CallIds(call_ids)

        self._tokens: MarkerTokens | None = None
        if tokenizer is not None:
            from .spelled_markers import MarkerTokens  # noqa: PLC0415 - it loads what masks need

            self._tokens = MarkerTokens(turn, tokenizer)

    def may_hold_call(self, text: str) -> bool:
        """Whether there can be a call in a text; false for certain where nothing begins one.

        It takes one search for the texts that open calls, in what the prompt wrote of the message
        and in the text.
        """
        opens = self._opens_call
        return opens is not None and opens.search(self.turn.prefill + text) is not None

    @cached_property
    def _opens_call(self) -> re.Pattern[str] | None:
        texts = sorted(set(call_stops(self.turn, self.offered)))
        return re.compile("|".join(map(re.escape, texts))) if texts else None

    def reasoning_end_by_ids(self) -> ReasoningEnd:
        """Make what says by token ids where reasoning ends; the parser needs a tokenizer.

        Raises RequestError without a tokenizer, and where no text ends the reasoning.
        """
        if self._tokens is None:
            raise RequestError(
                "token ids cannot be read by a parser that does not know their texts",
                hint="make the parser with tokenizer=…",
            )
        from .reasoning_end import ReasoningEnd  # noqa: PLC0415 - it loads what masks need

        return ReasoningEnd(self.turn, self._tokens.tokenizer)

    def parse(
        self, text: str, *, complete: bool = True, ids: Sequence[int] | None = None
    ) -> ParsedMessage:
        """Read a whole output; `complete=False` says that it was cut on purpose.

        `ids` are its tokens, for a parser that was made with a tokenizer: text that spells a
        marker which is a token of its own, but came as other tokens, is text. Raises RequestError
        for ids without a tokenizer.
        """
        stream = self.stream()
        stream.feed(text, ids)
        stream.finish(complete=complete)
        return stream.message

    def stream(self) -> StreamParser:
        """Begin to read an output that comes in pieces."""
        collector = Collector(
            self.offered,
            reasoning=self._reasoning,
            whole_calls=self._whole_calls,
            make_id=self._make_id,
        )
        tokens = self._tokens
        if tokens is None:
            return StreamParser(self._reader, collector, prefill=self.turn.prefill)
        from .identified import IdentifiedStream  # noqa: PLC0415 - it loads what masks need

        return IdentifiedStream(self._reader, collector, tokens, prefill=self.turn.prefill)
