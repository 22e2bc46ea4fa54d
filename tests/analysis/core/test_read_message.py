"""What was read is judged by the message that was meant; where two are alike, by the template."""

from __future__ import annotations

import pytest

from autoparser.analysis.core.conversation import (
    Json,
    Message,
    MessageAgreement,
    ReadCall,
    ReadingJudge,
    ReadMessage,
    ToolCall,
    same_json,
)

MEANT = Message("Done.", "So.", (ToolCall("f", {"a": 1, "b": ["x"]}, "id1"),))
CALLS = (ReadCall("f", '{"b": ["x"], "a": 1.0}'),)


def judge(*, alike: bool = False, allowed: bool = True) -> ReadingJudge:
    return ReadingJudge(lambda *_: alike, lambda _: allowed)


@pytest.mark.parametrize(
    ("read", "agreement", "part"),
    [
        (ReadMessage("Done.", "So.", CALLS), MessageAgreement.EXACT, ""),
        (ReadMessage("Done.\n", "So.", CALLS), MessageAgreement.EDGES, "content"),
        (ReadMessage("Done.", "\nSo. ", CALLS), MessageAgreement.EDGES, "reasoning"),
        (ReadMessage("Done", "So.", CALLS), MessageAgreement.OTHER, "content"),
        (ReadMessage("Done.", "", CALLS), MessageAgreement.OTHER, "reasoning"),
        (ReadMessage("Done.", "So."), MessageAgreement.OTHER, "calls"),
        (ReadMessage("Done.", "So.", (*CALLS, *CALLS)), MessageAgreement.OTHER, "calls"),
        (ReadMessage("Done.", "So.", (ReadCall("g", "{}"),)), MessageAgreement.OTHER, "calls"),
        (
            ReadMessage("Done.", "So.", (ReadCall("f", "{"),)),
            MessageAgreement.OTHER,
            "arguments of f",
        ),
        (
            ReadMessage("Done.", "So.", (ReadCall("f", "[]"),)),
            MessageAgreement.OTHER,
            "arguments of f",
        ),
        (
            ReadMessage("Done.", "So.", (ReadCall("f", '{"a": "1", "b": ["x"]}'),)),
            MessageAgreement.OTHER,
            "arguments of f",
        ),
    ],
)
def test_the_first_difference_is_named(
    read: ReadMessage, agreement: MessageAgreement, part: str
) -> None:
    found = judge().judge(MEANT, read)
    assert (found.agreement, found.part) == (agreement, part)
    assert found.right is (agreement is not MessageAgreement.OTHER)


def test_whitespace_that_the_template_does_not_tell_is_exact() -> None:
    read = ReadMessage("Done.\n", "So.", CALLS)
    assert judge(alike=True).judge(MEANT, read).agreement is MessageAgreement.EXACT
    # What is more than whitespace was lost, whatever the template writes.
    lost = judge(alike=True).judge(MEANT, ReadMessage("Do", "So.", CALLS))
    assert lost.agreement is MessageAgreement.OTHER


def test_arguments_that_the_template_does_not_tell_are_right_if_their_schema_allows_them() -> None:
    read = ReadMessage("Done.", "So.", (ReadCall("f", '{"a": "1", "b": ["x"]}'),))
    assert judge(alike=True).judge(MEANT, read).right
    assert not judge(alike=True, allowed=False).judge(MEANT, read).right
    assert not judge(alike=False).judge(MEANT, read).right


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1, 1.0, True),
        (1, True, False),
        (False, 0, False),
        (None, None, True),
        ({"a": [1, {"b": 2}]}, {"a": [1.0, {"b": 2}]}, True),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ({"a": 1}, {"b": 1}, False),
        ("1", 1, False),
    ],
)
def test_values_are_equal_as_json(one: Json, other: Json, same: bool) -> None:
    assert same_json(one, other) is same
    assert same_json(other, one) is same
