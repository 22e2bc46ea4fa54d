"""Probes suggested by a template's syntax tree; the table is suggestions.yaml."""

from __future__ import annotations

from typing import Any

import pytest
from jinja2 import meta

from autoparser import ChatTemplate
from autoparser.analysis.learning.suggestions import template_suggestions
from autoparser.analysis.templates.environment import chat_environment, undeclared_names
from tests.case_tables import load_cases

TABLE = load_cases(__file__, "suggestions.yaml")


@pytest.mark.parametrize("case", TABLE["suggested"], ids=lambda case: case["name"])
def test_syntax_tree_suggestions_match_the_table(case: dict[str, Any]) -> None:
    found = template_suggestions(ChatTemplate(case["text"]))
    for field in case.keys() - {"name", "text"}:
        seen = getattr(found, field)
        if isinstance(seen, dict):
            seen = {name: list(names) for name, names in seen.items()}
        elif isinstance(seen, frozenset):
            seen = sorted(seen)
        else:
            seen = list(seen)
        assert repr(seen) == repr(case[field])


@pytest.mark.parametrize("text", TABLE["undeclared"])
def test_undeclared_names_equal_jinjas(text: str) -> None:
    parsed = chat_environment().parse(text)
    expected = meta.find_undeclared_variables(parsed)
    assert undeclared_names(ChatTemplate(text).syntax_tree) == expected
    assert undeclared_names(parsed) == expected
    assert expected, "a template without such names would show nothing"
