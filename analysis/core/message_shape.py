"""The shape in which a template expects its messages, and messages in that shape.

A call in OpenAI's form is `{"id": …, "type": "function", "function": {"name": "find",
"arguments": {"city": "Oslo"}}}`. Of a template that reads `call.name` and pastes JSON text, the
shape is `MessageShape(calls=CallForm.BARE, arguments_as_string=True)`, and the same call is
`{"id": …, "type": "function", "name": "find", "arguments": '{"city": "Oslo"}'}`.
"""

# Annotations are values here: as texts, msgspec would compile each at the first read.
import json
from collections.abc import Mapping, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from .conversation import Dialogue, Json, Message, Tool, ToolCall, ToolResult, UserMessage

_SENT = "https://example.org/sent"
"""URL of the media in probe messages."""


class ContentForm(StrEnum):
    """The form of a message's text."""

    TEXT = "text"
    PARTS = "list of parts"


class EmptyContent(StrEnum):
    """The form of absent content in a message with calls."""

    EMPTY = "empty text"
    ABSENT = "no content key"
    NULL = "null"


class ToolForm(StrEnum):
    """The form of offered tools."""

    WRAPPED = "wrapped in an object of type function"
    BARE = "bare function schema"
    NONE = "no tools"


class CallForm(StrEnum):
    """The form of a message's calls."""

    WRAPPED = "wrapped in an object of type function"
    BARE = "bare name and arguments"


class ReasoningForm(StrEnum):
    """The place of a message's reasoning."""

    FIELD = "field of the message"
    PART = "part of the content"


class StringArguments(StrEnum):
    """How a template renders arguments that are given as JSON text."""

    SAME = "written like the object"
    PASTED = "pasted as they are"
    ENCODED_TWICE = "encoded a second time"
    DROPPED = "dropped"
    RAISES = "raise"


class MessageShape(Struct, frozen=True):
    """The form of messages, calls and tools that a template expects."""

    system: bool = False
    """Whether a system message must come first."""
    user_content: ContentForm = ContentForm.TEXT
    """The form of user and system messages, e.g. `ContentForm.PARTS`."""
    assistant_content: ContentForm = ContentForm.TEXT
    """The form of assistant messages and tool results, e.g. `ContentForm.PARTS`."""
    empty_content: EmptyContent = EmptyContent.EMPTY
    """The form of absent content beside calls, e.g. `EmptyContent.EMPTY`."""
    arguments_as_string: bool = False
    """Whether arguments are JSON text, not an object."""
    tools: ToolForm = ToolForm.WRAPPED
    """The form of offered tools, e.g. `ToolForm.BARE`."""
    calls: CallForm = CallForm.WRAPPED
    """The form of calls, e.g. `CallForm.WRAPPED`."""
    answered: bool = False
    """Whether a message with calls is refused unless tool results follow it."""
    reasoning_form: ReasoningForm = ReasoningForm.FIELD
    """The place of reasoning, e.g. `ReasoningForm.PART`."""
    reasoning_field: str | None = None
    """The name of the reasoning field, or the type of the part, e.g. `"reasoning_content"`; None
    if the template reads no reasoning."""

    def message(self, message: Message) -> dict[str, Json]:
        """Return an assistant message in this shape."""
        shaped: dict[str, Json] = {"role": "assistant"}
        content = self._content(message)
        # Templates that test for the key raise on an explicit null, and others on a missing key.
        if content is not None or self.empty_content is EmptyContent.NULL:
            shaped["content"] = content
        if (
            message.reasoning
            and self.reasoning_field
            and self.reasoning_form is ReasoningForm.FIELD
        ):
            shaped[self.reasoning_field] = message.reasoning
        if message.calls:
            shaped["tool_calls"] = [self.call(call) for call in message.calls]
        return shaped

    def _content(self, message: Message) -> Json:
        parts: list[Json] = []
        if message.reasoning and self.reasoning_form is ReasoningForm.PART:
            kind = self.reasoning_field or ""
            parts.append({"type": kind, kind: message.reasoning})
        # Reasoning as a part makes all content a list, even if the template expects text otherwise.
        if parts or self.assistant_content is ContentForm.PARTS:
            if message.content:
                parts.append({"type": "text", "text": message.content})
            return parts
        # Clients always send content without calls, even if it is empty.
        if message.content or not message.calls:
            return message.content
        return "" if self.empty_content is EmptyContent.EMPTY else None

    def call(self, call: ToolCall) -> Json:
        """Return one call in this shape."""
        arguments: Json = dict(call.arguments)
        if self.arguments_as_string:
            arguments = json.dumps(arguments, ensure_ascii=False)
        function: dict[str, Json] = {"name": call.name, "arguments": arguments}
        if self.calls is CallForm.BARE:
            return {"id": call.id, "type": "function", **function}
        return {"id": call.id, "type": "function", "function": function}

    def tool(self, tool: Tool) -> Json:
        """Return one tool in this shape."""
        return tool if self.tools is ToolForm.BARE else {"type": "function", "function": tool}

    def messages(self, dialogue: Dialogue, system: str = "") -> list[dict[str, Json]]:
        """Return a whole conversation in this shape."""
        shaped: list[dict[str, Json]] = []
        if self.system and system:
            shaped.append({"role": "system", "content": self._text(system, self.user_content)})
        for entry in dialogue:
            if isinstance(entry, Message):
                shaped.append(self.message(entry))
            elif isinstance(entry, UserMessage):
                text = self._content_of(entry, self.user_content)
                shaped.append({"role": "user", "content": text})
            else:
                # Some templates name a result by its function, others by the id of the call.
                shaped.append(
                    {
                        "role": "tool",
                        "name": entry.name,
                        "tool_call_id": entry.call_id,
                        "content": self._content_of(entry, self.assistant_content),
                    }
                )
        return shaped

    def user_text(self, text: str) -> Json:
        """Return the content of a user or system message in this shape."""
        return self._text(text, self.user_content)

    def _content_of(self, entry: UserMessage | ToolResult, form: ContentForm) -> Json:
        if not entry.media:
            return self._text(entry.text, form)
        parts: list[Json] = [{"type": kind.value, kind.value: _SENT} for kind in entry.media]
        return [*parts, {"type": "text", "text": entry.text}]

    def _text(self, text: str, form: ContentForm) -> Json:
        return text if form is ContentForm.TEXT else [{"type": "text", "text": text}]


USUAL_REASONING = "reasoning_content"
"""The reasoning field of chat APIs and of transformers."""


class FormDeparture(Struct, frozen=True):
    """A difference between the form that a template expects and OpenAI's."""

    usual: str
    """OpenAI's form, such as `"arguments as an object"`."""
    wanted: str
    """The form that the template expects, such as `"arguments as a JSON string"`."""
    shape: MessageShape
    """The template's shape with this one difference undone, with `arguments_as_string=False` in
    this example."""
    own_shape: MessageShape
    """The template's shape, with `arguments_as_string=True` in this example."""
    convention: bool = False
    """Whether only a field's name differs, for which several names are in use, such as `"thinking"`
    and `"reasoning_content"`."""

    @property
    def plain_text(self) -> bool:
        """Whether the difference is content as text instead of parts."""
        forms = (self.own_shape.user_content, self.own_shape.assistant_content)
        return forms != (self.shape.user_content, self.shape.assistant_content)

    def same(self, dialogue: Dialogue, *, tools: bool) -> bool:
        """Return whether a conversation is the same in both forms, so that it shows nothing."""
        # Tools are not among the messages that are compared below.
        if tools and self.shape.tools is not self.own_shape.tools:
            return False
        one, other = self.shape, self.own_shape
        return one.system is other.system and one.messages(dialogue) == other.messages(dialogue)


def put_together(departures: Sequence[FormDeparture]) -> FormDeparture:
    """Return several departures of one shape as a single one, with all of them undone."""
    # All have the same own shape, and each changes other fields of it.
    taken = departures[0].own_shape
    change = {
        name: getattr(departure.shape, name)
        for departure in departures
        for name in MessageShape.__struct_fields__
        if getattr(departure.shape, name) != getattr(taken, name)
    }
    return FormDeparture(
        ", ".join(departure.usual for departure in departures),
        ", ".join(departure.wanted for departure in departures),
        replace(taken, **change),
        taken,
    )


def form_departures(shape: MessageShape) -> tuple[FormDeparture, ...]:
    """Return the differences between a shape and OpenAI's form, one by one.

    The rule that a call must be answered is not among them, since requests always answer calls.
    """
    text = ContentForm.TEXT
    parts = ContentForm.PARTS in (shape.user_content, shape.assistant_content)
    no_tools = shape.tools is ToolForm.NONE
    null = shape.empty_content is EmptyContent.NULL
    in_part = shape.reasoning_form is ReasoningForm.PART
    found: tuple[tuple[bool, str, str, dict[str, object]], ...] = (
        (shape.system, "no system message", "a system message first", {"system": False}),
        (
            shape.tools is not ToolForm.WRAPPED,
            "tools" if no_tools else "tools wrapped as functions",
            "tools in the system message" if no_tools else "tools as bare function schemas",
            {"tools": ToolForm.WRAPPED},
        ),
        (
            parts,
            "content as text",
            "content as a list of parts",
            {"user_content": text, "assistant_content": text},
        ),
        (
            shape.empty_content is not EmptyContent.EMPTY,
            "empty content next to calls",
            "content null next to calls" if null else "no content key next to calls",
            {"empty_content": EmptyContent.EMPTY},
        ),
        (
            shape.calls is CallForm.BARE,
            "calls wrapped as functions",
            "calls as bare functions",
            {"calls": CallForm.WRAPPED},
        ),
        (
            shape.arguments_as_string,
            "arguments as an object",
            "arguments as a JSON string",
            {"arguments_as_string": False},
        ),
        (
            in_part or shape.reasoning_field not in (None, USUAL_REASONING),
            f"reasoning as {USUAL_REASONING}",
            f"reasoning as a part of the type {shape.reasoning_field}"
            if in_part
            else f"reasoning as {shape.reasoning_field}",
            {"reasoning_form": ReasoningForm.FIELD, "reasoning_field": USUAL_REASONING},
        ),
    )
    return tuple(
        FormDeparture(
            usual,
            wanted,
            replace(shape, **change),
            shape,
            convention="reasoning_field" in change,
        )
        for departs, usual, wanted, change in found
        if departs
    )


def offered_tools(tools: Sequence[Tool], shape: MessageShape) -> list[Json] | None:
    """Return the tools in this shape, or None if the template takes no tools."""
    return None if shape.tools is ToolForm.NONE else [shape.tool(tool) for tool in tools]


Setting = Mapping[str, Json]
"""Values of the template's switches."""
