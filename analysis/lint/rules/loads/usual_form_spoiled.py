"""What users send in OpenAI's form is lost or rewritten in silence; another form is written.

Chat APIs take tools and calls in a wrapper of the type function, content as a text or null, and
engines hand arguments on as an object. A template that raises on one of these is soon noticed. One
that renders something else is not: the model never reads what was said. All other rules look at the
form that such a template does take, so that they find nothing there.

Before:

    {%- if call.function.arguments is string %}{{- call.function.arguments }}
    {%- else %}{{- call.function.arguments | tojson | reverse }}{%- endif %}

After:

    {%- if call.function.arguments is string %}{{- call.function.arguments }}
    {%- else %}{{- call.function.arguments | tojson }}{%- endif %}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from autoparser.analysis.core.conversation import Message, User
from autoparser.analysis.core.message_shape import FormDeparture, departures_of
from autoparser.analysis.inference.check import LostText, lost_text, without_reasoning
from autoparser.analysis.lint.conversations import WholeConversation
from autoparser.analysis.lint.hit import TEXT_DROPPED, Hit, Severity
from autoparser.analysis.lint.lint_renders import Render, compared
from autoparser.analysis.lint.parting_line import parting_line
from autoparser.analysis.lint.played_conversation import PlayedConversation
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Play each conversation again as users send it, where the template takes another form."""
    for departure in departures_of(subject.shape):
        # The matrix speaks in sentences of one capital: other ones may be lost, too.
        for played in (*subject.matrix, subject.play_whole(_CAPITALS)):
            found = _spoiled(subject, played, departure)
            if found is not None:
                usual, lost = found
                yield Hit(
                    f"as users send it ({departure.usual}), {lost} in {played.name!r}",
                    (compared(usual, departure.usual, played.render, departure.wanted),),
                    line=parting_line(usual, played.render),
                    cause=TEXT_DROPPED if departure.plain_text else None,
                )
                break


_CAPITALS = WholeConversation(
    "a question with capitals",
    (User("Does NASA fly to O'Hare?"), Message("Ask the FAA."), User("Who runs O'Hare?")),
)


def _spoiled(
    subject: Subject, played: PlayedConversation, departure: FormDeparture
) -> tuple[Render, LostText] | None:
    """Return what becomes of a conversation as users send it, where that loses a text."""
    conversation, render = played.conversation, played.render
    alike = departure.same(conversation.dialogue, tools=conversation.tools)
    if conversation.other_form or alike or not render.rendered:
        return None
    # transformers gives reasoning under every name, and other engines do not.
    usual = subject.play_as(conversation, departure.shape, as_given=departure.convention)
    tools = subject.functions if conversation.tools else ()
    system = conversation.system
    if not usual.rendered:
        return None
    lost = lost_text(conversation.dialogue, tools, usual.text, render.text, system=system)
    if lost is None or (departure.convention and _unread(subject, conversation, usual)):
        return None
    return usual, lost


def _unread(subject: Subject, conversation: WholeConversation, usual: Render) -> bool:
    """Whether reasoning is not read under its usual name, which is another rule's finding."""
    bare = without_reasoning(conversation.dialogue)
    return subject.play_whole(replace(conversation, dialogue=bare)).render.text == usual.text


RULE = Rule(
    "AP121",
    "usual-form-spoiled",
    __doc__,
    Severity.ERROR,
    check,
    fix="write what users send as the same text, whatever form it has",
    concerns=(Concern.ENGINES, Concern.TRAINING),
)
