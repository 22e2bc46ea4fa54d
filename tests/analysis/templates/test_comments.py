from __future__ import annotations

import pytest

from autoparser.analysis.templates.source_text import template_comments

TEXTS = [
    ("a {# one #} b\n{#- two\nlines -#}", [(1, " one "), (2, " two\nlines ")]),
    ("{% raw %}{# no #}{% endraw %}{# yes #}", [(1, " yes ")]),
    ("{{ '{# no #}' }}", []),
    ("{# before #}{% if {# never", [(1, " before ")]),
    ("{# open", []),
    ("{##}", []),
    ("none", []),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_comments_are_those_that_jinja_leaves_out(
    text: str, expected: list[tuple[int, str]]
) -> None:
    assert list(template_comments(text)) == expected
