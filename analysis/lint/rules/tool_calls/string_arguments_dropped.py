"""Arguments that are given as JSON text are silently dropped.

OpenAI's interface carries a call's arguments as JSON text. Here the call reaches the prompt and
its arguments do not: the model reads that it called the tool with nothing.

Before:

    {%- if call.function.arguments is mapping %}{{- call.function.arguments | tojson }}{%- endif %}

After:

    {%- if call.function.arguments is mapping %}{{- call.function.arguments | tojson }}
    {%- else %}{{- call.function.arguments }}{%- endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.string_arguments import both_forms
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.lint.written_values import calling


def check(subject: Subject) -> Iterator[Hit]:
    """Look for the argument's value in the render of a call whose arguments are a string."""
    string, object_ = both_forms(subject)
    value = subject.marks.values[0]
    if not string.rendered or value in string.text or value not in object_.text:
        return
    empty = calling(subject)
    left = "without arguments" if empty.text == string.text else "whose arguments are torn apart"
    yield Hit(
        "a caller that sends arguments as JSON text, as chat APIs do, has the model read a call"
        f" {left}",
        (compared(string, "arguments as JSON text", object_, "as an object"),),
        line=object_.line_of(value),
    )


RULE = Rule(
    "AP505",
    "string-arguments-dropped",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.CALLS,
    fix="write arguments that are a string as they are",
    concerns=(Concern.ENGINES,),
)
