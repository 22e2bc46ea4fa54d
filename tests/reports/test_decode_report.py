"""The report of masked decoding."""

from __future__ import annotations

import json

import pytest

from autoparser.analysis.constraining.decode import (
    Complaint,
    DecodingReport,
    Example,
    Fault,
    ModelFigures,
    Rendering,
)
from autoparser.reports import DecodeSetting, decode_document, decode_report

DETAIL = "\x1b[31m" + "x" * 500
REPORT = DecodingReport(
    answers=9,
    clean=6,
    tokens=800,
    forced=30,
    faults={Fault.JUNK: 2, Fault.NOT_ENDED: 1},
    examples={
        Fault.JUNK: Example("walk 3", Complaint(Fault.JUNK, DETAIL), "Hel\x1blo.\n" * 99),
        Fault.NOT_ENDED: Example("walk 5", Complaint(Fault.NOT_ENDED, "9 tokens, and no end"), ""),
    },
    renderings={Rendering.SAME: 5, Rendering.SPELLING: 1},
)
FIGURES = ModelFigures("NVIDIA\x1b H200", 8, 1234.56, 2000.0, DecodingReport(9, 0, 900))
SETTING = DecodeSetting("m/tokenizer.json", "the model m", 1, 4000, ("</a>",), FIGURES)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_all_is_shown_as_a_person_can_see_it(width: int) -> None:
    text = decode_report(REPORT, SETTING, width).plain
    assert all(len(line) <= width for line in text.splitlines())
    assert "\x1b" not in text
    words = " ".join(text.split())
    for wanted in (
        "6 of 9 answers",
        "As text </a>",
        "the model m, seed 1, at most 4000 tokens",
        "800, of which 30 were forced",
        "H200, 8 answers at once",
        "67% clean, 1234.6 tokens a second",
        "0% clean, 2000.0 tokens a second",
        "2 has junk",
        "The first that has junk: walk 3",
        "The first that does not end: walk 5",
        "5 the same text",
    ):
        assert wanted in words
    assert len(words) < 2500


def test_the_document_holds_all_in_full() -> None:
    document = json.loads(json.dumps(decode_document(REPORT, SETTING)))
    assert (document["ok"], document["clean"], document["plain_markers"]) == (False, 6, ["</a>"])
    assert [fault["fault"] for fault in document["faults"]] == ["junk", "not_ended"]
    assert document["faults"][0]["example"]["detail"] == DETAIL
    assert document["model"]["unmasked"]["answers"] == 9
    assert document["renderings"] == {"same": 5, "spelling": 1}


def test_clean_answers_need_few_words() -> None:
    report = DecodingReport(2, 2, 10, 1, renderings={Rendering.SAME: 2})
    setting = DecodeSetting("t", "by chance", 0, 50)
    assert decode_report(report, setting, 80).plain.splitlines() == [
        "Tokenizer  t",
        "Sampler    by chance, seed 0, at most 50 tokens",
        "Clean      2 of 2 answers: accepted, ended, read, valid, rendered",
        "Tokens     10, of which 1 were forced",
        "",
        "What the template renders of the messages",
        "      2  the same text",
    ]
    assert "model" not in decode_document(report, setting)
