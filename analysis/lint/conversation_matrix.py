"""The conversations that any template is held against, the smallest first.

What goes wrong in a template mostly goes wrong where two things meet: a system message and tools, a
second call and its result, an answer after a loop. So the scenes of a chat and of a tool loop are
played with a system message and without, with tools and without; the longest of them under every
value of every switch, and in the other form of content. It is no full product: what is known to
depend on one thing alone is varied alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from msgspec import structs

from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    Message,
    Tool,
    ToolCall,
    ToolResult,
    UserMessage,
    tool_for,
)
from autoparser.analysis.core.message_shape import ContentForm, MessageShape
from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.learning.plain_words import sentinel_sentence
from autoparser.analysis.learning.prober import Sentinels, sentinel_sets

from .hit import Hit, HitEvidence
from .lint_renders import Render, compare_renders, show_render

# The texts of the matrix: each occurs nowhere in the template and once in a conversation.


@dataclass(frozen=True, slots=True)
class ConversationTexts:
    """Whose words are whose; members of a tuple are said in this order."""

    system: str
    users: tuple[UserMessage, UserMessage, UserMessage]
    answers: tuple[str, str]
    preface: str
    reasonings: tuple[str, str]
    calls: tuple[ToolCall, ToolCall, ToolCall]
    """Calls of three tools; the second has two arguments."""
    results: tuple[ToolResult, ToolResult, ToolResult]

    def calling_message(self, *places: int, content: str = "", reasoning: str = "") -> Message:
        """Return a message with the calls at these places."""
        return Message(content, reasoning, tuple(self.calls[place] for place in places))


def texts_for(template_text: str) -> ConversationTexts:
    """Choose texts for a template whose tools have the names and keys of its sentinels."""
    sets = marks, second, _ = sentinel_sets(template_text, 3)
    calls = tuple(
        ToolCall(marks.names[at], {marks.keys[0]: marks.values[at]}, marks.ids[at])
        for at in range(3)
    )
    two = {marks.keys[0]: marks.values[1], marks.keys[1]: second.values[1]}
    first_call, second_call, third_call = calls
    second_call = ToolCall(second_call.name, two, second_call.id)
    given = (first_call, second_call, third_call)
    answered = [
        ToolResult(sentinel_sentence(each.answer), call.name, call.id)
        for each, call in zip(sets, given, strict=True)
    ]
    return ConversationTexts(
        system=sentinel_sentence(marks.system),
        users=(
            UserMessage(sentinel_sentence(marks.user)),
            UserMessage(sentinel_sentence(marks.next_user)),
            UserMessage(sentinel_sentence(second.user)),
        ),
        answers=(sentinel_sentence(marks.content), sentinel_sentence(second.content)),
        preface=sentinel_sentence(second.system),
        reasonings=(sentinel_sentence(marks.reasoning), sentinel_sentence(second.reasoning)),
        calls=given,
        results=(answered[0], answered[1], answered[2]),
    )


DOCUMENTS: list[Json] = [{"title": "Dogs", "text": "Dogs bark.", "contents": "Dogs bark."}]
"""Documents of a caller; templates know their text under either name."""

# One conversation of the matrix: what is said, what is sent beside it, what must be read of it.


class Voice(StrEnum):
    """Whose words a text is, and where in a turn it stands."""

    SYSTEM = "a system message"
    USER = "a user's message"
    REASONING = "reasoning"
    PREFACE = "content beside calls"
    ANSWER = "an answer"
    CALL = "a call"
    RESULT = "a tool's result"


@dataclass(frozen=True, slots=True)
class SpokenText:
    """A text that a conversation holds once."""

    voice: Voice
    text: str
    entry: int
    """The place in the dialogue of the message that says it; -1 for the system message."""
    call: ToolCall | None = None
    """The call whose argument it is, or the one whose result."""


@dataclass(frozen=True)
class WholeConversation:
    """One conversation as a caller sends it, with all that is sent beside it."""

    scene: str
    """What is said, in words: ``a call and its result``."""
    dialogue: Dialogue
    system: str = ""
    """The system message's text; empty for none."""
    tools: bool = False
    generation: bool = True
    setting: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The switches that are set, on top of those that the template needs."""
    other_form: bool = False
    """Content comes in the form that is not the template's own: parts for text, or text."""
    documents: bool = False
    """`DOCUMENTS` are sent beside the messages, for a model that answers from them."""
    refusable: bool = False
    """Chat APIs refuse it themselves: a template may, but must not crash or lose a text."""

    @cached_property
    def name(self) -> str:
        """Say in words which conversation of the matrix it is; no two have the same."""
        beside = [
            "a system message" if self.system else "",
            "tools" if self.tools else "",
            "documents" if self.documents else "",
            *(f"{name}={value!r}" for name, value in self.setting.items()),
            "content in the other form" if self.other_form else "",
        ]
        words = [each for each in beside if each]
        return f"{self.scene} with {' and '.join(words)}" if words else self.scene

    @property
    def unusual(self) -> bool:
        """Whether a template may write it in a way of its own, if no text is lost."""
        return self.refusable or self.documents

    @cached_property
    def size(self) -> int:
        """Count what a person has to read to see what happens; the smaller is shown first."""
        sent = bool(self.system) + self.tools + self.documents
        beside = sent + self.other_form + 2 * len(self.setting)
        parts = sum(
            bool(each.content) + bool(each.reasoning) + len(each.calls)
            for each in self.dialogue
            if isinstance(each, Message)
        )
        return beside + len(self.dialogue) + parts

    @cached_property
    def spoken(self) -> tuple[SpokenText, ...]:
        """Every text that must be read, in the order of the conversation."""
        return tuple(self._spoken())

    def _spoken(self) -> Iterator[SpokenText]:
        calls: dict[str, ToolCall] = {}
        if self.system:
            yield SpokenText(Voice.SYSTEM, self.system, -1)
        for at, entry in enumerate(self.dialogue):
            match entry:
                case UserMessage():
                    yield SpokenText(Voice.USER, entry.text, at)
                case ToolResult():
                    yield SpokenText(Voice.RESULT, entry.text, at, calls.get(entry.call_id))
                case Message():
                    calls |= {call.id: call for call in entry.calls}
                    yield from _of_message(entry, at)

    def messages(self, shape: MessageShape) -> list[dict[str, Json]]:
        """Return the messages, the system's first, in the shape that a template takes."""
        wanted = _otherwise(shape) if self.other_form else shape
        messages = structs.replace(wanted, system=False).messages(self.dialogue)
        if self.system:
            messages.insert(0, {"role": "system", "content": wanted.user_text(self.system)})
        return messages


def _of_message(message: Message, at: int) -> Iterator[SpokenText]:
    if message.reasoning:
        yield SpokenText(Voice.REASONING, message.reasoning, at)
    if message.content:
        voice = Voice.PREFACE if message.calls else Voice.ANSWER
        yield SpokenText(voice, message.content, at)
    for call in message.calls:
        for value in call.arguments.values():
            yield SpokenText(Voice.CALL, str(value), at, call)


def _otherwise(shape: MessageShape) -> MessageShape:
    def other(form: ContentForm) -> ContentForm:
        return ContentForm.TEXT if form is ContentForm.PARTS else ContentForm.PARTS

    return structs.replace(
        shape,
        user_content=other(shape.user_content),
        assistant_content=other(shape.assistant_content),
    )


# A conversation of the matrix, what the template made of it, and where its texts stand.


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text in a render, and the markup up to its neighbors.

    In ``<u>Hi</u><a>Yes</a>`` the answer has ``</u><a>`` before it and ``</a>`` after it.
    """

    spoken: SpokenText
    start: int
    before: str
    after: str
    """Up to the next text; to the end of the render after the last."""


@dataclass(frozen=True)
class PlayedConversation:
    """A conversation of the matrix and what the template made of it."""

    conversation: WholeConversation
    render: Render

    @property
    def name(self) -> str:
        """The conversation's name."""
        return self.conversation.name

    def texts_of(self, *voices: Voice) -> Iterator[SpokenText]:
        """Return the texts of these voices in the order of the conversation."""
        return (each for each in self.conversation.spoken if each.voice in voices)

    @cached_property
    def written_texts(self) -> Sequence[WrittenText]:
        """The texts that the render holds, in its order."""
        text = self.render.text
        placed = [(text.find(each.text), each) for each in self.conversation.spoken]
        found = sorted((each for each in placed if each[0] >= 0), key=lambda each: each[0])
        ends = [0, *(start + len(each.text) for start, each in found)]
        starts = [*(start for start, _ in found), len(text)]
        return [
            WrittenText(each, start, text[ends[at] : start], text[ends[at + 1] : starts[at + 1]])
            for at, (start, each) in enumerate(found)
        ]

    def written_of(self, *voices: Voice) -> Sequence[WrittenText]:
        """Return the texts of these voices that the render holds, in its order."""
        return [text for text in self.written_texts if text.spoken.voice in voices]

    def holds(self, spoken: SpokenText) -> bool:
        """Whether a text is in the render."""
        return spoken.text in self.render.text

    @property
    def usual(self) -> bool:
        """Whether no switch is set, and content has the form that the template takes."""
        return not (self.conversation.setting or self.conversation.other_form)

    @property
    def beside(self) -> tuple[bool, bool]:
        """Whether a system message and whether tools are sent with the messages."""
        return bool(self.conversation.system), self.conversation.tools

    def against(self, other: PlayedConversation) -> tuple[HitEvidence]:
        """Return evidence of this conversation beside another one."""
        return (compare_renders(self.render, self.name, other.render, other.name),)

    def hit(self, message: str, line: int | None, **facts: Any) -> Hit:
        """Return a hit that shows this conversation, under the switches that are set in it."""
        shown = (show_render(self.render, self.name),)
        return Hit(message, shown, line, setting=self.conversation.setting, **facts)

    def nearest(
        self, others: Sequence[PlayedConversation], holds: Callable[[PlayedConversation], bool]
    ) -> PlayedConversation | None:
        """Return the conversation most like this one that rendered and holds; None for none."""
        sound = [other for other in others if other.render.rendered and holds(other)]
        return min(sound, key=self._distance, default=None)

    def _distance(self, other: PlayedConversation) -> tuple[bool, int, int]:
        mine, its = self.conversation, other.conversation
        beside = sum(
            (
                bool(mine.system) != bool(its.system),
                mine.tools != its.tools,
                mine.documents != its.documents,
                mine.setting != its.setting,
                mine.other_form != its.other_form,
            )
        )
        return mine.scene != its.scene, beside, abs(mine.size - its.size)


# Tools for the conversations that rules render.


def functions_for(marks: Sentinels) -> tuple[Tool, ...]:
    """Return three functions; each takes the string arguments and one of every type."""
    properties = dict.fromkeys(marks.keys, "string")
    properties |= {
        key: str(kind) for kind, key in marks.typed_keys.items() if kind is not JsonType.NULL
    }
    return tuple(tool_for(name, "Does what it says.", properties) for name in marks.names)


@cache
def real_shapes() -> tuple[Tool, ...]:
    """Return functions of the shapes that tools of published servers have."""
    text = (Path(__file__).parent / "real_shapes.yaml").read_text(encoding="utf-8")
    found: list[Tool] = yaml.safe_load(text)
    return tuple(found)


@dataclass(frozen=True, slots=True)
class MatrixScope:
    """What of the matrix a template can be asked."""

    calls: bool
    """It writes calls."""
    parallel: bool
    """It takes two calls in one message."""
    reasoning: bool
    """It writes reasoning."""
    open_calls: bool
    """It takes a message with calls that nothing answers."""
    system_needed: bool
    """It refuses conversations without a system message."""
    tools: bool
    """It reads tools, or writes calls."""
    settings: Sequence[Mapping[str, Json]]
    """Values of its switches, each set alone."""
    nulls: Sequence[str] = ()
    """Switches that are on or off; clients send null for one that nobody has set."""
    documents: bool = False
    """It reads documents."""


def conversations_for(texts: ConversationTexts, scope: MatrixScope) -> list[WholeConversation]:
    """Return every conversation of the matrix that a template can be asked, the smallest first.

    Those with a switch come after all others: what the first of them is the first to show holds
    under its switches alone.
    """
    found = {conversation.name: conversation for conversation in _conversations(texts, scope)}
    return sorted(found.values(), key=lambda each: (bool(each.setting), each.size))


def _conversations(texts: ConversationTexts, scope: MatrixScope) -> Iterator[WholeConversation]:
    systems = (texts.system,) if scope.system_needed else ("", texts.system)
    offers = (False, True) if scope.tools else (False,)
    chats, loops = [*_chats(texts)], [*_loops(texts, scope)] if scope.calls else []
    for scene, system, tools in product((*chats, *loops), systems, offers):
        yield replace(scene, system=system, tools=tools)
    yield replace(_two_questions(texts), system=systems[0])
    yield replace(_long_chat(texts), system=texts.system)
    for scene in _broken_loops(texts) if scope.calls else ():
        yield replace(scene, system=systems[0], tools=True)
    if scope.documents:
        yield replace(chats[0], system=texts.system, tools=scope.tools, documents=True)
    for name in scope.nulls:
        yield replace(chats[0], system=systems[0], setting={name: None})
    for scene in _reasoned(texts, scope) if scope.reasoning else ():
        yield replace(scene, system=systems[0], tools=scope.calls)
        yield replace(scene, system=texts.system, tools=scope.calls)
    longest = (chats[-1], *loops[-1:])
    for setting in scope.settings:
        yield replace(chats[0], system=systems[0], setting=setting)
        for scene in longest:
            yield replace(scene, system=systems[0], tools=scope.tools, setting=setting)
            yield replace(scene, system=texts.system, setting=setting)
    for scene in (chats[0], *longest):
        yield replace(scene, system=systems[0], tools=scope.tools, other_form=True)
    yield replace(chats[0], system=texts.system, other_form=True)


def _chats(texts: ConversationTexts) -> Iterator[WholeConversation]:
    first, second, _ = texts.users
    answer = Message(texts.answers[0])
    yield WholeConversation("a question", (first,))
    yield WholeConversation("an answer", (first, answer), generation=False)
    yield WholeConversation("a second question", (first, answer, second))


def _two_questions(texts: ConversationTexts) -> WholeConversation:
    first, second, third = texts.users
    answer = Message(texts.answers[0])
    return WholeConversation("two questions in a row", (first, second, answer, third))


def _broken_loops(texts: ConversationTexts) -> Iterator[WholeConversation]:
    """Return tool loops that a user breaks into, and one of a call with two arguments."""
    first, second, _ = texts.users
    one, other, _ = texts.results
    yield WholeConversation(
        "a call, its result and a question", (first, texts.calling_message(0), one, second)
    )
    yield WholeConversation(
        "a call, a question and its result",
        (first, texts.calling_message(0), second, one),
        refusable=True,
    )
    yield WholeConversation(
        "a call with two arguments, and its result", (first, texts.calling_message(1), other)
    )


_QUESTIONS = 6


def _long_chat(texts: ConversationTexts) -> WholeConversation:
    """Return a chat of twelve messages, the system's among them, that ends with a question."""
    asked, answer = texts.users[0].text.rstrip("."), texts.answers[0].rstrip(".")
    dialogue = [
        entry
        for at in range(1, _QUESTIONS + 1)
        for entry in (UserMessage(f"{asked} in part {at}."), Message(f"{answer} in part {at}."))
    ]
    return WholeConversation("six questions and the answers to five", tuple(dialogue[:-1]))


def _loops(texts: ConversationTexts, scope: MatrixScope) -> Iterator[WholeConversation]:
    first, second, third = texts.users
    one, other, later = texts.results
    earlier, answer = (Message(each) for each in texts.answers)
    call, prefaced = texts.calling_message(0), texts.calling_message(0, content=texts.preface)
    if scope.open_calls:
        yield WholeConversation("a call", (first, call), generation=False)
    yield WholeConversation("a call and its result", (first, call, one))
    yield WholeConversation(
        "a call, its result and the answer", (first, call, one, answer), generation=False
    )
    yield WholeConversation(
        "two calls one after the other", (first, call, one, texts.calling_message(1), other)
    )
    if scope.parallel:
        two_calls = texts.calling_message(0, 1)
        yield WholeConversation(
            "two calls in one message and their results", (first, two_calls, one, other)
        )
        yield WholeConversation(
            "an answered question, then two calls in one message and their results",
            (first, earlier, second, two_calls, one, other),
        )
    yield WholeConversation("content beside a call, and its result", (first, prefaced, one))
    yield WholeConversation(
        "an answered call, then another question", (first, call, one, answer, second)
    )
    yield WholeConversation(
        "an answered call, then a question, content beside a call, its result and the answer",
        (first, texts.calling_message(2), later, earlier, second, prefaced, one, answer, third),
    )


def _reasoned(texts: ConversationTexts, scope: MatrixScope) -> Iterator[WholeConversation]:
    first, second, _ = texts.users
    one, answer = texts.results[0], texts.answers[0]
    before, after = texts.reasonings
    yield WholeConversation(
        "an answer with reasoning", (first, Message(answer, before)), generation=False
    )
    yield WholeConversation(
        "an answer with reasoning, then a question", (first, Message(answer, before), second)
    )
    if scope.calls:
        called = texts.calling_message(0, reasoning=before)
        yield WholeConversation("a call with reasoning, and its result", (first, called, one))
        full = texts.calling_message(0, content=texts.preface, reasoning=before)
        yield WholeConversation(
            "content and reasoning beside a call, and its result", (first, full, one)
        )
        yield WholeConversation(
            "a call with reasoning, its result, and an answer with reasoning",
            (first, called, one, Message(answer, after)),
            generation=False,
        )
