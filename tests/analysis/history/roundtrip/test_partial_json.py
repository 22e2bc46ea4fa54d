"""As much of cut JSON as engines make of it."""

from __future__ import annotations

import pytest

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.history.roundtrip.partial_json import readable_part

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
    ("[1, 2", {}),
    ("no JSON", {}),
]


@pytest.mark.parametrize(("text", "value"), PARTS)
def test_the_longest_beginning_that_can_be_closed_is_read(
    text: str, value: dict[str, Json]
) -> None:
    assert readable_part(text) == value
