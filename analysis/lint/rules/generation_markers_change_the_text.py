from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, HitEvidence, ShownText
from autoparser.analysis.lint.other_environments import (
    compile_anew,
    other_environment,
    render_elsewhere,
)
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP705")
def check(subject: Subject) -> Iterator[Hit]:
    """Render with tags that open no scope."""
    if not subject.template.marks_generation:
        return
    other = other_environment(scoped=False)
    for each in render_elsewhere(subject, other, compile_anew(subject, other)):
        if each.differs:
            yield Hit(
                f"{each.what} is another text without the generation tags",
                (
                    HitEvidence(
                        each.usual.shown("with generation tags"),
                        ShownText("without", each.text, each.error),
                    ),
                ),
            )
            return
