"""The template includes, imports or extends another one.

A chat template is loaded alone: there is nothing beside it to load. The request fails, or an
engine with a loader reads a file of the template's choice.

Before:

    {%- include 'header.jinja' %}

After:

    {{- 'the text of header.jinja' }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Take every branch, and read what was asked for."""
    names = [*subject.forced.loaded]
    if names:
        yield Hit(f"requests fail, since there is nothing to load: {', '.join(names)}")


RULE = Rule(
    "AP911",
    "includes-other-templates",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.RENDERS,
    fix="put the other template's text into this one",
)
