"""What a program read of a model's text, judged by the message that the text means.

Contract: arguments are compared as JSON, names and their order exactly, reasoning and content
exactly and up to the whitespace at their edges. A template may write two messages alike; then no
reader can tell them apart, and either is right. So the judge is the template, not a format of ours:
a message read with other whitespace, or with other arguments that their schema allows, is right
where the template writes it as the very text that was read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from .message import Json, Message, ToolCall

__all__ = ["Agreement", "ReadCall", "ReadMessage", "ReadingJudge", "ReadingVerdict", "same_json"]


class Agreement(StrEnum):
    """How far a message that was read is the one that was meant."""

    EXACT = "exact"
    EDGES = "edges"
    """But for whitespace at the edges of the reasoning or the content."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class ReadCall:
    """A call as a program gives it."""

    name: str
    arguments: str
    """JSON text, as servers give it; whether it is valid has yet to be seen."""

    @property
    def told(self) -> Json:
        """The call with its arguments as JSON; as the text that came where that is not JSON."""
        try:
            arguments: Json = json.loads(self.arguments)
        except ValueError:
            arguments = self.arguments
        return {"name": self.name, "arguments": arguments}


@dataclass(frozen=True, slots=True)
class ReadMessage:
    """A message as a program gives it. An empty text is an absent one."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[ReadCall, ...] = ()

    @classmethod
    def of(cls, message: Message) -> ReadMessage:
        """Return what a program should give of a message."""
        calls = [ReadCall(each.name, json.dumps(dict(each.arguments))) for each in message.calls]
        return cls(message.content, message.reasoning, tuple(calls))


@dataclass(frozen=True, slots=True)
class ReadingVerdict:
    """How one message was read, and the first difference where it was read otherwise."""

    agreement: Agreement
    part: str = ""
    """Which part of the message differs, in words."""
    expected: str = ""
    got: str = ""

    @property
    def right(self) -> bool:
        """Whether nothing but whitespace at edges differs."""
        return self.agreement is not Agreement.OTHER


@dataclass(frozen=True, slots=True)
class ReadingJudge:
    """Judges what was read of texts that a template wrote."""

    written_alike: Callable[[Message, Message], bool]
    """Whether the template writes the second message as it writes the first."""
    allowed: Callable[[ToolCall], bool]
    """Whether the schema of a call's tool allows its arguments."""

    def judge(self, expected: Message, read: ReadMessage) -> ReadingVerdict:
        """Compare what was read of the text of a message with the message."""
        found = next(self._differences(expected, read), None)
        if found is not None:
            return found
        as_read = replace(expected, content=read.content, reasoning=read.reasoning)
        if as_read == expected or self.written_alike(expected, as_read):
            return ReadingVerdict(Agreement.EXACT)
        part = "reasoning" if as_read.reasoning != expected.reasoning else "content"
        texts = (str(getattr(each, part)) for each in (expected, as_read))
        return ReadingVerdict(Agreement.EDGES, part, *texts)

    def _differences(self, expected: Message, read: ReadMessage) -> Iterator[ReadingVerdict]:
        names, called = ([call.name for call in calls] for calls in (expected.calls, read.calls))
        if names != called:
            yield _other("calls", json.dumps(names), json.dumps(called))
            return
        for at, given in enumerate(read.calls):
            meant = expected.calls[at]
            call = _decoded(given, meant)
            if call is None or not self._same_call(expected, at, call):
                part = f"arguments of {meant.name}"
                yield _other(part, json.dumps(dict(meant.arguments)), given.arguments)
        for part in ("reasoning", "content"):
            one, other = getattr(expected, part), getattr(read, part)
            if one.strip() != other.strip():
                yield _other(part, one, other)

    def _same_call(self, expected: Message, at: int, call: ToolCall) -> bool:
        if same_json(dict(expected.calls[at].arguments), dict(call.arguments)):
            return True
        calls = (*expected.calls[:at], call, *expected.calls[at + 1 :])
        return self.allowed(call) and self.written_alike(expected, replace(expected, calls=calls))


def same_json(one: Json, other: Json) -> bool:
    """Whether two values are equal as JSON: 1 is 1.0, but not true; keys have no order."""
    match one, other:
        case dict(), dict():
            return one.keys() == other.keys() and all(
                same_json(one[key], other[key]) for key in one
            )
        case list(), list():
            pairs = zip(one, other, strict=False)
            return len(one) == len(other) and all(same_json(*pair) for pair in pairs)
        case (bool(), _) | (_, bool()):
            return one is other
        case _:
            return one == other


def _other(part: str, expected: str, got: str) -> ReadingVerdict:
    return ReadingVerdict(Agreement.OTHER, part, expected, got)


def _decoded(given: ReadCall, meant: ToolCall) -> ToolCall | None:
    """Return a call with the id and the order of keys that were meant; None: it is not JSON."""
    try:
        value: Json = json.loads(given.arguments)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    ordered = {key: value[key] for key in meant.arguments if key in value}
    return ToolCall(given.name, {**ordered, **value}, meant.id)
