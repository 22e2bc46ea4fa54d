"""Arguments that are given as JSON text make the request fail.

OpenAI's interface carries a call's arguments as JSON text. Whoever does not decode them before the
render cannot serve a conversation with a call in its history. vLLM 0.32, SGLang 0.5.23 and
llama.cpp b11549 were measured, and do.

Before:

    {%- for key, value in call.function.arguments.items() %}…{%- endfor %}

After:

    {%- if call.function.arguments is string %}{{- call.function.arguments }}
    {%- else %}{%- for key, value in call.function.arguments.items() %}…{%- endfor %}{%- endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.raising_hit import raising_hit
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.string_arguments import both_forms
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Compare a call whose arguments are a string with one whose arguments are an object."""
    string, object_ = both_forms(subject)
    if string.error is None or not object_.rendered:
        return
    yield raising_hit(
        "requests fail whose calls have arguments as JSON text, as chat APIs send them:"
        f" {string.reason}",
        string,
        "arguments as JSON text",
        object_,
        "as an object",
        refused=Severity.INFO,
    )


RULE = Rule(
    "AP504",
    "string-arguments-raise",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.CALLS,
    fix="write arguments that are a string as they are",
    convention=True,
    concerns=(Concern.ENGINES,),
)
