"""The template reaches for a private attribute.

Names such as `__class__` lead out of a template into the program that renders it. The sandbox
refuses them; an engine without one, or with a known hole in it, runs what the template's author
wants. No chat template needs them.

Before:

    {{- ''.__class__.__mro__ }}

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
    """Take every branch, and read what the sandbox refused."""
    seen = subject.forced
    names = [each for each in seen.forbidden if each not in seen.by_name]
    if names:
        yield Hit(
            f"whoever renders it without a sandbox lets the template out: it reaches for"
            f" {', '.join(names)}",
        )


RULE = Rule(
    "AP901",
    "forbidden-attribute",
    __doc__,
    Severity.ERROR,
    check,
    needs=Need.RENDERS,
    fix="do not load this template; report it to whoever publishes it",
)
