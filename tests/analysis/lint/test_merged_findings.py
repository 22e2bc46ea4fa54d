from __future__ import annotations

from msgspec.structs import replace

from autoparser.analysis.lint.hit import Hit, HitCause, Severity
from autoparser.analysis.lint.linting import LintFinding, merge_findings
from autoparser.analysis.lint.registry import rule_of
from autoparser.analysis.lint.rule import Rule


def rule(code: str, severity: Severity, covers: tuple[str, ...] = ()) -> Rule:
    return replace(rule_of("AP101"), code=code, severity=severity, covers=covers)


def test_findings_of_one_cause_are_one_and_the_weightiest_stays() -> None:
    cause = HitCause("raises", 3, "no")
    light = LintFinding(rule("AP110", Severity.WARNING), Hit("a", cause=cause))
    heavy = LintFinding(rule("AP120", Severity.ERROR), Hit("b", cause=cause))
    apart = LintFinding(rule("AP130", Severity.ERROR), Hit("c", cause=HitCause("raises", 4, "no")))
    found = merge_findings([light, heavy, apart])
    assert [(each.code, each.also) for each in found] == [("AP120", ("AP110",)), ("AP130", ())]


def test_what_a_rule_covers_is_folded_into_it_through_others() -> None:
    first = LintFinding(rule("AP301", Severity.ERROR, ("AP302",)), Hit("a"))
    second = LintFinding(rule("AP302", Severity.ERROR, ("AP303",)), Hit("b"))
    third = LintFinding(rule("AP303", Severity.WARNING), Hit("c"))
    found = merge_findings([third, second, first])
    assert [(each.code, each.also) for each in found] == [("AP301", ("AP302", "AP303"))]


def test_the_order_is_weight_then_code() -> None:
    kinds = [("AP2", Severity.INFO), ("AP1", Severity.WARNING), ("AP3", Severity.ERROR)]
    found = merge_findings(
        [LintFinding(rule(code + "01", weight), Hit("x")) for code, weight in kinds]
    )
    assert [each.code for each in found] == ["AP301", "AP101", "AP201"]


def test_a_light_finding_hides_no_heavy_one() -> None:
    light = LintFinding(rule("AP301", Severity.WARNING, ("AP302",)), Hit("a"))
    heavy = LintFinding(rule("AP302", Severity.ERROR), Hit("b"))
    assert [each.code for each in merge_findings([light, heavy])] == ["AP302", "AP301"]
