"""Findings of the corpus that `autoparser fix` may fix, each tried by itself.

A finding counts as fixed where the edited template passed every render of the proof. Of the others
the table says how far the edits came. Rules that do not run by default are tried, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.fixing import Unfixed, fix_template
from autoparser.analysis.lint import Hit, Subject, all_rules, rule_of
from autoparser.analysis.loading.sources import load_template
from autoparser.analysis.loading.template import ChatTemplate
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


def fixes(paths: Sequence[Path], processes: int, codes: Sequence[str] = ()) -> list[TriedFix]:
    """Try to fix every finding of these rules, or of all that are fixable."""
    chosen = [rule.code for rule in all_rules() if rule.fixable]
    ask = partial(_all_tried, [code for code in chosen if not codes or code in codes])
    return [each for found in of_each(ask, paths, processes, chunk=1) for each in found]


def _all_tried(codes: Sequence[str], path: Path) -> list[TriedFix]:
    template = load_template(str(path))
    try:
        subject = Subject(template)
        found = {code for code in codes if [*_hits(subject, code)]}
    except AutoparserError:
        # What cannot be analysed has no such finding.
        return []
    return [each for code in sorted(found) for each in _tried(template, path.stem, code)]


def _hits(subject: Subject, code: str) -> Iterator[Hit]:
    rule = rule_of(code)
    if subject.has(rule.needs):
        yield from rule.check(subject)


def _tried(template: ChatTemplate, name: str, code: str) -> Iterator[TriedFix]:
    found = fix_template(template, [rule_of(code)])
    for each in found.fixes:
        renders = 0 if each.proof is None else each.proof.conversations
        diff = template_diff(template, found.template) if each.proof is not None else ""
        yield TriedFix(name, code, each.reason, len(each.edits), renders, each.tried, diff)


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
