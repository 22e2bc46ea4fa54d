"""Another program's Jinja fails where transformers' renders.

llama.cpp, programs in Rust (minijinja) and in JavaScript (@huggingface/jinja) have a Jinja of their
own. What it lacks is known when it is asked: whole conversations are rendered there, and each that
fails is a request that fails. `lint --engines` asks those that are installed. Of what is not there,
for example, minijinja has no length.

Before:

    {%- if message.tool_calls | length > 0 %}

After:

    {%- if message.tool_calls %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.jinja_hits import hits_of
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Look for conversations that a program fails on, by what it says and where."""
    for comparison in subject.in_other_jinjas:
        yield from hits_of(comparison, subject.matrix, failed=True)


RULE = Rule(
    "AP810",
    "raises-in-another-jinja",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.OTHER_JINJAS,
    default=False,
    concerns=(Concern.ENGINES,),
)
