from __future__ import annotations

import pytest

from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.lint.lint_renders import Render, failure_words, list_words, quote_text


@pytest.mark.parametrize(
    ("words", "joined"),
    [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")],
)
def test_words_are_joined_as_in_a_sentence(words: list[str], joined: str) -> None:
    assert list_words(words) == joined


def test_a_quoted_piece_is_short_and_in_one_line() -> None:
    assert quote_text("a\n\u202eb") == r"'a\n\u202eb'"
    assert len(quote_text("x" * 500)) < 80


@pytest.mark.parametrize(
    ("refused", "words"),
    [(True, "is refused: 'No roles'"), (False, "fails: No roles")],
)
def test_a_failure_says_whether_it_was_meant(refused: bool, words: str) -> None:
    render = Render((), error=TemplateRenderError("No roles.", refused=refused))
    assert failure_words(render) == words
