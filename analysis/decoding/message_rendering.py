"""Compare the message read from an answer, written again, with the text it was read from.

    answer -> parser -> message -> TurnWriter -> turn, compared with the answer -> RenderedAgain

The template writes the message as the next turn of the same conversation, under the same settings.
Only the prompt, the exact answer and the end of a turn count as the same text; a model may stop
before that end. Some templates drop or change parts of the message: each kind of change is a
`MessageRendering`, with words for the smallest difference.

For the arguments `{"note": "2^10"}` and a template with `|replace("^", "")`, the difference is

    the template does not write '^' in the argument 'note' of 'remember': after …
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from math import isfinite
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.format_choice import PromptFormat
from autoparser.analysis.core.schema_keywords import schema_map
from autoparser.analysis.core.text_alignment import prefix_length
from autoparser.analysis.core.turn_format import (
    RefusedMessageError,
    TurnFormat,
)
from autoparser.analysis.learning.template_turns import WrittenTurn
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import ParsedCall, ParsedMessage, message_from
from autoparser.analysis.parsing.text_tape import SpanKind
from autoparser.analysis.parsing.turn_nodes import TurnStart

_SHOWN = 40
"""Number of characters shown of each text from where they part."""
_LOOKED_AT = 200
"""Number of characters from there on that are searched for the smallest difference."""


def message_difference(
    text: str, parsed: ParsedMessage, rewritten: str, read: ParsedMessage
) -> str:
    """Describe the first part of a message that is written otherwise; empty if all parts agree."""
    try:
        one, other = message_from(parsed, text), message_from(read, rewritten)
    except (ValueError, RecursionError):
        return ""
    return next(_differences(one, other), "")


def dropped_parts(text: str, parsed: ParsedMessage) -> str:
    """Name the parts that the text has and the message lacks; empty if the message has all."""
    one, other = message_from(parsed, text), message_from(parsed)
    parts = ("reasoning", "content")
    return " and the ".join(part for part in parts if getattr(one, part) != getattr(other, part))


def _differences(one: Message, other: Message) -> Iterator[str]:
    for part in ("reasoning", "content"):
        yield from _of_text(getattr(one, part), getattr(other, part), f"the {part}")
    names, written = ([call.name for call in message.calls] for message in (one, other))
    # Arguments of calls in another order would be compared with those of other calls.
    if names != written:
        yield _of_names(names, written)
        return
    for call, rewritten in zip(one.calls, other.calls, strict=True):
        yield from _of_arguments(call, rewritten)
        if call.id and call.id != rewritten.id:
            yield f"the template writes the id {call.id!r} of {call.name!r} as {rewritten.id!r}"


def _of_names(names: list[str], rewritten: list[str]) -> str:
    if sorted(names) == sorted(rewritten):
        return f"the template writes the calls in another order: {', '.join(rewritten)}"
    lost_name = next((name for name in names if name not in rewritten), None)
    if lost_name is not None:
        return f"the template does not write the call of {lost_name!r}"
    return f"{len(names)} calls were parsed, but the template writes {len(rewritten)}"


def _of_arguments(call: ToolCall, rewritten: ToolCall) -> Iterator[str]:
    for key, value in call.arguments.items():
        where = f"the argument {key!r} of {call.name!r}"
        if key not in rewritten.arguments:
            yield f"the template does not write {where}"
        elif _sorted_json(value) != _sorted_json(rewritten.arguments[key]):
            written = rewritten.arguments[key]
            texts = isinstance(value, str) and isinstance(written, str)
            yield from _of_text(
                str(value) if texts else _sorted_json(value),
                str(written) if texts else _sorted_json(written),
                where,
            )
    added = next((key for key in rewritten.arguments if key not in call.arguments), None)
    if added is not None:
        yield f"the template adds the argument {added!r} to {call.name!r}"
    if list(call.arguments) != list(rewritten.arguments):
        order = ", ".join(rewritten.arguments)
        yield f"the template writes the arguments of {call.name!r} in another order: {order}"


def _sorted_json(value: Json) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _of_text(one: str, other: str, where: str) -> Iterator[str]:
    """Describe the parts of a text that are lost, inserted or replaced."""
    if one == other:
        return
    if not other.strip():
        yield f"the template does not write {where}"
        return
    # Aligning takes time by the square of the length, so equal beginnings are cut off.
    at = prefix_length(one, other)
    left, right = one[at : at + _LOOKED_AT], other[at : at + _LOOKED_AT]
    # By default, frequent characters of texts of 200 or more would be ignored.
    edits = SequenceMatcher(None, left, right, autojunk=False).get_opcodes()
    _, start, end, begin, stop = next(edit for edit in edits if edit[0] != "equal")
    lost, put = left[start:end][:_SHOWN], right[begin:stop][:_SHOWN]
    if not put:
        yield f"the template does not write {lost!r} in {where}"
    elif not lost:
        yield f"the template adds {put!r} to {where}"
    else:
        yield f"the template writes {put!r} for {lost!r} in {where}"


def text_difference(text: str, rewritten: str) -> str:
    """Show where two texts part; empty if they are equal."""
    if text == rewritten:
        return ""
    at = prefix_length(text, rewritten)
    here, there = (repr(side[at : at + _SHOWN]) for side in (text, rewritten))
    return f"after {text[max(0, at - _SHOWN) : at]!r} the output has {here}, the render {there}"


class MessageRendering(StrEnum):
    """How the template renders the message that was read from an answer."""

    SAME = "the same text"
    WHITESPACE = "differs only in whitespace"
    SPELLING = "differs only in the spelling of values, call numbers, or the order of arguments"
    BEGINNING = "the same after a prefix that every turn has and the output lacks"
    REASONING = "the same, except that the template drops the reasoning"
    CLOSED = "the same after a reasoning block that only the prompt has"
    UNPROMPTED = "not checked: the same, but the rendered turn does not continue the prompt"
    UNWRITTEN = "not checked: the template cannot render such a message"
    OTHER = "different text"

    @property
    def was_asked(self) -> bool:
        """Whether the template shows how the answer is written after the prompt."""
        return self not in (MessageRendering.UNPROMPTED, MessageRendering.UNWRITTEN)

    @property
    def same_text(self) -> bool:
        """Whether the answer is an exact part of the turn, but for dropped reasoning."""
        return self in (
            MessageRendering.SAME,
            MessageRendering.BEGINNING,
            MessageRendering.REASONING,
            MessageRendering.CLOSED,
            MessageRendering.UNPROMPTED,
        )


_SPACE = re.compile(r"\s+")
_NO_REASONING = "the template does not write the reasoning"


class TurnWriter(Protocol):
    """Protocol for writers of turns: the template, or a format in its place."""

    def written_turn(self, message: Message) -> WrittenTurn:
        """Write a message as the turn that follows the prompt."""
        ...

    def beginning(self, message: Message, text: str) -> str:
        """Return the part of a turn's text that all turns with these parts begin with."""
        ...


@dataclass(frozen=True, slots=True)
class FormatTurns:
    """Writes turns by a format, to explain the messages that it read."""

    begun_turn: PromptFormat
    r"""The format that the prompt belongs to, e.g. with the opening `"<|im_start|>assistant\n"`."""

    def written_turn(self, message: Message) -> WrittenTurn:
        """Write a message after the generation prompt alone."""
        format_, opening = self.begun_turn.format, self.begun_turn.opening
        prompt = format_.header if opening is None else opening.text
        try:
            return WrittenTurn(prompt, "", format_.write(message))
        except RefusedMessageError as error:
            return WrittenTurn(prompt, "", refusal=str(error))

    def beginning(self, message: Message, text: str) -> str:
        """Return the text that the format writes before the first part."""
        first = self.begun_turn.format.layouts[message.presence].literals[0]
        return first if text.startswith(first) else ""


@dataclass(frozen=True, slots=True)
class NoTurns:
    """Stands in for a template that cannot be asked."""

    reason: str
    """Why it cannot be asked, in words, e.g.
    `"the prompt has begun the message, but the template renders only whole ones"`."""

    def written_turn(self, message: Message) -> WrittenTurn:
        """Write nothing, and give the reason."""
        del message
        return WrittenTurn("", "", refusal=self.reason)

    def beginning(self, message: Message, text: str) -> str:
        """Return an empty string."""
        del message, text
        return ""


@dataclass(frozen=True, slots=True)
class RenderedAgain:
    """The rendering of a message that was read."""

    rendering: MessageRendering
    """How the two texts compare, e.g. `MessageRendering.WHITESPACE`."""
    difference: str = ""
    r"""The difference, e.g. `"after 'Hello.<|im_end|>' the output has ' Bye', the render '\\n'"`,
    or why nothing could be asked; empty for the same text."""
    rewritten: str | None = None
    r"""The text after the prompt in place of the answer, e.g. `"Hello.<|im_end|>\n"`, or None if
    the message is refused."""


class _AnsweredTurn(NamedTuple):
    """An answer with the message that was read, and the turn that is written of it."""

    text: str
    """The answer, e.g. `"Hello."`."""
    parsed: ParsedMessage
    """The message as the parser returned it, with its spans in the text, e.g.
    `<ParsedMessage ok: content 'Hello.'>`."""
    message: Message
    """The same message as plain values, e.g. `Message("Hello.")`."""
    turn: WrittenTurn
    r"""The turn that the template, or a format, writes of the message, e.g.
    `"<|im_start|>assistant\nHello.<|im_end|>\n"`."""


class AnswerRewriter:
    """Compares the answers to one request with the turns written of their messages."""

    def __init__(
        self,
        turns: TurnWriter,
        format_: TurnFormat,
        parser: OutputParser,
        tools: Mapping[str, Json] | None = None,
    ) -> None:
        """`format_` has the texts that may end a turn, `parser` is the one that reads the answers.

        With `tools`, the parameters' schemas by name, arguments whose names are made up may stand
        elsewhere than the template writes them: where it sorts them, no grammar can.
        """
        self._turns = turns
        self._tools = tools
        self._parser = parser
        ends = (text for end in format_.ends for text in (end.text, end.historic or ""))
        # A model writes the whitespace before its stop string itself.
        stops = (end.lstrip() or end for end in (*ends, *format_.stop_strings))
        self._ends = tuple(dict.fromkeys(filter(None, stops)))

    def compare(self, text: str, parsed: ParsedMessage) -> RenderedAgain:
        """Compare the turn written of the message with the answer, and describe the difference."""
        message = message_from(parsed, text)
        # `1e999` is valid JSON, and is infinity in Python, which no template writes as a number.
        if not all(_finite(dict(call.arguments)) for call in message.calls):
            reason = "a number in it is out of range for a template"
            return RenderedAgain(MessageRendering.UNWRITTEN, reason)
        turn = self._turns.written_turn(message)
        if turn.refusal:
            return RenderedAgain(MessageRendering.UNWRITTEN, turn.refusal)
        case = _AnsweredTurn(text, parsed, message, turn)
        lead = self._lead(case, text, str)
        if lead is MessageRendering.SAME:
            return RenderedAgain(lead, rewritten=turn.rest)
        dropped = self._dropped(case)
        rewritten = text[:dropped] + turn.rest
        if lead is not None:
            return RenderedAgain(lead, _lead_words(lead, turn, text), rewritten)
        if dropped and self._lead(case, text[dropped:], str, whole=False):
            shown = text_difference(text, turn.rest)
            return RenderedAgain(MessageRendering.REASONING, f"{_NO_REASONING}: {shown}", rewritten)
        # Parsed again, so that messages are compared rather than texts.
        read = self._parser.parse(rewritten)
        found = self._reformed(case, dropped, read)
        words = message_difference(text, parsed, rewritten, read)
        return RenderedAgain(
            found, ": ".join(filter(None, (words, text_difference(text, rewritten)))), rewritten
        )

    def _reformed(self, case: _AnsweredTurn, dropped: int, read: ParsedMessage) -> MessageRendering:
        """Classify the text that is written in place of the answer."""
        text, parsed = case.text, case.parsed
        # The reasoning, which the template drops, is the first part.
        skipped = 1 if dropped else 0
        if _comparable_parts(read)[skipped:] != _comparable_parts(parsed)[skipped:]:
            return MessageRendering.OTHER
        lead = self._lead(case, text[dropped:], _squeezed, whole=not dropped)
        if lead is not None and dropped:
            return MessageRendering.REASONING
        if lead is not None:
            return lead if lead is MessageRendering.UNPROMPTED else MessageRendering.WHITESPACE
        bare = _squeezed(_markup(text, parsed, dropped))
        markup = _markup(text[:dropped] + case.turn.rest, read, dropped)
        for markup_text in map(_squeezed, self._ended(markup)):
            # The arguments are equal as values by now, so only the text around them is compared.
            if markup_text == bare or (dropped and markup_text.endswith(bare)):
                return MessageRendering.SPELLING
            # The same characters in another order: arguments moved with the markup around them.
            alike = Counter(markup_text) == Counter(bare) or any(map(_repeats, parsed.tool_calls))
            if alike and self._keeps_declared_order(parsed, read):
                return MessageRendering.SPELLING
        return MessageRendering.OTHER

    def _keeps_declared_order(self, one: ParsedMessage, other: ParsedMessage) -> bool:
        """Return whether two messages with equal arguments have the declared ones in one order."""
        if self._tools is None:
            return False
        for call, rewritten in zip(one.tool_calls, other.tool_calls, strict=True):
            schema = self._tools.get(call.name)
            declared = schema_map(schema, "properties") if isinstance(schema, dict) else {}
            orders = [
                [name for name, _ in _pairs(side.arguments) if name in declared]
                for side in (call, rewritten)
            ]
            if orders[0] != orders[1]:
                return False
        return True

    def _dropped(self, case: _AnsweredTurn) -> int:
        """Return the offset where comparison begins, after reasoning that is not written."""
        if not case.message.reasoning and self._parser.turn.start is not TurnStart.REASONING:
            return 0
        bare = replace(case.message, reasoning="")
        # The template writes the reasoning, unless the turn is the same without it.
        if bare != case.message and self._turns.written_turn(bare).text != case.turn.text:
            return 0
        return self._behind_reasoning(case.text, case.parsed)

    def _behind_reasoning(self, text: str, parsed: ParsedMessage) -> int:
        """Return the offset after the reasoning, its close and the whitespace after it."""
        at = max((span.end for span in parsed.spans if span.kind is SpanKind.REASONING), default=0)
        block = self._parser.turn.reasoning
        close = "" if block is None else block.close.core
        found = text.find(close, at)
        at = at if found < 0 else found + len(close)
        return len(text) - len(text[at:].lstrip())

    def _lead(
        self, case: _AnsweredTurn, answer: str, form: Callable[[str], str], *, whole: bool = True
    ) -> MessageRendering | None:
        """Find the answer, or the end of it, at the end of the turn; return None if absent.

        Otherwise the text before it decides: exactly the prompt; more than that, as every turn of
        these parts has it; or a part of the prompt.
        """
        endings = self._ended(case.turn.whole)
        found = [self._lead_of(case, ended, answer, form) for ended in endings]
        # With each way to end the turn the verdict may differ; an exact one counts first.
        for exact in (MessageRendering.SAME, MessageRendering.CLOSED):
            if exact in found:
                return exact
        return next(filter(None, found), None) if answer or not whole else None

    def _lead_of(
        self, case: _AnsweredTurn, ended: str, answer: str, form: Callable[[str], str]
    ) -> MessageRendering | None:
        turn = case.turn
        prompt, least, whole, wanted = map(form, (turn.prompt, turn.before, ended, answer))
        if not whole.endswith(wanted):
            return None
        before = whole[: len(whole) - len(wanted)]
        if before == prompt:
            return MessageRendering.SAME
        beginning = form(turn.before + self._turns.beginning(case.message, turn.text))
        begun = before.startswith(least) and beginning.startswith(before)
        if before.startswith(prompt):
            return MessageRendering.BEGINNING if begun else None
        if prompt.startswith(before):
            # If the answer repeats text of the prompt, this is another text.
            rest = prompt[len(before) :]
            if not before.startswith(least) or wanted.startswith(rest):
                return None
            return MessageRendering.CLOSED if self._closes(rest) else MessageRendering.UNPROMPTED
        return MessageRendering.UNPROMPTED if begun else None

    def _closes(self, block_text: str) -> bool:
        """Return whether this is a block of reasoning with nothing in it.

        Templates end the prompts of models that must not think with one, and write none in turns
        without reasoning. Such a model writes the turn after its header.
        """
        block = self._parser.turn.reasoning
        return block is not None and _squeezed(block_text) == _squeezed(
            block.open.core + block.close.core
        )

    def _ended(self, turn: str) -> Iterator[str]:
        """Return a turn with its end, with the end's trailing whitespace cut, and without it."""
        yield turn
        for end in self._ends:
            if turn.endswith(end):
                yield turn[: len(turn) - len(end) + len(end.rstrip())]
                yield turn.removesuffix(end)


def _lead_words(lead: MessageRendering, turn: WrittenTurn, text: str) -> str:
    if lead is MessageRendering.BEGINNING:
        added = turn.rest[: turn.rest.rfind(text)] if text else turn.rest
        return f"the template writes {added!r} before it"
    if lead is MessageRendering.CLOSED:
        return f"the prompt ends in {turn.prompt[-40:]!r}, and the turn has no such block"
    return f"the prompt ends in {turn.prompt[-40:]!r}, and no turn goes on from there"


def _pairs(arguments: str) -> list[tuple[str, Json]]:
    """Return the arguments of a call, including duplicates."""
    found: list[tuple[str, Json]] = json.loads(arguments, object_pairs_hook=list)
    return found


def _repeats(call: ParsedCall) -> bool:
    """Return whether a call repeats a name: read once, it is never written twice."""
    found: list[bool] = []
    json.loads(
        call.arguments, object_pairs_hook=lambda pairs: found.append(len(dict(pairs)) < len(pairs))
    )
    return any(found)


def _finite(value: Json) -> bool:
    """Return whether all numbers in a value are finite; a template takes no others."""
    match value:
        case float():
            return isfinite(value)
        case dict():
            return all(map(_finite, value.values()))
        case list():
            return all(map(_finite, value))
        case _:
            return True


def _comparable_parts(parsed: ParsedMessage) -> tuple[object, ...]:
    """Return the parts of a message, their texts stripped."""
    calls = [
        # Order and whitespace at edges are spelling, which is judged later.
        (call.name, json.dumps(_stripped(json.loads(call.arguments)), sort_keys=True))
        for call in parsed.tool_calls
    ]
    return (parsed.reasoning_content or "").strip(), (parsed.content or "").strip(), calls


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


def _markup(text: str, parsed: ParsedMessage, start: int) -> str:
    """Return a text from an offset on without its arguments and the numbers of its calls."""
    values = (SpanKind.ARGUMENTS, SpanKind.ID)
    kept = (span for span in parsed.spans if span.kind not in values)
    return "".join(text[max(start, span.start) : span.end] for span in kept)


def _squeezed(text: str) -> str:
    return _SPACE.sub("", text)
