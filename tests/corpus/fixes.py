"""What `autoparser fix` does about the findings that lint shows in the corpus by default.

A finding counts as fixed where the edited template passed every render of the proof, and no render
changed that no finding calls wrong. Of the others the table says how far the edits came. With rules
named, each of their findings is tried by itself, unsafe fixes too. What was found of each template
can be kept in a file, by which a run that was cut short goes on.
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
from autoparser.analysis.editing.lint_fixes import (
    FixedTemplate,
    UnfixedReason,
    fix_sources,
    fixes_apart,
)
from autoparser.analysis.lint.linting import FindingFilter
from autoparser.analysis.lint.project_run import LintRequest
from autoparser.analysis.lint.project_settings import ProjectSettings, RuleChoice
from autoparser.analysis.lint.registry import all_rules, rule_of, rules_for
from autoparser.analysis.lint.rule import Profile
from autoparser.analysis.sources.template_loading import load_template
from autoparser.reports import template_diff

from .corpus_templates import of_each


@dataclass(frozen=True, slots=True)
class TriedFix:
    """A finding of a template, and what became of it."""

    template: str
    code: str
    reason: UnfixedReason | None
    """None where it was fixed."""
    edits: int
    renders: int
    """Conversations of the proof, each rendered by both templates."""
    tried: int
    diff: str


def fixes(
    paths: Sequence[Path], processes: int, codes: Sequence[str] = (), kept: Path | None = None
) -> list[TriedFix]:
    """Fix what lint shows of each template, or try every finding of these rules."""
    ask = partial(_all_tried, codes)
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
    return TriedFix(**row, reason=None if reason is None else UnfixedReason(reason))


def _all_tried(codes: Sequence[str], path: Path) -> list[TriedFix]:
    if not codes:
        rules = RuleChoice(None, (), tuple(each.code for each in rules_for(Profile.RELEASE))).rules
        shown = FindingFilter(Profile.RELEASE)
        request = LintRequest((str(path),), rules, ProjectSettings(), finding_filter=shown)
        run = fix_sources(request)
        return [row for each in run.templates for row in _tried(path.stem, each.fixed)]
    try:
        found = fixes_apart(load_template(str(path)), [rule_of(code) for code in codes])
        return [row for each in found for row in _tried(path.stem, each)]
    except AutoparserError:
        # What cannot be analyzed has no such finding.
        return []


def _tried(name: str, found: FixedTemplate) -> Iterator[TriedFix]:
    diff = template_diff(found.original, found.template) if found.changed else ""
    for each in found.fixes:
        renders = 0 if each.proof is None or each.reason else each.proof.conversations
        code, edits = each.finding.code, len(each.edits)
        yield TriedFix(name, code, each.reason, edits, renders, each.tried, diff)
        # The diff is the template's: it stands with its first finding.
        diff = ""


def fix_table(found: Sequence[TriedFix], *, diffs: bool = False) -> str:
    """Lay the counts out as text, after the diffs where they are wanted."""
    shown = [f"{each.template}\n{each.diff}" for each in found if each.diff]
    return "\n".join([*(shown if diffs else ()), *_lines(found)]) + "\n"


def _lines(found: Sequence[TriedFix]) -> Iterator[str]:
    rules = {rule.code: rule for rule in all_rules()}
    known = [each for each in found if rules[each.code].fixable]
    others = [each for each in found if not rules[each.code].fixable]
    yield "found fixed unsafe  no edit not proven stays   new limit  rule"
    for code in sorted({each.code for each in known}):
        yield _row([each for each in known if each.code == code], f"{code} {rules[code].name}")
    yield _row(known, "all")
    gone = len(_fixed(others))
    yield f"{len(others)} findings of rules without edits, {gone} of them gone with others"
    showing, fixable, changed = (
        len({each.template for each in some}) for some in (found, known, _fixed(found))
    )
    yield f"{showing} templates show findings, {fixable} some with edits; {changed} were changed"
    renders = sum(each.renders for each in found)
    tried = sum(each.tried for each in found)
    yield f"{tried} edits were rendered with; fixed ones were proven by {renders} conversations"


def _fixed(found: Sequence[TriedFix]) -> list[TriedFix]:
    return [each for each in found if each.reason is None]


_WIDTHS = {
    UnfixedReason.UNSAFE: 6,
    UnfixedReason.NO_EDIT: 8,
    UnfixedReason.NOT_PROVEN: 10,
    UnfixedReason.NOT_GONE: 5,
    UnfixedReason.NEW: 5,
    UnfixedReason.NOT_FINISHED: 5,
}
"""How wide the column of a reason is."""


def _row(found: Sequence[TriedFix], words: str) -> str:
    counts = Counter(each.reason for each in found)
    left = " ".join(f"{counts[reason]:>{width}}" for reason, width in _WIDTHS.items())
    return f"{len(found):>5} {counts[None]:>5} {left}  {words}"
