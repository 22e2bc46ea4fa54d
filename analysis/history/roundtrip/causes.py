"""Why a round trip breaks: a closed list of causes, each found by what renders do.

Nothing is concluded from names: one thing is changed (the sampled text, what the engine made of
it, the message in the history), the step is played again, and the cause is the change by which
the difference goes away, or moves after what was changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from autoparser.analysis.core.alignment import prefix_length
from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.inference.probing import ContentForm, ReasoningForm
from autoparser.analysis.reading.parsing import SpanKind, Status

from .broken_step import BrokenStep
from .cause import Cause
from .edits import Edit, EditKind, edits_at
from .remembering import unreadable
from .replay import Replay, ReplayStage
from .scenario import ArgumentsAs, BesideCalls, Ids, UnreadCalls


def cause_of(stage: ReplayStage, replay: Replay) -> Cause | None:
    """Say why the text breaks; None where it holds. Re-tokenization is not seen here."""
    if replay.holds:
        return None
    if replay.error is not None:
        return Cause.RAISES
    case = BrokenStep(stage, replay, len(replay.text) if replay.at is None else replay.at)
    return next((cause for cause, found in _HYPOTHESES if found(case)), Cause.REWRITTEN)


def _earlier_reasoning(case: BrokenStep) -> bool:
    """Reasoning of an earlier turn is in this prompt and no more in the next."""
    exchange = case.exchange
    if case.at >= len(case.replay.prompt.base):
        return False
    bare = tuple(
        replace(entry, reasoning="") if isinstance(entry, Message) else entry
        for entry in exchange.history
    )
    if bare == exchange.history:
        return False
    without = case.stage.play(replace(exchange, history=bare))
    return (
        without.text == case.replay.text and without.prompt.text != case.replay.prompt.text
    ) or without.holds


def _earlier(case: BrokenStep) -> bool:
    return case.at < len(case.replay.prompt.base)


def _reasoning_dropped(case: BrokenStep) -> bool:
    """With other words for the reasoning the same text is rendered."""
    reasoning = case.replay.parsed.reasoning_content
    if not reasoning or not reasoning.strip():
        return False
    shape = case.stage.analysis.shape
    other = f"{reasoning.strip()} {reasoning.strip()}"
    field = shape.reasoning_field or "reasoning_content"
    if shape.reasoning_form is not ReasoningForm.PART:
        return case.same_with(**{field: other})
    parts = case.replay.kept.message.get("content")
    turned: list[Json] = [
        {**part, field: other} if isinstance(part, dict) and part.get("type") == field else part
        for part in (parts if isinstance(parts, list) else [])
    ]
    return case.same_with(content=turned)


def _empty_block_dropped(case: BrokenStep) -> bool:
    """Without the empty reasoning block that the model wrote, the step goes well, or farther."""
    block = case.format.reasoning
    sampled = case.exchange.sampled
    if block is None or not block.close.core or case.replay.parsed.reasoning_content:
        return False
    front, close, rest = sampled.partition(block.close.core)
    if not close or front.strip() not in ("", block.open.core):
        return False
    return case.moves(replace(case.exchange, sampled=rest.lstrip()))


def _header(case: BrokenStep) -> bool:
    return case.at < len(case.replay.prompt.text)


def _end(case: BrokenStep) -> bool:
    """Without the string that stopped the model, the text holds."""
    sampled = case.exchange.sampled
    if _call_repaired(case):
        return False
    for stop in case.format.stop_strings:
        if sampled.endswith(stop) and case.at >= len(case.replay.whole) - len(stop):
            return case.moves(replace(case.exchange, sampled=sampled.removesuffix(stop)))
    return False


def _ids(case: BrokenStep) -> bool:
    engine = case.exchange.engine
    return engine.ids is not Ids.KEPT and case.moves(
        replace(case.exchange, engine=replace(engine, ids=Ids.KEPT))
    )


def _ids_added(case: BrokenStep) -> bool:
    """With other ids the next prompt changes just where it departs from what was sampled."""
    calls = case.replay.kept.message.get("tool_calls")
    if not isinstance(calls, list) or any(call.id for call in case.replay.parsed.tool_calls):
        return False
    other: list[Json] = [
        {**call, "id": str(call.get("id"))[::-1]} if isinstance(call, dict) else call
        for call in calls
    ]
    message = {**case.replay.kept.message, "tool_calls": other}
    changed = prefix_length(case.replay.text, case.stage.with_turn(case.replay, message))
    return case.at <= changed < min(case.at + NEAR, len(case.replay.text))


NEAR = 64
"""Characters between where a prompt departs and the id that it has written there."""


def _argument_form(case: BrokenStep) -> bool:
    """As an object the arguments are written as they were sampled."""
    engine = case.exchange.engine
    if engine.arguments is ArgumentsAs.OBJECT or not case.replay.kept.calls:
        return False
    return case.moves(replace(case.exchange, engine=replace(engine, arguments=ArgumentsAs.OBJECT)))


def _encoded_twice(case: BrokenStep) -> bool:
    """So they are, and as a string they are JSON text within JSON text."""
    # Its beginning is a quote that was not sampled, or a backslash before one that was.
    quoted = case.replay.text[case.at :].startswith(('"', "\\"))
    return quoted and _argument_form(case)


def _rewritten_by_engine(case: BrokenStep) -> bool:
    engine = case.exchange.engine
    return engine.rewrites_json and case.moves(
        replace(case.exchange, engine=replace(engine, rewrites_json=False))
    )


def _dropped_by_engine(case: BrokenStep) -> bool:
    """Where the engine leaves the call's text in the content, it goes well, or farther."""
    engine = case.exchange.engine
    return engine.malformed is UnreadCalls.DROPPED and case.moves(
        replace(case.exchange, engine=replace(engine, malformed=UnreadCalls.CONTENT))
    )


def _stripped_by_engine(case: BrokenStep) -> bool:
    engine = case.exchange.engine
    return engine.strips_reasoning and case.moves(
        replace(case.exchange, engine=replace(engine, strips_reasoning=False))
    )


def _reasoning_not_sent(case: BrokenStep) -> bool:
    """With the reasoning in the field that the template reads, it goes well, or farther."""
    engine = case.exchange.engine
    return engine.reasoning_fields is not None and case.moves(
        replace(case.exchange, engine=replace(engine, reasoning_fields=None))
    )


def _beside_calls(habit: BesideCalls) -> Callable[[BrokenStep], bool]:
    """Make the hypothesis that an engine with this habit keeps no content beside calls."""

    def found(case: BrokenStep) -> bool:
        engine = case.exchange.engine
        faithful = replace(engine, beside_calls=BesideCalls.VERBATIM)
        return engine.beside_calls is habit and case.moves(replace(case.exchange, engine=faithful))

    return found


def _order(case: BrokenStep) -> bool:
    """Arguments in another order give the same text."""
    calls = case.replay.kept.message.get("tool_calls")
    if not isinstance(calls, list) or not any(len(c.arguments) > 1 for c in case.replay.kept.calls):
        return False
    turned = [_turned(call) for call in calls]
    return case.same_with(tool_calls=turned)


def _turned(call: Json) -> Json:
    """Return a call with its arguments in the opposite order."""
    if not isinstance(call, dict):
        return call
    function = call.get("function")
    if isinstance(function, dict):
        return {**call, "function": _turned(function)}
    arguments = call.get("arguments")
    if isinstance(arguments, dict):
        return {**call, "arguments": dict(reversed(arguments.items()))}
    return call


def _call_lost(case: BrokenStep) -> bool:
    """Find a call that was not read, or that the template does not write."""
    parsed = case.replay.parsed
    if unreadable(parsed) or parsed.status in (Status.MALFORMED, Status.CUT):
        return True
    calls = case.replay.kept.message.get("tool_calls")
    if not isinstance(calls, list) or not calls:
        return False
    if len(calls) > 1 and (
        case.same_with(tool_calls=calls[:1]) or case.same_with(tool_calls=calls[-1:])
    ):
        return True
    return case.same_with(tool_calls=None)


def _call_repaired(case: BrokenStep) -> bool:
    """Closers were missing in the call that the break lies in or after, or were put there."""
    parsed = case.replay.parsed
    if len(case.replay.kept.calls) > len(parsed.tool_calls):
        return True
    here = case.at - len(case.replay.prompt.text)
    names = [span.start for span in parsed.spans if span.kind is SpanKind.NAME]
    read = bool(case.replay.kept.calls)
    return parsed.status is Status.REPAIRED and read and bool(names) and here >= names[0]


def _content_dropped(case: BrokenStep) -> bool:
    if not case.replay.parsed.content:
        return False
    parts = case.stage.analysis.shape.assistant_content is ContentForm.PARTS
    return case.same_with(content=[] if parts else "")


def _edited(*kinds: EditKind) -> Callable[[BrokenStep], bool]:
    """Make the hypothesis that an edit of such a kind, at the difference, removes it."""
    return lambda case: any(
        edit.kind in kinds and _explains(case, edit) for edit in edits_at(case.replay, case.at)
    )


def _explains(case: BrokenStep, edit: Edit) -> bool:
    return case.moves(replace(case.exchange, sampled=edit.sampled))


def _spacing(case: BrokenStep) -> bool:
    """With other whitespace in the arguments it goes farther, and their values are the same."""
    return any(
        edit.kind is EditKind.ARGUMENT_SPACE
        and _explains(case, edit)
        and _values(case.stage.play(replace(case.exchange, sampled=edit.sampled)))
        == _values(case.replay)
        for edit in edits_at(case.replay, case.at)
    )


def _values(replay: Replay) -> list[Mapping[str, Json]]:
    return [call.arguments for call in replay.kept.calls]


_HYPOTHESES: tuple[tuple[Cause, Callable[[BrokenStep], bool]], ...] = (
    (Cause.REASONING_DROPPED, _earlier_reasoning),
    (Cause.EARLIER, _earlier),
    (Cause.REASONING_DROPPED, _reasoning_not_sent),
    (Cause.REASONING_DROPPED, _reasoning_dropped),
    (Cause.CALL_LOST, _dropped_by_engine),
    (Cause.HEADER, _header),
    (Cause.REASONING_DROPPED, _empty_block_dropped),
    (Cause.END, _end),
    (Cause.IDS, _ids),
    (Cause.IDS, _ids_added),
    (Cause.REASONING_STRIPPED, _stripped_by_engine),
    (Cause.CONTENT_STRIPPED, _beside_calls(BesideCalls.STRIPPED)),
    (Cause.CONTENT_DROPPED, _beside_calls(BesideCalls.DROPPED)),
    (Cause.ENCODED_TWICE, _encoded_twice),
    (Cause.JSON_SPACING, _rewritten_by_engine),
    (Cause.ARGUMENT_FORM, _argument_form),
    (Cause.CALL_REPAIRED, _call_repaired),
    (Cause.REASONING_STRIPPED, _edited(EditKind.REASONING_EDGE)),
    (Cause.CONTENT_STRIPPED, _edited(EditKind.CONTENT_EDGE)),
    (Cause.JSON_SPACING, _spacing),
    (Cause.WHITESPACE, _edited(EditKind.JOINT)),
    (Cause.LITERALS, _edited(EditKind.LITERAL)),
    (Cause.JSON_ESCAPES, _edited(EditKind.ESCAPE)),
    (Cause.ORDER, _order),
    (Cause.CALL_LOST, _call_lost),
    (Cause.CONTENT_DROPPED, _content_dropped),
    (Cause.VALUES, _edited(EditKind.ARGUMENT_SPACE, EditKind.VALUE)),
)
