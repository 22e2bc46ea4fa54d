"""What whole conversations cost: renders, since times are the machine's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from autoparser import load_template
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.registry import all_rules
from autoparser.analysis.lint.rule import Rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.chat_template import ChatTemplate

TEMPLATES = Path(__file__).parents[3] / "fixtures" / "templates"

OF_CONVERSATIONS = frozenset(
    [
        "AP118",
        "AP119",
        "AP201",
        "AP214",
        "AP215",
        "AP216",
        "AP218",
        "AP317",
        "AP318",
        "AP319",
        "AP320",
        "AP321",
        "AP530",
        "AP531",
        "AP532",
        "AP533",
        "AP534",
    ]
)
"""The rules that look at the matrix, or render conversations of their own kind."""


@pytest.fixture
def rendered(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    once = ChatTemplate.render_prepared
    renders: list[object] = []

    def counted(template: ChatTemplate, variables: dict[str, object]) -> str:
        renders.append(template)
        return once(template, variables)

    monkeypatch.setattr(ChatTemplate, "render_prepared", counted)
    return renders


@pytest.mark.parametrize("name", ["j1-json-in-tags", "t1-name-then-json", "reasoning-none"])
def test_a_lint_renders_at_most_a_third_more(name: str, rendered: list[object]) -> None:
    def cost(rules: Sequence[Rule]) -> int:
        rendered.clear()
        lint(Subject(load_template(TEMPLATES / f"{name}.jinja")), rules)
        return len(rendered)

    default = [rule for rule in all_rules() if rule.default]
    others = [rule for rule in default if rule.code not in OF_CONVERSATIONS]
    assert len(default) - len(others) == len(OF_CONVERSATIONS)
    assert cost(others) < cost(default) <= 1.3 * cost(others)
