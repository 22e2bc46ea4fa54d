from __future__ import annotations

import pytest

from autoparser.analysis.lint.project_settings import is_pattern, matches_glob

MATCHES = [
    ("a.jinja", "a.jinja", True),
    ("a.jinja", "deep/in/a.jinja", True),
    ("*.j2", "deep/in/a.j2", True),
    ("*.j2", "a.j2.jinja", False),
    ("old", "old/a.jinja", True),
    ("old", "deep/old/in/a.jinja", True),
    ("old/", "old/a.jinja", True),
    ("old", "older/a.jinja", False),
    ("./old/a.jinja", "old/a.jinja", True),
    ("old/a.jinja", "deep/old/a.jinja", False),
    ("old/*", "old/a.jinja", True),
    ("models/*/chat.jinja", "models/a/chat.jinja", True),
    ("models/*/chat.jinja", "models/a/b/chat.jinja", False),
    ("models/**/chat.jinja", "models/a/b/chat.jinja", True),
    ("models/**/chat.jinja", "models/chat.jinja", True),
    ("**/chat.jinja", "chat.jinja", True),
    ("**", "any/thing", True),
    ("a?c", "abc", True),
    ("a?c", "a/c", False),
    ("[ab].jinja", "b.jinja", True),
    ("[!ab].jinja", "b.jinja", False),
    ("[!ab].jinja", "c.jinja", True),
    ("a.b", "axb", False),
    ("(x)+", "(x)+", True),
]


@pytest.mark.parametrize(("pattern", "path", "expected"), MATCHES)
def test_a_pattern_means_paths(pattern: str, path: str, expected: bool) -> None:
    assert matches_glob(pattern, path) is expected


def test_what_stands_for_other_characters_is_a_pattern() -> None:
    assert [is_pattern(each) for each in ("a*", "a?", "[a]", "a", "org/name")] == [
        True,
        True,
        True,
        False,
        False,
    ]
