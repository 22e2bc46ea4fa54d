from __future__ import annotations

import pytest

from autoparser.analysis.lint import UnknownRuleError, all_rules
from autoparser.analysis.lint.project import Choice

ALL = {rule.code for rule in all_rules()}
DEFAULT = {rule.code for rule in all_rules() if rule.default}
LOADS = {code for code in ALL if code.startswith("AP1")}
CONTENT = {code for code in ALL if code.startswith("AP3")}

CHOICES: list[tuple[Choice, set[str], str]] = [
    (Choice(), DEFAULT, "nothing said"),
    (Choice(("ALL",)), ALL, "all, also those that do not run by default"),
    (Choice(("AP101",)), {"AP101"}, "a code"),
    (Choice(("ap101",)), {"AP101"}, "in small letters"),
    (Choice(("does-not-compile",)), {"AP101"}, "a name"),
    (Choice(("AP3",)), CONTENT, "a group"),
    (Choice(("AP1", "AP3")), LOADS | CONTENT, "two groups"),
    (Choice(None, ("AP3",)), DEFAULT - CONTENT, "all but a group"),
    (Choice(("AP3",), ("AP306",)), CONTENT - {"AP306"}, "a code within a group"),
    (Choice(("AP306",), ("AP3",)), {"AP306"}, "a group without a code"),
    (Choice(("AP306",), ("AP306",)), set(), "both alike"),
    (Choice(("ALL",), ("ALL",)), set(), "both alike, all"),
    (
        Choice(("content-dropped-beside-calls",), ("AP3",)),
        {"AP306"},
        "a name says as much as a code",
    ),
    (Choice(("AP101",), (), ("AP306",)), {"AP101", "AP306"}, "and another"),
    (Choice(("AP101",), ("ALL",), ()), {"AP101"}, "nothing but"),
]


@pytest.mark.parametrize(("choice", "codes", "what"), CHOICES, ids=[row[2] for row in CHOICES])
def test_the_selector_that_says_more_decides(choice: Choice, codes: set[str], what: str) -> None:
    assert {rule.code for rule in choice.rules} == codes, what


@pytest.mark.parametrize("selector", ["AP999", "XY1", "", "A", "does-not-compil"])
def test_a_selector_of_no_rule_is_an_error(selector: str) -> None:
    for choice in (Choice((selector,)), Choice(ignore=(selector,)), Choice(None, (), (selector,))):
        with pytest.raises(UnknownRuleError, match="there is no rule"):
            _ = choice.rules
