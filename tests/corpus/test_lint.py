"""The lint rules on real templates: errors that were checked by hand, and no others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser.analysis.editing.lint_fixes import UnfixedReason
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.inspection import LintRun
from autoparser.analysis.lint.registry import all_rules, rule_of, run_check
from autoparser.analysis.lint.subject import Subject

from .corpus_templates import read_template
from .fixes import TriedFix, fix_table
from .lints import lint_table, lints, reference


@dataclass(frozen=True, slots=True)
class CheckedRule:
    """The templates in which a person has seen what a rule calls an error."""

    code: str
    whole: bool
    """They are all in the corpus; else some of them."""
    templates: frozenset[str]

    def is_error_in(self, subject: Subject) -> bool:
        rule = rule_of(self.code)
        hits = list(run_check(rule, subject)) if subject.has(rule.needs) else []
        return Severity.ERROR in {hit.severity or rule.severity for hit in hits}


def checked_rule(path: Path) -> CheckedRule:
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    seen = frozenset(str(each["template"]) for each in found["hits"])
    return CheckedRule(path.stem, bool(found["whole"]), seen)


FOLDER = Path(__file__).parents[1] / "analysis" / "lint" / "checked"
CHECKED = [checked_rule(path) for path in sorted(FOLDER.glob("*.yaml"))]


@pytest.mark.parametrize("rule", CHECKED, ids=lambda rule: rule.code)
def test_what_was_looked_at_is_still_found(rule: CheckedRule, corpus: list[Path]) -> None:
    files = {each.stem: each for each in corpus}
    lost = [
        each for each in rule.templates if not rule.is_error_in(Subject(read_template(files[each])))
    ]
    assert lost == []


def test_no_error_is_new(corpus: list[Path]) -> None:
    wholes = [rule for rule in CHECKED if rule.whole]
    subjects = {each.stem: Subject(read_template(each)) for each in corpus[::20]}
    found = {
        (each.code, name)
        for each in wholes
        for name in subjects
        if each.is_error_in(subjects[name])
    }
    assert found == {
        (each.code, name) for each in wholes for name in each.templates & set(subjects)
    }
    assert found, "the sample would show nothing"


@pytest.fixture(scope="module")
def sample(corpus: list[Path]) -> LintRun:
    return lints(corpus[::20])


def test_every_template_is_looked_at(sample: LintRun, corpus: list[Path]) -> None:
    assert [each.message for each in sample.problems] == []
    assert [Path(each.path).name for each in sample.templates] == [
        each.name for each in corpus[::20]
    ]


def test_one_process_finds_the_same(sample: LintRun, corpus: list[Path]) -> None:
    alone = lints(corpus[:200:20], processes=1)
    assert alone.templates == sample.templates[:10]


def test_the_table_has_every_rule(sample: LintRun) -> None:
    lines = lint_table(sample).splitlines()
    listed = [line.split("  ")[-1].split()[0] for line in lines if "  AP" in line]
    assert listed == [rule.code for rule in all_rules()]


def test_what_is_known_is_known_of_rules_of_these_groups() -> None:
    assert all(code.startswith("AP") and row.hits <= row.of for code, row in reference().items())


def test_the_table_of_fixes_counts_every_reason_once() -> None:
    reasons = [None, None, *(each for each in UnfixedReason if each is not UnfixedReason.MISSING)]
    found = [TriedFix("a", "AP109", each, 1, 2, 3, "") for each in reasons]
    found.append(TriedFix("a", "AP201", UnfixedReason.MISSING, 0, 0, 0, ""))
    row = next(line for line in fix_table(found).splitlines() if "AP109" in line)
    counts = list(map(int, row.split("  AP109")[0].split()))
    assert counts == [len(reasons), 2, *[1] * (len(UnfixedReason) - 1)]
