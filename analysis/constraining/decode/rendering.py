"""The message that was read, written again, against the text that it was read from.

The prompt wrote the turn's beginning, and a model may stop before the end that the template
writes; so the answer has to be the last part of the turn, with or without that end, and what
stands before it has to be what begins such a turn, or the prompt itself. Where the template keeps
reasoning out of its history, what stands after the reasoning is compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import takewhile
from math import isfinite
from typing import cast

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.format import Begun, Part, RefusedMessageError
from autoparser.analysis.reading.parsing import OutputParser, ParsedMessage
from autoparser.analysis.reading.text import SpanKind

from .faults import Rendering

_SPACE = re.compile(r"\s+")
_SHOWN = 40
"""Characters that are shown of each text from where they part."""


@dataclass(frozen=True, slots=True)
class _Written:
    """A message that was read, written again."""

    turn: str
    first: str
    """What the template writes before its first part."""
    dropped: int
    """Where the text begins that is compared, after reasoning that the template drops."""


class Rewriter:
    """Writes messages again, for one request."""

    def __init__(self, begun: Begun, parser: OutputParser) -> None:
        """`begun` is what the prompt belongs to."""
        format_ = begun.format
        self._format = format_
        self._parser = parser
        ends = (text for end in format_.ends for text in (end.text, end.historic or ""))
        self._ends = tuple(dict.fromkeys(filter(None, (*ends, *format_.stop_strings))))
        self._prompts = () if begun.opening is None else (begun.opening.text,)

    def compare(self, text: str, parsed: ParsedMessage) -> tuple[Rendering, str]:
        """Say what the template makes of the message, and where that is other text."""
        written = self._written(text, parsed)
        if written is None:
            return Rendering.UNWRITTEN, ""
        answer, first = text[written.dropped :], written.first
        if self._is_rest(written.turn, answer, first, str):
            return Rendering.SAME, ""
        again = text[: written.dropped] + self._behind_prompt(written.turn, first)
        read = self._parser.parse(again)
        if _values(read) == _values(parsed):
            if self._is_rest(written.turn, answer, first, _squeezed):
                return Rendering.WHITESPACE, ""
            bare = _squeezed(_markup(text, parsed))
            if bare in map(_squeezed, self._ended(_markup(again, read))):
                return Rendering.SPELLING, ""
        return Rendering.OTHER, _parting(text, again)

    def again(self, text: str, parsed: ParsedMessage) -> str | None:
        """Return what the template has where a model wrote this text; None where it refuses."""
        written = self._written(text, parsed)
        if written is None:
            return None
        return text[: written.dropped] + self._behind_prompt(written.turn, written.first)

    def _written(self, text: str, parsed: ParsedMessage) -> _Written | None:
        """Write the message that was read; None where the template refuses it."""
        message = _message(parsed, text)
        if not all(map(_finite, (call.arguments for call in message.calls))):
            return None
        try:
            turn = self._format.write(message)
        except RefusedMessageError:
            return None
        layout = self._format.layouts[message.presence]
        dropped = 0
        if message.reasoning and Part.REASONING not in layout.parts:
            dropped = self._behind_reasoning(text, parsed)
        return _Written(turn, layout.literals[0], dropped)

    def _behind_reasoning(self, text: str, parsed: ParsedMessage) -> int:
        """Return the position after the reasoning, its close and the whitespace after it."""
        at = max((span.end for span in parsed.spans if span.kind is SpanKind.REASONING), default=0)
        block = self._parser.turn.reasoning
        close = "" if block is None else block.close.core
        found = text.find(close, at)
        at = at if found < 0 else found + len(close)
        return len(text) - len(text[at:].lstrip())

    def _is_rest(self, turn: str, answer: str, first: str, form: Callable[[str], str]) -> bool:
        """Say whether the answer is all of a turn but what begins it and what ends it."""
        wanted = form(answer)
        for whole in map(form, self._ended(turn)):
            before = whole[: len(whole) - len(wanted)]
            begun = form(first).startswith(before) or before in map(form, self._prompts)
            if begun and before + wanted == whole:
                return True
        return False

    def _ended(self, turn: str) -> Iterator[str]:
        """Return a turn with its end, without the end's last whitespace, and without the end."""
        yield turn
        for end in self._ends:
            if turn.endswith(end):
                yield turn[: len(turn) - len(end) + len(end.rstrip())]
                yield turn.removesuffix(end)

    def _behind_prompt(self, turn: str, first: str) -> str:
        """Return what the model would have written of a turn."""
        for prompt in self._prompts or (self._format.header,):
            for begun in (prompt, prompt.rstrip()):
                if begun and turn.startswith(begun):
                    return turn[len(begun) :]
        return turn.removeprefix(first)


def _message(parsed: ParsedMessage, text: str) -> Message:
    """Give the message that was read; texts of whitespace alone, which a reader drops, with it."""
    return Message(
        parsed.content or _part(parsed, text, SpanKind.CONTENT),
        parsed.reasoning_content or _part(parsed, text, SpanKind.REASONING),
        tuple(
            ToolCall(call.name, json.loads(call.arguments), call.id) for call in parsed.tool_calls
        ),
    )


def _part(parsed: ParsedMessage, text: str, kind: SpanKind) -> str:
    return "".join(text[span.start : span.end] for span in parsed.spans if span.kind is kind)


def _finite(value: object) -> bool:
    """Say whether no number in a value is beyond what a template can be given."""
    match value:
        case float():
            return isfinite(value)
        case dict():
            return all(map(_finite, cast("dict[str, object]", value).values()))
        case list():
            return all(map(_finite, cast("list[object]", value)))
        case _:
            return True


def _values(parsed: ParsedMessage) -> tuple[object, ...]:
    """Return what a message says, without the whitespace at the edges of its texts."""
    calls = [
        (call.name, json.dumps(_stripped(json.loads(call.arguments)), sort_keys=True))
        for call in parsed.tool_calls
    ]
    return (parsed.content or "").strip(), (parsed.reasoning_content or "").strip(), calls


def _stripped(value: Json) -> Json:
    match value:
        case str():
            return value.strip()
        case list():
            return [_stripped(item) for item in value]
        case dict():
            return {key.strip(): _stripped(member) for key, member in value.items()}
        case _:
            return value


def _markup(text: str, parsed: ParsedMessage) -> str:
    """Return a text without its arguments and the numbers of its calls."""
    values = (SpanKind.ARGUMENTS, SpanKind.ID)
    return "".join(text[span.start : span.end] for span in parsed.spans if span.kind not in values)


def _squeezed(text: str) -> str:
    return _SPACE.sub("", text)


def _parting(text: str, again: str) -> str:
    """Show where two texts part."""
    at = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(text, again, strict=False)))
    here, there = (repr(each[at : at + _SHOWN]) for each in (text, again))
    return f"after {text[max(0, at - _SHOWN) : at]!r} stands {here}, rendered {there}"
