from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from autoparser.analysis.core.conversation import UserMessage
from autoparser.analysis.core.message_shape import ToolForm
from autoparser.analysis.lint.conversation_matrix import PlayedConversation, WholeConversation
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.hit_words import failure_words, raising_hit
from autoparser.analysis.lint.lint_renders import Render, show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP118")
def check(subject: Subject) -> Iterator[Hit]:
    """Search for the smallest conversation of the matrix that raises, for each reason."""
    yield from _tools_alone(subject)
    led = subject.play((subject.user,), system=subject.marks.system, generation=True)
    yield from _named_messages(subject)
    seen: set[tuple[int | None, str]] = set()
    for played in subject.wide_matrix:
        conversation, cause = played.conversation, played.render.cause
        # Content in another form and system messages are the subject of other rules.
        if cause is None or conversation.other_form or (conversation.system and not led.rendered):
            continue
        if not played.render.crashed and (conversation.refusable or _asks_twice(conversation)):
            # Refusing two questions in a row is the subject of AP106.
            continue
        # The same line may fail with a different message each time, such as one with an index.
        place = (cause.line, "" if cause.line is not None else cause.detail)
        if place not in seen:
            seen.add(place)
            yield _raising_hit(subject, played, played.render)


def _asks_twice(conversation: WholeConversation) -> bool:
    """Return whether a question follows another without an answer between them."""
    return any(
        isinstance(entry, UserMessage) and isinstance(following, UserMessage)
        for entry, following in pairwise(conversation.dialogue)
    )


def _raising_hit(subject: Subject, played_chat: PlayedConversation, render: Render) -> Hit:
    error, conversation = render.error, played_chat.conversation
    # Few clients send null for a switch that takes a text.
    mild = not render.crashed or (conversation.refusable and bool(conversation.setting))
    sound = played_chat.nearest(subject.matrix, lambda _: True)
    return Hit(
        f"'{played_chat.name}' {failure_words(render)}"
        + (f"; '{sound.name}' renders" if sound else ""),
        played_chat.against(sound) if sound else (show_render(render, played_chat.name),),
        line=None if error is None else error.line,
        severity=Severity.WARNING if mild else None,
        cause=render.cause,
        setting=conversation.setting,
    )


def _named_messages(subject: Subject) -> Iterator[Hit]:
    """Return the messages with the speaker's name, as chat APIs allow."""
    usual = subject.play(subject.chat, generation=True)
    named = [{**message, "name": "ann"} for message in usual.messages]
    given = subject.render(named, generation=True)
    if usual.rendered and given.error is not None:
        message = f"every request with a `name` beside the role {failure_words(given)}"
        yield raising_hit(
            message, (given, "with names"), (usual, "without"), refused=Severity.WARNING
        )


def _tools_alone(subject: Subject) -> Iterator[Hit]:
    """Pass tools to a template that seems to take none."""
    if subject.shape.tools is not ToolForm.NONE:
        return
    usual = subject.play((subject.user,), generation=True)
    given = subject.render(usual.messages, tools=subject.tools, generation=True)
    if usual.rendered and given.error is not None:
        message = f"every request with tools {failure_words(given)}"
        yield raising_hit(
            message, (given, "with tools"), (usual, "without"), refused=Severity.WARNING
        )
