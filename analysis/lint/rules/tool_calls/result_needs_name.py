"""A tool's result is written otherwise, or fails, without the function's name.

OpenAI's interface gives a result the id of its call and no name. A template that reads the name
raises on such a result or writes an empty one, and the model cannot tell which call was answered.

Before:

    {{- '<result name=' + message.name + '>' + message.content }}

After:

    {{- '<result>' + message.content }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.parting_line import parting_line
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render a result with its name, and without."""
    call = subject.call()
    dialogue = (subject.user, Message(calls=(call,)), subject.answer(call))
    messages = subject.shape.messages(dialogue, subject.marks.system)
    nameless: list[dict[str, Json]] = [
        {key: value for key, value in message.items() if key != "name"} for message in messages
    ]
    setting = subject.usual_setting
    named = subject.render(messages, tools=subject.offered, setting=setting)
    render = subject.render(nameless, tools=subject.offered, setting=setting)
    evidence = (compared(render, "without a name", named, "with the function's name"),)
    if not named.rendered:
        return
    if render.error is not None:
        yield Hit(
            f"requests fail whose tool results have no name, as chat APIs send them:"
            f" {render.reason}",
            evidence,
            line=render.error.line,
            cause=render.cause,
        )
    elif render.text != named.text:
        yield Hit(
            "a tool result without a name, as chat APIs send it, is written otherwise than"
            " with one",
            evidence,
            line=parting_line(render, named),
            severity=Severity.INFO,
        )


RULE = Rule(
    "AP527",
    "result-needs-name",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.CALLS,
    fix="look the name up by the call's id, or leave it out",
    concerns=(Concern.ENGINES,),
    unfixed=NoFix.MEANT,
)
