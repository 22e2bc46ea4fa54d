"""What the syntax tree of a template suggests to try; the table is suggestions.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from jinja2 import meta

from autoparser import ChatTemplate
from autoparser.analysis.learning.suggestions import suggestions_of
from autoparser.analysis.templates.environment import chat_environment, undeclared_names

CASES = yaml.safe_load((Path(__file__).parent / "suggestions.yaml").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_syntax_tree_suggests_what_its_table_says(case: dict[str, Any]) -> None:
    found = suggestions_of(ChatTemplate(case["text"]))
    for field in case.keys() - {"name", "text"}:
        seen = getattr(found, field)
        if isinstance(seen, dict):
            seen = {name: list(each) for name, each in seen.items()}
        elif isinstance(seen, frozenset):
            seen = sorted(seen)
        else:
            seen = list(seen)
        assert repr(seen) == repr(case[field])


@pytest.mark.parametrize(
    "text",
    [
        "{% set x = x or 'a' %}{{ x }}",
        "{% macro m(a, b=c) %}{{ a }}{{ b }}{{ d }}{% endmacro %}{% set a = a | default('') %}",
        "{% for m in messages %}{% set y = m %}{{ y }}{{ loop.index }}{% endfor %}{{ y }}",
        "{% set ns = namespace(n=0) %}{% if z %}{% set z = 1 %}{% endif %}{{ raise_exception }}",
        "{% generation %}{% set w = 'a' ~ 'b' %}{{ w }}{% endgeneration %}{{ w }}",
        "{% call m() %}{{ inner }}{% endcall %}{{ 'no' if q is defined }}",
    ],
)
def test_compiled_and_parsed_templates_lack_the_names_that_jinja_finds_undeclared(
    text: str,
) -> None:
    parsed = chat_environment().parse(text)
    expected = meta.find_undeclared_variables(parsed)
    assert undeclared_names(ChatTemplate(text).syntax_tree) == expected
    assert undeclared_names(parsed) == expected
    assert expected, "a template without such names would show nothing"
