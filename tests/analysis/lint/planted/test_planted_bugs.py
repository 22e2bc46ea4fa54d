"""Bugs planted into sound templates: each is found, by a finding that names its cause.

`bugs.yaml` is the table: the template of `fixtures/templates`, what is replaced in it by what, the
rule that must find it and words of its message. The template without the bug has no such finding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser.analysis.lint.linting import LintFinding, lint
from autoparser.analysis.lint.registry import rule_of
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.chat_template import ChatTemplate

TEMPLATES = Path(__file__).parents[4] / "fixtures" / "templates"
TABLE = Path(__file__).parent / "bugs.yaml"


@dataclass(frozen=True, slots=True)
class PlantedBug:
    """A replacement, and what must be found of it."""

    template: str
    kind: str
    edits: tuple[tuple[str, str], ...]
    caught_by: str
    says: str

    @property
    def text(self) -> str:
        """The template with the bug; each replaced text stands in it once."""
        text = source(self.template)
        for old, new in self.edits:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        return text


def planted_bug(row: dict[str, Any]) -> PlantedBug:
    edits = [row, *([row["also"]] if "also" in row else [])]
    return PlantedBug(
        row["in"],
        row["kind"],
        tuple((each["replace"], each["with"]) for each in edits),
        row["caught_by"],
        row["says"],
    )


BUGS = [planted_bug(row) for row in yaml.safe_load(TABLE.read_text(encoding="utf-8"))]
HOSTS = sorted({bug.template for bug in BUGS})


@cache
def source(template: str) -> str:
    return (TEMPLATES / f"{template}.jinja").read_text(encoding="utf-8")


@cache
def host(template: str) -> Subject:
    return Subject(ChatTemplate(source(template)))


def found(subject: Subject, bug: PlantedBug) -> list[LintFinding]:
    findings = lint(subject, [rule_of(bug.caught_by)]).findings
    return [each for each in findings if bug.says in each.message]


QUICK = 6
"""One of so many is asked with every change; all of them in the slow lane."""


def thinned(name: str, at: int, value: object) -> Any:
    return pytest.param(value, id=name, marks=() if at % QUICK == 0 else pytest.mark.slow)


@pytest.mark.parametrize(
    "bug", [thinned(f"{bug.template}: {bug.kind}", at, bug) for at, bug in enumerate(BUGS)]
)
def test_it_is_found_and_named(bug: PlantedBug) -> None:
    assert not found(host(bug.template), bug), "the template has it without the bug"
    assert found(Subject(ChatTemplate(bug.text)), bug)


def test_there_are_enough() -> None:
    assert len(BUGS) >= 80
    assert len(HOSTS) == 12


KNOWN = {"t4-name-separator-json": ["AP201"]}
"""It closes reasoning that it has not opened, as the format that it stands for does."""


@pytest.mark.parametrize("template", [thinned(name, at, name) for at, name in enumerate(HOSTS)])
def test_a_sound_template_has_none_of_these_findings(template: str) -> None:
    rules = [rule_of(code) for code in sorted({bug.caught_by for bug in BUGS})]
    report = lint(host(template), rules)
    assert [each.code for each in report.findings] == KNOWN.get(template, [])
    assert not report.left_out
