"""The texts that messages bring: contents, reasoning, names and arguments of calls.

A text is named by its message and its path in it, so that a conversation can be given again with
some texts replaced and all else the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TypeAlias, cast

from autoparser.analysis.inference.probing import Shape
from autoparser.analysis.loading.template import REASONING_FIELDS

from .renders import Message, Messages

Path: TypeAlias = tuple[str | int, ...]


class LeafKind(StrEnum):
    """What a text is in its message."""

    CONTENT = "content"
    REASONING = "reasoning"
    NAME = "name"
    ARGUMENT = "argument"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One text of one message."""

    message: int
    path: Path
    kind: LeafKind
    text: str


def leaves(messages: Messages, reasoning_fields: Sequence[str] = REASONING_FIELDS) -> list[Leaf]:
    """List every text of a conversation that holds more than whitespace."""
    found: list[Leaf] = []
    for at, message in enumerate(messages):
        for path, kind, text in _texts(message, reasoning_fields):
            if text.strip():
                found.append(Leaf(at, path, kind, text))
    return found


def replaced(messages: Messages, texts: Mapping[tuple[int, Path], str]) -> list[Message]:
    """Return the conversation with some texts replaced."""
    touched = {at for at, _ in texts}
    return [
        cast("Message", _replaced(message, (), partial(_text_at, texts, at)))
        if at in touched
        else message
        for at, message in enumerate(messages)
    ]


def _text_at(texts: Mapping[tuple[int, Path], str], message: int, path: Path) -> str | None:
    return texts.get((message, path))


def _texts(message: Message, reasoning: Sequence[str]) -> Iterator[tuple[Path, LeafKind, str]]:
    yield from _strings(message.get("content"), ("content",), LeafKind.CONTENT, parts=True)
    for name in reasoning:
        yield from _strings(message.get(name), (name,), LeafKind.REASONING)
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return
    for at, call in enumerate(cast("list[object]", calls)):
        path: Path = ("tool_calls", at)
        if not isinstance(call, Mapping):
            continue
        members = cast("Message", call)
        function = members.get("function")
        if isinstance(function, Mapping):
            members, path = cast("Message", function), (*path, "function")
        yield from _strings(members.get("name"), (*path, "name"), LeafKind.NAME)
        yield from _strings(members.get("arguments"), (*path, "arguments"), LeafKind.ARGUMENT)


_NO_TEXTS = frozenset({"type", "role", "id"})
"""Keys of a content part whose values say what it is."""


def _strings(
    value: object, path: Path, kind: LeafKind, *, parts: bool = False
) -> Iterator[tuple[Path, LeafKind, str]]:
    """Return the texts inside a value, each with its path."""
    if isinstance(value, str):
        yield path, kind, value
    elif isinstance(value, list | tuple):
        for at, item in enumerate(cast("Sequence[object]", value)):
            yield from _strings(item, (*path, at), kind, parts=parts)
    elif isinstance(value, Mapping):
        for key, item in cast("Mapping[object, object]", value).items():
            if isinstance(key, str) and not (parts and key in _NO_TEXTS):
                yield from _strings(item, (*path, key), kind, parts=parts)


def _replaced(value: object, path: Path, text_for: Callable[[Path], str | None]) -> object:
    if isinstance(value, str):
        text = text_for(path)
        return value if text is None else text
    if isinstance(value, list):
        items = cast("list[object]", value)
        return [_replaced(item, (*path, at), text_for) for at, item in enumerate(items)]
    if isinstance(value, tuple):
        items = list(cast("tuple[object, ...]", value))
        return tuple(_replaced(item, (*path, at), text_for) for at, item in enumerate(items))
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        return {key: _replaced(item, (*path, key), text_for) for key, item in members.items()}
    return value


def fields_of(shape: Shape) -> tuple[str, ...]:
    """Name the message fields in which a template of this shape takes reasoning."""
    own = shape.reasoning_field
    return (*REASONING_FIELDS, own) if own and own not in REASONING_FIELDS else REASONING_FIELDS
