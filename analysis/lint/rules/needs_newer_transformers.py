from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, HitEvidence, ShownText
from autoparser.analysis.lint.other_environments import (
    CLOCK,
    generation_tag,
    loop_control,
    other_environment,
    render_elsewhere,
)
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP801")
def check(subject: Subject) -> Iterator[Hit]:
    """Search the compiled template for the tags, and render without `strftime_now`."""
    control = loop_control(subject)
    if control is not None:
        yield Hit(
            "transformers before 4.45 cannot compile it: there are no loop controls",
            line=control,
        )
    elif CLOCK in subject.suggestions.names:
        yield from _without_clock(subject)
    if control is None and subject.template.marks_generation:
        yield Hit(
            "transformers before 4.43 cannot compile it: there is no generation tag",
            line=generation_tag(subject),
        )


def _without_clock(subject: Subject) -> Iterator[Hit]:
    for each in render_elsewhere(subject, other_environment(clock=False), clock=False):
        if each.differs:
            there = ShownText("as older releases do", each.text, each.error)
            yield Hit(
                f"transformers before 4.45 cannot render {each.what} as newer releases do:"
                f" {each.error or 'the text differs'}",
                (HitEvidence(each.usual.shown("as newer releases render it"), there),),
                line=each.line,
            )
            return
