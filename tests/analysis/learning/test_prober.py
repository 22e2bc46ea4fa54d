"""Check the sentinel words of probes."""

from __future__ import annotations

import html
import json
import re
from itertools import permutations

import pytest

from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.learning.prober import choose_sentinels

MARKS = choose_sentinels("")


def test_sentinels_survive_template_filters() -> None:
    for word in MARKS.words():
        changed = {
            word.strip(),
            word.lower(),
            json.dumps(word).strip('"'),
            html.escape(word, quote=True),
            repr(word).strip("'"),
            word.encode("unicode_escape").decode(),
            word.split()[0],
            re.sub(r"[^\w.]", "", word),
        }
        assert changed == {word}
    # Some templates require ids of nine letters and digits, some sort the keys.
    assert all(re.fullmatch(r"[a-z0-9]{9}", word) for word in MARKS.ids)
    assert list(MARKS.keys) == sorted(MARKS.keys, reverse=True)
    assert {*MARKS.typed_keys} == {*JsonType}


def test_sentinels_have_distinct_first_and_last_characters() -> None:
    words = MARKS.words()
    assert len({*words}) == len(words) - 1, "a string's key is the first key"
    assert not any(one in other for one, other in permutations({*words}, 2))
    beside = [MARKS.user, MARKS.content, MARKS.reasoning, MARKS.system, *MARKS.names, *MARKS.values]
    for one, other in permutations(beside, 2):
        assert one[0] != other[0]
        assert one[-1] != other[-1]


@pytest.mark.parametrize("taken", [MARKS.user, MARKS.content, MARKS.reasoning])
def test_template_word_is_not_a_sentinel(taken: str) -> None:
    chosen = choose_sentinels(f"{{# {taken.upper()} #}}")
    assert taken not in chosen.words()
    assert choose_sentinels("{{ messages }}") == choose_sentinels("{{ tools }}") == MARKS
