"""The template changes a list or a dictionary, which the sandbox refuses.

transformers, and who renders with it, renders templates, which are code from strangers, in Jinja's
immutable sandbox. There, `append`, `update` and the like raise, and the request fails. minijinja
3.0.5 and @huggingface/jinja 0.5.11 have no such methods either; llama.cpp b11549 alone changes
lists. That was measured; `lint --engines` asks the installed ones, and says what each does at the
line.

Before:

    {%- set _ = seen.append(message) %}

After:

    {%- set ns.seen = ns.seen + [message] %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.lint.asked_engines import engines_at
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import alone
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render conversations of each kind, and look for the sandbox's own error."""
    marks, call = subject.marks, subject.call()
    said = Message(marks.content)
    for what, dialogue, tools in (
        ("a chat", (subject.user, said, subject.next_user), False),
        ("a chat with tools", (subject.user, said, subject.next_user), True),
        ("a tool call", (subject.user, Message(calls=(call,)), subject.answer(call)), True),
    ):
        played = subject.play(dialogue, tools=tools, generation=True)
        render = subject.as_transformers(played, tools=tools, generation=True)
        if render.error is not None and render.error.forbidden:
            yield Hit(
                f"requests with {what} fail in the sandbox in which transformers renders:"
                f" {render.reason}",
                (alone(render, what),),
                line=render.error.line,
                engines=engines_at(subject, render.error.line),
                cause=render.cause,
            )
            return


RULE = Rule(
    "AP804",
    "works-only-outside-the-sandbox",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.RENDERS,
    fix="make a new list or dictionary instead of changing one",
    concerns=(Concern.ENGINES,),
)
