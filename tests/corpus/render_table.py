"""The renderer's survey as a table: owners, and ten turns by bridge and by render."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .rendering import Attribution, Rounds, analysed, attribution_of, rounds_of

KINDS: Mapping[str, tuple[bool, str]] = {
    "reasoning, none kept": (True, "none"),
    "reasoning, all kept": (True, "all"),
    "no reasoning": (False, "none"),
}
"""Conversations with and without reasoning, and the retention that the bridge is told."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What was found of one template."""

    attribution: Attribution
    rounds: Mapping[str, Rounds]


def surveyed(path: Path) -> Survey | None:
    """Survey one template; None where it cannot be analysed."""
    analysis = analysed(path)
    if analysis is None:
        return None
    return Survey(
        attribution_of(path, analysis),
        {
            name: rounds_of(path, analysis, reasoning=reasoning, retention=retention)
            for name, (reasoning, retention) in KINDS.items()
        },
    )


def render_table(paths: Sequence[Path]) -> tuple[str, bool]:
    """Lay out what was found, and say whether nothing is wrong."""
    found = [each for each in map(surveyed, paths) if each is not None]
    wrong = any(
        each.attribution.faults
        or any(rounds.silent or rounds.bridge_breaks for rounds in each.rounds.values())
        for each in found
    )
    return "\n".join(_lines(found)) + "\n", not wrong


def _lines(found: Sequence[Survey]) -> Iterator[str]:
    rendered = [each.attribution for each in found if each.attribution.rendered]
    right = sum(not each.faults for each in rendered)
    yield f"{len(found):>6}  templates analysed"
    yield f"{right:>6}  of {len(rendered)} that render: every text is its message's"
    for each in rendered:
        if each.faults:
            yield f"{'':8}  {each.name}: {each.faults[0]}"
    for name in KINDS:
        yield from _rounds([each.rounds[name] for each in found], name)


def _rounds(found: Sequence[Rounds], name: str) -> Iterator[str]:
    had = [each for each in found if each.turns]
    checked = [each for each in had if each.checked]
    turns = sum(each.turns for each in had)
    answered = sum(each.answered for each in had)
    some = sum(each.answered > 0 for each in checked)
    every = sum(each.answered == each.turns for each in checked)
    broken = sum(each.rerender_breaks for each in had)
    yield f"ten turns, {name}: {turns} bridges asked for, {len(had)} templates"
    yield f"{broken / max(turns, 1):>7.1%}  of prefixes break by rendering again"
    yield f"{sum(each.bridge_breaks for each in had):>6}  of {answered} break by bridge"
    yield f"{sum(len(each.silent) for each in had):>6}  bridges say otherwise than a render, unsaid"
    yield f"{some:>6}  of {len(checked)} templates whose self-check passes have a bridge"
    yield f"{every:>6}  have one for every turn"
    reasons = sum((each.refusals for each in had), Counter[str]())
    for reason, count in reasons.most_common():
        names = [each.name for each in had if each.refusals[reason]]
        yield f"{count:>8}  {reason}, {len(names)} templates, such as {', '.join(names[:3])}"
    for each in had:
        yield from (f"{'':8}  {each.name}: {words}" for words in each.silent[:1])
