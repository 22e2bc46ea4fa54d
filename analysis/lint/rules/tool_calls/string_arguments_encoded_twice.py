"""Arguments that are given as JSON text are encoded a second time.

OpenAI's interface carries a call's arguments as JSON text. vLLM 0.32, SGLang 0.5.23 and llama.cpp
b11549 decode it before they render, so that nothing is lost there. That was measured: llama.cpp's
server gives an object to a template that takes one, refuses a text that is not JSON, and hands it
on as it came only to a template that can do nothing but put it between other texts. Whoever renders
a client's messages as they are, as a script for training may, hands the text on. The model then
reads a quoted string with escaped quotes where its own call had an object, and learns within the
conversation to write calls that way.

Before:

    {{- call.function.arguments | tojson }}

After:

    {%- if call.function.arguments is string %}{{- call.function.arguments }}
    {%- else %}{{- call.function.arguments | tojson }}{%- endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.inference.probing import StringArguments
from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.lint_renders import compared
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.string_arguments import both_forms
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Compare a call whose arguments are a string with one whose arguments are an object."""
    if subject.analysis.string_arguments is not StringArguments.ENCODED_TWICE:
        return
    string, object_ = both_forms(subject)
    yield Hit(
        "a caller that sends arguments as JSON text, as chat APIs do, has the model"
        " read a quoted string instead of an object",
        (compared(string, "arguments as JSON text", object_, "as an object"),),
        line=string.line_of(f"{subject.marks.keys[0]}\\"),
    )


RULE = Rule(
    "AP503",
    "string-arguments-encoded-twice",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.CALLS,
    fix="write arguments that are a string as they are, and use tojson for objects only",
    mends=(MendedFault(FaultKind.OTHERWISE, "arguments in their other form"),),
    convention=True,
    concerns=(Concern.ENGINES,),
)
