"""Sentinels: what templates do to a text does not hide them, and none is like another."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from itertools import permutations

import pytest

from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.core.text_alignment import common_prefix, common_suffix, prefix_length
from autoparser.analysis.learning.prober import Sentinels, choose_sentinels

MARKS = choose_sentinels("")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (str.strip, "trim"),
        (str.lower, "lower"),
        (lambda text: json.loads(json.dumps(text)), "JSON, there and back"),
        (lambda text: json.dumps(text).strip('"'), "tojson"),
        (lambda text: html.escape(text, quote=True), "HTML escaping"),
        (lambda text: repr(text).strip("'"), "Python's repr"),
        (lambda text: text.encode("unicode_escape").decode(), "escaped letters"),
        (lambda text: text.split()[0], "splitting at whitespace"),
        (lambda text: re.sub(r"[^\w.]", "", text), "leaving out what is not a letter"),
    ],
)
def test_a_sentinel_survives(change: Callable[[str], str], reason: str) -> None:
    for word in MARKS.words():
        assert change(word) == word, reason


def test_no_sentinel_is_like_another() -> None:
    words = MARKS.words()
    assert len(set(words)) == len({*words}) == len(words) - 1, "a string's key is the first key"
    for one, other in permutations(set(words), 2):
        assert one not in other
        assert common_prefix(one, other) == ""
        assert common_suffix(one, other) == ""


def spoken(marks: Sentinels) -> list[str]:
    """Return the words that show in one render side by side."""
    return [marks.user, marks.content, marks.reasoning, marks.system, *marks.names, *marks.values]


def test_words_begin_and_end_each_in_their_own_way() -> None:
    for one, other in permutations(spoken(MARKS), 2):
        assert prefix_length(one, other) == 0
        assert one[-1] != other[-1]


def test_keys_are_given_out_of_order() -> None:
    assert list(MARKS.keys) == sorted(MARKS.keys, reverse=True)
    assert MARKS.typed_keys[JsonType.STRING] == MARKS.keys[0]
    assert set(MARKS.typed_keys) == set(JsonType)


def test_ids_please_templates_that_count() -> None:
    assert all(re.fullmatch(r"[a-z0-9]{9}", word) for word in MARKS.ids)


@pytest.mark.parametrize("taken", ["user", "content", "reasoning"])
def test_a_word_of_the_template_is_no_sentinel(taken: str) -> None:
    word = getattr(MARKS, taken)
    chosen = choose_sentinels(f"{{# {word.upper()} #}}")
    assert word not in chosen.words()
    assert chosen != MARKS


def test_the_choice_is_always_the_same() -> None:
    assert choose_sentinels("{{ messages }}") == choose_sentinels("{{ tools }}") == MARKS
