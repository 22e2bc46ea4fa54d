"""Arguments that are given as an object make the request fail.

transformers' own documentation passes arguments as an object, and so do engines that decode them
before they render. A template that puts a string and an object together fails on each of them.

Before:

    {{- '<call>' + call.function.arguments }}

After:

    {%- set arguments = call.function.arguments %}
    {{- '<call>' + (arguments if arguments is string else arguments | tojson) }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.raising_hit import raising_hit
from autoparser.analysis.lint.rule import Concern, FaultKind, MendedFault, Rule
from autoparser.analysis.lint.string_arguments import both_forms
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Compare a call whose arguments are an object with one whose arguments are a string."""
    string, object_ = both_forms(subject)
    if object_.error is None or not string.rendered:
        return
    yield raising_hit(
        f"requests fail whose calls have arguments as an object: {object_.reason}",
        object_,
        "arguments as an object",
        string,
        "as JSON text",
        refused=Severity.WARNING,
    )


RULE = Rule(
    "AP506",
    "object-arguments-raise",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.CALLS,
    fix="write arguments that are not strings with tojson",
    mends=(MendedFault(FaultKind.OTHERWISE, "arguments in their other form"),),
    concerns=(Concern.ENGINES,),
)
