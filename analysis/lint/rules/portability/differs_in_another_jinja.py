r"""Another program renders another prompt.

llama.cpp, programs in Rust (minijinja) and in JavaScript (@huggingface/jinja) have a Jinja of their
own, and llama.cpp's server prepares messages its own way. The model then reads a prompt that it was
not trained on, and nobody is told. `lint --engines` asks those that are installed. After `raw`, for
example, minijinja takes the line break away.

Before:

    {%- raw %}
    Fill in {{name}}.
    {% endraw %}

After:

    {{- '\nFill in {{name}}.\n' }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.jinja_hits import hits_of
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Concern, Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Look for conversations whose prompt is another, by the place that wrote what differs."""
    for comparison in subject.in_other_jinjas:
        yield from hits_of(comparison, subject.matrix, failed=False)


RULE = Rule(
    "AP811",
    "differs-in-another-jinja",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.OTHER_JINJAS,
    default=False,
    concerns=(Concern.ENGINES,),
)
