"""Every rule: it fires on a fixture, and is quiet on the nearest one that is sound.

`fixtures/lint/<code>/` holds `fires` and `quiet`: each a `.jinja` file, or a model directory for
rules that need more than the template.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import pytest

from autoparser import AutoparserError, ChatTemplate, load_template
from autoparser.analysis.lint.linting import LintReport, lint
from autoparser.analysis.lint.other_jinjas import OtherJinja, installed_jinjas
from autoparser.analysis.lint.registry import _CHECKS, all_rules, import_checks, rule_of
from autoparser.analysis.lint.rule import Rule, RuleNeed, read_rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.sources.tokenizer_loading import load_tokenizer, tokenizer_beside

LINT = Path(__file__).parents[3] / "fixtures" / "lint"
FOLDER = Path(__file__).parents[3] / "analysis" / "lint" / "rules"
RULES = all_rules()
CODES = [rule.code for rule in RULES]


def report(rule: Rule, which: str) -> LintReport:
    directory = LINT / rule.code / which
    source = directory if directory.is_dir() else directory.with_suffix(".jinja")
    tokenizer = None
    if directory.is_dir() and rule.needs is RuleNeed.TOKENIZER:
        beside = tokenizer_beside(str(source))
        assert beside is not None
        tokenizer = load_tokenizer(beside)
    subject = Subject(
        load_template(source),
        tokenizer=tokenizer,
        directory=directory if directory.is_dir() else None,
        jinjas=minijinja() if rule.needs is RuleNeed.OTHER_JINJAS else (),
    )
    return lint(subject, [rule])


@cache
def minijinja() -> tuple[OtherJinja, ...]:
    """The one that the tests always have."""
    return tuple(each for each in installed_jinjas([sys.executable]) if each.name == "minijinja")


@pytest.mark.parametrize("rule", RULES, ids=CODES)
def test_it_fires(rule: Rule) -> None:
    found = report(rule, "fires")
    assert found.findings
    assert not found.left_out
    for finding in found.findings:
        assert finding.message
        assert not finding.message.endswith(".")
        assert finding.message.isprintable()


@pytest.mark.parametrize("rule", RULES, ids=CODES)
def test_its_neighbour_is_quiet(rule: Rule) -> None:
    found = report(rule, "quiet")
    assert [each.message for each in found.findings] == []
    assert not found.left_out, "the neighbour must be looked at, or it proves nothing"


def test_each_module_declares_the_rule_of_one_page() -> None:
    import_checks(RULES)
    declared = {code: check.__module__.rpartition(".")[2] for code, check in _CHECKS.items()}
    assert declared == {rule.code: rule.name.replace("-", "_") for rule in RULES}
    modules = [each.stem for each in FOLDER.glob("*.py") if each.stem != "__init__"]
    assert sorted(modules) == sorted(declared.values())
    assert len([*FOLDER.glob("*.md")]) == len(modules)


PAGE = (FOLDER / f"{RULES[0].code}-{RULES[0].name}.md").read_text("utf-8")
WRONG_PAGES = {
    "an unknown key": ("severity:", "severty:", "Object contains unknown field `severty`"),
    "an unknown severity": (
        "severity: error",
        "severity: bad",
        "Invalid enum value 'bad' - at `$.severity`",
    ),
    "a text for a list": ("[engines]", "engines", "Expected `array`, got `str` - at `$.concerns`"),
    "a fact that is text": ("severity:", "why: x\nseverity:", "why: the page's text and name say"),
    "facts that are not YAML": ("severity:", "severity", "line 3: this is not YAML (mapping"),
    "no heading": ("\n# ", "\n", "this is not a rule's page"),
    "no block": ("```jinja", "```", "this is not a rule's page"),
}


@pytest.mark.parametrize("wrong", WRONG_PAGES)
def test_a_wrong_page_is_an_error_that_names_file_and_place(wrong: str, tmp_path: Path) -> None:
    old, new, words = WRONG_PAGES[wrong]
    file = tmp_path / "AP999-any-name.md"
    file.write_text(PAGE.replace(old, new), encoding="utf-8")
    with pytest.raises(AutoparserError) as raised:
        read_rule(file)
    assert str(raised.value).startswith(f"{file}: {words}")


def test_covered_rules_exist() -> None:
    assert {code for rule in RULES for code in rule.covers} <= set(CODES)


def test_every_fixture_belongs_to_a_rule() -> None:
    assert {each.name for each in LINT.iterdir() if each.is_dir()} == set(CODES)


@pytest.mark.parametrize(
    ("asked", "operator", "words"),
    [
        ("is defined", "~", "is null or empty is not written like one without"),
        ("is defined", "+", "is null fails: TypeError"),
        ("is string", "+", "is empty is not written like one without"),
    ],
)
def test_a_reasoning_field_is_named_with_all_values_that_are_wrong(
    asked: str, operator: str, words: str
) -> None:
    text = (LINT / "AP411" / "fires.jinja").read_text("utf-8")
    text = text.replace("reasoning_content is defined", f"reasoning_content {asked}")
    joined = f"{operator} message.reasoning_content {operator}"
    text = text.replace("+ message.reasoning_content +", joined)
    (found,) = lint(Subject(ChatTemplate(text)), [rule_of("AP411")]).findings
    assert words in found.message
    assert ("; one where it is empty is not" in found.message) == ("fails" in words)
