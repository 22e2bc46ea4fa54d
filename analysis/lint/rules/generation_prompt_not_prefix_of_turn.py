from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.marker_pairs import turn_beginnings
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP206", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Compare each setting's prompt with the turn, with reasoning and without."""
    for beginning in turn_beginnings(subject):
        if beginning.comparable and not beginning.begins_plain and not beginning.begins_reasoned:
            yield beginning.departing(subject, "the rendered assistant turn")
