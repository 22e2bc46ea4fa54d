"""The states of free text do what a search for the closing texts does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from autoparser.analysis.grammar.rule_paths import State, exclusion_states


def closed_by(found: Sequence[State], text: str) -> tuple[int, int] | str | None:
    """Follow a text: the place of the close and where it ends, "refused", or None at its end."""
    at = 0
    for place, char in enumerate(text):
        state = found[at]
        if char in state.closes:
            return state.closes[char], place + 1
        if char in state.refused or (state.begun and char not in state.goes):
            return "refused"
        at = state.goes.get(char, 0)
    return None


@pytest.mark.parametrize("close", ["b", "ab", "aab", "aba", "abab"])
def test_one_close_ends_a_text_where_it_stands_first(close: str) -> None:
    found = exclusion_states([close], [])
    for size in range(7):
        for chars in product("ab", repeat=size):
            text = "".join(chars)
            place = text.find(close)
            assert closed_by(found, text) == (None if place < 0 else (0, place + len(close))), text


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("ab\n<c>x", (0, 7)),
        ("ab\n\n<c>x", (0, 8)),
        ("\n<c>x", (0, 5)),
        ("ab</e>", (1, 6)),
        ("ab\n<d", None),
        ("ab<c>x", "refused"),
        ("<f>", "refused"),
        ("\n<c>y", "refused"),
    ],
)
def test_a_close_may_hold_a_text_that_is_kept_out(text: str, outcome: object) -> None:
    assert closed_by(exclusion_states(["\n<c>x", "</e>"], ["<c>", "<f>"]), text) == outcome


@pytest.mark.parametrize("text", [";\n", "<;\n", "a<;\n", "<<d;\n"])
def test_what_keeps_the_beginning_of_a_close_out_of_a_text_lets_the_close_follow(text: str) -> None:
    assert closed_by(exclusion_states([";\n"], [";", "<do"]), text) == (0, len(text))
    assert closed_by(exclusion_states([";\n"], [";", "<do"]), f";a{text}") == "refused"


@pytest.mark.parametrize("text", ["</a>", "></a>", "<b></a>"])
def test_a_close_follows_what_begins_a_longer_text_that_is_kept_out(text: str) -> None:
    assert closed_by(exclusion_states(["</a>"], ["</", "></b>"]), text) == (0, len(text))
    assert closed_by(exclusion_states(["</a>"], ["</", "></b>"]), "></b>") == "refused"
