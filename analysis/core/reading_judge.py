r"""Compare a message that a program parsed with the message that the text means.

For example, a parser returned content with a line break at its end:

    >>> judge = ReadingJudge(lambda one, other: False, lambda call: True)
    >>> verdict = judge.judge(Message("Hi."), ReadMessage("Hi.\n"))
    >>> verdict.agreement, verdict.part, verdict.right
    (<MessageAgreement.EDGES: 'edges'>, 'content', True)

Contract: arguments are compared as JSON, names and their order exactly, reasoning and content
exactly and up to the whitespace at their edges. A template may write two messages alike; then
no parser can distinguish them, and either is right. So the judge is the template, not a format
of ours: a message parsed with other whitespace, or with other arguments that their schema
allows, is right if the template renders it to the very text that was parsed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from .conversation import Json, Message, ToolCall


class MessageAgreement(StrEnum):
    """How far a parsed message equals the expected one."""

    EXACT = "exact"
    EDGES = "edges"
    """Equal except for whitespace at the edges of the reasoning or the content."""
    OTHER = "other"


class ReadCall(Struct, frozen=True):
    """A call as a program parsed it."""

    name: str
    """The function's name, such as `"get_forecast"`."""
    arguments: str
    """JSON text, as servers return it, and perhaps invalid: `'{"city": "Oslo", "days": 3}'`."""

    @property
    def as_json(self) -> Json:
        """The call with its arguments decoded, or as text if they are not valid JSON."""
        try:
            arguments: Json = json.loads(self.arguments)
        except ValueError:
            arguments = self.arguments
        return {"name": self.name, "arguments": arguments}


class ReadMessage(Struct, frozen=True):
    """A message as a program parsed it. An empty text is an absent one."""

    content: str = ""
    """The content, such as `"Here is what I found."`."""
    reasoning: str = ""
    """The reasoning, such as `"A lookup is due."`."""
    calls: tuple[ReadCall, ...] = ()
    """The calls in their order, such as
    `(ReadCall("get_forecast", '{"city": "Oslo", "days": 3}'),)`."""

    @classmethod
    def of(cls, message: Message) -> ReadMessage:
        """Return the result of a program that parses a message correctly."""
        calls = [ReadCall(call.name, json.dumps(dict(call.arguments))) for call in message.calls]
        return cls(message.content, message.reasoning, tuple(calls))


class ReadingVerdict(Struct, frozen=True):
    """How one message was parsed, with the first difference if there is one."""

    agreement: MessageAgreement
    """How far the messages are equal, such as `MessageAgreement.EDGES` if only whitespace at the
    edges of a text differs."""
    part: str = ""
    """The part that differs, such as `"content"` or `"arguments of get_forecast"`."""
    expected: str = ""
    """The text that was expected of that part, such as `"Hi."`; of calls, their names as JSON."""
    actual: str = ""
    r"""The text that was parsed instead, such as `"Hi.\n"`."""

    @property
    def right(self) -> bool:
        """Whether nothing but whitespace at edges differs."""
        return self.agreement is not MessageAgreement.OTHER


class ReadingJudge(Struct, frozen=True):
    """Compares parsed messages with those that a template rendered."""

    written_alike: Callable[[Message, Message], bool]
    """Whether the template renders both messages to the same text, such as "Hi." and "Hi. " if it
    strips content."""
    allowed: Callable[[ToolCall], bool]
    """Whether the schema of a call's tool allows its arguments, such as 3 days, but not "three"."""

    def judge(self, expected: Message, read: ReadMessage) -> ReadingVerdict:
        """Compare a message with the one that was parsed from its render."""
        found = next(self._differences(expected, read), None)
        if found is not None:
            return found
        # Calls are known to be equal here, so only whitespace at the edges is left to compare.
        as_read = replace(expected, content=read.content, reasoning=read.reasoning)
        if as_read == expected or self.written_alike(expected, as_read):
            return ReadingVerdict(MessageAgreement.EXACT)
        part = "reasoning" if as_read.reasoning != expected.reasoning else "content"
        texts = (str(getattr(message, part)) for message in (expected, as_read))
        return ReadingVerdict(MessageAgreement.EDGES, part, *texts)

    def _differences(self, expected: Message, read: ReadMessage) -> Iterator[ReadingVerdict]:
        names, called = ([call.name for call in calls] for calls in (expected.calls, read.calls))
        if names != called:
            yield _difference("calls", json.dumps(names), json.dumps(called))
            # The arguments of calls that do not pair up say nothing more.
            return
        for at, given in enumerate(read.calls):
            meant = expected.calls[at]
            call = _decode_call(given, meant)
            if call is None or not self._same_call(expected, at, call):
                part = f"arguments of {meant.name}"
                yield _difference(part, json.dumps(dict(meant.arguments)), given.arguments)
        for part in ("reasoning", "content"):
            one, other = getattr(expected, part), getattr(read, part)
            if one.strip() != other.strip():
                yield _difference(part, one, other)

    def _same_call(self, expected: Message, at: int, call: ToolCall) -> bool:
        if same_json(dict(expected.calls[at].arguments), dict(call.arguments)):
            return True
        # Other arguments are right, too, if the render cannot tell them apart: "3" and 3 in a tag.
        calls = (*expected.calls[:at], call, *expected.calls[at + 1 :])
        return self.allowed(call) and self.written_alike(expected, replace(expected, calls=calls))


def same_json(one: Json, other: Json) -> bool:
    """Return whether two values are equal as JSON: 1 is 1.0, but not true; keys have no order."""
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(
                same_json(one[key], other[key]) for key in one
            )
        case list(), list():
            pairs = zip(one, other, strict=False)
            return len(one) == len(other) and all(same_json(*pair) for pair in pairs)
        # Before the last case, since `True == 1` in Python.
        case (bool(), _) | (_, bool()):
            return one is other
        case _:
            return one == other


def _difference(part: str, expected: str, actual: str) -> ReadingVerdict:
    return ReadingVerdict(MessageAgreement.OTHER, part, expected, actual)


def _decode_call(read_call: ReadCall, meant: ToolCall) -> ToolCall | None:
    """Return the call with the expected id and key order, or None if it is not JSON."""
    try:
        value: Json = json.loads(read_call.arguments)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    # The order of keys is not compared, but a template may render them in the given order.
    ordered = {key: value[key] for key in meant.arguments if key in value}
    return ToolCall(read_call.name, {**ordered, **value}, meant.id)
