"""Which messages a limit concerns."""

from __future__ import annotations

import pytest

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.export.export_limits import Export, ExportLimit, MessagePiece


def calling(*arguments: dict[str, Json]) -> Message:
    return Message(calls=tuple(ToolCall("f", each, "id") for each in arguments))


TALK = Message("Hello.", "Hm.")
ONE, TWO, NONE = calling({"a": 1}), calling({"a": 1}, {"a": 2}), calling({})
NESTED = calling({"a": [{"b": None}]})

CONCERNS: list[tuple[ExportLimit, list[Message], list[Message]]] = [
    (ExportLimit(MessagePiece.REASONING, "why"), [TALK], [ONE, Message("Hello.")]),
    (ExportLimit(MessagePiece.CONTENT, "why"), [TALK], [ONE, Message(reasoning="Hm.")]),
    (
        ExportLimit(MessagePiece.CONTENT_BESIDE_CALLS, "why"),
        [Message("Hello.", calls=ONE.calls)],
        [ONE, TALK],
    ),
    (ExportLimit(MessagePiece.CALLS, "why"), [ONE, NONE], [TALK]),
    (ExportLimit(MessagePiece.ARGUMENTS, "why"), [ONE, NONE], [TALK]),
    (ExportLimit(MessagePiece.SEVERAL_CALLS, "why"), [TWO], [ONE, TALK]),
    (ExportLimit(MessagePiece.NO_ARGUMENTS, "why"), [NONE], [ONE, TALK]),
    (ExportLimit(MessagePiece.TYPES, "why", frozenset({JsonType.NULL})), [NESTED], [ONE, TALK]),
    (ExportLimit(MessagePiece.STRINGS, "why"), [calling({"a": "x"})], [ONE]),
    (
        ExportLimit(MessagePiece.STRINGS, "why", characters="<"),
        [calling({"a": ["x<y"]})],
        [calling({"a": "x"})],
    ),
    (ExportLimit(MessagePiece.IDS, "why"), [], [ONE, TALK]),
]


@pytest.mark.parametrize(("limit", "concerned", "others"), CONCERNS)
def test_a_limit_concerns_messages_with_its_part(
    limit: ExportLimit, concerned: list[Message], others: list[Message]
) -> None:
    assert all(limit.concerns(message) for message in concerned)
    assert not any(limit.concerns(message) for message in others)
    export = Export({}, (limit,))
    assert not any(export.promises(message) for message in concerned)
    assert all(export.promises(message) for message in others)
    assert export.lacks(limit.piece)
    assert not export.whole


def test_every_part_is_in_the_table() -> None:
    assert {limit.piece for limit, _, _ in CONCERNS} == set(MessagePiece)
