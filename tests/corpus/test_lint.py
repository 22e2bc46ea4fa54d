"""The lint rules on real templates: errors that were checked by hand, and no others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.registry import rule_of, run_check
from autoparser.analysis.lint.subject import Subject

from .outcomes import read_template


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
