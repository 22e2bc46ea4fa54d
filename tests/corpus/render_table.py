"""The renderer's survey as a table: owners, and ten turns by bridge and by render."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    columns = {name: [each.rounds[name] for each in found] for name in KINDS}
    had = {name: [each for each in rounds if each.turns] for name, rounds in columns.items()}
    yield ""
    yield _row("ten turns", list(had))
    for title, count in _COUNTS.items():
        yield _row(title, [count(rounds) for rounds in had.values()])
    for name, rounds in had.items():
        yield from _refusals(name, rounds)
        for one in rounds:
            yield from (f"{'':8}  {one.name}: {words}" for words in one.silent[:1])
            yield from (f"{'':8}  needless, {one.name}: {words}" for words in one.needless[:1])


def _row(title: str, cells: Sequence[str]) -> str:
    return f"{title:50}" + "".join(f"{cell:>22}" for cell in cells)


def _turns(found: Sequence[Rounds]) -> int:
    return sum(each.turns for each in found)


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / max(whole, 1):.1%})"


def _checked(found: Sequence[Rounds]) -> list[Rounds]:
    return [each for each in found if each.checked]


_COUNTS: Mapping[str, Callable[[Sequence[Rounds]], str]] = {
    "templates": lambda found: str(len(found)),
    "prefixes": lambda found: str(_turns(found)),
    "  that break by rendering again": lambda found: _share(
        sum(each.rerender_breaks for each in found), _turns(found)
    ),
    "  that break by bridging, else by rendering again": lambda found: _share(
        sum(each.bridge_breaks + each.fallback_breaks for each in found), _turns(found)
    ),
    "bridges": lambda found: _share(sum(each.answered for each in found), _turns(found)),
    "  that break the prefix": lambda found: str(sum(each.bridge_breaks for each in found)),
    "  with a note": lambda found: str(sum(each.noted for each in found)),
    "  that say otherwise than a render, without one": lambda found: str(
        sum(len(each.silent) for each in found)
    ),
    "refusals": lambda found: str(sum(sum(each.refusals.values()) for each in found)),
    "  where rendering again breaks the prefix": lambda found: str(
        sum(each.fallback_breaks for each in found)
    ),
    "  where it keeps it: needless": lambda found: str(sum(len(each.needless) for each in found)),
    "templates whose self-check passes": lambda found: str(len(_checked(found))),
    "  with a bridge": lambda found: _share(
        sum(each.answered > 0 for each in _checked(found)), len(_checked(found))
    ),
    "  with a bridge for every turn": lambda found: _share(
        sum(each.answered == each.turns for each in _checked(found)), len(_checked(found))
    ),
}
"""What is counted of the conversations of all templates, by its title."""


def _refusals(name: str, found: Sequence[Rounds]) -> Iterator[str]:
    yield f"why there is no bridge, {name}"
    reasons = sum((each.refusals for each in found), Counter[str]())
    for reason, count in reasons.most_common():
        names = [each.name for each in found if each.refusals[reason]]
        yield f"{count:>8}  {reason}, {len(names)} templates, such as {', '.join(names[:3])}"
