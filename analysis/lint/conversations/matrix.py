"""The conversations that any template is held against, the smallest first.

What goes wrong in a template mostly goes wrong where two things meet: a system message and tools, a
second call and its result, an answer after a loop. So the scenes of a chat and of a tool loop are
played with a system message and without, with tools and without; the longest of them under every
value of every switch, and in the other form of content. It is no full product: what is known to
depend on one thing alone is varied alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from autoparser.analysis.core.conversation import Dialogue, Json, Message, User

from .conversation_texts import ConversationTexts
from .whole_conversation import WholeConversation


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


@dataclass(frozen=True, slots=True)
class _Scene:
    words: str
    dialogue: Dialogue
    generation: bool = True


def conversations_for(texts: ConversationTexts, scope: MatrixScope) -> list[WholeConversation]:
    """Return every conversation of the matrix that a template can be asked, the smallest first.

    Those with a switch come after all others: what the first of them is the first to show holds
    under its switches alone.
    """
    found = {each.name: each for each in _conversations(texts, scope)}
    return sorted(found.values(), key=lambda each: (bool(each.setting), each.size))


def _conversations(texts: ConversationTexts, scope: MatrixScope) -> Iterator[WholeConversation]:
    systems = (texts.system,) if scope.system_needed else ("", texts.system)
    offers = (False, True) if scope.tools else (False,)
    chats, loops = [*_chats(texts)], [*_loops(texts, scope)] if scope.calls else []
    for scene, system, tools in product((*chats, *loops), systems, offers):
        yield _played(scene, system, tools=tools)
    yield _played(_long_chat(texts), texts.system, tools=False)
    for scene in _reasoned(texts, scope) if scope.reasoning else ():
        yield _played(scene, systems[0], tools=scope.calls)
        yield _played(scene, texts.system, tools=scope.calls)
    longest = (chats[-1], *loops[-1:])
    for setting in scope.settings:
        yield replace(_played(chats[0], systems[0], tools=False), setting=setting)
        for scene in longest:
            yield replace(_played(scene, systems[0], tools=scope.tools), setting=setting)
            yield replace(_played(scene, texts.system, tools=False), setting=setting)
    for scene in (chats[0], *longest):
        yield replace(_played(scene, systems[0], tools=scope.tools), other_form=True)
    yield replace(_played(chats[0], texts.system, tools=False), other_form=True)


def _played(scene: _Scene, system: str, *, tools: bool) -> WholeConversation:
    return WholeConversation(scene.words, scene.dialogue, system, tools, scene.generation)


def _chats(texts: ConversationTexts) -> Iterator[_Scene]:
    first, second, _ = texts.users
    answer = Message(texts.answers[0])
    yield _Scene("a question", (first,))
    yield _Scene("an answer", (first, answer), generation=False)
    yield _Scene("a second question", (first, answer, second))


_QUESTIONS = 6


def _long_chat(texts: ConversationTexts) -> _Scene:
    """Return a chat of twelve messages, the system's among them, that ends with a question."""
    asked, answer = texts.users[0].text.rstrip("."), texts.answers[0].rstrip(".")
    dialogue = [
        entry
        for at in range(1, _QUESTIONS + 1)
        for entry in (User(f"{asked} in part {at}."), Message(f"{answer} in part {at}."))
    ]
    return _Scene("six questions and the answers to five", tuple(dialogue[:-1]))


def _loops(texts: ConversationTexts, scope: MatrixScope) -> Iterator[_Scene]:
    first, second, third = texts.users
    one, other, later = texts.results
    earlier, answer = (Message(each) for each in texts.answers)
    call, prefaced = texts.called(0), texts.called(0, content=texts.preface)
    if scope.open_calls:
        yield _Scene("a call", (first, call), generation=False)
    yield _Scene("a call and its result", (first, call, one))
    yield _Scene("a call, its result and the answer", (first, call, one, answer), generation=False)
    yield _Scene("two calls one after the other", (first, call, one, texts.called(1), other))
    if scope.parallel:
        both = texts.called(0, 1)
        yield _Scene("two calls in one message and their results", (first, both, one, other))
        yield _Scene(
            "an answered question, then two calls in one message and their results",
            (first, earlier, second, both, one, other),
        )
    yield _Scene("content beside a call, and its result", (first, prefaced, one))
    yield _Scene("an answered call, then another question", (first, call, one, answer, second))
    yield _Scene(
        "an answered call, then a question, content beside a call, its result and the answer",
        (first, texts.called(2), later, earlier, second, prefaced, one, answer, third),
    )


def _reasoned(texts: ConversationTexts, scope: MatrixScope) -> Iterator[_Scene]:
    first, second, _ = texts.users
    one, answer = texts.results[0], texts.answers[0]
    before, after = texts.reasonings
    yield _Scene("an answer with reasoning", (first, Message(answer, before)), generation=False)
    yield _Scene(
        "an answer with reasoning, then a question", (first, Message(answer, before), second)
    )
    if scope.calls:
        called = texts.called(0, reasoning=before)
        yield _Scene("a call with reasoning, and its result", (first, called, one))
        yield _Scene(
            "a call with reasoning, its result, and an answer with reasoning",
            (first, called, one, Message(answer, after)),
            generation=False,
        )
