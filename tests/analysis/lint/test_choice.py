from __future__ import annotations

import pytest

from autoparser.analysis.lint.project_settings import RuleChoice
from autoparser.analysis.lint.registry import UnknownRuleError, all_rules

ALL = {rule.code for rule in all_rules()}
DEFAULT = {rule.code for rule in all_rules() if rule.default}
LOADS = {code for code in ALL if code.startswith("AP1")}
CONTENT = {code for code in ALL if code.startswith("AP3")}

CHOICES: list[tuple[RuleChoice, set[str], str]] = [
    (RuleChoice(), DEFAULT, "nothing said"),
    (RuleChoice(("ALL",)), ALL, "all, also those that do not run by default"),
    (RuleChoice(("AP101",)), {"AP101"}, "a code"),
    (RuleChoice(("ap101",)), {"AP101"}, "in small letters"),
    (RuleChoice(("does-not-compile",)), {"AP101"}, "a name"),
    (RuleChoice(("AP3",)), CONTENT, "a group"),
    (RuleChoice(("AP1", "AP3")), LOADS | CONTENT, "two groups"),
    (RuleChoice(None, ("AP3",)), DEFAULT - CONTENT, "all but a group"),
    (RuleChoice(("AP3",), ("AP306",)), CONTENT - {"AP306"}, "a code within a group"),
    (RuleChoice(("AP306",), ("AP3",)), {"AP306"}, "a group without a code"),
    (RuleChoice(("AP306",), ("AP306",)), set(), "both alike"),
    (RuleChoice(("ALL",), ("ALL",)), set(), "both alike, all"),
    (
        RuleChoice(("content-dropped-beside-calls",), ("AP3",)),
        {"AP306"},
        "a name says as much as a code",
    ),
    (RuleChoice(("AP101",), (), ("AP306",)), {"AP101", "AP306"}, "and another"),
    (RuleChoice(("AP101",), ("ALL",), ()), {"AP101"}, "nothing but"),
]


@pytest.mark.parametrize(("choice", "codes", "what"), CHOICES, ids=[row[2] for row in CHOICES])
def test_the_selector_that_says_more_decides(
    choice: RuleChoice, codes: set[str], what: str
) -> None:
    assert {rule.code for rule in choice.rules} == codes, what


@pytest.mark.parametrize("selector", ["AP999", "XY1", "", "A", "does-not-compil"])
def test_a_selector_of_no_rule_is_an_error(selector: str) -> None:
    for choice in (
        RuleChoice((selector,)),
        RuleChoice(ignore=(selector,)),
        RuleChoice(None, (), (selector,)),
    ):
        with pytest.raises(UnknownRuleError, match="there is no rule"):
            _ = choice.rules
