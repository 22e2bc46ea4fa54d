from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.message_shape import USUAL_REASONING
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import compare_renders, show_render
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule import RuleNeed
from autoparser.analysis.lint.rule_conversations import render_answer, render_last_call
from autoparser.analysis.lint.subject import Subject


@rule("AP402")
def check(subject: Subject) -> Iterator[Hit]:
    """Search for a call's reasoning after the answer to the call."""
    if not subject.has(RuleNeed.REASONING):
        yield from _first_dropped(subject)
        return
    word, call = subject.marks.reasoning, subject.call()
    message = Message(reasoning=word, calls=(call,))
    running = subject.play((subject.user, message, subject.answer(call)), tools=True)
    if not running.rendered or word in running.text or call.name not in running.text:
        return
    before = render_last_call(subject, reasoning=word)
    shown = word in before.text
    if not shown:
        before = render_answer(subject, reasoning=word)
    what = "is dropped after the call's result" if shown else "is never rendered"
    yield Hit(
        f"the reasoning of a message with calls {what}",
        (compare_renders(running, "with the result", before, "where it is rendered"),),
        line=before.line_of(word),
    )


def _first_dropped(subject: Subject) -> Iterator[Hit]:
    """Search a loop of two calls for the reasoning of the first, if the second one's is there.

    The analysis finds no reasoning in such a template, which drops it in every first message.
    """
    first, second = subject.call(), subject.call(1)
    results = subject.answer(first), subject.answer(second)
    loop = (subject.user, Message(calls=(first,)), results[0], Message(calls=(second,)), results[1])
    texts = iter(subject.texts.reasonings)
    messages = [
        {**message, USUAL_REASONING: next(texts)} if message["role"] == "assistant" else message
        for message in subject.play(loop, tools=True).messages
    ]
    running = subject.render(messages, tools=subject.usual_tools)
    lost, kept = subject.texts.reasonings
    if kept in running.text and lost not in running.text:
        yield Hit(
            "the reasoning of a message with calls is dropped, but that of the next one is not",
            (show_render(running, "two calls one after the other"),),
            line=running.line_of(kept),
        )
