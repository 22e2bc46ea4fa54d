"""What stands around repeated things: what opens each, what separates, what encloses all."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from autoparser.analysis.core.text_alignment import RepeatedText, find_slots, split_repetition

LITERAL = st.text(st.sampled_from("ab <>/,[]\n"), max_size=16)


@pytest.mark.parametrize(
    ("before", "between", "after", "expected", "reason"),
    [
        ("", "", "", RepeatedText("", "", "", "", ""), "nothing around"),
        ("[", ", ", "]", RepeatedText("[", "", ", ", "", "]"), "a list"),
        ("<c>", "</c><c>", "</c>", RepeatedText("", "<c>", "", "</c>", ""), "a wrapper each"),
        ("<s><c>", "</c><c>", "</c></s>", RepeatedText("<s>", "<c>", "", "</c>", "</s>"), "both"),
        (
            "<s>\n<c>",
            "</c>\n<c>",
            "</c>\n</s>",
            RepeatedText("<s>\n", "<c>", "\n", "</c>", "\n</s>"),
            "whitespace is not a part of a wrapper",
        ),
        (
            '[{"n": "',
            '"}, {"n": "',
            '"}]',
            RepeatedText("[", '{"n": "', ", ", '"}', "]"),
            "objects in a list",
        ),
        ("<s>", "\n", "</s>", RepeatedText("<s>", "", "\n", "", "</s>"), "a section"),
        ("A", "B", "C", RepeatedText("A", "", "B", "", "C"), "nothing in common"),
    ],
)
def test_decompose(
    before: str, between: str, after: str, expected: RepeatedText, reason: str
) -> None:
    assert split_repetition(before, between, after) == expected, reason


@given(LITERAL, LITERAL, LITERAL)
def test_the_parts_recompose(before: str, between: str, after: str) -> None:
    found = split_repetition(before, between, after)
    assert found.prefix + found.open == before
    assert found.close + found.separator + found.open == between
    assert found.close + found.suffix == after


@pytest.mark.parametrize(
    ("text", "literals", "slots", "reason"),
    [
        ("", ("",), (), "an empty text"),
        ("no slot", ("no slot",), (), "none"),
        ("XX", ("", ""), ("x",), "a slot alone"),
        ("a XX b YY", ("a ", " b ", ""), ("x", "y"), "two"),
        ("XXXX", ("", "", ""), ("x", "x"), "side by side"),
        ("a XXL b", ("a ", " b"), ("long",), "the longest word wins"),
        ("a.b X.X", ("a.b X.X",), (), "words are not patterns"),
    ],
)
def test_find_slots(
    text: str, literals: tuple[str, ...], slots: tuple[str, ...], reason: str
) -> None:
    pieces = find_slots(text, {"XX": "x", "YY": "y", "XXL": "long"})
    assert pieces.literals == literals, reason
    assert pieces.slots == slots, reason


def test_first_and_last_slot() -> None:
    pieces = find_slots("a1b2a3", {"a": "a", "b": "b"})
    assert (pieces.first("a"), pieces.last("a"), pieces.first("c")) == (0, 2, None)
    assert pieces.last("cd") is None
    assert find_slots("text", {}).literals == ("text",)


@given(st.lists(st.sampled_from(["XX", "YY", "-", " "])))
def test_slots_recompose(parts: list[str]) -> None:
    text = "".join(parts)
    pieces = find_slots(text, {"XX": "XX", "YY": "YY"})
    rebuilt = pieces.literals[0] + "".join(
        slot + literal for slot, literal in zip(pieces.slots, pieces.literals[1:], strict=True)
    )
    assert rebuilt == text
