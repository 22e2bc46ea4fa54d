"""The conversations that every template is rendered with, the smallest first.

Most faults of templates show where two things meet: a system message and tools, a second call and
its result, an answer after a tool loop. So the scenes of a chat and of a tool loop are rendered
with and without a system message, with and without tools; the longest also under every value of
every switch, and with content in the other form. It is not a full product: what depends on one
thing alone is varied alone. Some of the names:

    a question
    a call and its result with a system message and tools
    a second question with enable_thinking=False
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from itertools import product
from typing import Any

from msgspec import Struct, structs

from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
)
from autoparser.analysis.core.message_shape import ContentForm, MessageShape
from autoparser.analysis.learning.plain_words import sentinel_sentence
from autoparser.analysis.learning.prober import sentinel_sets

from .hit import Hit, HitEvidence
from .lint_renders import Render, compare_renders, show_render

# The texts of the matrix: each occurs nowhere in the template, and once in a conversation.


class ConversationTexts(Struct, frozen=True):
    """The texts of the speakers; members of a tuple appear in this order."""

    system: str
    """The system message, e.g. ``"Rwgvpbsb bsbpvgwr."``: no template writes such a text itself."""
    users: tuple[UserMessage, UserMessage, UserMessage]
    """The questions, e.g. ``UserMessage("Pkvrbnwj jwnbrvkp.")`` first."""
    answers: tuple[str, str]
    """The assistant's answers, e.g. ``("Wpzqqmqw wqmqqzpw.", "Bkrjwttc cttwjrkb.")``."""
    preface: str
    """Content beside a call, e.g. ``"Qxpjrtzx xztrjpxq."``."""
    reasonings: tuple[str, str]
    """The assistant's reasoning, e.g. ``("Dxdpspvg gvpspdxd.", "Pnxkwntw wtnwkxnp.")``."""
    calls: tuple[ToolCall, ToolCall, ToolCall]
    """Calls of three tools, e.g. ``ToolCall("qkphffqx", {"mcdsbpxt": "zhvwxqzm"}, "kb2ncmj8p")``;
    the second has two arguments."""
    results: tuple[ToolResult, ToolResult, ToolResult]
    """The results of the three calls, e.g. ``ToolResult("Xzvmcjnz znjcmvzx.", "qkphffqx",
    "kb2ncmj8p")``."""

    def calling_message(self, *places: int, content: str = "", reasoning: str = "") -> Message:
        """Return a message with the calls at these indexes."""
        return Message(content, reasoning, tuple(self.calls[place] for place in places))


def texts_for(template_text: str) -> ConversationTexts:
    """Return texts for a template; calls are of the tools named by its sentinels."""
    # Each text has to be found in a render, so no two may be equal.
    sets = marks, second, _ = sentinel_sets(template_text, 3)
    calls = tuple(
        ToolCall(marks.names[index], {marks.keys[0]: marks.values[index]}, marks.ids[index])
        for index in range(3)
    )
    two = {marks.keys[0]: marks.values[1], marks.keys[1]: second.values[1]}
    first_call, second_call, third_call = calls
    second_call = ToolCall(second_call.name, two, second_call.id)
    given = (first_call, second_call, third_call)
    answered = [
        ToolResult(sentinel_sentence(marks.answer), call.name, call.id)
        for marks, call in zip(sets, given, strict=True)
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
"""Sample documents; templates read their text from either key."""

# A conversation of the matrix, its other inputs, and the texts that must appear in its render.


class Voice(StrEnum):
    """The speaker of a text, or its part of a turn."""

    SYSTEM = "a system message"
    USER = "a user's message"
    REASONING = "reasoning"
    PREFACE = "content beside calls"
    ANSWER = "an answer"
    CALL = "a call"
    RESULT = "a tool's result"


class SpokenText(Struct, frozen=True):
    """A text that a conversation contains once."""

    voice: Voice
    """The speaker, e.g. ``Voice.USER``."""
    text: str
    """The text itself, e.g. ``"Pkvrbnwj jwnbrvkp."``; of a call, the value of an argument, e.g.
    ``"zhvwxqzm"``."""
    entry: int
    """The index of its message in the dialogue, e.g. 0 for the first question, or -1 for the system
    message."""
    call: ToolCall | None = None
    """The call of an argument or of a result, e.g. ``ToolCall("qkphffqx", …)``, or None for other
    texts."""


@dataclass(frozen=True)
class WholeConversation:
    """A conversation with all its other inputs."""

    scene: str
    """The scene in words, e.g. ``a call and its result``."""
    dialogue: Dialogue
    """The messages, without the system's, e.g. ``(UserMessage("Pkvrbnwj jwnbrvkp."),
    Message("Wpzqqmqw wqmqqzpw."))``."""
    system: str = ""
    """The system message's text, e.g. ``"Rwgvpbsb bsbpvgwr."``; empty without one."""
    tools: bool = False
    """Whether tools are passed, e.g. True in ``a call and its result with tools``."""
    generation: bool = True
    """Whether a generation prompt is requested, e.g. False for ``an answer`` at the end."""
    setting: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The additional switches, e.g. ``{"enable_thinking": False}``."""
    other_form: bool = False
    """Whether content has the other form: parts if the template takes text, e.g. ``[{"type":
    "text", "text": "…"}]``, or text if parts."""
    documents: bool = False
    """Whether `DOCUMENTS` are passed, for models that answer from documents, e.g. True in ``a
    question with documents``."""
    refusable: bool = False
    """Whether chat APIs reject it, e.g. ``a call, a question and its result``: a template may
    raise, but must not crash or lose text."""

    @cached_property
    def name(self) -> str:
        """A unique name, e.g. ``a call and its result with tools``."""
        beside = [
            "a system message" if self.system else "",
            "tools" if self.tools else "",
            "documents" if self.documents else "",
            *(f"{name}={value!r}" for name, value in self.setting.items()),
            "content in the other form" if self.other_form else "",
        ]
        words = [word for word in beside if word]
        return f"{self.scene} with {' and '.join(words)}" if words else self.scene

    @property
    def unusual(self) -> bool:
        """Whether a template may render it in a way of its own, if no text is lost."""
        return self.refusable or self.documents

    @cached_property
    def size(self) -> int:
        """The amount to read; the smallest conversation that shows a fault becomes its evidence."""
        sent = bool(self.system) + self.tools + self.documents
        beside = sent + self.other_form + 2 * len(self.setting)
        parts = sum(
            bool(message.content) + bool(message.reasoning) + len(message.calls)
            for message in self.dialogue
            if isinstance(message, Message)
        )
        return beside + len(self.dialogue) + parts

    @cached_property
    def spoken(self) -> tuple[SpokenText, ...]:
        """Every text that must appear, in the order of the conversation."""
        return tuple(self._spoken_texts())

    def _spoken_texts(self) -> Iterator[SpokenText]:
        calls: dict[str, ToolCall] = {}
        if self.system:
            yield SpokenText(Voice.SYSTEM, self.system, -1)
        for index, entry in enumerate(self.dialogue):
            match entry:
                case UserMessage():
                    yield SpokenText(Voice.USER, entry.text, index)
                case ToolResult():
                    yield SpokenText(Voice.RESULT, entry.text, index, calls.get(entry.call_id))
                case Message():
                    # A result names its call by the id alone.
                    calls |= {call.id: call for call in entry.calls}
                    yield from _message_texts(entry, index)

    def messages(self, shape: MessageShape) -> list[dict[str, Json]]:
        """Return the messages in the shape that a template takes, the system message first."""
        # The system message is added below, so the shape must not add its own.
        wanted = _otherwise(shape) if self.other_form else shape
        messages = structs.replace(wanted, system=False).messages(self.dialogue)
        if self.system:
            messages.insert(0, {"role": "system", "content": wanted.user_text(self.system)})
        return messages


def _message_texts(message: Message, index: int) -> Iterator[SpokenText]:
    if message.reasoning:
        yield SpokenText(Voice.REASONING, message.reasoning, index)
    if message.content:
        voice = Voice.PREFACE if message.calls else Voice.ANSWER
        yield SpokenText(voice, message.content, index)
    for call in message.calls:
        for value in call.arguments.values():
            yield SpokenText(Voice.CALL, str(value), index, call)


def _otherwise(shape: MessageShape) -> MessageShape:
    def other(form: ContentForm) -> ContentForm:
        return ContentForm.TEXT if form is ContentForm.PARTS else ContentForm.PARTS

    return structs.replace(
        shape,
        user_content=other(shape.user_content),
        assistant_content=other(shape.assistant_content),
    )


# A conversation of the matrix with its render, and the offsets of its texts.


class WrittenText(Struct, frozen=True):
    """A text in a render, and the markup up to its neighbors.

    In ``<u>Hi</u><a>Yes</a>`` the answer has ``</u><a>`` before it and ``</a>`` after it.
    """

    spoken: SpokenText
    """The text of the conversation, e.g. ``SpokenText(Voice.ANSWER, "Yes", 1)``."""
    start: int
    """Its offset in the render, e.g. 15 for the answer above."""
    before: str
    """The markup since the previous text, e.g. ``"</u><a>"``, or since the start of the render."""
    after: str
    """The markup up to the next text, or to the end of the render, e.g. ``"</a>"``."""


@dataclass(frozen=True)
class PlayedConversation:
    """A conversation of the matrix and its render."""

    conversation: WholeConversation
    """The conversation, e.g. ``six questions and the answers to five``."""
    render: Render
    """The render, e.g. ``"<|user|>Pkvrbnwj jwnbrvkp.<|end|><|assistant|>"`` for one question."""

    @property
    def name(self) -> str:
        """The conversation's name."""
        return self.conversation.name

    def texts_of(self, *voices: Voice) -> Iterator[SpokenText]:
        """Return the texts of these speakers in the order of the conversation."""
        return (text for text in self.conversation.spoken if text.voice in voices)

    @cached_property
    def written_texts(self) -> Sequence[WrittenText]:
        """The texts that the render contains, in its order."""
        text = self.render.text
        # Every text occurs once in a conversation, so its first place is its place.
        placed = [(text.find(spoken.text), spoken) for spoken in self.conversation.spoken]
        found = sorted((place for place in placed if place[0] >= 0), key=lambda place: place[0])
        # The markup before a text begins at the end of the text before it, or at 0.
        ends = [0, *(start + len(spoken.text) for start, spoken in found)]
        starts = [*(start for start, _ in found), len(text)]
        return [
            WrittenText(
                spoken, start, text[ends[index] : start], text[ends[index + 1] : starts[index + 1]]
            )
            for index, (start, spoken) in enumerate(found)
        ]

    def written_by(self, *voices: Voice) -> Sequence[WrittenText]:
        """Return the texts of these speakers that the render contains, in its order."""
        return [text for text in self.written_texts if text.spoken.voice in voices]

    def holds(self, spoken: SpokenText) -> bool:
        """Return whether the render contains a text."""
        return spoken.text in self.render.text

    @property
    def usual(self) -> bool:
        """Whether no switch is set, and content has the form that the template takes."""
        return not (self.conversation.setting or self.conversation.other_form)

    @property
    def beside(self) -> tuple[bool, bool]:
        """Whether a system message is sent, and whether tools are."""
        return bool(self.conversation.system), self.conversation.tools

    def against(self, other: PlayedConversation) -> tuple[HitEvidence]:
        """Return evidence that compares this conversation with another."""
        return (compare_renders(self.render, self.name, other.render, other.name),)

    def hit(self, message: str, line: int | None, **facts: Any) -> Hit:
        """Return a hit that shows this conversation, with the switches that it sets."""
        shown = (show_render(self.render, self.name),)
        return Hit(message, shown, line, setting=self.conversation.setting, **facts)

    def nearest(
        self, others: Sequence[PlayedConversation], holds: Callable[[PlayedConversation], bool]
    ) -> PlayedConversation | None:
        """Return the rendered conversation most like this one for which `holds`, or None."""
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
        # The same scene first: two renders of one scene differ only in the inputs beside it.
        return mine.scene != its.scene, beside, abs(mine.size - its.size)


# The conversations of a template.


class MatrixScope(Struct, frozen=True):
    """The capabilities of a template that select conversations of the matrix."""

    calls: bool
    """Whether it writes calls, e.g. False for a template of plain chat."""
    parallel: bool
    """Whether it takes two calls in one message, e.g. False if it writes the first one alone."""
    reasoning: bool
    """Whether it writes reasoning, e.g. True for ``<think>Dxdpspvg gvpspdxd.</think>``."""
    open_calls: bool
    """Whether it takes a message with calls that have no results, e.g. False if it raises on ``a
    call``."""
    system_needed: bool
    """Whether it requires a system message, e.g. True if ``a question`` raises without one."""
    tools: bool
    """Whether it reads tools or writes calls, e.g. True if it lists ``tools`` and never writes a
    call."""
    settings: Sequence[Mapping[str, Json]]
    """Settings of one switch each, e.g. ``{"enable_thinking": False}``."""
    nulls: Mapping[str, bool]
    """Switches, since clients send null for unset ones, e.g. ``{"enable_thinking": False}``; True
    if it takes texts, among which null may be refused."""
    documents: bool = False
    """Whether it reads documents, e.g. False if it has no variable ``documents``."""


def conversations_for(texts: ConversationTexts, scope: MatrixScope) -> list[WholeConversation]:
    """Return every conversation of the matrix that a template can take, the smallest first.

    Those with switches come last, so a fault that only they show depends on their switches.
    """
    # If a system message is required, some scenes are yielded twice under one name.
    found = {conversation.name: conversation for conversation in _conversations(texts, scope)}
    return sorted(
        found.values(), key=lambda conversation: (bool(conversation.setting), conversation.size)
    )


def _conversations(texts: ConversationTexts, scope: MatrixScope) -> Iterator[WholeConversation]:
    """Yield every conversation in scope: scenes, with and without system message and tools."""
    systems = (texts.system,) if scope.system_needed else ("", texts.system)
    offers = (False, True) if scope.tools else (False,)
    chats, loops = [*_chats(texts)], [*_loops(texts, scope)] if scope.calls else []
    for scene, system, tools in product((*chats, *loops), systems, offers):
        yield replace(scene, system=system, tools=tools)
    yield replace(_two_questions(texts), system=systems[0])
    # A fault may begin at a certain number of messages, e.g. a missing end marker.
    yield replace(_long_chat(texts), system=texts.system)
    for scene in _broken_loops(texts) if scope.calls else ():
        yield replace(scene, system=systems[0], tools=True)
    if scope.documents:
        yield replace(chats[0], system=texts.system, tools=scope.tools, documents=True)
    for name, refusable in scope.nulls.items():
        yield replace(chats[0], system=systems[0], setting={name: None}, refusable=refusable)
    for scene in _reasoning_conversations(texts, scope) if scope.reasoning else ():
        yield replace(scene, system=systems[0], tools=scope.calls)
        yield replace(scene, system=texts.system, tools=scope.calls)
    # The longest scenes contain the messages of the shorter ones, and each setting adds renders.
    longest = (chats[-1], *loops[-1:])
    for setting in scope.settings:
        yield replace(chats[0], system=systems[0], setting=setting)
        for scene in longest:
            yield replace(scene, system=systems[0], tools=scope.tools, setting=setting)
            yield replace(scene, system=texts.system, setting=setting)
    # Lists of parts where the template takes texts, or the other way round.
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
    """Yield tool loops that a user interrupts, and one of a call with two arguments."""
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
"""The number of questions in the long chat."""


def _long_chat(texts: ConversationTexts) -> WholeConversation:
    """Return a chat of twelve messages with the system's, ending in a question."""
    # Every text must occur once in a render, so each gets a number.
    asked, answer = texts.users[0].text.rstrip("."), texts.answers[0].rstrip(".")
    dialogue = [
        entry
        for number in range(1, _QUESTIONS + 1)
        for entry in (
            UserMessage(f"{asked} in part {number}."),
            Message(f"{answer} in part {number}."),
        )
    ]
    return WholeConversation("six questions and the answers to five", tuple(dialogue[:-1]))


def _loops(texts: ConversationTexts, scope: MatrixScope) -> Iterator[WholeConversation]:
    """Yield scenes with calls, from a single one to finished loops before a question."""
    first, second, third = texts.users
    one, other, later = texts.results
    earlier, answer = (Message(text) for text in texts.answers)
    call, prefaced = texts.calling_message(0), texts.calling_message(0, content=texts.preface)
    if scope.open_calls:
        # No generation prompt: the call's result comes next, not the model.
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


def _reasoning_conversations(
    texts: ConversationTexts, scope: MatrixScope
) -> Iterator[WholeConversation]:
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
