from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.other_environments import (
    CLOCK,
    first_difference,
    generation_tag,
    loop_control,
    other_environment,
)
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP801")
def check(subject: Subject) -> Iterator[Hit]:
    """Search the compiled template for the tags, and render without `strftime_now`."""
    control = loop_control(subject)
    if control is not None:
        yield Hit(
            "transformers before 4.45 cannot compile it: it lacks loop controls",
            line=control,
        )
    # 4.45 brought both, so a template with loop controls is reported once.
    elif CLOCK in subject.suggestions.names:
        yield from _without_clock(subject)
    # A template that needs 4.45 for its loops is not reported for 4.43, too.
    if control is None and subject.template.marks_generation:
        yield Hit(
            "transformers before 4.43 cannot compile it: it lacks the generation tag",
            line=generation_tag(subject),
        )


def _without_clock(subject: Subject) -> Iterator[Hit]:
    found = first_difference(subject, other_environment(clock=False), clock=False)
    if found is not None:
        yield Hit(
            f"transformers before 4.45 renders {found.what} differently:"
            f" {found.error or 'the text differs'}",
            (found.evidence("newer releases", "older releases"),),
            line=found.line,
        )
