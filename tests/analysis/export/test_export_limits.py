"""The messages that a limit of an export concerns."""

from __future__ import annotations

from autoparser.analysis.core.conversation import Json, Message, ToolCall
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.export.export_limits import Export, ExportLimit, MessagePiece


def calling(*arguments: dict[str, Json]) -> Message:
    return Message(calls=tuple(ToolCall("f", argument, "id") for argument in arguments))


MESSAGES = {
    "talk": Message("Hello.", "Hm."),
    "content": Message("Hello."),
    "reasoning": Message(reasoning="Hm."),
    "one call": calling({"a": 1}),
    "content and a call": Message("Hello.", calls=calling({"a": 1}).calls),
    "two calls": calling({"a": 1}, {"a": 2}),
    "no arguments": calling({"a": 1}, {}),
    "a nested null": calling({"a": [{"b": None}]}),
    "a string": calling({"a": "x"}),
    "a nested bracket": calling({"a": ["x<y"]}),
}
CALLING = set(MESSAGES) - {"talk", "content", "reasoning"}
CONCERNED: list[tuple[ExportLimit, set[str]]] = [
    (ExportLimit(MessagePiece.REASONING, "why"), {"talk", "reasoning"}),
    (ExportLimit(MessagePiece.CONTENT, "why"), {"talk", "content", "content and a call"}),
    (ExportLimit(MessagePiece.CONTENT_BESIDE_CALLS, "why"), {"content and a call"}),
    (ExportLimit(MessagePiece.CALLS, "why"), CALLING),
    (ExportLimit(MessagePiece.ARGUMENTS, "why"), CALLING),
    (ExportLimit(MessagePiece.SEVERAL_CALLS, "why"), {"two calls", "no arguments"}),
    (ExportLimit(MessagePiece.NO_ARGUMENTS, "why"), {"no arguments"}),
    (ExportLimit(MessagePiece.TYPES, "why", frozenset({JsonType.NULL})), {"a nested null"}),
    (ExportLimit(MessagePiece.STRINGS, "why"), {"a string", "a nested bracket"}),
    (ExportLimit(MessagePiece.STRINGS, "why", characters="<"), {"a nested bracket"}),
    (ExportLimit(MessagePiece.IDS, "why"), set()),
]


def test_limit_affects_only_messages_with_its_part() -> None:
    assert {limit.piece for limit, _ in CONCERNED} == set(MessagePiece)
    for limit, concerned in CONCERNED:
        assert {name for name, message in MESSAGES.items() if limit.concerns(message)} == concerned
        export = Export({}, (limit,))
        promised = {name for name, message in MESSAGES.items() if export.promises(message)}
        assert promised == set(MESSAGES) - concerned
        assert export.lacks(limit.piece)
        assert not export.whole


def test_exports_promise_only_plain_names() -> None:
    export = Export({}, plain_names=True)
    assert export.promises(calling({"a_1": "x"}))
    assert not export.promises(calling({"a-1": "x"}))
