"""The prober: one render for one question, refusals as answers; and the words it asks with."""

from __future__ import annotations

import html
import json
import re
from itertools import permutations

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.message_shape import MessageShape, ToolForm
from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.learning.prober import choose_sentinels
from tests.analysis.tiny import CONTENT, prober_of, turn

MARKS = choose_sentinels("")


def test_a_question_is_rendered_once_and_other_shapes_share_the_meter() -> None:
    prober = prober_of(turn(CONTENT))
    dialogue = (prober.user, Message("Hi"))
    first, again = prober.probe(dialogue), prober.probe(dialogue)
    assert first is again
    assert first.text == f"U:{prober.sentinels.user}\nA:Hi.\n"
    assert (prober.meter.renders, prober.meter.characters) == (1, len(first.text))
    other = prober.using(shape=MessageShape(tools=ToolForm.NONE))
    other.probe((prober.user,))
    other.probe((prober.user,), generation=True)
    assert prober.meter.renders == other.meter.renders == 3


def test_values_that_are_equal_and_written_otherwise_are_rendered_each() -> None:
    values: tuple[Json, ...] = (1, True, 1.0, "1", [1], [True], None)
    prober = prober_of(ChatTemplate("{{ messages[1].tool_calls[0].function.arguments.x }}"))
    texts = [
        prober.probe((prober.user, Message(calls=(ToolCall("f", {"x": each}),)))).text
        for each in values
    ]
    assert texts == [str(each) for each in values]


def test_sentinels_survive_what_templates_do_to_texts() -> None:
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


def test_sentinels_begin_and_end_each_in_their_own_way() -> None:
    words = MARKS.words()
    assert len({*words}) == len(words) - 1, "a string's key is the first key"
    assert not any(one in other for one, other in permutations({*words}, 2))
    beside = [MARKS.user, MARKS.content, MARKS.reasoning, MARKS.system, *MARKS.names, *MARKS.values]
    for one, other in permutations(beside, 2):
        assert one[0] != other[0]
        assert one[-1] != other[-1]


@pytest.mark.parametrize("taken", [MARKS.user, MARKS.content, MARKS.reasoning])
def test_a_word_of_the_template_is_no_sentinel(taken: str) -> None:
    chosen = choose_sentinels(f"{{# {taken.upper()} #}}")
    assert taken not in chosen.words()
    assert choose_sentinels("{{ messages }}") == choose_sentinels("{{ tools }}") == MARKS
