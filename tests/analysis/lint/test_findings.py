"""Findings after the rules: merged by cause, accepted by comments, known by a baseline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from autoparser import ChatTemplate
from autoparser.analysis.lint.baselines import (
    VERSION,
    Baseline,
    BaselineError,
    KnownFinding,
    finding_digest,
    read_baseline,
    template_ignores,
)
from autoparser.analysis.lint.forced_branches import force_branches
from autoparser.analysis.lint.hit import Hit, HitCause, Severity
from autoparser.analysis.lint.lint_renders import LintRenders, Render, RenderSetting, parting_line
from autoparser.analysis.lint.linting import FindingFilter, LintFinding, merge_findings
from autoparser.analysis.lint.marker_pairs import marker_balance
from autoparser.analysis.lint.project_run import LintRequest, lint_project
from autoparser.analysis.lint.project_settings import ProjectSettings
from autoparser.analysis.lint.registry import find_rule
from autoparser.analysis.lint.rule import Profile, RuleConcern
from tests.case_tables import case_tables

TABLE = case_tables(__file__, "findings.yaml")


def finding(row: dict[str, Any]) -> LintFinding:
    covers, severity = tuple(row.get("covers", ())), Severity(row["severity"])
    rule = msgspec.structs.replace(
        find_rule("AP101"),
        code=row["code"],
        severity=severity,
        covers=covers,
        convention=row.get("convention", False),
        concerns=tuple(map(RuleConcern, row.get("concerns", ()))),
    )
    cause = HitCause("raises", row["line"], "no") if "line" in row else None
    return LintFinding(rule, Hit("x", cause=cause))


@TABLE("merged")
def test_findings_are_merged_by_cause_and_cover(case: dict[str, Any]) -> None:
    shown = FindingFilter(Profile(case.get("profile", "strict")))
    found = merge_findings(list(map(finding, case["found"])), shown)
    assert [(merged.code, [*merged.also]) for merged in found] == [*case["merged"].items()]


@TABLE("chosen")
def test_findings_are_filtered_before_merging(case: dict[str, Any], tmp_path: Path) -> None:
    ignore = f"{{#- autoparser: ignore {case['ignore']} meant -#}}" if "ignore" in case else ""
    file = tmp_path / "chat.jinja"
    file.write_text(ignore + case["template"], encoding="utf-8")
    rules = tuple(map(find_rule, case["rules"]))
    shown = FindingFilter(Profile(case["profile"]))
    run = lint_project(LintRequest((str(file),), rules, ProjectSettings(), finding_filter=shown))
    assert not run.problems
    assert {finding.code: [*finding.also] for _, finding in run.findings} == case["shown"]
    (template,) = run.templates
    assert not template.unused
    ignored = {finding.code for finding in template.ignored}
    assert ignored == ({case["ignore"]} if ignore else set())


@TABLE("ignores")
def test_ignore_comment_is_parsed_or_is_a_problem(case: dict[str, Any]) -> None:
    found, problems = template_ignores(f"one\n{case['text']}", "a.jinja")
    if "selectors" in case:
        assert [(ignore.selectors, ignore.reason, ignore.line) for ignore in found] == [
            (tuple(case["selectors"]), case["reason"], 2)
        ]
    assert len(problems) == ("problem" in case)
    for problem in problems:
        assert (found, problem.path, problem.line) == ((), "a.jinja", 2)
        assert case["problem"] in problem.message
        assert case["hint"] in problem.hint
    assert bool(found) == ("selectors" in case)


ONE = KnownFinding("a.jinja", "", "AP306", "d1", "said\n\x1b")
OTHER = KnownFinding("b.jinja", "tool_use", "AP101", "d2", "also said")


def test_baseline_round_trips(tmp_path: Path) -> None:
    baseline = Baseline((OTHER, ONE, ONE))
    file = tmp_path / "baseline.json"
    file.write_text(baseline.text(), encoding="utf-8")
    assert sorted(read_baseline(file).entries) == sorted(baseline.entries)
    assert baseline.text().isascii()


def test_baseline_entries_match_once_and_vanish_if_fixed() -> None:
    baseline = Baseline((ONE, ONE, OTHER))
    assert baseline.match([ONE, ONE, ONE, OTHER]) == [True, True, False, True]
    assert baseline.count_vanished([ONE], {ONE.key[:3]}) == 1
    assert baseline.count_vanished([], {ONE.key[:3], OTHER.key[:3]}) == 3
    assert baseline.count_vanished([], set()) == 0


def test_finding_digest_survives_moved_lines_only() -> None:
    rule = find_rule("AP306")
    messages = ("at line 3, so", "at line 12, so", "at line 3, not")
    one, moved, changed = (finding_digest(LintFinding(rule, Hit(message))) for message in messages)
    assert one == moved != changed


ENTRY = dict.fromkeys(ONE.__struct_fields__, "x")
WRONG = {
    "another version": '{"schema": "autoparser.lint-baseline/9", "findings": []}',
    "not a baseline: its schema": '{"schema": "autoparser.lint/1", "findings": []}',
    "must be an object, got an array": "[]",
    "missing findings": json.dumps({"schema": VERSION}),
    r"findings\[1\]\.code: must be a string": json.dumps(
        {"schema": VERSION, "findings": [ENTRY, {**ENTRY, "code": 1}]}
    ),
    "not a baseline": "{",
    "cannot be read": None,
    "create it": "",
}


@pytest.mark.parametrize("words", WRONG)
def test_non_baseline_file_is_an_error(words: str, tmp_path: Path) -> None:
    file = tmp_path / "baseline.json"
    if WRONG[words]:
        file.write_text(WRONG[words] or "", encoding="utf-8")
    with pytest.raises(BaselineError, match=words):
        read_baseline(tmp_path if WRONG[words] is None else file)


@TABLE("parting_lines")
def test_first_line_where_two_renders_differ_is_named(case: dict[str, Any]) -> None:
    def render(texts: list[Any]) -> Render:
        messages = [
            text if isinstance(text, dict) and "role" in text else {"role": "user", "content": text}
            for text in texts
        ]
        return LintRenders(ChatTemplate(case["template"]), {}).render(messages, RenderSetting())

    assert parting_line(render(case["one"]), render(case["other"])) == case["line"]


MESSAGES = [
    {"role": "user", "content": "Hello."},
    {"role": "assistant", "content": "Hi.", "tool_calls": [{"function": {"arguments": {"a": 1}}}]},
]


@TABLE("forced_branches")
def test_forced_branches_reveal_hidden_code(case: dict[str, Any]) -> None:
    variables = {"messages": MESSAGES, "tools": None, "bos_token": "<s>"}
    seen = force_branches(ChatTemplate(case["template"]), variables)
    found = (seen.forbidden, seen.by_name, seen.gadgets, seen.loaded)
    for key, offender in zip(("private", "names", "gadgets", "loaded"), found, strict=True):
        assert [*offender] == case.get(key, [])
    assert case.get("writes", "") in seen.text
    assert not seen.error
    assert len(seen.text) < 1_000_000
    # A template that does not compile causes no crash.
    assert force_branches(ChatTemplate("{{ 'x' | nosuchfilter }}"), {}).error


@TABLE("markers")
def test_markers_are_counted_by_pair(case: dict[str, Any]) -> None:
    found = marker_balance(case["text"])
    assert (found.opened.total(), found.closed.total()) == (case["opened"], case["closed"])
    assert len(found.opened | found.closed) <= 1, "both belong to one pair"
