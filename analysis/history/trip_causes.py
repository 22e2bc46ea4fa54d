"""Find why a round trip breaks, as one of a closed list of causes, and whose fault it is.

Nothing is concluded from names. One thing is changed (the sampled text, what the engine made of
it, or the message in the history) and the step is played again. The cause is the first change, in
the order of `_HYPOTHESES`, by which the difference goes away or moves behind the change:

    Replay -> BrokenStep -> each hypothesis plays it again -> Cause; Cause -> Culprit

For the sampled text `<t>Hm.</t>Yes.`, a newline and `</s>`, and a template that strips the answer,
the next prompt departs at the newline. `text_edits` yields `<t>Hm.</t>Yes.</s>` with the cause
`CONTENT_STRIPPED`; played again, that text holds, so this is the cause.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import Any

from msgspec import Struct, structs
from msgspec.structs import replace

from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.core.message_shape import ContentForm, ReasoningForm
from autoparser.analysis.core.text_alignment import prefix_length, suffix_length
from autoparser.analysis.parsing.parsed_message import ParsedMessage, Status
from autoparser.analysis.parsing.text_tape import Span, SpanKind

from .client_memory import has_unreadable_call
from .conversation_replay import Exchange, Replay, ReplayStage
from .scenarios import ArgumentsAs, BesideCalls, EngineHabits, Ids, MessagesAs, UnreadCalls


class Cause(StrEnum):
    """The reasons why the last prompt and the sampled text are not a prefix of the next prompt."""

    RAISES = "raises"
    EARLIER = "earlier text rewritten"
    """The difference lies before the generation prompt."""
    REASONING_DROPPED = "reasoning dropped"
    """The reasoning, or its empty block, is missing in the history."""
    HEADER = "header differs"
    """The generation prompt is not a prefix of the turn in the history."""
    REASONING_STRIPPED = "reasoning stripped"
    CONTENT_STRIPPED = "content stripped"
    CONTENT_DROPPED = "content dropped"
    WHITESPACE = "joint whitespace"
    """The whitespace between two parts of the turn differs."""
    ENCODED_TWICE = "encoded twice"
    ARGUMENT_FORM = "argument form"
    """Given as a string, the arguments are written differently than given as an object."""
    JSON_SPACING = "JSON spacing"
    JSON_ESCAPES = "JSON escapes"
    LITERALS = "Python literals"
    ORDER = "argument order"
    VALUES = "values rewritten"
    IDS = "ids"
    CALL_LOST = "call lost"
    """A call that was cut, malformed or one too many is not in the history."""
    CALL_REPAIRED = "call repaired"
    """A malformed call was parsed nevertheless, and is rendered well-formed."""
    END = "end of turn differs"
    RETOKENIZED = "re-tokenization"
    """The texts agree and the tokens do not."""
    REWRITTEN = "turn written otherwise"
    """No other change explains the difference."""


# A broken step, to be played again.


class BrokenStep(Struct, frozen=True):
    """A step that broke, to be played again with one thing changed."""

    stage: ReplayStage
    """Replays the step with the same template, such as under `{"enable_thinking": False}`."""
    replay: Replay
    """The step as it broke, such as under `{"enable_thinking": False}`."""

    @property
    def at(self) -> int:
        """The offset in the whole where the texts differ; 0 if the template raised."""
        return self.replay.at or 0

    @property
    def exchange(self) -> Exchange:
        """The step's inputs."""
        return self.replay.exchange

    def moves(self, exchange: Exchange) -> bool:
        """Return whether the difference is gone, or later, when this exchange is played."""
        other = self.stage.play(exchange)
        at = other.at
        if at is None or other.error is not None:
            return at is None
        before, after = self.exchange.sampled, exchange.sampled
        if before == after:
            # Another engine may build another prompt from the same history.
            further = len(other.prompt.text) - len(self.replay.prompt.text)
            return at > self.at + further
        # The texts can be compared only after the edit, where they have a common suffix.
        common = suffix_length(before, after)
        return len(other.whole) - at < common

    def moves_with(self, **habits: Any) -> bool:
        """Return whether the difference is gone, or later, under an engine with other habits."""
        return self.moves(
            replace(self.exchange, engine=structs.replace(self.exchange.engine, **habits))
        )

    def same_with(self, **changes: Json) -> bool:
        """Return whether the next prompt is the same with other fields of the message."""
        message = {**self.replay.memory.message, **changes}
        kept = {key: value for key, value in message.items() if value is not None}
        return self.stage.with_turn(self.replay, kept) == self.replay.text


# The origin of a break: the template, the engine, or the model.


class Culprit(StrEnum):
    """The party at fault for a break."""

    TEMPLATE = "template"
    """The stored message has all of the sampled text, and the template writes it differently."""
    ENGINE = "engine"
    """An engine that stores the whole message, in the API's form, would fix it."""
    MODEL = "model"
    """The model's spelling, which messages do not store, departs from the template's."""


def break_fault(
    stage: ReplayStage, replay: Replay, cause: Cause | None, plain: str | None
) -> Culprit | None:
    """Return whose fault a break is, or None if nothing breaks.

    `plain` is the text that the format itself writes there, or None if a person gave the text.
    Compact JSON, for example, is the same message as spaced JSON, so no template could write it
    back: the model is at fault. A newline that ends the answer is in the message: a template that
    trims it is at fault.
    """
    if cause is None:
        return None
    exchange = replay.exchange
    if cause is Cause.RETOKENIZED:
        return Culprit.MODEL if plain == exchange.sampled else Culprit.ENGINE
    case = BrokenStep(stage, replay)
    if exchange.engine != EngineHabits() and case.moves(replace(exchange, engine=EngineHabits())):
        return Culprit.TEMPLATE if _breaks_as_sent(case) else Culprit.ENGINE
    broken = has_unreadable_call(replay.parsed)
    # No template could write back a call that was cut or is malformed.
    if cause in (Cause.CALL_LOST, Cause.CALL_REPAIRED) and (
        broken or replay.parsed.status is Status.MALFORMED
    ):
        return Culprit.MODEL
    meant = None if plain == exchange.sampled else plain
    if meant is not None:
        departs = len(replay.prompt.text) + prefix_length(meant, exchange.sampled)
        if case.at < departs:
            return Culprit.TEMPLATE
    if broken:
        return Culprit.MODEL
    if meant is not None:
        straight = stage.play(replace(exchange, sampled=meant, cut=False))
        if straight.memory.message == replay.memory.message:
            return Culprit.MODEL
    return Culprit.TEMPLATE


def _breaks_as_sent(case: BrokenStep) -> bool:
    """Return whether it breaks even under an engine that hands on messages as users send them.

    A template has to expect arguments as an object, calls in their wrapper and an empty text beside
    them. An engine that drops or strips something, or turns texts into parts, is at fault.
    """
    engine, as_sent = case.exchange.engine, EngineHabits()
    if engine.arguments is ArgumentsAs.OBJECT:
        as_sent = structs.replace(as_sent, arguments=ArgumentsAs.OBJECT)
    if engine.messages is not MessagesAs.TEMPLATE:
        as_sent = structs.replace(as_sent, messages=MessagesAs.API)
    return as_sent != EngineHabits() and not case.moves(replace(case.exchange, engine=as_sent))


# Edits of a sampled text where the next prompt diverges from it.
#
# Each adopts one thing that the template wrote differently: whitespace, a literal, an escape or a
# value. If the step then holds, or breaks later, that thing is the cause.


class Edit(Struct, frozen=True):
    """A sampled text with one thing changed."""

    cause: Cause
    """The cause if this edit removes the difference, such as `Cause.JSON_SPACING`. Whitespace that
    changes an argument's value counts as VALUES, not as JSON_SPACING."""
    sampled: str
    r"""The whole sampled text after the edit, such as `"<tool_call>\n{"name": "get_weather",
    "arguments": {"city": "Tromsø 東京"}}\n</tool_call><|im_end|>"`."""


_WORD = re.compile(r"\w+")
_ESCAPE = re.compile(r"\\u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4})*|\\.|[^\x00-\x7f]+")
_IN_JSON = re.compile(r'(?:":|["}\]],)$')
"""Matches the text before whitespace in a call that is JSON itself."""
_LITERALS = ({"true", "True"}, {"false", "False"}, {"null", "None"})


def text_edits(
    parsed: ParsedMessage, sampled: str, text: str, here: int, there: int
) -> Iterator[Edit]:
    """Yield the edits of a sampled text at `here` that take over what `text` has at `there`."""
    if here < 0:
        return
    yield from _whitespace_edit(parsed, sampled, text, here, there)
    inside = next((span for span in parsed.spans if span.start <= here < span.end), None)
    if inside is not None and inside.kind is SpanKind.ARGUMENTS:
        yield from _literal_edit(sampled, text, here, there)
        yield from _escape_edit(sampled, text, here, there)
        yield from _value_edit(sampled, text, inside, there - (here - inside.start))


def _whitespace_edit(
    parsed: ParsedMessage, sampled: str, text: str, here: int, there: int
) -> Iterator[Edit]:
    """Take over the whitespace around the difference."""
    start = len(sampled[:here].rstrip())
    start_there = there - (here - start)
    end, end_there = (
        len(written) - len(written[at:].lstrip())
        for written, at in ((sampled, here), (text, there))
    )
    ours, theirs = sampled[start:end], text[start_there:end_there]
    if ours != theirs:
        kind = _kind_of_space(parsed, sampled, start, end)
        yield Edit(kind, _splice_text(sampled, (start, end), theirs))


def _kind_of_space(parsed: ParsedMessage, sampled: str, start: int, end: int) -> Cause:
    """Return the kind of an edit of whitespace: JOINT if it separates parts of the turn."""
    kinds = {
        span.kind
        for span in parsed.spans
        if (span.start < end and start < span.end)
        or (start == end and span.start < start < span.end)
    }
    if SpanKind.REASONING in kinds:
        return Cause.REASONING_STRIPPED
    if SpanKind.CONTENT in kinds:
        return Cause.CONTENT_STRIPPED
    if SpanKind.ARGUMENTS in kinds or (parsed.tool_calls and _IN_JSON.search(sampled[:start])):
        return Cause.JSON_SPACING
    return Cause.WHITESPACE


def _literal_edit(sampled: str, text: str, here: int, there: int) -> Iterator[Edit]:
    ours, theirs = _match_around(_WORD, sampled, here), _match_around(_WORD, text, there)
    if ours is None or theirs is None:
        return
    words = {ours.group(), theirs.group()}
    if any(words <= pair for pair in _LITERALS):
        yield Edit(Cause.LITERALS, _splice_text(sampled, ours.span(), theirs.group()))


def _escape_edit(sampled: str, text: str, here: int, there: int) -> Iterator[Edit]:
    ours, theirs = _match_around(_ESCAPE, sampled, here), _match_around(_ESCAPE, text, there)
    # One side may contain the plain character that the other escapes.
    for span in (ours.span() if ours else (here, here), (here, here + 1)):
        for given in (theirs.group() if theirs else "", text[there : there + 1]):
            if given and _same_json(sampled[slice(*span)], given):
                yield Edit(Cause.JSON_ESCAPES, _splice_text(sampled, span, given))


def _same_json(left: str, right: str) -> bool:
    """Whether two texts are the same inside a JSON string."""
    try:
        return left != right and json.loads(f'"{left}"') == json.loads(f'"{right}"')
    except ValueError:
        return False


def _value_edit(sampled: str, text: str, span: Span, start: int) -> Iterator[Edit]:
    """Take over the text that the next prompt has in place of an argument, from `start` on."""
    behind = sampled[span.end : span.end + 12]
    end = text.find(behind, start) if behind else -1
    if end >= 0:
        yield Edit(Cause.VALUES, _splice_text(sampled, (span.start, span.end), text[start:end]))


def _match_around(pattern: re.Pattern[str], text: str, at: int) -> re.Match[str] | None:
    """Return the last match that contains or touches the offset, or None."""
    # Literals and escapes are short; a long text need not be searched from its beginning.
    start = max(0, at - 64)
    found = None
    for match in pattern.finditer(text, start, at + 64):
        if match.start() <= at <= match.end():
            found = match
        if match.start() > at:
            break
    return found


def _splice_text(text: str, span: tuple[int, int], replacement: str) -> str:
    return text[: span[0]] + replacement + text[span[1] :]


def break_cause(stage: ReplayStage, replay: Replay) -> Cause | None:
    """Return why the text breaks, or None if it holds; re-tokenization is not detected here."""
    if replay.holds:
        return None
    if replay.error is not None:
        return Cause.RAISES
    case = BrokenStep(stage, replay)
    return next((cause for cause, found in _HYPOTHESES if found(case)), Cause.REWRITTEN)


def _earlier_reasoning(case: BrokenStep) -> bool:
    """Test whether reasoning of an earlier turn is in this prompt and missing in the next."""
    exchange = case.exchange
    if case.at >= len(case.replay.prompt.base):
        return False
    bare = tuple(
        structs.replace(entry, reasoning="") if isinstance(entry, Message) else entry
        for entry in exchange.history
    )
    if bare == exchange.history:
        return False
    without = case.stage.play(replace(exchange, history=bare))
    return (
        without.text == case.replay.text and without.prompt.text != case.replay.prompt.text
    ) or without.holds


def _reasoning_dropped(case: BrokenStep) -> bool:
    """Test whether the same text is rendered with other words for the reasoning."""
    reasoning = case.replay.parsed.reasoning_content
    if not reasoning or not reasoning.strip():
        return False
    shape = case.stage.analysis.shape
    other = f"{reasoning.strip()} {reasoning.strip()}"
    field = shape.reasoning_field or "reasoning_content"
    if shape.reasoning_form is not ReasoningForm.PART:
        return case.same_with(**{field: other})
    parts = case.replay.memory.message.get("content")
    turned: list[Json] = [
        {**part, field: other} if isinstance(part, dict) and part.get("type") == field else part
        for part in (parts if isinstance(parts, list) else [])
    ]
    return case.same_with(content=turned)


def _empty_block_dropped(case: BrokenStep) -> bool:
    """Test whether it helps to omit the empty reasoning block that the model wrote."""
    block = case.replay.format.reasoning
    sampled = case.exchange.sampled
    if block is None or not block.close.core or case.replay.parsed.reasoning_content:
        return False
    front, close, rest = sampled.partition(block.close.core)
    if not close or front.strip() not in ("", block.open.core):
        return False
    return case.moves(replace(case.exchange, sampled=rest.lstrip()))


def _stop_differs(case: BrokenStep) -> bool:
    """Test whether it helps to omit the string that stopped the model."""
    sampled = case.exchange.sampled
    if _call_repaired(case):
        return False
    for stop in case.replay.format.stop_strings:
        if sampled.endswith(stop) and case.at >= len(case.replay.whole) - len(stop):
            return case.moves(replace(case.exchange, sampled=sampled.removesuffix(stop)))
    return False


def _ids_added(case: BrokenStep) -> bool:
    """Test whether other ids change the next prompt just where it departs from the sampled text."""
    calls = case.replay.memory.message.get("tool_calls")
    if not isinstance(calls, list) or any(call.id for call in case.replay.parsed.tool_calls):
        return False
    other: list[Json] = [
        # Reversed, an id keeps its length and its characters, which templates may check.
        {**call, "id": str(call.get("id"))[::-1]} if isinstance(call, dict) else call
        for call in calls
    ]
    message = {**case.replay.memory.message, "tool_calls": other}
    changed = prefix_length(case.replay.text, case.stage.with_turn(case.replay, message))
    # An id further on would not explain the difference here.
    return case.at <= changed < min(case.at + NEAR, len(case.replay.text))


NEAR = 64
"""The most characters between where a prompt departs and the id that it wrote there."""


def _argument_form(case: BrokenStep) -> bool:
    """Test whether it helps to give the arguments as an object."""
    if case.exchange.engine.arguments is ArgumentsAs.OBJECT or not case.replay.memory.calls:
        return False
    return case.moves_with(arguments=ArgumentsAs.OBJECT)


def _encoded_twice(case: BrokenStep) -> bool:
    """Test whether that helps and the arguments are written as JSON text within JSON text."""
    # Such text begins with a quote that was not sampled, or with a backslash before a sampled one.
    quoted = case.replay.text[case.at :].startswith(('"', "\\"))
    return quoted and _argument_form(case)


def _order_lost(case: BrokenStep) -> bool:
    """Test whether arguments in another order give the same text."""
    calls = case.replay.memory.message.get("tool_calls")
    if not isinstance(calls, list) or not any(
        len(c.arguments) > 1 for c in case.replay.memory.calls
    ):
        return False
    # A template that sorts arguments renders both orders alike.
    turned = [_reverse_arguments(call) for call in calls]
    return case.same_with(tool_calls=turned)


def _reverse_arguments(call: Json) -> Json:
    """Return a call with its arguments in the opposite order."""
    if not isinstance(call, dict):
        return call
    function = call.get("function")
    if isinstance(function, dict):
        return {**call, "function": _reverse_arguments(function)}
    arguments = call.get("arguments")
    if isinstance(arguments, dict):
        return {**call, "arguments": dict(reversed(arguments.items()))}
    return call


def _call_lost(case: BrokenStep) -> bool:
    """Test whether a call was not read, or is not written by the template."""
    parsed = case.replay.parsed
    if has_unreadable_call(parsed) or parsed.status in (Status.MALFORMED, Status.CUT):
        return True
    calls = case.replay.memory.message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return False
    # A template may write only the first or the last call of a turn.
    if len(calls) > 1 and (
        case.same_with(tool_calls=calls[:1]) or case.same_with(tool_calls=calls[-1:])
    ):
        return True
    return case.same_with(tool_calls=None)


def _call_repaired(case: BrokenStep) -> bool:
    """Test whether the break is at or after the first of calls that were repaired."""
    parsed = case.replay.parsed
    if len(case.replay.memory.calls) > len(parsed.tool_calls):
        return True
    here = case.at - len(case.replay.prompt.text)
    names = [span.start for span in parsed.spans if span.kind is SpanKind.NAME]
    read = bool(case.replay.memory.calls)
    return parsed.status is Status.REPAIRED and read and bool(names) and here >= names[0]


def _content_dropped(case: BrokenStep) -> bool:
    if not case.replay.parsed.content:
        return False
    parts = case.stage.analysis.shape.assistant_content is ContentForm.PARTS
    return case.same_with(content=[] if parts else "")


def _by_habit(field: str, faithful: object, *habits: object) -> Callable[[BrokenStep], bool]:
    """Return the hypothesis that a habit of the engine breaks it, and a faithful one does not.

    Without `habits` any but the faithful one is meant.
    """

    def breaks_by_habit(case: BrokenStep) -> bool:
        habit = getattr(case.exchange.engine, field)
        meant = habit in habits if habits else habit != faithful
        return meant and case.moves_with(**{field: faithful})

    return breaks_by_habit


def _by_edit(*causes: Cause) -> Callable[[BrokenStep], bool]:
    """Return the hypothesis that an edit of one of these kinds at the difference removes it."""
    return lambda case: any(True for _ in _explaining_edits(case, *causes))


def _explaining_edits(case: BrokenStep, *causes: Cause) -> Iterator[Exchange]:
    """Yield the step with each edit of one of these kinds that removes the difference."""
    replay = case.replay
    here = case.at - len(replay.prompt.text)
    for edit in text_edits(replay.parsed, case.exchange.sampled, replay.text, here, case.at):
        exchange = replace(case.exchange, sampled=edit.sampled)
        if edit.cause in causes and case.moves(exchange):
            yield exchange


def _spacing_differs(case: BrokenStep) -> bool:
    """Test whether other whitespace in the arguments helps and leaves their values the same."""
    values = [call.arguments for call in case.replay.memory.calls]
    return any(
        [call.arguments for call in case.stage.play(exchange).memory.calls] == values
        for exchange in _explaining_edits(case, Cause.JSON_SPACING)
    )


_VERBATIM = BesideCalls.VERBATIM

_HYPOTHESES: tuple[tuple[Cause, Callable[[BrokenStep], bool]], ...] = (
    (Cause.REASONING_DROPPED, _earlier_reasoning),
    # After the reasoning of earlier turns, which also lies before the generation prompt.
    (Cause.EARLIER, lambda case: case.at < len(case.replay.prompt.base)),
    (Cause.REASONING_DROPPED, _by_habit("reasoning_fields", None)),
    (Cause.REASONING_DROPPED, _reasoning_dropped),
    (Cause.CALL_LOST, _by_habit("malformed", UnreadCalls.CONTENT, UnreadCalls.DROPPED)),
    (Cause.HEADER, lambda case: case.at < len(case.replay.prompt.text)),
    (Cause.REASONING_DROPPED, _empty_block_dropped),
    (Cause.END, _stop_differs),
    (Cause.IDS, _by_habit("ids", Ids.KEPT)),
    (Cause.IDS, _ids_added),
    (Cause.REASONING_STRIPPED, _by_habit("reasoning", "verbatim")),
    (Cause.CONTENT_STRIPPED, _by_habit("beside_calls", _VERBATIM, BesideCalls.STRIPPED)),
    (Cause.CONTENT_DROPPED, _by_habit("beside_calls", _VERBATIM, BesideCalls.DROPPED)),
    (Cause.ENCODED_TWICE, _encoded_twice),
    (Cause.JSON_SPACING, _by_habit("json", "verbatim")),
    (Cause.ARGUMENT_FORM, _argument_form),
    (Cause.CALL_REPAIRED, _call_repaired),
    *((cause, _by_edit(cause)) for cause in (Cause.REASONING_STRIPPED, Cause.CONTENT_STRIPPED)),
    (Cause.JSON_SPACING, _spacing_differs),
    *((cause, _by_edit(cause)) for cause in (Cause.WHITESPACE, Cause.LITERALS, Cause.JSON_ESCAPES)),
    (Cause.ORDER, _order_lost),
    (Cause.CALL_LOST, _call_lost),
    (Cause.CONTENT_DROPPED, _content_dropped),
    # Last, since adopting a whole value removes nearly any difference in it.
    (Cause.VALUES, _by_edit(Cause.JSON_SPACING, Cause.VALUES)),
)
