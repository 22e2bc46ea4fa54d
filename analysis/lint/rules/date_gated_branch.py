from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from datetime import datetime

from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.lint_renders import NOON, compare_renders
from autoparser.analysis.lint.other_environments import CLOCK
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.subject import Subject

DAYS = (
    datetime(2024, 12, 25, 3, 4, 5),  # noqa: DTZ001
    datetime(2026, 2, 28, 23, 59, 59),  # noqa: DTZ001
    datetime(2027, 11, 6, 6, 0, 0),  # noqa: DTZ001
    datetime(2035, 5, 1, 18, 30, 0),  # noqa: DTZ001
)
"""Days of several years, months, weekdays and hours, earlier and later than the usual one."""

_NAMES = [
    name
    for names in (
        calendar.month_name,
        calendar.month_abbr,
        calendar.day_name,
        calendar.day_abbr,
    )
    for name in names
    if name
]
_OF_DATE = re.compile(rf"\b(?:{'|'.join(sorted(_NAMES, key=len, reverse=True))}|AM|PM)\b|\d+")


@rule("AP908", once=True)
def check(subject: Subject) -> Iterator[Hit]:
    """Render conversations on several days, and compare them without the dates."""
    if CLOCK not in subject.suggestions.names:
        return
    for tools in (False, True):
        usual = subject.play(subject.chat, tools=tools, generation=True)
        for day in DAYS:
            other = subject.play(subject.chat, tools=tools, generation=True, clock=day)
            if usual.rendered != other.rendered or _bare(usual.text) != _bare(other.text):
                yield Hit(
                    f"the prompts on {day:%Y-%m-%d} and {NOON:%Y-%m-%d} differ, beyond the date",
                    (compare_renders(other, f"on {day:%Y-%m-%d}", usual, f"on {NOON:%Y-%m-%d}"),),
                )


def _bare(text: str) -> str:
    # Dates differ in numbers and names alone, so that any other difference is a branch.
    return _OF_DATE.sub("0", text)
