"""What an edited template fixes: a unified diff, and the words beside it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import unified_diff

from rich.text import Text

from autoparser.analysis.history.preserving import LeftStep, PreservingTemplate
from autoparser.analysis.history.roundtrip import Culprit, Next, Scenario
from autoparser.analysis.loading.template import ChatTemplate

from .layout import Lines, heading, prose, rows, sentence
from .visible import visible

__all__ = ["preserving_report", "template_diff"]

_NAMED = 6


def template_diff(original: ChatTemplate, template: ChatTemplate) -> str:
    """Return a unified diff that `patch` takes; empty where both are the same."""
    name = (original.origin or original.name or "template").lstrip("/")
    lines = unified_diff(
        original.text.splitlines(keepends=True),
        template.text.splitlines(keepends=True),
        f"a/{name}",
        f"b/{name}",
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def preserving_report(found: PreservingTemplate, width: int) -> Text:
    """Say what holds by the edits, how it was proven, and what cannot hold and why."""
    drawn: Lines = []
    if found.edits:
        many = "edit" if len(found.edits) == 1 else "edits"
        words = f"{len(found.edits)} {many}: {len(found.fixed)} more hold: {_steps(found.fixed)}."
        drawn += prose(words, width, indent=0)
        proof = found.proof
        drawn += prose(
            f"Rendered to the same text: {proof.steps} steps of scenarios that held, under every"
            f" setting that may matter, and {proof.conversations} conversations of the battery. In"
            f" {proof.improved} more of it is right than before, and nothing less.",
            width,
            indent=0,
        )
    elif found.left:
        words = f"No edit was found: {found.proof.tried} were tried."
        drawn += prose(words, width, indent=0)
    else:
        drawn += prose("Nothing breaks, so nothing is edited.", width, indent=0)
    for fault, words in _LEFT.items():
        left = [each for each in found.left if each.fault is fault]
        if left:
            drawn += heading(f"{words}: {len(left)}", width)
            drawn += rows([*_reasons(left)], width)
    return Text("\n").join(drawn)


_LEFT = {
    Culprit.TEMPLATE: "No edit that leaves the rest as it is fixes",
    Culprit.ENGINE: "The engine puts something else into the history",
    Culprit.MODEL: "No template can fix what no message holds",
}


def _reasons(left: Iterable[LeftStep]) -> Iterable[tuple[str, Text]]:
    causes: dict[str, list[tuple[Scenario, Next]]] = {}
    for each in left:
        causes.setdefault(each.cause.value, []).append((each.scenario, each.next))
    for cause, steps in causes.items():
        yield cause, sentence(_steps(steps))


def _steps(steps: Iterable[tuple[Scenario, Next]]) -> str:
    """Name some steps, and how many more there are."""
    names = [*dict.fromkeys(visible(scenario.name) for scenario, _ in steps)]
    more = len(names) - _NAMED
    return " · ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
