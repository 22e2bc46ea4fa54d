"""The form that users send, where a template's shape departs from it: what it says there.

A template is asked in the shape that it takes best. Where that is not OpenAI's, users' requests
come out otherwise: they raise, which everybody notices, or they lose what was said in silence. So
the same conversation is rendered in both forms. The judge is the text that was sent: what the
template's own form brings into the prompt, the usual one has to bring there as well.

Markup may differ, and so may the spelling of values: one form pastes the arguments as they came,
and the other writes them itself. So a message is looked for as it is, and of arguments the words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto

from autoparser.analysis.core.conversation import Dialogue, Json, Message, Tool, ToolCall
from autoparser.analysis.core.format import Part
from autoparser.analysis.core.message_shape import (
    FormDeparture,
    Shape,
    departures_of,
    put_together,
)
from autoparser.analysis.core.verdicts import AskedForm

_WORD = re.compile(r"[^\W_]{3,}")
"""The words of a value: what stands between them may be escaped in one notation or another."""

_OTHER = "5"
"""Put in the place of a text to see what is written of it: no word begins or ends so."""


@dataclass(frozen=True, slots=True)
class LostText:
    """A text that the template writes in its own form, and not in the usual one."""

    text: str
    whose: str
    """Where it was said, such as ``the user's message``."""
    whole: bool = True
    """Whether it is all that was said there, not a piece of it."""
    encoded: bool = False
    """Whether it is there, inside JSON text that was encoded once more."""
    now: str = ""
    """What the template writes in its place, where that is short and known."""

    def __str__(self) -> str:
        """Say it in words, as what becomes of a message."""
        if self.encoded:
            return f"{self.whose} are encoded a second time"
        if self.now:
            return f"{self.text!r} in {self.whose} is written as {self.now!r}"
        said = self.whose if self.whole else f"{self.text!r} in {self.whose}"
        return f"{said} is not written as it was said"


@dataclass(frozen=True, slots=True)
class SaidPart:
    """A text of a message, and the message with another text in its place."""

    lost: LostText
    replaced: Message
    part: Part

    def stands_in(self, text: str) -> bool:
        """Whether all words of the part stand in a text."""
        if self.lost.whole:
            return self.lost.text in text
        return all(_count(each, text) for each in _spelled(self.lost.text))


class FormOutcome(Enum):
    """What becomes of a conversation that is sent in another form than the template takes."""

    KEPT = auto()
    RAISED = auto()
    SPOILED = auto()
    UNREAD = auto()
    """Reasoning that the template does not read under its usual name: another finding."""


def departures_together(
    found: Mapping[FormDeparture, FormOutcome],
) -> Iterator[FormDeparture]:
    """Return the departures of a conversation to ask at once, whose own outcomes are known.

    What is spoiled by one of them is known without. Users send all of them in the usual form; where
    that raises, a caller puts right what raises by itself, and sends the others so.
    """
    if FormOutcome.SPOILED in found.values():
        return
    every = tuple(each for each, outcome in found.items() if outcome is not FormOutcome.UNREAD)
    kept = tuple(each for each in every if found[each] is FormOutcome.KEPT)
    for group in dict.fromkeys((every, kept)):
        if len(group) > 1:
            yield put_together(group)


def unnoticed_departures(shape: Shape, forms: Iterable[AskedForm]) -> FormDeparture | None:
    """Return all that users send otherwise than `shape` at once, less what they notice by itself.

    They notice what raises, and reasoning that is not read. None where nothing is left.
    """
    noticed = {form.usual for form in forms if form.raised or form.unread}
    found = [each for each in departures_of(shape) if each.usual not in noticed]
    return put_together(found) if found else None


def lost_text(
    dialogue: Dialogue, tools: Sequence[Tool], usual: str, wanted: str, *, system: str = ""
) -> LostText | None:
    """Return what of a conversation is in the render `wanted`, and less often in `usual`."""
    if usual == wanted:
        return None
    for whose, text in _spoken(dialogue, system):
        # Whitespace at the edges is nobody's words.
        said = text.strip()
        if said and _rarer((said,), usual, wanted):
            return LostText(said, whose)
    calls = [call for entry in dialogue if isinstance(entry, Message) for call in entry.calls]
    return _lost_of_calls(calls, usual, wanted) or _lost_of_tools(tools, usual, wanted)


def without_reasoning(dialogue: Dialogue) -> Dialogue:
    """Return the same conversation without any reasoning."""
    return tuple(
        replace(entry, reasoning="") if isinstance(entry, Message) else entry for entry in dialogue
    )


def said_parts(message: Message) -> Iterator[SaidPart]:
    """Return the texts of an assistant message, of arguments the names, strings and numbers."""
    if text := message.reasoning.strip():
        lost = LostText(text, "the reasoning")
        yield SaidPart(lost, replace(message, reasoning=_OTHER), Part.REASONING)
    if text := message.content.strip():
        lost = LostText(text, "the assistant's message")
        yield SaidPart(lost, replace(message, content=_OTHER), Part.CONTENT)
    for at, call in enumerate(message.calls):

        def put(lost: LostText, changed: ToolCall, at: int = at) -> SaidPart:
            calls = (*message.calls[:at], changed, *message.calls[at + 1 :])
            return SaidPart(lost, replace(message, calls=calls), Part.CALLS)

        yield put(LostText(call.name, "a call's name"), replace(call, name=_OTHER))
        for key, value in call.arguments.items():
            renamed = {(_OTHER if each == key else each): it for each, it in call.arguments.items()}
            name = LostText(key, "the name of an argument", whole=False)
            yield put(name, replace(call, arguments=renamed))
            if isinstance(value, bool) or not isinstance(value, (str, int)):
                continue
            given = LostText(str(value), "a call's arguments", whole=isinstance(value, int))
            other = _OTHER if isinstance(value, str) else 5
            yield put(given, replace(call, arguments={**call.arguments, key: other}))


def _spoken(dialogue: Dialogue, system: str) -> Iterator[tuple[str, str]]:
    yield "the system message", system
    for entry in dialogue:
        if isinstance(entry, Message):
            yield "the reasoning", entry.reasoning
            yield "the assistant's message", entry.content
        else:
            yield (
                ("a tool's result" if hasattr(entry, "call_id") else "the user's message"),
                (entry.text),
            )


def _lost_of_calls(calls: Sequence[ToolCall], usual: str, wanted: str) -> LostText | None:
    for call in calls:
        if _rarer((call.name,), usual, wanted):
            return LostText(call.name, "a call's name")
        if _rarer((call.id,), usual, wanted):
            return LostText(call.id, "a call's id")
        for value in _leaves(dict(call.arguments)):
            for spellings in _spelled(value):
                if _rarer(spellings, usual, wanted):
                    return LostText(spellings[0], "a call's arguments", whole=False)
        again = [f'\\"{key}\\"' for key in call.arguments if _WORD.fullmatch(key)]
        if any(usual.count(key) > wanted.count(key) for key in again):
            return LostText(again[0], "the arguments of a call", encoded=True)
    return None


def _lost_of_tools(tools: Sequence[Tool], usual: str, wanted: str) -> LostText | None:
    for tool in tools:
        for key in ("name", "description"):
            text = tool.get(key)
            if isinstance(text, str) and text and _rarer((text,), usual, wanted):
                return LostText(text, f"a tool's {key}")
    return None


def _leaves(value: Json) -> Iterator[str | float | bool]:
    match value:
        case dict():
            for key, item in value.items():
                yield key
                yield from _leaves(item)
        case list():
            for item in value:
                yield from _leaves(item)
        case None:
            return
        case _:
            yield value


def _spelled(value: str | float | bool) -> Iterator[tuple[str, ...]]:
    """Return what has to be found of a value; of each any of these spellings."""
    match value:
        case bool():
            yield str(value).lower(), str(value)
        case str():
            for word in _WORD.findall(value):
                yield tuple(dict.fromkeys((word, json.dumps(word)[1:-1])))
        case _ if "e" not in repr(value):
            yield (repr(value),)
        case _:
            # An exponent is written in as many ways as there are writers.
            return


def _rarer(spellings: Sequence[str], usual: str, wanted: str) -> bool:
    """Whether a text is in both forms less often in the usual one."""
    return _count(spellings, usual) < _count(spellings, wanted)


def _count(spellings: Sequence[str], text: str) -> int:
    return sum(text.count(each) for each in spellings)
