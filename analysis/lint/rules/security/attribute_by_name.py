"""The template reaches for a private attribute by a text that holds its name.

Filters such as `attr` and `map` take an attribute's name as a text, which can be put together
from pieces, so that no search of the source finds it. The sandbox refuses the attribute all the
same; an engine without one does not.

Before:

    {{- '' | attr('__cl' ~ 'ass__') }}

After:

    {{- message.content }}
"""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, Severity
from autoparser.analysis.lint.need import Need
from autoparser.analysis.lint.rule import Rule
from autoparser.analysis.lint.subject import Subject


def check(subject: Subject) -> Iterator[Hit]:
    """Take every branch, and read what the sandbox refused inside filters."""
    names = [*subject.forced.by_name]
    if names:
        yield Hit(
            f"whoever renders it without a sandbox lets the template out: a filter reaches for"
            f" {', '.join(names)}",
        )


RULE = Rule(
    "AP902",
    "attribute-by-name",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.RENDERS,
    fix="do not load this template; report it to whoever publishes it",
)
