from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.switches import Switch
from autoparser.analysis.lint.hit import Hit
from autoparser.analysis.lint.hit_words import list_words
from autoparser.analysis.lint.lint_renders import parting_line
from autoparser.analysis.lint.registry import rule
from autoparser.analysis.lint.rule_conversations import render_with
from autoparser.analysis.lint.subject import Subject


@rule("AP116")
def check(subject: Subject) -> Iterator[Hit]:
    """Report the switches that the analysis found."""
    switches = subject.analysis.switches
    if switches:
        first = next((switch for switch in switches if switch.values), None)
        words = [f"{switch.name} ({', '.join(sorted(switch.changes))})" for switch in switches]
        yield Hit(
            f"the prompt depends on {list_words(words)}",
            line=None if first is None else _switch_line(subject, first),
        )


def _switch_line(subject: Subject, switch: Switch) -> int | None:
    """Return the line at which a value of the switch changes a question's prompt."""
    unset = render_with(subject, (subject.user,), {}, generation=True)
    lines = (
        parting_line(
            render_with(subject, (subject.user,), {switch.name: value}, generation=True), unset
        )
        for value in switch.values
    )
    return next(filter(None, lines), None)
