"""Messages in the shape that a template wants."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from autoparser.analysis.core.conversation import (
    Json,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
    tool_for,
)
from autoparser.analysis.core.message_shape import (
    CallForm,
    ContentForm,
    EmptyContent,
    MessageShape,
    ReasoningForm,
    ToolForm,
    offered_tools,
)

CALL = ToolCall("f", {"a": "é"}, "id1")
SAID = Message("Hi")
CALLED = Message(calls=(CALL,))
REASONED = Message("Hi", "Hm")


@pytest.mark.parametrize(
    ("shape", "message", "expected", "reason"),
    [
        (MessageShape(), SAID, {"content": "Hi"}, "plain text"),
        (MessageShape(), Message(), {"content": ""}, "an empty message has its content"),
        (MessageShape(), REASONED, {"content": "Hi"}, "no field is known for the reasoning"),
        (
            MessageShape(reasoning_field="thoughts"),
            REASONED,
            {"content": "Hi", "thoughts": "Hm"},
            "a field",
        ),
        (
            MessageShape(reasoning_field="thoughts", reasoning_form=ReasoningForm.PART),
            REASONED,
            {
                "content": [
                    {"type": "thoughts", "thoughts": "Hm"},
                    {"type": "text", "text": "Hi"},
                ]
            },
            "a part of the content",
        ),
        (
            MessageShape(assistant_content=ContentForm.PARTS),
            SAID,
            {"content": [{"type": "text", "text": "Hi"}]},
            "content as parts",
        ),
        (
            MessageShape(user_content=ContentForm.PARTS),
            SAID,
            {"content": "Hi"},
            "the user's form is not the assistant's",
        ),
    ],
)
def test_messages(
    shape: MessageShape, message: Message, expected: dict[str, Json], reason: str
) -> None:
    assert shape.message(message) == {"role": "assistant", **expected}, reason


FUNCTION: dict[str, Json] = {"name": "f", "arguments": {"a": "é"}}
CALL_HEAD: dict[str, Json] = {"id": "id1", "type": "function"}


@pytest.mark.parametrize(
    ("shape", "content", "call", "reason"),
    [
        (MessageShape(), {"content": ""}, {**CALL_HEAD, "function": FUNCTION}, "OpenAI's form"),
        (
            MessageShape(empty_content=EmptyContent.NULL),
            {"content": None},
            {**CALL_HEAD, "function": FUNCTION},
            "null content",
        ),
        (
            MessageShape(empty_content=EmptyContent.ABSENT),
            {},
            {**CALL_HEAD, "function": FUNCTION},
            "no content",
        ),
        (
            MessageShape(arguments_as_string=True),
            {"content": ""},
            {**CALL_HEAD, "function": {"name": "f", "arguments": '{"a": "é"}'}},
            "arguments as JSON text",
        ),
        (
            MessageShape(calls=CallForm.BARE),
            {"content": ""},
            {**CALL_HEAD, **FUNCTION},
            "a call without a wrapper",
        ),
    ],
)
def test_calls(shape: MessageShape, content: dict[str, Json], call: Json, reason: str) -> None:
    expected = {"role": "assistant", **content, "tool_calls": [call]}
    assert shape.message(CALLED) == expected, reason


def test_a_conversation() -> None:
    dialogue = (UserMessage("Q"), CALLED, ToolResult("done", "f", "id1"), SAID)
    shape = MessageShape(system=True, user_content=ContentForm.PARTS)
    assert shape.messages(dialogue, "Be brief.") == [
        {"role": "system", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "text", "text": "Q"}]},
        shape.message(CALLED),
        {"role": "tool", "name": "f", "tool_call_id": "id1", "content": "done"},
        {"role": "assistant", "content": "Hi"},
    ]
    assert len(replace(shape, system=False).messages(dialogue, "Be brief.")) == 4


@pytest.mark.parametrize(("form", "wrapped"), [(ToolForm.WRAPPED, True), (ToolForm.BARE, False)])
def test_tools(form: ToolForm, wrapped: bool) -> None:
    tool = tool_for("f", "Does it.", {"a": "array", "b": "object", "c": "integer"})
    expected: Json = {"type": "function", "function": tool} if wrapped else tool
    assert offered_tools([tool], MessageShape(tools=form)) == [expected]


def test_no_tools() -> None:
    assert offered_tools([tool_for("f", "Does it.", {})], MessageShape(tools=ToolForm.NONE)) is None


def test_a_tool_describes_its_parameters() -> None:
    tool = tool_for("f", "Does it.", {"a": "array", "c": "integer"})
    assert tool["parameters"] == {
        "type": "object",
        "properties": {
            "a": {"type": "array", "description": "Does it.", "items": {"type": "string"}},
            "c": {"type": "integer", "description": "Does it."},
        },
        "required": ["a", "c"],
    }
