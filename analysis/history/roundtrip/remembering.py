"""What an engine and a client put into the history: the parsed message, and what follows it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    Message,
    ToolCall,
    ToolResult,
    User,
)
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.format import Literal, Slot, TurnFormat
from autoparser.analysis.inference.probing import Prober, ReasoningForm, Setting
from autoparser.analysis.reading.parsing import ParsedCall, ParsedMessage, SpanKind, Status

from .engine_messages import EngineMessages, json_value
from .partial_json import readable_part
from .scenario import Answers, EngineHabits, Ids, Next, UnreadCalls

ANSWER = '{"ok": true}'
CONCLUSION = "All of it is done."
NEXT_QUESTION = "Thanks. What else is there?"

PLAIN_IDS = ("aB3dE6gH1", "kL5mN7pQ2", "rS8tU4vW9")
"""Ids that every template takes; where a turn shows no ids, none of this matters."""

MADE_ID = "chatcmpl-tool-{:032x}"
"""An id as engines make them: nothing of it was sampled."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """An assistant message in the history."""

    message: Mapping[str, Json]
    """In the form that the engine gives it."""
    calls: tuple[ToolCall, ...]
    """Its calls, which want answers."""


def remembered(
    messages: EngineMessages, format_: TurnFormat, parsed: ParsedMessage, sampled: str
) -> Remembered:
    """Return the message that goes into the history, as the engine of `messages` makes it."""
    engine = messages.engine
    seen = _calls(format_, parsed, engine)
    content = _content(format_, parsed, sampled, engine)
    made = _makes_ids(format_, engine)
    calls = tuple(_call(call, at, made=made) for at, call in enumerate(seen))
    said = Message(content, parsed.reasoning_content or "", calls)
    return Remembered(messages.turn(said, [_text(call, engine) for call in seen]), calls)


def _makes_ids(format_: TurnFormat, engine: EngineHabits) -> bool:
    """Say whether the engine's ids are none that the model wrote."""
    naming = format_.calls is not None and format_.calls.naming is not None
    return engine.ids is Ids.MADE or (engine.ids is Ids.NAMED and not naming)


def unreadable(parsed: ParsedMessage) -> bool:
    """Say whether a call was not written whole; a forgiving parser may read it all the same."""
    return parsed.partial_call is not None or any(map(_broken, parsed.tool_calls))


def _broken(call: ParsedCall) -> bool:
    return call.status in _BROKEN


_BROKEN = (Status.REPAIRED, Status.MALFORMED)


def _calls(
    format_: TurnFormat, parsed: ParsedMessage, engine: EngineHabits
) -> Sequence[ParsedCall]:
    """Return the calls that the engine sees."""
    if engine.malformed is UnreadCalls.CONTENT and unreadable(parsed):
        return ()
    if engine.malformed is UnreadCalls.DROPPED:
        return [call for call in parsed.tool_calls if not _broken(call)]
    partial = parsed.partial_call
    if partial is None or not partial.name:
        return parsed.tool_calls
    arguments = _unstopped(format_, partial.arguments)
    return (
        *parsed.tool_calls,
        replace(partial, arguments=json.dumps(readable_part(arguments))),
    )


def _content(format_: TurnFormat, parsed: ParsedMessage, sampled: str, engine: EngineHabits) -> str:
    content = parsed.content or ""
    if parsed.malformed_calls and engine.malformed is not UnreadCalls.READ:
        # What follows the place where a call broke is read as content.
        broke = _first_broken(parsed)
        spans = [each for each in parsed.spans if each.start >= broke]
        rest = (sampled[each.start : each.end] for each in spans if each.kind is SpanKind.CONTENT)
        content = content.removesuffix("".join(rest))
    if unreadable(parsed) and engine.malformed is not UnreadCalls.READ:
        kept = engine.malformed is UnreadCalls.CONTENT
        return content + _call_text(format_, parsed, sampled) if kept else content
    opener = call_opener(format_)
    unread = parsed.status is Status.MALFORMED and not parsed.malformed_calls
    if unread and engine.malformed is not UnreadCalls.CONTENT and opener:
        # What is no call may go on otherwise than calls do behind their first marker.
        return content.partition(Literal.of(opener).first)[0]
    return content


def _call_text(format_: TurnFormat, parsed: ParsedMessage, sampled: str) -> str:
    """Return the text from after the reasoning or the content on, where a call was cut."""
    said = (SpanKind.CONTENT, SpanKind.REASONING)
    broke = _first_broken(parsed) if parsed.malformed_calls else len(sampled)
    spans = (span for span in parsed.spans if span.kind in said and span.start < broke)
    start = max((span.end for span in spans), default=0)
    text = _unstopped(format_, sampled[start:].removeprefix("" if start else format_.header))
    block = None if parsed.content else format_.reasoning
    if block is None or not block.close.core:
        return text
    head, close, rest = text.partition(block.close.core)
    closed = bool(close) and head.strip() in ("", block.open.core)
    return rest.removeprefix(block.close.after) if closed else text


def _first_broken(parsed: ParsedMessage) -> int:
    """Return where the first call begins that broke."""
    return min(each.start for each in parsed.attempts if each.status is Status.MALFORMED)


def _unstopped(format_: TurnFormat, text: str) -> str:
    """Take off what stopped the model, as engines do."""
    return text.removesuffix(
        next((stop for stop in format_.stop_strings if text.endswith(stop)), "")
    )


def call_opener(format_: TurnFormat) -> str:
    """Return what opens calls, without the whitespace at its edges; empty where nothing does."""
    calls = format_.calls
    if calls is None:
        return ""
    first = calls.row[0]
    return (calls.section_open.strip() or ("" if isinstance(first, Slot) else first)).strip()


def _call(call: ParsedCall, at: int, *, made: bool) -> ToolCall:
    plain = PLAIN_IDS[at] if at < len(PLAIN_IDS) else f"{PLAIN_IDS[0][:7]}{at:02}"
    return ToolCall(call.name, _decoded(call), MADE_ID.format(at + 1) if made else call.id or plain)


def _decoded(call: ParsedCall) -> Mapping[str, Json]:
    value = json_value(call.arguments)
    return value if isinstance(value, dict) else {}


def _text(call: ParsedCall, engine: EngineHabits) -> str:
    if not engine.rewrites_json:
        return call.arguments
    try:
        return json.dumps(json.loads(call.arguments), ensure_ascii=False)
    except ValueError:
        return call.arguments


def following(calls: Sequence[ToolCall], coming: Next, answers: Answers) -> Dialogue:
    """Give the messages that come after the turn. Where nothing was called, nothing is answered."""
    answered = list(calls[:1] if answers is Answers.FIRST else calls)
    if answers is Answers.REVERSED:
        answered.reverse()
    results = tuple(ToolResult(ANSWER, call.name, call.id) for call in answered)
    if coming is Next.TOOL and results:
        return results
    if coming is Next.LATER and results:
        return (*results, Message(CONCLUSION), User(NEXT_QUESTION))
    return (User(NEXT_QUESTION),)


def _tagged(part: Json) -> Json:
    """Put the tag after the text of a part of the content."""
    if not isinstance(part, dict):
        return part
    return {key: text if key == "type" else f"{text}{_TAG}" for key, text in part.items()}


_TAG = "CONTINUE_FINAL_MESSAGE_TAG "


def continued(
    prober: Prober, messages: Sequence[Mapping[str, Json]], *, tools: bool, setting: Setting
) -> str:
    """Render a conversation whose last message goes on, as transformers 5.23.0 does.

    `apply_chat_template(continue_final_message=…)` puts a tag after the text to continue and
    cuts the render there. Raises TemplateRenderError where it is not to be found.
    """
    last = dict(messages[-1])
    content = last.get("content")
    if isinstance(content, list) and content:
        last["content"] = [*content[:-1], _tagged(content[-1])]
    elif content:
        last["content"] = f"{content}{_TAG}"
    else:
        field = prober.shape.reasoning_field or "reasoning_content"
        if prober.shape.reasoning_form is ReasoningForm.FIELD and field in last:
            last[field] = f"{last[field]}{_TAG}"
    text = prober.render_messages([*messages[:-1], last], tools=tools, setting=setting)
    at = text.rfind(_TAG.strip())
    if at < 0:
        raise TemplateRenderError("the message to continue does not appear in the text")
    return text[:at] if text.startswith(_TAG, at) else text[:at].rstrip()
