"""The command rule, and the index of the docs; ``UPDATE_DOCS=1`` writes that anew."""

from __future__ import annotations

import os
import re

import pytest

from autoparser.analysis.lint.registry import all_rules
from autoparser.reports.lint.page import page_markdown, rules_index

from .conftest import ROOT, Run

INDEX = ROOT / "docs" / "rules" / "README.md"


def test_docs_index_links_every_rule_page() -> None:
    expected = rules_index(all_rules(), "../../analysis/lint/rules/")
    if os.environ.get("UPDATE_DOCS"):
        INDEX.write_text(expected, encoding="utf-8", newline="\n")
    assert INDEX.read_text(encoding="utf-8") == expected, "UPDATE_DOCS=1 writes the index anew"
    links = re.findall(r"\]\((\S+/AP\S+?)\)", expected)
    assert len(links) == len(all_rules())
    assert all((INDEX.parent / link).is_file() for link in links)


@pytest.mark.parametrize("width", [80, 120])
def test_rule_pages_fit_the_terminal(
    width: int, autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    for rule in all_rules():
        ran = autoparser("rule", rule.name)
        assert (ran.code, ran.err) == (0, "")
        assert all(len(line) <= width and line == line.rstrip() for line in ran.out.splitlines())


def test_rules_are_listed_by_group(autoparser: Run) -> None:
    ran = autoparser("rule")
    lines = ran.out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    listed = [line.split()[0] for line in lines if line.startswith("  AP")]
    assert listed == [rule.code for rule in all_rules()]
    assert {f"{rule.group.value} (AP{rule.group.digit})" for rule in all_rules()} <= set(lines)


def test_rule_markdown_equals_the_docs(autoparser: Run) -> None:
    rule = all_rules()[0]
    assert autoparser("rule", rule.code.lower(), "--format", "markdown").out == page_markdown(rule)
    assert autoparser("rule", "-f", "markdown").out == rules_index(all_rules())
