"""As much of cut JSON as engines make of it."""

from __future__ import annotations

from time import process_time

import pytest

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.history.client_memory import readable_part

PARTS: list[tuple[str, dict[str, Json]]] = [
    ("", {}),
    ("{", {}),
    ('{"city": "Oslo"}', {"city": "Oslo"}),
    ('{"city": "Os', {"city": "Os"}),
    ('{"city": "say \\"hi', {"city": 'say "hi'}),
    ('{"city": "Oslo\\', {"city": "Oslo"}),
    ('{"city": "Oslo", "da', {"city": "Oslo"}),
    ('{"city": "Oslo", "days": ', {"city": "Oslo"}),
    ('{"days": 12', {"days": 12}),
    ('{"draft": tru', {}),
    ('{"labels": ["a", {"b": [1, 2', {"labels": ["a", {"b": [1, 2]}]}),
    ('{"title": "a [b {"', {"title": "a [b {"}),
    # A number that was cut after its point or exponent is as little there as half a word.
    ('{"days": 1, "share": 0.', {"days": 1}),
    ('{"days": 1, "share": 5e', {"days": 1}),
    # Nor is half of an emoji's two escapes.
    ('{"mood": "so \\ud83d', {"mood": "so "}),
    ('{"days": 12345678901234567890123', {"days": 12345678901234567890123}),
    ('  {"city": "Øs', {"city": "Øs"}),
    # After what can be read stands what is not JSON.
    ('{"city": "Oslo"}} and more', {"city": "Oslo"}),
    ('{"city": "Oslo", days: 3}', {"city": "Oslo"}),
    ('{"city": "Oslo", "days": three, "draft": true}', {"city": "Oslo"}),
    ('{"lines": "one\ntwo"}', {"lines": "one"}),
    ('{"labels": ["a",, "b"]}', {"labels": ["a"]}),
    ('{"half": "a \ud83d b"}', {"half": "a "}),
    ("[1, 2", {}),
    ("no JSON", {}),
    (" ", {}),
]


@pytest.mark.parametrize(("text", "value"), PARTS)
def test_the_longest_beginning_that_can_become_json_is_read(
    text: str, value: dict[str, Json]
) -> None:
    assert readable_part(text) == value


TAILS = ("k" * 1_000_000, "oops " * 200_000, '": oops' + "s" * 1_000_000, '": ' + "[" * 1_000_000)


@pytest.mark.parametrize("tail", TAILS, ids=["one key", "a key of words", "malformed", "nested"])
def test_a_long_text_is_no_long_work(tail: str) -> None:
    """What looks at each beginning in turn would not come to an end here."""
    started = process_time()
    assert readable_part('{"city": "Oslo", "' + tail)["city"] == "Oslo"
    assert process_time() - started < 5
