"""Tool calls are read, and nothing of them is written.

The model never sees that it called a tool: the result that follows answers nothing. Templates
get there by a field's wrong name, or by a branch that is never reached.

Before:

    {%- if message.tool_calls %}{{- message.content }}{%- endif %}

After:

    {%- for call in message.tool_calls %}{{- call.function | tojson }}{%- endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.conversation import Message
from autoparser.analysis.lint.finding import Hit, Severity
from autoparser.analysis.lint.renders import compared
from autoparser.analysis.lint.rule import Rule
from autoparser.analysis.lint.subject import Subject

FIELD = "tool_calls"


def check(subject: Subject) -> Iterator[Hit]:
    """Render a call in the usual shape, where the analysis saw a call in none."""
    if subject.format.calls is not None or FIELD not in subject.suggestions.fields:
        return
    marks, call = subject.marks, subject.call()
    plain = subject.play((subject.user, Message(marks.content)))
    called = (subject.user, Message(calls=(call,)))
    for dialogue in (called, (*called, subject.answer(call))):
        render = subject.play(dialogue, tools=True)
        if render.rendered and plain.rendered and not _shown(render.text, call.name):
            yield Hit(
                "the model never sees its own tool calls: no shape of a call reaches the prompt",
                (compared(render, "with a tool call", plain, "with an answer instead"),),
            )
            return


def _shown(text: str, name: str) -> bool:
    # The tools' definitions have the name, too; each definition once.
    return text.count(name) > 1


RULE = Rule(
    "AP501",
    "calls-never-rendered",
    __doc__,
    Severity.ERROR,
    check,
    fix="write each call's name and arguments where the message's text is written",
)
