"""The command rule, and the pages that it writes; ``UPDATE_DOCS=1`` writes them anew."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autoparser.analysis.lint import RuleGroup, all_rules
from autoparser.reports.lint import page_file, page_markdown, rules_index

Run = Callable[..., Any]
PAGES = Path(__file__).parents[2] / "docs" / "rules"
SNAPSHOTS = Path(__file__).parent / "snapshots"


def test_the_pages_of_the_docs_are_what_the_command_gives() -> None:
    expected = {page_file(rule): page_markdown(rule) for rule in all_rules()}
    expected["README.md"] = rules_index(all_rules())
    if os.environ.get("UPDATE_DOCS"):
        PAGES.mkdir(exist_ok=True)
        for file in PAGES.glob("*.md"):
            file.unlink()
        for name, text in expected.items():
            (PAGES / name).write_text(text, encoding="utf-8", newline="\n")
    found = {file.name: file.read_text(encoding="utf-8") for file in PAGES.glob("*.md")}
    assert sorted(found) == sorted(expected), "UPDATE_DOCS=1 writes the pages of new rules"
    assert found == expected, "UPDATE_DOCS=1 writes the pages anew"


@pytest.mark.parametrize("width", [80, 120])
def test_a_page_is_as_it_was(width: int, autoparser: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    ran = autoparser("rule", "AP306")
    assert (ran.code, ran.err) == (0, "")
    path = SNAPSHOTS / f"rule-{width}.txt"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(ran.out, encoding="utf-8", newline="\n")
    assert ran.out == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_every_page_keeps_to_the_width(
    rule: Any, width: int, autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    ran = autoparser("rule", rule.name)
    assert (ran.code, ran.err) == (0, "")
    assert all(len(line) <= width and line == line.rstrip() for line in ran.out.splitlines())


def test_all_rules_are_listed_by_group(autoparser: Run) -> None:
    ran = autoparser("rule")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    listed = [line.split()[0] for line in lines if line.startswith("  AP")]
    assert listed == [rule.code for rule in all_rules()]
    groups = {f"{rule.group.value} (AP{rule.group.digit})" for rule in all_rules()}
    assert groups <= set(lines)
    assert len(groups) <= len(RuleGroup)


def test_markdown_is_that_of_the_docs(autoparser: Run) -> None:
    rule = all_rules()[0]
    assert autoparser("rule", rule.code.lower(), "--format", "markdown").out == page_markdown(rule)
    assert autoparser("rule", "-f", "markdown").out == rules_index(all_rules())


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("AP3066", "there is no rule 'AP3066'; did you mean AP306?"),
        ("does-not-compil", "did you mean does-not-compile?"),
        ("zzz", "'autoparser rule' lists all"),
    ],
)
def test_an_unknown_rule_is_one_line(given: str, words: str, autoparser: Run) -> None:
    ran = autoparser("rule", given)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1
