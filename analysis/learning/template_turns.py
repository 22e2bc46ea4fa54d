r"""Render messages as turns after a prompt by the template itself: a reference without a format.

`TemplateTurns` renders an answer's message in reply to one conversation, under one setting, with
the tools of the request; callers compare it with an answer that was written or read. For the
message with the reasoning `Hm.` and the content `Sunny.`, after the prompt of
`fixtures/templates/a1-function-parameter.jinja`,

    prompt          …<|im_end|>\n<|im_start|>assistant\n<think>\n
    text            <|im_start|>assistant\n<think>\nHm.\n</think>\n\nSunny.<|im_end|>\n
    continuation    Hm.\n</think>\n\nSunny.<|im_end|>\n

`lost_text` compares two forms of one conversation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct, structs
from msgspec.structs import replace

from autoparser.analysis.core.conversation import Dialogue, Json, Message, Tool, ToolCall
from autoparser.analysis.core.message_shape import (
    FormDeparture,
    MessageShape,
    ToolForm,
    form_departures,
    put_together,
)
from autoparser.analysis.core.text_alignment import common_prefix, prefix_length
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.core.verdicts import AskedForm
from autoparser.analysis.templates.chat_template import REASONING_FIELDS

from .observer import Observer
from .prober import Probe, Prober

# Text that is lost in the usual form of requests, if a template's shape departs from it.
#
# A template is probed in the shape that it accepts best. If that is not OpenAI's, users' requests
# render otherwise: they raise, which everybody notices, or they silently lose text. So the same
# conversation is rendered in both forms: every text that the template's own form brings into the
# prompt, the usual one has to bring there as well.
#
# Markup may differ, and so may the spelling of values: one form pastes the arguments verbatim, the
# other writes them itself. So messages are searched for verbatim, and arguments by their words.


_WORD = re.compile(r"[^\W_]{3,}")
"""The words of a value; the text between them may be escaped in some notation."""

_OTHER = "5"
"""Replaces a text to find how it is written; no word begins or ends so."""


class LostText(Struct, frozen=True):
    """A text that the template writes in its own form, but not in the usual one."""

    text: str
    """E.g. `"Oslo"`."""
    whose: str
    """The place of the text, e.g. `"the user's message"`."""
    whole: bool = True
    """Whether it is the whole text of that place, as `"3"` is of an argument, not a part of it,
    such as `"Oslo"`."""
    encoded: bool = False
    r"""Whether it is present, inside JSON text that was encoded twice, as in `"{\"city\": …}"`."""
    now: str = ""
    """The text that the template writes in its place, e.g. `"oslo"`, if that is short and known."""

    def __str__(self) -> str:
        """Describe in words what becomes of the message."""
        if self.encoded:
            return f"{self.whose} are encoded a second time"
        if self.now:
            return f"{self.text!r} in {self.whose} is written as {self.now!r}"
        place = self.whose if self.whole else f"{self.text!r} in {self.whose}"
        return f"{place} is lost or altered"


class SaidPart(NamedTuple):
    """A text of a message, and the message with another text in its place."""

    lost: LostText
    """The text, as it is reported if it is lost, e.g.
    `LostText("get_forecast", "a call's name")`."""
    replaced: Message
    """The message with `5` in its place."""
    part: TurnPart
    """The part of the turn that has it, here `TurnPart.CALLS`."""

    def stands_in(self, text: str) -> bool:
        """Whether a text holds all words of the part."""
        if self.lost.whole:
            return self.lost.text in text
        return all(
            _count_spellings(spellings, text) for spellings in _spellings_of_value(self.lost.text)
        )


class FormOutcome(Enum):
    """The outcome of a conversation in another form than the template accepts."""

    KEPT = auto()
    RAISED = auto()
    SPOILED = auto()
    UNREAD = auto()
    """Reasoning that the template does not read under its usual name, which is another finding."""


def departures_together(
    outcomes: Mapping[FormDeparture, FormOutcome],
) -> Iterator[FormDeparture]:
    """Yield the departures of a conversation to try together, given the outcome of each alone.

    If one alone spoils the conversation, that is known, and none is yielded. Users send all in the
    usual form; if that raises, a caller fixes those that raise alone, and sends the others so.
    """
    if FormOutcome.SPOILED in outcomes.values():
        return
    every = tuple(
        departure for departure, outcome in outcomes.items() if outcome is not FormOutcome.UNREAD
    )
    kept = tuple(departure for departure in every if outcomes[departure] is FormOutcome.KEPT)
    for group in dict.fromkeys((every, kept)):
        if len(group) > 1:
            yield put_together(group)


def unnoticed_departures(shape: MessageShape, forms: Iterable[AskedForm]) -> FormDeparture | None:
    """Return all departures of users' requests from `shape` together, without those noticed alone.

    Users notice errors, and reasoning that is not read. Return None if nothing is left.
    """
    noticed = {form.usual for form in forms if form.raised or form.unread}
    found = [departure for departure in form_departures(shape) if departure.usual not in noticed]
    return put_together(found) if found else None


def lost_text(
    dialogue: Dialogue, tools: Sequence[Tool], usual: str, wanted: str, *, system: str = ""
) -> LostText | None:
    """Return a text of the request that `usual` has less often than `wanted`, or None."""
    if usual == wanted:
        return None
    for whose, text in _spoken_texts(dialogue, system):
        # Whitespace at the edges is not part of the words.
        words = text.strip()
        if words and _rarer((words,), usual, wanted):
            return LostText(words, whose)
    calls = [call for entry in dialogue if isinstance(entry, Message) for call in entry.calls]
    return _lost_of_calls(calls, usual, wanted) or _lost_of_tools(tools, usual, wanted)


def without_reasoning(dialogue: Dialogue) -> Dialogue:
    """Return the same conversation without any reasoning."""
    return tuple(
        structs.replace(entry, reasoning="") if isinstance(entry, Message) else entry
        for entry in dialogue
    )


def said_parts(message: Message) -> Iterator[SaidPart]:
    """Yield the texts of an assistant message; of arguments the names, strings and numbers."""
    if text := message.reasoning.strip():
        lost = LostText(text, "the reasoning")
        yield SaidPart(lost, structs.replace(message, reasoning=_OTHER), TurnPart.REASONING)
    if text := message.content.strip():
        lost = LostText(text, "the assistant's message")
        yield SaidPart(lost, structs.replace(message, content=_OTHER), TurnPart.CONTENT)
    for at, call in enumerate(message.calls):

        def put(lost: LostText, changed: ToolCall, at: int = at) -> SaidPart:
            calls = (*message.calls[:at], changed, *message.calls[at + 1 :])
            return SaidPart(lost, structs.replace(message, calls=calls), TurnPart.CALLS)

        yield put(LostText(call.name, "a call's name"), structs.replace(call, name=_OTHER))
        for key, value in call.arguments.items():
            # Rename the key in place: a template may render arguments in the given order.
            renamed = {
                (_OTHER if name == key else name): given for name, given in call.arguments.items()
            }
            name = LostText(key, "the name of an argument", whole=False)
            yield put(name, structs.replace(call, arguments=renamed))
            # Other values have several spellings, such as `true` and `True`: require none.
            if isinstance(value, bool) or not isinstance(value, (str, int)):
                continue
            given = LostText(str(value), "a call's arguments", whole=isinstance(value, int))
            other = _OTHER if isinstance(value, str) else 5
            yield put(given, structs.replace(call, arguments={**call.arguments, key: other}))


def _spoken_texts(dialogue: Dialogue, system: str) -> Iterator[tuple[str, str]]:
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
            # Search for the words of the value, since the template escapes the text between them.
            for spellings in _spellings_of_value(value):
                if _rarer(spellings, usual, wanted):
                    return LostText(spellings[0], "a call's arguments", whole=False)
        # `\"city\"` is a key inside a JSON string: the template has encoded JSON text again.
        escaped_keys = [f'\\"{key}\\"' for key in call.arguments if _WORD.fullmatch(key)]
        if any(usual.count(key) > wanted.count(key) for key in escaped_keys):
            return LostText(escaped_keys[0], "the arguments of a call", encoded=True)
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


def _spellings_of_value(value: str | float | bool) -> Iterator[tuple[str, ...]]:
    """Yield the texts that have to be found of a value, each in any of its spellings."""
    match value:
        case bool():
            yield str(value).lower(), str(value)
        case str():
            # A letter beyond ASCII may be an escape, as in JSON's `\u00e9`.
            for word in _WORD.findall(value):
                yield tuple(dict.fromkeys((word, json.dumps(word)[1:-1])))
        case _ if "e" not in repr(value):
            yield (repr(value),)
        case _:
            # Programs spell exponents differently.
            return


def _rarer(spellings: Sequence[str], usual: str, wanted: str) -> bool:
    """Whether a text is in both forms, but less often in the usual one."""
    return _count_spellings(spellings, usual) < _count_spellings(spellings, wanted)


def _count_spellings(spellings: Sequence[str], text: str) -> int:
    return sum(text.count(spelling) for spelling in spellings)


QUESTION = "Please look into it, and use the tools where they are of use."
SYSTEM = "Be brief."


class WrittenTurn(NamedTuple):
    """An assistant turn as written after a prompt."""

    prompt: str
    r"""E.g. `"…<|im_start|>assistant\n<think>\n"`."""
    before: str
    r"""The conversation before the turn, e.g. `"…<|im_end|>\n"`; the prompt adds the beginning of
    the turn to it."""
    text: str = ""
    r"""E.g. `"<|im_start|>assistant\n<think>\n…<|im_end|>\n"`."""
    refusal: str = ""
    """The reason if there is no such turn, e.g. `"the template refuses it: …"`; then no text."""

    @property
    def whole(self) -> str:
        """The conversation and the turn."""
        return self.before + self.text

    @property
    def continuation(self) -> str | None:
        """The text after the prompt, or None if the turn does not continue the prompt."""
        goes_on = not self.refusal and self.whole.startswith(self.prompt)
        return self.whole[len(self.prompt) :] if goes_on else None

    @property
    def rest(self) -> str:
        """The text after the prompt, or after the common prefix of prompt and turn."""
        after = self.continuation
        return self.whole[len(common_prefix(self.whole, self.prompt)) :] if after is None else after


class TemplateTurns:
    """The turns that a template writes in reply to one conversation."""

    def __init__(
        self,
        prober: Prober,
        *,
        setting: Mapping[str, Json],
        tools: Sequence[Tool],
        add_naming_ids: Callable[[Message], Message],
        history: Dialogue = (),
    ) -> None:
        """Store the arguments; `prober` sets nothing.

        `add_naming_ids` adds ids that alone name the calls. `history` precedes the question, which
        is the result of a call if the history ends with one.
        """
        shape = prober.shape
        # If no reasoning field is known, send it in the usual one, as agents do: this shows that it
        # is dropped, not refused.
        field = shape.reasoning_field or REASONING_FIELDS[0]
        self._add_naming_ids = add_naming_ids
        self.offers = bool(tools) and shape.tools is not ToolForm.NONE
        """Whether tools are offered to the template."""
        self._observer = Observer(
            prober.using(
                shape=structs.replace(shape, reasoning_field=field),
                setting=setting,
                tools=tools if self.offers else (),
                sentinels=replace(prober.sentinels, user=QUESTION, system=SYSTEM),
                history=history,
            )
        )

    @property
    def prompt(self) -> str:
        """The rendered prompt, or the conversation alone if none can be rendered."""
        return self.prompted.text if self.prompted.rendered else self._observer.before

    @cached_property
    def prompted(self) -> Probe:
        """The render of the generation prompt, or the template's refusal."""
        prober = self._observer.prober
        return prober.probe((prober.user,), tools=self.offers, generation=True)

    @property
    def before(self) -> str:
        """The conversation before the prompt."""
        return self._observer.before

    def written_turn(self, message: Message) -> WrittenTurn:
        """Render a message as the following turn; calls without an id get one."""
        turn = self._observer.turn(self._with_ids(message))
        refusal = f"the template raises: {turn.refusal}" if turn.refusal else ""
        if turn.rewrites:
            refusal = "the template changes the prompt text"
        return WrittenTurn(self._prompt_before_turns, self._observer.before, turn.text, refusal)

    @cached_property
    def _prompt_before_turns(self) -> str:
        """The prompt as written before a turn: some templates change the text before it.

        One that offers tools only in the last user message drops them once it is answered.
        """
        before = self._observer.before
        first, words, behind = self.prompt.rpartition(QUESTION)
        kept, same, _ = before.rpartition(QUESTION)
        # Both conversations contain the question, but differ before it.
        rewritten = first != kept and words == same
        return kept + same + behind if rewritten else self.prompt

    def shown_message(self, message: Message) -> Message:
        """Return the message without the texts whose removal changes nothing."""
        whole = self.written_turn(message).text
        reasoning, content = message.reasoning, message.content
        if reasoning and self.written_turn(structs.replace(message, reasoning="")).text == whole:
            message = structs.replace(message, reasoning="")
        if content and self.written_turn(structs.replace(message, content="")).text == whole:
            message = structs.replace(message, content="")
        return message

    def beginning(self, message: Message, text: str) -> str:
        """Return the common prefix of a turn's text and another turn with the same parts."""
        other = self._observer.sample(message.presence).text
        return text[: prefix_length(text, other)]

    def _with_ids(self, message: Message) -> Message:
        if all(call.id for call in message.calls):
            return message
        message = self._add_naming_ids(message)
        made = self._observer.prober.sentinels.ids[0]
        # As long as the sentinel: some templates require nine letters and digits.
        calls = (
            structs.replace(call, id=call.id or f"{made[:-2]}{at:02}")
            for at, call in enumerate(message.calls)
        )
        return structs.replace(message, calls=tuple(calls))
