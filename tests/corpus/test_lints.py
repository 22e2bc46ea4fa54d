"""The linter over a twentieth of the corpus: nothing crashes, and the order is always the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoparser.analysis.editing.lint_fixes import UnfixedReason
from autoparser.analysis.lint.inspection import LintRun
from autoparser.analysis.lint.registry import all_rules

from .fixes import TriedFix, fix_table
from .lints import lint_table, lints, reference


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
