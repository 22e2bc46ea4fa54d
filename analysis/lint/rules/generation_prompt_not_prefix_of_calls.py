from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.marker_pairs import beginnings_of_calls, turn_beginnings
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject


@rule("AP207", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Compare each prompt that begins a turn of content with turns of calls."""
    pairs = zip(turn_beginnings(subject), beginnings_of_calls(subject), strict=True)
    for plain, calling in pairs:
        begins_others = plain.begins_plain or plain.begins_reasoned
        begins = calling.begins_plain or calling.begins_reasoned
        if begins_others and calling.comparable and not begins:
            yield calling.departing(subject, "a turn with calls")
