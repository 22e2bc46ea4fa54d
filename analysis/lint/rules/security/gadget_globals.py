"""The template calls a global of Jinja's by which sandboxes were left.

`lipsum`, `cycler` and `joiner` are objects of the program that renders, with ways to its modules.
Published attacks begin with them. What they do for web pages, no prompt needs.

Before:

    {%- set comma = joiner(', ') %}

After:

    {%- if not loop.first %}{{- ', ' }}{%- endif %}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Take every branch, and read which of them were called."""
    names = [*subject.forced.gadgets]
    if names:
        yield Hit(
            f"the template calls {', '.join(names)}, with which attacks on engines begin",
        )


RULE = Rule(
    "AP903",
    "gadget-globals",
    __doc__,
    Severity.WARNING,
    check,
    needs=Need.RENDERS,
    fix="write the separator with loop.first or loop.last",
)
