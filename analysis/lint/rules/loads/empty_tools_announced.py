"""An empty list of tools changes the prompt.

Clients send `tools: []` where a user has switched all tools off. The model is then told about
tools, and how to call them, though there are none; and the prompt is another one than without
the field.

Before:

    {%- if tools is not none %}You may call: {{ tools | tojson }}{% endif %}

After:

    {%- if tools %}You may call: {{ tools | tojson }}{% endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.chats import question
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.parting_line import parting_line
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render a user message with no tools, and with an empty list of them."""
    none = subject.render(question(subject), generation=True)
    empty = subject.render(question(subject), generation=True, setting={"tools": []})
    if none.rendered and empty.rendered and none.text != empty.text:
        yield Hit(
            "a request with tools=[] gets another prompt than one without tools",
            (compared(empty, "tools=[]", none, "no tools"),),
            line=parting_line(empty, none),
        )


RULE = Rule(
    "AP115",
    "empty-tools-announced",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.RENDERS,
    fix="ask with `if tools`, which is false for an empty list",
    concerns=(Concern.ENGINES,),
)
