"""Words that a person meant."""

from __future__ import annotations

import pytest

from autoparser.analysis.core.errors import missing_name_hint, nearest_word, spelling_hint


@pytest.mark.parametrize(
    ("given", "known", "expected"),
    [
        ("sarf", ["text", "sarif"], "sarif"),
        ("t33", ["T2", "T3"], "T3"),
        ("TOOLS", ["tools"], "tools"),
        ("zebra", ["rag"], None),
        ("anything", [], None),
    ],
)
def test_the_nearest_word(given: str, known: list[str], expected: str | None) -> None:
    assert nearest_word(given, known) == expected


def test_a_hint_says_what_was_meant_and_what_there_is() -> None:
    assert (
        spelling_hint("sarf", ["sarif"], "there is sarif") == "did you mean sarif? there is sarif"
    )
    assert spelling_hint("zebra", ["rag"], "there is rag") == "there is rag"
    assert spelling_hint("sarf", ["sarif"]) == "did you mean sarif?"
    assert spelling_hint("zebra", ["rag"]) == ""


def test_a_hint_says_which_name_stands_for_another() -> None:
    assert (
        missing_name_hint("role", ["rol", "content"], "give one")
        == "did you mean role for rol? give one"
    )
    # A name that is there is no other name's misspelling.
    assert missing_name_hint("role", ["role"], "give one") == "give one"
