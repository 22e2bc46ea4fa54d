from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit, HitEvidence
from autoparser.analysis.lint.other_environments import (
    CLOCK,
    engines_at,
    first_difference,
    generation_tag,
    loop_control,
    other_environment,
)
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP802")
def check(subject: Subject) -> Iterator[Hit]:
    """Search the compiled template for the tags, and render without the other additions."""
    line = loop_control(subject)
    lacking = [] if line is None else ["loop controls"]
    if subject.template.marks_generation:
        lacking.append("the generation tag")
        line = line or generation_tag(subject)
    evidence: list[HitEvidence] = []
    for feature, clock, name in (
        ("strftime_now", False, CLOCK),
        ("tojson without HTML escapes", True, ""),
    ):
        if name and name not in subject.suggestions.names:
            continue
        other = other_environment(clock=clock, tojson=not clock)
        found = first_difference(subject, other, clock=clock)
        if found is not None and clock:
            # Code compiled for another `tojson` does not pass transformers' arguments.
            found = first_difference(subject, other, other.compile(subject.template.syntax_tree))
        if found is not None:
            lacking.append(feature)
            line = line or found.line
            evidence.append(found.evidence("with it", f"without {feature}"))
    if lacking:
        yield Hit(
            f"plain Jinja raises or renders differently: it lacks {', '.join(lacking)}",
            tuple(evidence),
            line=line,
            engines=engines_at(subject, line),
        )
