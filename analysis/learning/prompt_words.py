"""Read formats that turns do not show off prompts, fields and words: suggestions at first.

The parts: markers of reasoning in generation prompts (`read_prompts`), words of a call that a field
of the message replaces (`learn_free_words`), turns before later messages (`historic_end`,
`learn_retention`), and tags or example calls that the prompt's words spell out
(`find_worded_reasoning`, `find_worded_call`), which no render confirms. For example the prompts

    <|assistant|><think>                          thinking on
    <|assistant|><think></think>                  thinking off

continue one another: the first leaves a block open that the second closes, so `<think>` and
`</think>` enclose reasoning, although no message of the template's shows any.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from autoparser.analysis.core.call_format import ArgumentFormat, CallFormat, CallLimit, FreeWord
from autoparser.analysis.core.call_notation import RowSlot, json_notation
from autoparser.analysis.core.conversation import (
    Json,
    Message,
    Presence,
    ToolCall,
    ToolResult,
    UserMessage,
)
from autoparser.analysis.core.switches import Switch, SwitchEffect
from autoparser.analysis.core.text_alignment import common_suffix, diff_split, edge_units, is_unit
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.turn_shape import ReasoningRetention

from .call_frame import PromptText
from .observer import Observer
from .prober import Evidence, Probe
from .shape_negotiation import STANDARD_FIELDS, answered_conversation
from .suggestions import Suggestions

# Reasoning that no turn shows, from generation prompts or the words before them.


class NamedReasoning(NamedTuple):
    """The markers of reasoning, if no turn under these settings shows it."""

    open: str = ""
    """E.g. `"<think>"`."""
    close: str = ""
    """E.g. `"</think>"`; empty if unknown."""
    confirmed: bool = True
    r"""False if only prompts or words show the markers, e.g. `<think>\n</think>` in a prompt, and
    no render reasoning between them."""


def read_prompts(
    observer: Observer, prompts: Sequence[PromptText], header: str, close: str
) -> NamedReasoning:
    """Read the reasoning's markers off generation prompts, if no turn shows them.

    A prompt that continues another one has opened the block that the other leaves closed. `close`
    is the text that reasoning is cut at, if it is only cut.
    """
    # The text of prompts after the header, shortest first: `<think>`, then
    # `<think>\n\n</think>`.
    rests = sorted(
        {
            prompt.text[len(header) :].strip()
            for prompt in prompts
            if prompt.text.startswith(header)
        },
        key=len,
    )
    rests = [rest for rest in rests if rest]
    if close:
        return NamedReasoning(next((rest for rest in rests if close not in rest), ""), close)
    for short in rests:
        for long in rests:
            if long != short and long.startswith(short):
                return NamedReasoning(short, long[len(short) :].strip(), confirmed=False)
    alone = observer.prober.probe((observer.prober.user,), tools=False).text
    for rest in rests:
        if is_unit(rest) and header.strip() and rest not in alone:
            # The prompt opens a block that no turn shows; assume the usual closing tag.
            return NamedReasoning(rest, f"{rest[0]}/{rest[1:]}", confirmed=False)
        match [unit for unit in edge_units(rest) if unit.strip()]:
            case [opening, closing] if is_unit(opening) and is_unit(closing):
                return NamedReasoning(opening, closing, confirmed=False)
            case _:
                pass
    return NamedReasoning()


# Words of a call that a field of the message replaces.
#
# `commentary json<|message|>` with the field `kind` set may be `commentary yaml<|message|>`: then
# `json` is only the template's default, and a model may write another word there.


_MOST_ALONE = 4
"""At most this many fields that reach the text are tried one by one."""


class FreeStretch(NamedTuple):
    """A stretch of the render of one call that a field replaces."""

    text: str
    """The render of the call's conversation, e.g. `"…commentary json<|message|>…"`."""
    start: int
    """The offset of the replaced text, here of `json`."""
    end: int
    """The offset after it, e.g. 55."""


def learn_free_words(observer: Observer, suggestions: Suggestions) -> tuple[FreeStretch, ...]:
    """Set on a call every field that the template reads, and find the words they replace."""
    marks = observer.prober.sentinels
    fields = {
        field: f"{marks.next_user}{at}z" for at, field in enumerate(_unknown_fields(suggestions))
    }
    # Send all fields in one render: few templates read any of them.
    together = _render_with_fields(observer, fields)
    shown = [field for field, word in fields.items() if word in together][:_MOST_ALONE]
    found: list[FreeStretch] = []
    for field in shown:
        word = fields[field]
        # Several fields in one render change more than one stretch, so each is rendered alone.
        free = _replaced_stretch(observer, together, word) if len(shown) == 1 else None
        free = free or _replaced_stretch(
            observer, _render_with_fields(observer, {field: word}), word
        )
        if free is not None and free not in found:
            found.append(free)
    return tuple(found)


def place_stretches(
    calls: CallFormat, call: ToolCall, stretches: Sequence[FreeStretch]
) -> CallFormat:
    """Locate these stretches of a call's render in the row of the call."""
    words = {
        word for stretch in stretches if (word := _locate_stretch(calls, call, stretch)) is not None
    }
    return replace(calls, free_words=tuple(sorted(words))) if words else calls


def _unknown_fields(suggestions: Suggestions) -> list[str]:
    """Return the fields that no message has, without attributes of texts, lists and objects."""
    return [
        field
        for field in suggestions.fields
        if field.isidentifier()
        and field not in STANDARD_FIELDS
        and not any(hasattr(kind, field) for kind in (str, list, dict))
    ]


def _render_with_fields(observer: Observer, fields: Mapping[str, str]) -> str:
    """Render one call with these fields; return an empty text if the template raises."""
    if not fields:
        return ""
    dialogue = answered_conversation(observer.prober, Message(calls=(observer.call(),)))
    shaped = observer.prober.shape.messages(dialogue, observer.prober.sentinels.system)
    given = [
        {**message, "tool_calls": [_with_fields(call, fields) for call in calls]}
        if isinstance(calls := message.get("tool_calls"), list)
        else message
        for message in shaped
    ]
    return observer.prober.text_of_messages(given)


def _with_fields(call: Json, fields: Mapping[str, str]) -> Json:
    if not isinstance(call, dict):
        return call
    function = call.get("function")
    inner = {**fields, **function} if isinstance(function, dict) else function
    whole: dict[str, Json] = {**fields, **call}
    return whole if inner is None else {**whole, "function": inner}


def _replaced_stretch(observer: Observer, text: str, word: str) -> FreeStretch | None:
    """Return the stretch that a word replaced, if all other text is unchanged."""
    usual = observer.prober.probe(
        answered_conversation(observer.prober, Message(calls=(observer.call(),)))
    ).text
    if text.count(word) != 1:
        return None
    before, _, after = text.partition(word)
    end = len(usual) - len(after)
    if end <= len(before) or not usual.startswith(before) or not usual.endswith(after):
        return None
    return FreeStretch(usual, len(before), end)


def _locate_stretch(calls: CallFormat, call: ToolCall, stretch: FreeStretch) -> FreeWord | None:
    """Find the literal of a call's row that holds a stretch of the call's text."""
    begun = stretch.text.rfind(calls.write((call,)))
    if begun < 0:
        return None
    texts: Mapping[RowSlot, str] = {
        RowSlot.NAME: call.name,
        RowSlot.ID: call.id,
        RowSlot.INDEX: str(calls.index_base),
        RowSlot.ARGUMENTS: calls.arguments.write(call.arguments),
    }
    # From here on `at` is an offset in the call, then in each piece of its row.
    at, size = stretch.start - begun - len(calls.section_open), stretch.end - stretch.start
    for number, piece in enumerate(calls.row):
        text = texts.get(piece, "") if isinstance(piece, RowSlot) else piece
        if not isinstance(piece, RowSlot) and at >= 0 and at + size <= len(text):
            return FreeWord(number, at, at + size)
        at -= len(text)
    return None


# Turns of the history: their end and their reasoning once the conversation goes on.


def historic_turn(observer: Observer) -> Probe:
    """Render a plain assistant turn followed by a user message."""
    message = observer.message(Presence(content=True))
    return observer.prober.probe((observer.prober.user, message, observer.next_user))


def historic_opening(observer: Observer) -> str | None:
    """Return the text before the content of an earlier turn, or None if it is not shown."""
    probe = historic_turn(observer)
    content = observer.prober.sentinels.content
    if not probe.text.startswith(observer.before) or content not in probe.text:
        return None
    return probe.text[len(observer.before) : probe.text.index(content)]


def historic_end(
    observer: Observer, probe: Probe, last: str, usual: str, header_of_turn: str
) -> str | None:
    """Return the end of a turn that another message follows, or None if it is undecidable.

    `last` is the turn's last text, `usual` its end as the last turn of the conversation.
    """
    marks = observer.prober.sentinels
    text = probe.text
    at = text.find(last)
    if not probe.rendered or at < 0:
        return None
    rest = text[at + len(last) :]
    # The text up to the next message's words consists of the turn's end and that message's header.
    following = [rest.find(word) for word in (marks.next_user, marks.answer)]
    until = min((place for place in following if place >= 0), default=-1)
    if until < 0:
        return None
    between = rest[:until]
    if between.startswith(usual):
        return usual
    if between.startswith(usual.rstrip()) and usual.strip():
        return usual.rstrip()
    if until != following[0]:
        return None
    alone = observer.prober.probe((observer.prober.user,), tools=False).text
    # The first user message shows the header of user messages.
    header = common_suffix(between, alone[: alone.find(marks.user)])
    if len(header) < len(between):
        return between[: len(between) - len(header)]
    # The message before the first user's ends like this turn; the header of a role separates them.
    units = edge_units(header_of_turn.strip())
    at = between.find(units[0]) if units else -1
    return between[:at] if at >= 0 else None


def called_turn(observer: Observer) -> Probe:
    """Render a turn of calls, answered, concluded, and followed by a user message."""
    marks = observer.prober.sentinels
    called = observer.message(Presence(reasoning=True, calls=True))
    return observer.prober.probe(
        (
            observer.prober.user,
            called,
            ToolResult(marks.answer, marks.names[0], marks.ids[0]),
            Message(marks.content),
            UserMessage(marks.next_user),
        )
    )


def following_text(observer: Observer, after: TurnPart) -> str:
    """Return the text between a turn and the next message's text: the next header."""
    marks = observer.prober.sentinels
    if after is TurnPart.CALLS:
        probe, last, following = called_turn(observer), marks.values[0], marks.answer
    else:
        probe, last, following = historic_turn(observer), marks.content, marks.next_user
    at = probe.text.find(last)
    until = probe.text.find(following, at)
    if not probe.rendered or min(at, until) < 0:
        return ""
    between = probe.text[at + len(last) : until]
    return between if after is TurnPart.CONTENT else _behind_call(observer, between)


def _behind_call(observer: Observer, between: str) -> str:
    called = observer.sample(Presence(calls=True)).text
    value = observer.prober.sentinels.values[0]
    close = called[called.rfind(value) + len(value) :]
    return between[len(close) :] if between.startswith(close) else ""


def before_next_user(observer: Observer, *, tools: bool = True) -> tuple[Probe, Probe]:
    """Render a turn with reasoning and an answer: as the last one, and before a user message."""
    answer = observer.message(Presence(reasoning=True, content=True))
    last = (observer.prober.user, answer)
    return (
        observer.prober.probe(last, tools=tools),
        observer.prober.probe((*last, observer.next_user), tools=tools),
    )


def learn_retention(observer: Observer, *, reasoning: bool, calls: bool) -> ReasoningRetention:
    """Find the later prompts that retain the reasoning of a turn."""
    if not reasoning:
        return ReasoningRetention()
    marks = observer.prober.sentinels
    tool_loop = answered_loop = None
    if calls:
        called = observer.message(Presence(reasoning=True, calls=True))
        answer = ToolResult(marks.answer, marks.names[0], marks.ids[0])
        loop = observer.prober.probe((observer.prober.user, called, answer))
        tool_loop = (marks.reasoning in loop.text) if loop.rendered else None
        # An answer and a user message end the loop; a template may drop its reasoning then.
        over = called_turn(observer)
        answered_loop = (marks.reasoning in over.text) if over.rendered else None
    return ReasoningRetention(
        tool_loop,
        _keeps_reasoning(observer, tools=True),
        answered_loop,
        _keeps_reasoning(observer, tools=False),
    )


def _keeps_reasoning(observer: Observer, *, tools: bool) -> bool | None:
    """Whether reasoning is retained after the next user message, or None if no turn shows it."""
    word = observer.prober.sentinels.reasoning
    last, later = before_next_user(observer, tools=tools)
    return (word in later.text) if later.rendered and word in last.text else None


_LONGEST_INSIDE = 40
"""At most this many characters are between two paired tags: a placeholder, or "and"."""


def find_worded_reasoning(
    observer: Observer, switches: Sequence[Switch]
) -> tuple[NamedReasoning, Evidence] | None:
    """Search the text that a switch adds before the turn for a pair of tags."""
    prober = observer.prober
    unset = prober.probe((prober.user,))
    for switch in switches:
        if switch.inserted or SwitchEffect.PROMPT not in switch.changes:
            continue
        for value in switch.values:
            if repr(value) == repr(switch.any_other):
                # Tags around the caller's own words are not meant for the model's.
                continue
            with_words = prober.probe(
                (prober.user,), setting={**prober.setting, switch.name: value}
            )
            added = diff_split(unset.text, with_words.text).right
            for opening, inside, close in _tag_pairs(added):
                given = value if isinstance(value, list) else []
                if any(isinstance(text, str) and text in inside for text in given):
                    continue  # a document of the caller's, and no reasoning
                if len(inside) <= _LONGEST_INSIDE and "\n" not in inside:
                    evidence = Evidence("switch unset / set", unset, with_words)
                    return NamedReasoning(opening, close, confirmed=False), evidence
    return None


def find_worded_call(observer: Observer) -> tuple[CallFormat, Evidence] | None:
    """Search the text that tools add before the turn for tags around a JSON object."""
    prober = observer.prober
    without = prober.probe((prober.user,), tools=False)
    # Words that appear only with tools describe how to call them.
    with_words = prober.probe((prober.user,))
    if not without.rendered or not with_words.rendered:
        return None
    added = diff_split(without.text, with_words.text).right
    for opening, inside, close in _tag_pairs(added):
        if any(word in inside for word in prober.sentinels.words()):
            continue
        calls = _read_example_call(opening, inside, close)
        if calls is not None:
            return calls, Evidence("no tools / tools", without, with_words)
    return None


def _tag_pairs(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the tags of a text that have a closing tag, with the text between."""
    units = edge_units(text)
    for at, unit in enumerate(units):
        if not is_unit(unit):
            continue
        for later in range(at + 1, len(units)):
            other = units[later]
            if other != unit and is_unit(other) and other.replace("/", "", 1) == unit:
                yield unit, "".join(units[at + 1 : later]), other
                break


_PLACEHOLDER = re.compile(r"(?<=[:\s])<[^<>\n]+>|\{[\w\s-]+\}")


def _read_example_call(opening: str, inside: str, close: str) -> CallFormat | None:
    """Read an example call: an object with a name and an object of arguments."""
    body = inside.strip()
    lead, trail = inside[: inside.find(body)], inside[inside.find(body) + len(body) :]
    try:
        # Prompts contain placeholders as in `{"name": <function-name>, "arguments":
        # <args-json-object>}`, which is not JSON.
        value: Json = json.loads(_PLACEHOLDER.sub('""', body))
    except ValueError:
        return None
    fields = 2
    if not isinstance(value, dict) or len(value) != fields:
        return None
    (name, named), (arguments, given) = value.items()
    if not isinstance(named, str) or not isinstance(given, str | dict):
        return None
    notation = json_notation()
    return CallFormat(
        row=(
            f'{opening}{lead}{{"{name}": "',
            RowSlot.NAME,
            f'", "{arguments}": ',
            RowSlot.ARGUMENTS,
            f"}}{trail}{close}",
        ),
        arguments=ArgumentFormat(notation.object, notation),
        limit=CallLimit.FIRST,
    )
