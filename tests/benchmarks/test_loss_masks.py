"""What the comparison of loss masks says of two turns."""

from __future__ import annotations

from pathlib import Path

import pytest

from .loss_masks import Compared, Turns, differences, lines, main

WRITTEN = "TRL also what stands before the turn, such as what the prompt has written"


@pytest.mark.parametrize(
    ("theirs", "ours", "kinds"),
    [
        (("Hi.<end>", "Bye.<end>"), ("Hi.<end>", "Bye.<end>"), set[str]()),
        (("Hi.<end>",), ("Hi.<end>", "Bye.<end>"), {"TRL counts another number of turns"}),
        (("Hi.<end>\n",), ("Hi.<end>",), {"TRL also whitespace after the stop"}),
        (("Hi.<end>",), ("Hi.<end>\n",), {"ours also whitespace after the stop"}),
        (("\nHi.<end>",), ("Hi.<end>",), {"TRL also whitespace before the turn"}),
        (
            ("<think>Hm.</think>Hi.<end><eos>",),
            ("Hm.</think>Hi.<end>",),
            {WRITTEN, "TRL also what stands after the stop"},
        ),
        (("Hi.",), ("Hi.<end>",), {"ours also what stands after the stop"}),
        (("Hi.",), ("Bye.",), {"neither holds the other's"}),
    ],
)
def test_what_one_side_counts_more_is_named(theirs: Turns, ours: Turns, kinds: set[str]) -> None:
    assert differences(theirs, ours) == kinds


def test_the_table_counts_conversations_and_templates() -> None:
    kinds = frozenset({"TRL also whitespace after the stop"})
    found = [
        Compared("one", "answers", "compared", kinds),
        Compared("one", "reasoning", "compared", kinds),
        Compared("two", "answers", "compared"),
        Compared("two", "reasoning", "refused"),
        Compared("two", "a call", "another text"),
    ]
    assert [line.strip() for line in lines(found)] == [
        "2  templates, 5 conversations",
        "1  refused by the template",
        "1  another text with TRL's template than with the model's",
        "3  of the same text; in 1 both count the same",
        "2  in 1 templates: TRL also whitespace after the stop",
    ]


def test_without_the_peer_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    main()
    assert capsys.readouterr().out == "trl: skipped (the package is not installed)\n"
