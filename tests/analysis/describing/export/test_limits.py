"""Which messages a limit concerns."""

from __future__ import annotations

import pytest

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.format import JsonType
from autoparser.analysis.describing.export import Export, Limit, Piece


def calling(*arguments: dict[str, Json]) -> Message:
    return Message(calls=tuple(ToolCall("f", each, "id") for each in arguments))


TALK = Message("Hello.", "Hm.")
ONE, TWO, NONE = calling({"a": 1}), calling({"a": 1}, {"a": 2}), calling({})
NESTED = calling({"a": [{"b": None}]})

CONCERNS: list[tuple[Limit, list[Message], list[Message]]] = [
    (Limit(Piece.REASONING, "why"), [TALK], [ONE, Message("Hello.")]),
    (Limit(Piece.CONTENT, "why"), [TALK], [ONE, Message(reasoning="Hm.")]),
    (
        Limit(Piece.CONTENT_BESIDE_CALLS, "why"),
        [Message("Hello.", calls=ONE.calls)],
        [ONE, TALK],
    ),
    (Limit(Piece.CALLS, "why"), [ONE, NONE], [TALK]),
    (Limit(Piece.ARGUMENTS, "why"), [ONE, NONE], [TALK]),
    (Limit(Piece.SEVERAL_CALLS, "why"), [TWO], [ONE, TALK]),
    (Limit(Piece.NO_ARGUMENTS, "why"), [NONE], [ONE, TALK]),
    (Limit(Piece.TYPES, "why", frozenset({JsonType.NULL})), [NESTED], [ONE, TALK]),
    (Limit(Piece.STRINGS, "why"), [calling({"a": "x"})], [ONE]),
    (
        Limit(Piece.STRINGS, "why", characters="<"),
        [calling({"a": ["x<y"]})],
        [calling({"a": "x"})],
    ),
    (Limit(Piece.IDS, "why"), [], [ONE, TALK]),
]


@pytest.mark.parametrize(("limit", "concerned", "others"), CONCERNS)
def test_a_limit_concerns_messages_with_its_part(
    limit: Limit, concerned: list[Message], others: list[Message]
) -> None:
    assert all(limit.concerns(message) for message in concerned)
    assert not any(limit.concerns(message) for message in others)
    export = Export({}, (limit,))
    assert not any(export.promises(message) for message in concerned)
    assert all(export.promises(message) for message in others)
    assert export.lacks(limit.piece)
    assert not export.whole


def test_every_part_is_in_the_table() -> None:
    assert {limit.piece for limit, _, _ in CONCERNS} == set(Piece)
