"""The texts that messages bring: contents, reasoning, names and arguments of calls.

A text is named by its message and its path in it, so that a conversation can be given again with
some texts replaced and all else the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TypeAlias

from autoparser.analysis.core.value_kind import is_list, is_mapping, is_row
from autoparser.analysis.inference.probing import Shape
from autoparser.analysis.loading.template import REASONING_FIELDS

from .history_renders import Message, Messages

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
        {
            key: _replaced(item, (key,), partial(_text_at, texts, at))
            for key, item in message.items()
        }
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
    for at, call in enumerate(calls if is_list(calls) else ()):
        if not is_mapping(call):
            continue
        inner = call.get("function")
        function, key = (inner, ("function",)) if is_mapping(inner) else (call, ())
        path = ("tool_calls", at, *key)
        yield from _strings(function.get("name"), (*path, "name"), LeafKind.NAME)
        yield from _strings(function.get("arguments"), (*path, "arguments"), LeafKind.ARGUMENT)


_NO_TEXTS = frozenset({"type", "role", "id"})
"""Keys of a content part whose values say what it is."""


def _strings(
    value: object, path: Path, kind: LeafKind, *, parts: bool = False
) -> Iterator[tuple[Path, LeafKind, str]]:
    """Return the texts inside a value, each with its path."""
    if isinstance(value, str):
        yield path, kind, value
    elif is_row(value):
        for at, item in enumerate(value):
            yield from _strings(item, (*path, at), kind, parts=parts)
    elif is_mapping(value):
        for key, item in value.items():
            if isinstance(key, str) and not (parts and key in _NO_TEXTS):
                yield from _strings(item, (*path, key), kind, parts=parts)


def _replaced(value: object, path: Path, text_for: Callable[[Path], str | None]) -> object:
    if isinstance(value, str):
        text = text_for(path)
        return value if text is None else text
    if is_row(value):
        items = [_replaced(item, (*path, at), text_for) for at, item in enumerate(value)]
        return items if isinstance(value, list) else tuple(items)
    if is_mapping(value):
        return {key: _replaced(item, (*path, key), text_for) for key, item in value.items()}
    return value


def fields_of(shape: Shape) -> tuple[str, ...]:
    """Name the message fields in which a template of this shape takes reasoning."""
    own = shape.reasoning_field
    return (*REASONING_FIELDS, own) if own and own not in REASONING_FIELDS else REASONING_FIELDS
