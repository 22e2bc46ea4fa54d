"""Findings of the corpus that `autoparser fix` may fix, each tried by itself.

A finding counts as fixed where the edited template passed every render of the proof. Of the others
the table says how far the edits came. Rules that do not run by default are tried, too. What was
found of each template can be kept in a file, by which a run that was cut short goes on.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.fixing import FixedTemplate, Unfixed, fixes_apart
from autoparser.analysis.lint import all_rules, rule_of
from autoparser.analysis.loading.sources import load_template
from autoparser.reports import template_diff

from .each_template import of_each


@dataclass(frozen=True, slots=True)
class TriedFix:
    """A finding of a template, and what became of it."""

    template: str
    code: str
    reason: Unfixed | None
    """None where it was fixed."""
    edits: int
    renders: int
    """Conversations of the proof, each rendered by both templates."""
    tried: int
    diff: str


def fixes(
    paths: Sequence[Path], processes: int, codes: Sequence[str] = (), kept: Path | None = None
) -> list[TriedFix]:
    """Try to fix every finding of these rules, or of all that are fixable."""
    chosen = [rule.code for rule in all_rules() if rule.fixable]
    ask = partial(_all_tried, [code for code in chosen if not codes or code in codes])
    done = _kept(kept)
    left = [path for path in paths if path.stem not in done]
    for at in range(0, len(left), 2 * processes):
        some = left[at : at + 2 * processes]
        found = of_each(ask, some, processes, chunk=1)
        done |= {path.stem: each for path, each in zip(some, found, strict=True)}
        if kept is not None:
            with kept.open("a", encoding="utf-8") as file:
                for path in some:
                    row = [path.stem, [asdict(each) for each in done[path.stem]]]
                    file.write(json.dumps(row) + "\n")
    return [each for path in paths for each in done[path.stem]]


def _kept(kept: Path | None) -> dict[str, list[TriedFix]]:
    if kept is None or not kept.exists():
        return {}
    rows: list[tuple[str, list[dict[str, Any]]]] = [
        json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()
    ]
    return {name: [_tried_fix(each) for each in found] for name, found in rows}


def _tried_fix(row: dict[str, Any]) -> TriedFix:
    reason: Any = row.pop("reason")
    return TriedFix(**row, reason=None if reason is None else Unfixed(reason))


def _all_tried(codes: Sequence[str], path: Path) -> list[TriedFix]:
    try:
        found = fixes_apart(load_template(str(path)), [rule_of(code) for code in codes])
        return [_tried(path.stem, each) for each in found]
    except AutoparserError:
        # What cannot be analysed has no such finding.
        return []


def _tried(name: str, found: FixedTemplate) -> TriedFix:
    (each,) = found.fixes
    renders = 0 if each.proof is None else each.proof.conversations
    diff = template_diff(found.original, found.template) if each.proof is not None else ""
    code = each.finding.code
    return TriedFix(name, code, each.reason, len(each.edits), renders, each.tried, diff)


def fix_table(found: Sequence[TriedFix], *, diffs: bool = False) -> str:
    """Lay the counts out as text, after the diffs where they are wanted."""
    shown = [f"{each.code} {each.template}\n{each.diff}" for each in found if each.diff]
    return "\n".join([*(shown if diffs else ()), *_lines(found)]) + "\n"


def _lines(found: Sequence[TriedFix]) -> Iterator[str]:
    names = {rule.code: rule.name for rule in all_rules()}
    yield "found fixed  no edit not proven stays   new  rule"
    for code in sorted({each.code for each in found}):
        yield _row([each for each in found if each.code == code], f"{code} {names[code]}")
    yield _row(found, "all")
    renders = sum(each.renders for each in found)
    tried = sum(each.tried for each in found)
    yield f"{tried} edits were rendered with; fixed ones were proven by {renders} conversations"


def _row(found: Sequence[TriedFix], words: str) -> str:
    counts = Counter(each.reason for each in found)
    none, proven, gone, new = (counts[reason] for reason in Unfixed)
    left = f"{none:>7} {proven:>10} {gone:>5} {new:>5}"
    return f"{len(found):>5} {counts[None]:>5}  {left}  {words}"
