"""A tool without parameters, or without a description, makes the request fail.

OpenAI's interface requires neither. A tool such as one that tells the time takes nothing.

Before:

    {%- for key, value in tool.function.parameters.properties.items() %}…{%- endfor %}

After:

    {%- for key, value in ((tool.function.parameters or {}).properties or {}).items() %}…
    {%- endfor %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.conversation import Json, Tool
from autoparser.analysis.inference.probing import offered
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.raising_hit import raising_hit
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject

PARAMETERS: dict[str, Json] = {"type": "object", "properties": {}}
DESCRIPTION = "Does what it says."


def check(subject: Subject) -> Iterator[Hit]:
    """Render a question with tools that lack one thing each."""
    messages = subject.shape.messages((subject.user,), subject.marks.system)
    setting = subject.usual_setting
    whole = subject.render(messages, tools=subject.offered, setting=setting)
    if subject.offered is None or not whole.rendered:
        return
    for what, tool in _lacking(subject.marks.names[0]):
        render = subject.render(messages, tools=offered([tool], subject.shape), setting=setting)
        if render.error is not None:
            yield raising_hit(
                f"requests fail that offer a tool {what}: {render.reason}",
                render,
                f"a tool {what}",
                whole,
                "tools that have all",
                refused=Severity.INFO,
            )
            return


def _lacking(name: str) -> Iterator[tuple[str, Tool]]:
    yield (
        "with empty parameters",
        {
            "name": name,
            "description": DESCRIPTION,
            "parameters": PARAMETERS,
        },
    )
    yield "without parameters", {"name": name, "description": DESCRIPTION}
    yield "without a description", {"name": name, "parameters": PARAMETERS}


RULE = Rule(
    "AP520",
    "tool-without-parameters-raises",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.CALLS,
    fix="ask whether the tool has parameters and a description before reading them",
    concerns=(Concern.ENGINES,),
)
