"""The lint rules on real templates: what was checked by hand is still found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser.analysis.lint import Severity, Subject, rule_of

from .outcomes import read_template

CHECKED = sorted((Path(__file__).parents[1] / "analysis" / "lint" / "checked").glob("*.yaml"))


def verdicts(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("path", CHECKED, ids=[path.stem for path in CHECKED])
def test_what_was_looked_at_is_still_found(path: Path, corpus: list[Path]) -> None:
    rule = rule_of(path.stem)
    files = {each.stem: each for each in corpus}
    for each in verdicts(path):
        subject = Subject(read_template(files[each["template"]]))
        hits = list(rule.check(subject)) if subject.has(rule.needs) else []
        weights = {hit.severity or rule.severity for hit in hits}
        assert Severity.ERROR in weights, each["template"]
