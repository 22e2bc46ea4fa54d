"""Check OpenAI-style requests next to the form that a template needs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser import Analysis, ChatTemplate, Message, ToolCall, analyze
from autoparser.analysis.core.conversation import UserMessage
from autoparser.analysis.core.verdicts import AskedForm
from autoparser.analysis.learning.template_turns import lost_text
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.subject import Subject
from autoparser.reports.summary import wants_words
from autoparser.reports.verdict import wanted_words
from tests.case_tables import case_tables

FIXTURES = Path(__file__).parents[3] / "fixtures"
TEMPLATES: Mapping[str, Any] = yaml.safe_load((FIXTURES / "usual_form.yaml").read_text("utf-8"))


def analysis_of(name: str) -> Analysis:
    return analyze(ChatTemplate(TEMPLATES[name]["template"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", TEMPLATES)
def test_lint_reports_openai_form_only_if_it_loses_text(name: str) -> None:
    expected = TEMPLATES[name]
    analysis = analysis_of(name)
    form = analysis.spoiled
    assert (form and form.usual) == expected.get("spoiled")
    found = lint(Subject(ChatTemplate(expected["template"])))
    # A refusal is another rule's finding, which this one may see, too.
    codes = {
        code
        for finding in found.findings
        for code in (finding.code, *(finding.also if form else ()))
    }
    assert (expected.get("lint", "AP121") in codes) is (form is not None)
    if form is None:
        assert analysis.ok
        assert wants_words(analysis) == ([expected["wants"]] if "wants" in expected else [])
        return
    assert form.fault is not None
    assert form.fault.usual != form.fault.wanted
    assert analysis.check.passed == analysis.check.total
    assert not analysis.check.ok


CALL = ToolCall("get_forecast", {"city": "Oslo", "days": 3, "wet": True}, "k1")


@case_tables(__file__, "usual_form.yaml")("lost")
def test_lost_text_ignores_the_notation_of_arguments(case: dict[str, str]) -> None:
    dialogue = (UserMessage("Hi"), Message(calls=(CALL,)))
    wanted = 'get_forecast k1 {"city": "Oslo", "days": 3, "wet": true}'
    found = lost_text(dialogue, (), f"<u>Hi {case['usual']}", f"<u>Hi {wanted}")
    assert ("" if found is None else found.text) == case["lost"]


@pytest.mark.parametrize(
    ("raised", "unread", "words"),
    [
        (0, 0, ""),
        (1, 0, "a part (a field: raises)"),
        (1, 9, "a part (a field: ignored)"),
        (9, 1, "a part (a field: raises)"),
    ],
)
def test_outcome_of_most_conversations_is_reported(raised: int, unread: int, words: str) -> None:
    form = AskedForm("a field", "a part", 10, raised=raised, unread=unread)
    assert wanted_words(form) == words
    assert form.ok
