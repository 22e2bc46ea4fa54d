from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.other_environments import (
    compile_anew,
    first_difference,
    other_environment,
)
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP705")
def check(subject: Subject) -> Iterator[Hit]:
    """Render with tags that open no scope."""
    if not subject.template.marks_generation:
        return
    other = other_environment(scoped=False)
    found = first_difference(subject, other, compile_anew(subject, other))
    if found is not None:
        evidence = (found.evidence("with generation tags", "without"),)
        yield Hit(f"{found.what} renders differently without the generation tags", evidence)
