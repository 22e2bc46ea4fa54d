"""The report of masked decoding."""

from __future__ import annotations

import json

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.decoding.answer_judge import DecodedAnswer, DecodingReport, JudgedAnswer
from autoparser.analysis.decoding.answer_writers import ModelFigures
from autoparser.analysis.decoding.message_rendering import (
    AnswerComplaint,
    AnswerFault,
    AnswerJudgment,
    MessageRendering,
)
from autoparser.reports import DecodeSetting, decode_document, decode_report

DETAIL = "\x1b[31m" + "x" * 500
JUNK = AnswerJudgment((AnswerComplaint(AnswerFault.JUNK, DETAIL),))
CUT = AnswerJudgment((AnswerComplaint(AnswerFault.NOT_ENDED, "9 tokens, and no end"),))
CLEAN = AnswerJudgment((), MessageRendering.SAME, calls=2)
SPELLED = AnswerJudgment(
    (), MessageRendering.SPELLING, "after '1' stands '.0', rendered ''", calls=1
)
UNASKED = AnswerJudgment((), MessageRendering.UNWRITTEN, "the template refuses it: two calls")
TOKENS = (0,) * 100


def judged(*judgements: AnswerJudgment) -> tuple[JudgedAnswer, ...]:
    return tuple(
        JudgedAnswer(DecodedAnswer(f"walk {at}", f"Hel\x1blo {at}.", TOKENS, forced=3), judgement)
        for at, judgement in enumerate(judgements)
    )


REPORT = DecodingReport(judged(JUNK, JUNK, CUT, CLEAN, CLEAN, SPELLED, UNASKED), ("zip-code",))
FREE = DecodingReport(judged(JUNK))
FIGURES = ModelFigures("NVIDIA\x1b H200", 8, 1234.56, 2000.0, FREE)
SETTING = DecodeSetting("m/tokenizer.json", "the model m", 1, 4000, ("</a>",), FIGURES)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_all_is_shown_as_a_person_can_see_it(width: int) -> None:
    text = decode_report(REPORT, SETTING, width).plain
    assert all(len(line) <= width for line in text.splitlines())
    assert "\x1b" not in text
    words = " ".join(text.split())
    for wanted in (
        "2 of 7 answers",
        "1, which the template writes a little otherwise",
        "1, of which the template does not tell",
        "not asserted, since no check of them is known: zip-code",
        "5, in 3 of the answers",
        "As text </a>",
        "the model m, seed 1, at most 4000 tokens",
        "700, of which 21 were forced",
        "H200, 8 answers at once",
        "29% clean, 1234.6 tokens a second",
        "0% clean, 2000.0 tokens a second",
        "2 has junk",
        "The first that has junk: walk 0",
        "The first that does not end: walk 2",
        "2 the same text",
        "The shortest of these: walk 5",
        "The shortest of these: walk 6",
    ):
        assert wanted in words
    assert len(words) < 2500


NAMED = ChatTemplate("")


def test_the_document_holds_all_in_full() -> None:
    document = json.loads(json.dumps(decode_document(REPORT, SETTING, NAMED)))
    assert (document["ok"], document["clean"], document["plain_markers"]) == (False, 2, ["</a>"])
    assert [fault["fault"] for fault in document["faults"]] == ["not_ended", "junk"]
    assert document["faults"][1]["example"]["detail"] == DETAIL
    assert document["model"]["unmasked"]["answers"] == 1
    assert document["renderings"] == {"same": 2, "spelling": 1, "unwritten": 1}
    assert (document["reformed"], document["not_asked"]) == (1, 1)
    assert (document["with_calls"], document["calls"]) == (3, 5)
    assert document["unknown_formats"] == ["zip-code"]
    assert [each["name"] for each in document["each"]] == [f"walk {at}" for at in range(7)]
    assert document["each"][5] == {
        "name": "walk 5",
        "text": "Hel\x1blo 5.",
        "calls": 1,
        "clean": False,
        "rendering": "spelling",
        "difference": SPELLED.difference,
        "faults": [],
    }


def test_clean_answers_need_few_words() -> None:
    report = DecodingReport(judged(CLEAN, CLEAN))
    setting = DecodeSetting("t", "at random", 0, 50)
    assert decode_report(report, setting, 80).plain.splitlines() == [
        "Tokenizer  t",
        "Sampler    at random, seed 0, at most 50 tokens",
        "Clean      2 of 2 answers: accepted, ended, read, valid, rendered the same",
        "Calls      4, in 2 of the answers",
        "Tokens     200, of which 6 were forced",
        "",
        "What the template renders of the messages",
        "      2  the same text",
    ]
    assert "model" not in decode_document(report, setting, NAMED)


def test_every_answer_is_shown_where_that_is_asked() -> None:
    setting = DecodeSetting("t", "at random", 0, 50)
    text = decode_report(REPORT, setting, 300, answers=True).plain
    assert "\x1b" not in text
    words = " ".join(text.split())
    assert "walk 3 is clean answer Hel\\x1blo 3." in words
    assert f"walk 5 is {MessageRendering.SPELLING.value}: {SPELLED.difference} answer" in words
    assert "walk 2 is does not end: 9 tokens, and no end answer" in words
