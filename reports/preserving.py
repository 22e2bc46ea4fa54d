"""What an edited template fixes: a unified diff, and the words beside it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import unified_diff

from rich.text import Text

from autoparser.analysis.editing.edit_proof import ChangedRender, ProvenEdit
from autoparser.analysis.editing.preserving_edits import LeftStep, PreservingTemplate
from autoparser.analysis.history.scenarios import Next, Scenario
from autoparser.analysis.history.trip_causes import Culprit
from autoparser.analysis.templates.chat_template import ChatTemplate

from .blocks import Blocks, difference, heading, prose, rows, sentence
from .difference import compared
from .terminal import drawn_lines
from .visible import visible

__all__ = ["example_lines", "preserving_report", "proof_words", "template_diff"]

_NAMED = 6

_END = 160
"""Characters of a render that are shown where there was none before."""


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
    drawn: Blocks = []
    if found.edits:
        many = "edit" if len(found.edits) == 1 else "edits"
        words = f"{len(found.edits)} {many}: {len(found.fixed)} more hold: {_steps(found.fixed)}."
        drawn += prose(words, indent=0)
        words = f"Rendered to the same text: {found.held} steps of scenarios that held, under every"
        drawn += prose(f"{words} setting that may matter.", indent=0)
        if found.proof is not None:
            drawn += prose(proof_words(found.proof), indent=0)
            for each in found.proof.examples:
                drawn += example_lines(each)
    elif found.left:
        words = f"No edit was found: {found.tried} were tried."
        drawn += prose(words, indent=0)
    else:
        drawn += prose("Nothing breaks, so nothing is edited.", indent=0)
    for fault, words in _LEFT.items():
        left = [each for each in found.left if each.fault is fault]
        if left:
            drawn += heading(f"{words}: {len(left)}")
            drawn += rows([*_reasons(left)])
    return Text("\n").join(drawn_lines(drawn, width))


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


def proof_words(proof: ProvenEdit) -> str:
    """Say what the renders of a proof came to, of which kinds they are, and which raise."""
    kinds = ", ".join(f"{number} with {kind}" for kind, number in proof.kinds.items())
    rendered = proof.conversations - proof.changed - proof.raising
    same = f"{rendered} conversations are rendered to the same text"
    if proof.crashed == proof.changed > 0:
        same += f"; {proof.changed} crashed, and are rendered"
    elif proof.changed:
        same += f"; {proof.changed} are not, and in each of them less is wrong than before"
    raising = f"; {proof.raising} raise in both" if proof.raising else ""
    return f"{same}{raising}; none raises that did not. Of them {kinds}."


def _end(text: str) -> str:
    return text if len(text) <= _END else f"… {text[-_END:]}"


def example_lines(each: ChangedRender) -> Blocks:
    """Show what changes in one of the renders that change alike."""
    words = sentence(
        ("for example", "dim"), f" {visible(each.conversation)}: {'; '.join(each.mended)}"
    )
    drawn = prose(words, indent=4)
    if each.before is None:
        return drawn + prose(f"it raised, and becomes {visible(_end(each.after))}", indent=6)
    return drawn + difference(compared(each.before, each.after), 6)
