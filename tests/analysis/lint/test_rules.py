"""Every rule fires on a fixture, is quiet on its sound neighbor, and finds the bugs of the tables.

`fixtures/lint/<code>/` holds `fires` and `quiet`: each a `.jinja` file, or a model directory for
rules that need more than the template. `rule_cases.yaml` has smaller templates, `planted/bugs.yaml`
one replacement each in a sound template of `fixtures/templates`.
"""

from __future__ import annotations

import json
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser import AutoparserError, ChatTemplate, load_template
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.linting import FindingFilter, LintReport, lint
from autoparser.analysis.lint.other_renders import OtherJinja, installed_jinjas
from autoparser.analysis.lint.registry import UnknownRuleError, all_rules, find_rule
from autoparser.analysis.lint.rule import (
    Profile,
    Rule,
    RuleNeed,
    plain_facts,
    read_rule,
    rule_profiles,
)
from autoparser.analysis.lint.rules.misspelled_special_token import is_misspelled
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.sources.tokenizer_loading import load_tokenizer, tokenizer_beside
from tests.case_tables import load_cases
from tests.lanes import sampled

FIXTURES = Path(__file__).parents[3] / "fixtures"
LINT, TEMPLATES = FIXTURES / "lint", FIXTURES / "templates"
FOLDER = Path(__file__).parents[3] / "analysis" / "lint" / "rules"
RULES = all_rules()
CODES = [rule.code for rule in RULES]


@cache
def minijinja() -> tuple[OtherJinja, ...]:
    """The one that the tests always have."""
    return tuple(jinja for jinja in installed_jinjas([sys.executable]) if jinja.name == "minijinja")


def report(rule: Rule, which: str) -> LintReport:
    directory = LINT / rule.code / which
    source = directory if directory.is_dir() else directory.with_suffix(".jinja")
    beside = tokenizer_beside(str(source)) if rule.needs is RuleNeed.TOKENIZER else None
    subject = Subject(
        load_template(source),
        tokenizer=None if beside is None else load_tokenizer(beside),
        directory=directory if directory.is_dir() else None,
        jinjas=minijinja() if rule.needs is RuleNeed.OTHER_JINJAS else (),
    )
    return lint(subject, [rule])


@pytest.mark.parametrize("code", sampled(CODES, 4))
def test_rule_fires_on_its_fixture_and_not_on_the_sound_neighbor(code: str) -> None:
    fires, quiet = (report(find_rule(code), which) for which in ("fires", "quiet"))
    assert fires.findings
    for finding in fires.findings:
        assert finding.message.isprintable()
        assert not finding.message.endswith(".")
    assert [finding.message for finding in quiet.findings] == []
    # If a template was not checked, the absence of findings proves nothing.
    assert not fires.left_out
    assert not quiet.left_out


TABLE = load_cases(__file__, "rule_cases.yaml")


def case_template(case: dict[str, Any]) -> ChatTemplate:
    named = case["template"]
    text = TABLE["templates"].get(named, named)
    if (FIXTURES / f"{named}.jinja").is_file() and "{" not in named:
        text = (FIXTURES / f"{named}.jinja").read_text(encoding="utf-8")
    for old, new in case.get("replace", ()):
        assert old in text, old
        text = text.replace(old, new)
    return ChatTemplate(text)


@pytest.mark.parametrize("case", sampled(TABLE["cases"], 2), ids=lambda case: case["rule"])
def test_rules_match_the_table_on_small_templates(case: dict[str, Any]) -> None:
    subject = Subject(case_template(case))
    findings = lint(subject, [find_rule(case["rule"])]).findings
    messages = [finding.message for finding in findings]
    assert len(messages) == len(case["says"]), messages
    for words in case["says"]:
        assert any(words in message for message in messages), messages
    for finding in findings:
        assert finding.line == case.get("line", finding.line)
        assert finding.hit.setting == case.get("setting", finding.hit.setting)
    if "shown" in case:
        release = FindingFilter(Profile.RELEASE)
        assert [finding.message for finding in findings if release.shows(finding)] == case["shown"]
    if "fix" in case:
        assert {finding.fix for finding in findings} == {case["fix"]}
    if "severity" in case:
        assert sorted(finding.severity.value for finding in findings) == case["severity"]


BUGS = load_cases(__file__, "planted/bugs.yaml")
HOSTS = sorted({bug["in"] for bug in BUGS})


@cache
def source(template: str) -> str:
    return (TEMPLATES / f"{template}.jinja").read_text(encoding="utf-8")


@pytest.mark.parametrize("bug", sampled(BUGS, 9), ids=lambda bug: f"{bug['in']}: {bug['kind']}")
def test_planted_bug_is_found_and_named(bug: dict[str, Any]) -> None:
    text = source(bug["in"])
    for edit in (bug, *([bug["also"]] if "also" in bug else [])):
        assert text.count(edit["replace"]) == 1, edit["replace"]
        text = text.replace(edit["replace"], edit["with"])
    found = lint(Subject(ChatTemplate(text)), [find_rule(bug["caught_by"])]).findings
    named = [finding for finding in found if bug["says"] in finding.message]
    assert named
    if "fix" in bug:
        assert [finding.fix for finding in named] == [bug["fix"]]


@pytest.mark.parametrize("template", sampled(HOSTS, 12))
def test_planted_bug_rules_are_silent_on_sound_templates(template: str) -> None:
    rules = [find_rule(code) for code in sorted({bug["caught_by"] for bug in BUGS})]
    found = lint(Subject(ChatTemplate(source(template))), rules)
    # Text that the prompt never shows to the model is a note, not a bug.
    assert [
        finding.code for finding in found.findings if finding.severity is not Severity.INFO
    ] == []
    assert not found.left_out


def test_null_keys_are_shown_as_passed_to_the_template() -> None:
    text = TABLE["templates"]["turns"].replace("role +", "role + (message | length | string) +")
    (finding,) = lint(Subject(ChatTemplate(text)), [find_rule("AP806")]).findings
    (evidence,) = finding.evidence
    assert evidence.other is not None
    assert "null" in json.dumps(evidence.one.messages)
    assert "null" not in json.dumps(evidence.other.messages)


@pytest.mark.parametrize(("stops", "severity", "reason"), TABLE["stops"])
def test_generation_config_may_declare_the_turn_end(
    stops: list[str] | None, severity: str | None, reason: str, tmp_path: Path
) -> None:
    shutil.copytree(LINT / "AP212" / "quiet", tmp_path, dirs_exist_ok=True)
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": "a"}))
    tokenizer = load_tokenizer(tmp_path)
    if stops is not None:
        ids = [tokenizer.token_to_id(stop) for stop in stops]
        value = ids[0] if len(ids) == 1 else ids
        (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": value}))
    subject = Subject(load_template(tmp_path), tokenizer=tokenizer, directory=tmp_path)
    found = lint(subject, [find_rule("AP211")]).findings
    assert [finding.severity.value for finding in found] == ([severity] if severity else []), reason


def test_one_wrong_letter_is_a_misspelling_but_another_word_is_not() -> None:
    wrong = ("<|asistant|>", "<|asssistant|>", "<|assistent|>", "<|assitsant|>")
    others = ("<|assistants|>", "<|/assistant|>", "<|assistant2|>", "<|asstant|>", "<|system|>")
    assert all(is_misspelled(found_, "<|assistant|>") for found_ in wrong)
    assert not any(is_misspelled(other, "<|assistant|>") for other in (*others, "<|assistant|>"))


def test_each_rule_has_one_page_module_and_fixture_folder() -> None:
    named = sorted(rule.name.replace("-", "_") for rule in RULES)
    assert sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__") == named
    assert len([*FOLDER.glob("*.md")]) == len(named)
    for rule in RULES:
        text = (FOLDER / f"{rule.name.replace('-', '_')}.py").read_text(encoding="utf-8")
        assert text.count(f'@rule("{rule.code}"') == 1
    assert {path.name for path in LINT.iterdir() if path.is_dir()} == set(CODES)


def test_rule_pages_agree_with_rules_and_profiles() -> None:
    assert {code for rule in RULES for code in rule.covers} <= set(CODES)
    for rule in RULES:
        assert (Profile.STRICT in rule_profiles(rule)) is rule.default
        assert rule.runs_for is None or rule_profiles(rule) == (Profile(rule.runs_for.value),)
        assert not rule.convention or rule.severity is not Severity.ERROR, rule.code


def test_finding_a_rule_by_code_reads_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autoparser.analysis.lint.registry._names", dict)
    assert find_rule("AP301").name == "assistant-content-stripped"
    with pytest.raises(UnknownRuleError):
        find_rule("assistant-content-stripped")


PAGE = (FOLDER / f"{RULES[0].code}-{RULES[0].name}.md").read_text("utf-8")


@pytest.mark.parametrize(("old", "new", "words"), TABLE["wrong_pages"])
def test_invalid_rule_page_error_names_file_and_place(
    old: str, new: str, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "AP999-any-name.md"
    file.write_text(PAGE.replace(old, new), encoding="utf-8")
    with pytest.raises(AutoparserError) as raised:
        read_rule(file)
    assert str(raised.value).startswith(f"{file}: {words}")


def test_plain_facts_of_rule_pages_equal_yaml() -> None:
    facts = [
        page.read_text("utf-8").split("\n---\n")[0].removeprefix("---\n")
        for page in FOLDER.glob("AP*.md")
    ]
    assert len(facts) > 100
    for text in facts:
        assert plain_facts(text) == yaml.safe_load(text), text


@pytest.mark.parametrize(
    "facts",
    ["fix: yes", "fix: null", "fix:\nmarks: true", "fix: a: b", "fix: 'ask'", "  - kind: is lost"],
)
def test_facts_beyond_the_plain_subset_fall_back_to_yaml(facts: str) -> None:
    assert plain_facts(facts) is None
