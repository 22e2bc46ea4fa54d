"""A tool that is given as a bare function schema makes the request fail.

OpenAI's interface wraps the function in an object; transformers passes on what it is given. Some
callers give the schema alone.

Before:

    {%- for tool in tools %}{{- '- ' + tool.function.name }}{%- endfor %}

After:

    {%- for tool in tools %}{{- '- ' + (tool.function or tool).name }}{%- endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.raising_hit import raising_hit
from autoparser.analysis.lint.rule import Concern, NoFix, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Render a question with tools, wrapped and bare."""
    messages = subject.shape.messages((subject.user,), subject.marks.system)
    bare = [tool["function"] for tool in subject.tools if isinstance(tool, dict)]
    setting = subject.usual_setting
    wrapped = subject.render(messages, tools=subject.tools, setting=setting)
    render = subject.render(messages, tools=bare, setting=setting)
    if render.error is not None and wrapped.rendered:
        message = f"requests fail whose tools are bare function schemas: {render.reason}"
        yield raising_hit(message, render, "bare", wrapped, "wrapped")


RULE = Rule(
    "AP519",
    "bare-function-schema-raises",
    __doc__,
    Severity.INFO,
    check,
    needs=Need.CALLS,
    concerns=(Concern.ENGINES,),
    unfixed=NoFix.MEANT,
)
