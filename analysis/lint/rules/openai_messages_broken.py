from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from msgspec import structs

from autoparser.analysis.core.conversation import Message, ToolResult, UserMessage
from autoparser.analysis.core.message_shape import FormDeparture, form_departures
from autoparser.analysis.learning.template_turns import (
    FormOutcome,
    departures_together,
    lost_text,
    without_reasoning,
)
from autoparser.analysis.lint.conversation_matrix import PlayedConversation, WholeConversation
from autoparser.analysis.lint.hit import TEXT_DROPPED, Hit, Severity, spoiled_cause
from autoparser.analysis.lint.hit_words import failure_words, raising_hit
from autoparser.analysis.lint.lint_renders import Render, compare_renders, parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP121")
def check(subject: Subject) -> Iterator[Hit]:
    """Replay each conversation as users send it, if the template takes another form.

    Each thing in which the form departs is put back by itself, then all of them at once.
    """
    departures = form_departures(subject.shape)
    told: set[FormDeparture] = set()
    for played in _conversations(subject) if departures else ():
        outcomes: dict[FormDeparture, FormOutcome] = {}
        for departure in departures:
            if _is_asked(played, departure):
                outcomes[departure], hit = _form_outcome(subject, played, departure)
                if hit is not None and departure not in told:
                    told.add(departure)
                    yield hit
        for joined in departures_together(outcomes):
            outcome, hit = _form_outcome(subject, played, joined)
            if hit is not None and joined not in told:
                told.add(joined)
                yield hit
            # If all of them raise together, callers fix those that raise alone and send the rest.
            if outcome is not FormOutcome.RAISED:
                break


def _conversations(subject: Subject) -> Iterator[PlayedConversation]:
    yield from subject.matrix
    # The matrix has only plain sentences: other texts may be lost, too.
    yield subject.play_whole(_CAPITALS)
    # The matrix also lacks a message with all parts, in which every form meets every other.
    for played in subject.matrix:
        dialogue = tuple(map(_with_reasoning, played.conversation.dialogue))
        if any(
            isinstance(message, Message) and message.calls and message.content
            for message in dialogue
        ):
            scene = f"{played.conversation.scene}, with reasoning"
            yield subject.play_whole(replace(played.conversation, scene=scene, dialogue=dialogue))
            break


def _with_reasoning(
    entry: UserMessage | Message | ToolResult,
) -> UserMessage | Message | ToolResult:
    if isinstance(entry, Message) and entry.calls and entry.content:
        return structs.replace(entry, reasoning="A tool is due.")
    return entry


_CAPITALS = WholeConversation(
    "a question with capitals",
    (
        UserMessage("Does NASA fly to O'Hare?"),
        Message("Ask the FAA."),
        UserMessage("Who runs O'Hare?"),
    ),
)


def _is_asked(played_chat: PlayedConversation, departure: FormDeparture) -> bool:
    conversation = played_chat.conversation
    alike = departure.same(conversation.dialogue, tools=conversation.tools)
    return played_chat.render.rendered and not conversation.other_form and not alike


def _form_outcome(
    subject: Subject, played_chat: PlayedConversation, departure: FormDeparture
) -> tuple[FormOutcome, Hit | None]:
    """Return the outcome of a conversation in OpenAI's form, with a hit if it loses a text."""
    conversation, render = played_chat.conversation, played_chat.render
    # transformers copies reasoning to every field, other engines do not.
    renamed = departure.shape.reasoning_field != departure.own_shape.reasoning_field
    usual = subject.play_as(conversation, departure.shape, as_given=renamed)
    if not usual.rendered:
        return FormOutcome.RAISED, _refused_calls(played_chat, usual, departure)
    tools = subject.functions if conversation.tools else ()
    system = conversation.system
    lost = lost_text(conversation.dialogue, tools, usual.text, render.text, system=system)
    if lost is None:
        return FormOutcome.KEPT, None
    if departure.convention and _is_unread(subject, conversation, usual):
        return FormOutcome.UNREAD, None
    return FormOutcome.SPOILED, Hit(
        f"OpenAI-style messages ({departure.usual}): {lost} in {played_chat.name!r}",
        (compare_renders(usual, departure.usual, render, departure.wanted),),
        line=parting_line(usual, render),
        cause=TEXT_DROPPED if departure.plain_text else spoiled_cause(departure.usual),
    )


def _refused_calls(
    played_chat: PlayedConversation, usual: Render, departure: FormDeparture
) -> Hit | None:
    """Return a hit where calls or tools in the form of all chat APIs raise.

    Other departures that raise have rules of their own.
    """
    shape, own = departure.shape, departure.own_shape
    if (shape.calls, shape.tools) == (own.calls, own.tools):
        return None
    return raising_hit(
        f"OpenAI-style messages ({departure.usual}): '{played_chat.name}' {failure_words(usual)}",
        (usual, departure.usual),
        (played_chat.render, departure.wanted),
        refused=Severity.WARNING,
    )


def _is_unread(subject: Subject, conversation: WholeConversation, usual: Render) -> bool:
    """Return whether the usual field of reasoning is ignored, which another rule reports."""
    bare = without_reasoning(conversation.dialogue)
    return subject.play_whole(replace(conversation, dialogue=bare)).render.text == usual.text
