"""The engine holds no marker and no model's name: whatever it knows comes from renders.

Every string constant in analysis/ is looked at, docstrings excepted; the pieces of an f-string
count, and so do the parts of an implicit concatenation, which Python joins.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.case_tables import load_cases

ANALYSIS = Path(__file__).parents[2] / "analysis"

TABLE = load_cases(__file__, "template_knowledge.yaml")
ALLOWED: set[tuple[str, str]] = {
    (module, constant)
    for row in TABLE["allowed"]
    for module, constants in row["modules"].items()
    for constant in constants
}
NAMES = "|".join(map(re.escape, TABLE["models_and_vendors"].split()))
SUSPICIONS = (
    # Complete or not: an f-string splits a tag. A group of a regular expression is not a tag.
    ("a tag", re.compile(r"(?<!\?P)</?\w|(?<!\?P)<[^<>\n]*[^<>\s=!|]+[^<>\n]*>")),
    ("a word in square brackets", re.compile(r"\[/?[A-Z][A-Z0-9_ ]*\]")),
    ("a special token's delimiter", re.compile(r"<\||\|>|<｜|｜>")),
    ("the word of many reasoning markers", re.compile(r"think", re.IGNORECASE)),
    ("a model's or a vendor's name", re.compile(rf"(?<![a-z])(?:{NAMES})(?![a-z])", re.IGNORECASE)),
)


class Offender(NamedTuple):
    """A constant that looks like knowledge of a template."""

    module: str
    line: int
    constant: str
    suspicion: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}: {self.constant!r} looks like {self.suspicion}"


def offenders(source: str, module: str = "module.py") -> list[Offender]:
    """Find the suspicious constants of one module."""
    nodes = [*ast.walk(ast.parse(source))]
    # A bare text as a statement: a docstring, or the explanation below a field.
    explanations = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    found: list[Offender] = []
    for node in nodes:
        if not isinstance(node, ast.Constant) or id(node) in explanations:
            continue
        if isinstance(node.value, str | bytes):
            text = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            found += [
                Offender(module, node.lineno, text, suspicion)
                for suspicion, pattern in SUSPICIONS
                if pattern.search(text)
            ]
    return found


@cache
def all_offenders() -> list[Offender]:
    found: list[Offender] = []
    for path in sorted(ANALYSIS.rglob("*.py")):
        module = path.relative_to(ANALYSIS).as_posix()
        found += offenders(path.read_text(encoding="utf-8"), module)
    return found


def test_engine_has_no_markers_or_model_names() -> None:
    found = [
        offender
        for offender in all_offenders()
        if (offender.module, offender.constant) not in ALLOWED
    ]
    assert not found, "\n".join(["", *map(str, found)])


def test_every_allowed_constant_is_still_needed() -> None:
    there = {(offender.module, offender.constant) for offender in all_offenders()}
    assert there >= ALLOWED


def sources(key: str) -> list[tuple[str, str]]:
    return [(source, said) for said, sources in TABLE[key].items() for source in sources]


@pytest.mark.parametrize(("source", "suspicion"), sources("planted"))
def test_planted_constants_are_reported(source: str, suspicion: str) -> None:
    assert suspicion in [offender.suspicion for offender in offenders(source)]


@pytest.mark.parametrize(("source", "reason"), sources("plain"))
def test_plain_constants_are_not_reported(source: str, reason: str) -> None:
    assert not offenders(source), reason
