r"""Describe an export, and the parts that its target cannot express.

For example, of a format that escapes strings as HTML, which the target does not unescape:

    >>> from autoparser.analysis.core.conversation import ToolCall
    >>> why = "strings are written as html, and nothing is unescaped"
    >>> export = Export({}, (ExportLimit(MessagePiece.STRINGS, why, characters="\"&'<>"),))
    >>> export.promises(Message(calls=(ToolCall("look", {"city": "Oslo"}),)))
    True
    >>> export.promises(Message(calls=(ToolCall("look", {"city": "A & B"}),)))
    False
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

from msgspec import Struct

from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.core.json_types import JsonType, json_type


class TemplateDialect(StrEnum):
    """The reader of a `response_template`.

    vLLM and SGLang serve three fields, of which the one for reasoning is called `thinking`, and
    pass on what content holds as it comes, so that they refuse to join what transformers joins.
    """

    COMMON = "common"
    """transformers, vLLM and SGLang alike. transformers keeps the last of several pieces of
    content, which no template writes, but a model may: around a call."""
    TRANSFORMERS = "transformers"
    """transformers alone: reasoning under the name that templates read, and all content joined."""

    @property
    def reasoning(self) -> str:
        """The name of the field that reads reasoning."""
        return "reasoning_content" if self is TemplateDialect.TRANSFORMERS else "thinking"

    @property
    def joins(self) -> bool:
        """Whether several pieces of content are joined."""
        return self is TemplateDialect.TRANSFORMERS


class MessagePiece(StrEnum):
    """A part of a message that a target may lack alone."""

    REASONING = "reasoning"
    CONTENT = "content"
    CONTENT_BESIDE_CALLS = "content beside calls"
    CALLS = "tool calls"
    SEVERAL_CALLS = "several calls"
    ARGUMENTS = "arguments"
    NO_ARGUMENTS = "calls without arguments"
    TYPES = "typed arguments"
    STRINGS = "strings in arguments"
    IDS = "call ids"


class ExportLimit(Struct, frozen=True):
    """A part that the target cannot express, and why."""

    piece: MessagePiece
    """The part of a message, e.g. "call ids"."""
    reason: str
    """Why, e.g. "nothing before the arguments tells the name"."""
    types: frozenset[JsonType] = frozenset()
    """The types of values that do not come out right; only `MessagePiece.TYPES` has any."""
    characters: str = ""
    """The strings concerned hold one of these, e.g. `"&'<>`; empty: all strings."""

    def concerns(self, message: Message) -> bool:
        """Return whether a message has an unexpressed part; ids never spoil the rest of it."""
        calls, values = message.calls, [*_argument_values(message)]
        texts = [value for value in values if isinstance(value, str)]
        # The calls are read all the same without ids; `promises` leaves ids aside.
        concerned: dict[MessagePiece, object] = {
            MessagePiece.REASONING: message.reasoning,
            MessagePiece.CONTENT: message.content,
            MessagePiece.CONTENT_BESIDE_CALLS: message.content and calls,
            MessagePiece.CALLS: calls,
            MessagePiece.ARGUMENTS: calls,
            MessagePiece.SEVERAL_CALLS: len(calls) > 1,
            MessagePiece.NO_ARGUMENTS: any(not call.arguments for call in calls),
            MessagePiece.TYPES: any(json_type(value) in self.types for value in values),
            MessagePiece.STRINGS: any({*self.characters} & {*text} for text in texts)
            if self.characters
            else texts,
        }
        return bool(concerned.get(self.piece))


class Export(Struct, frozen=True):
    """A format as a document of another program."""

    document: Mapping[str, Json]
    r"""The document that the target reads, as JSON values, e.g.
    `{"version": 1, "start_anchor": "<|im_start|>assistant\n", …}`."""
    limits: tuple[ExportLimit, ...] = ()
    """The parts that it does not express, e.g. "typed arguments"; empty if it expresses the whole
    format."""
    needs_tools: bool = False
    """Arguments are typed by the tools' schemas, e.g. "3" as an integer: without the tools, they
    are all texts."""
    plain_names: bool = False
    """Names of arguments are read only if they are plain words, e.g. "city" but not "a b": no sign
    shows where others end."""
    dialect: TemplateDialect = TemplateDialect.COMMON
    """The readers of the document, e.g. `TemplateDialect.COMMON`."""

    @property
    def whole(self) -> bool:
        """Whether every part of the format is expressed."""
        return not self.limits

    def lacks(self, piece: MessagePiece) -> bool:
        """Return whether a part is not expressed."""
        return any(limit.piece is piece for limit in self.limits)

    def promises(self, message: Message) -> bool:
        """Return whether all of a message is expressed, its calls' ids aside."""
        if any(limit.concerns(message) for limit in self.limits):
            return False
        # Nested names are inside a value, which is read as a whole.
        names = (name for call in message.calls for name in call.arguments)
        # Identifiers are the words that every pattern of a name takes.
        return not self.plain_names or all(map(str.isidentifier, names))


def _argument_values(message: Message) -> Iterator[Json]:
    for call in message.calls:
        for value in call.arguments.values():
            yield from _nested_values(value)


def _nested_values(value: Json) -> Iterator[Json]:
    yield value
    if isinstance(value, list):
        for item in value:
            yield from _nested_values(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _nested_values(item)
