"""Put marks, invented words, into the texts of a conversation and find them in its render.

A mark consists of letters, so it survives `trim`, `tojson`, escaping and, since the search ignores
case, `lower`. Its prefix occurs neither in the template nor in the conversation.

For the text " Hi" and a newline, the first of its conversation, and a template that strips it:

    Style.EDGES    " zzzzbbbbbHizzzzbbbbc" and a newline, rendered as "<u>zzzzbbbbbHizzzzbbbbc"
    Style.MIDDLE   " Hzzzzbbbbbi" and a newline

`read` returns "<u>Hi" and the marks 0 at 3 and 1 at 5, of which `runs` makes the run from 3 to 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import count, product
from typing import TypeAlias

from autoparser.analysis.core.error_words import (
    is_list,
    is_mapping,
    is_row,
)
from autoparser.analysis.core.message_shape import MessageShape
from autoparser.analysis.core.text_alignment import prefix_length, suffix_length
from autoparser.analysis.templates.chat_template import REASONING_FIELDS

from .history_renders import Message, Messages

# Texts in messages: contents, reasoning, names and arguments of calls.
#
# A text is identified by its message and its path there, so that a conversation can be rendered
# again with some texts replaced.


Path: TypeAlias = tuple[str | int, ...]


class LeafKind(StrEnum):
    """The roles of a text in its message."""

    CONTENT = "content"
    REASONING = "reasoning"
    NAME = "name"
    ARGUMENT = "argument"


@dataclass(frozen=True, slots=True)
class Leaf:
    """One text of one message."""

    message: int
    """The number of its message, such as `2`."""
    path: Path
    """Where it is in the message, e.g. `("tool_calls", 0, "function", "name")`."""
    kind: LeafKind
    """Its role in the message, such as `LeafKind.ARGUMENT`."""
    text: str
    """The text as it was sent, e.g. `" Hi"`."""


def text_leaves(
    messages: Messages, reasoning_fields: Sequence[str] = REASONING_FIELDS
) -> list[Leaf]:
    """List every text of a conversation that holds more than whitespace."""
    found: list[Leaf] = []
    for at, message in enumerate(messages):
        for path, kind, text in _message_texts(message, reasoning_fields):
            # Blank texts are often stripped, and have nothing to own.
            if text.strip():
                found.append(Leaf(at, path, kind, text))
    return found


def replace_texts(messages: Messages, texts: Mapping[tuple[int, Path], str]) -> list[Message]:
    """Return the conversation with some texts replaced."""
    replaced: dict[int, dict[Path, str]] = {}
    for (at, path), text in texts.items():
        replaced.setdefault(at, {})[path] = text
    return [
        {key: _replace_value(item, (key,), replaced[at]) for key, item in message.items()}
        if at in replaced
        else message
        for at, message in enumerate(messages)
    ]


def _message_texts(
    message: Message, reasoning: Sequence[str]
) -> Iterator[tuple[Path, LeafKind, str]]:
    yield from _value_texts(message.get("content"), ("content",), LeafKind.CONTENT, parts=True)
    for name in reasoning:
        yield from _value_texts(message.get(name), (name,), LeafKind.REASONING)
    calls = message.get("tool_calls")
    for at, call in enumerate(calls if is_list(calls) else ()):
        if not is_mapping(call):
            continue
        inner = call.get("function")
        function, key = (inner, ("function",)) if is_mapping(inner) else (call, ())
        path = ("tool_calls", at, *key)
        yield from _value_texts(function.get("name"), (*path, "name"), LeafKind.NAME)
        yield from _value_texts(function.get("arguments"), (*path, "arguments"), LeafKind.ARGUMENT)


_NO_TEXTS = frozenset({"type", "role", "id"})
"""Keys of a content part whose values are identifiers rather than text."""


def _value_texts(
    value: object, path: Path, kind: LeafKind, *, parts: bool = False
) -> Iterator[tuple[Path, LeafKind, str]]:
    """Return the texts inside a value, each with its path."""
    if isinstance(value, str):
        yield path, kind, value
    elif is_row(value):
        for at, item in enumerate(value):
            yield from _value_texts(item, (*path, at), kind, parts=parts)
    elif is_mapping(value):
        for key, item in value.items():
            if isinstance(key, str) and not (parts and key in _NO_TEXTS):
                yield from _value_texts(item, (*path, key), kind, parts=parts)


def _replace_value(value: object, path: Path, texts: Mapping[Path, str]) -> object:
    if isinstance(value, str):
        return texts.get(path, value)
    if is_row(value):
        items = [_replace_value(item, (*path, at), texts) for at, item in enumerate(value)]
        return items if isinstance(value, list) else tuple(items)
    if is_mapping(value):
        return {key: _replace_value(item, (*path, key), texts) for key, item in value.items()}
    return value


def reasoning_field_names(shape: MessageShape) -> tuple[str, ...]:
    """Name the message fields in which a template of this shape takes reasoning."""
    own = shape.reasoning_field
    return (*REASONING_FIELDS, own) if own and own not in REASONING_FIELDS else REASONING_FIELDS


# Numbers in letters, since a template may escape or format digits.
_DIGITS = "bcdfghjklm"
_AS_LETTERS = str.maketrans("0123456789", _DIGITS)
_AS_DIGITS = str.maketrans(_DIGITS, "0123456789")
MARK_DIGITS = 5
"""Digits of a mark's number: enough for fifty thousand texts."""


class Style(StrEnum):
    """The positions of marks in a text."""

    EDGES = "around the text, inside its whitespace"
    OUTER = "around the text and its whitespace"
    MIDDLE = "in the middle of the text"
    """Invisible to a template that checks how a text begins or ends."""


@dataclass(frozen=True, slots=True)
class Run:
    """A range of rendered text that came from one text of a message."""

    start: int
    """The offset of its first character, such as `1284`."""
    end: int
    """The offset after its last character, such as `1292`."""
    leaf: int
    """The number of the text, such as `0` for the first."""


class Marks:
    """The marks of one conversation: its texts, numbered."""

    def __init__(self, leaves: Sequence[Leaf], haystack: str) -> None:
        """Choose marks that do not occur in `haystack`."""
        self.leaves = leaves
        self._prefix = unused_word(haystack)
        self._pattern = re.compile(f"{self._prefix}([{_DIGITS}]{{{MARK_DIGITS}}})", re.IGNORECASE)

    def put(self, leaf: int, style: Style) -> str:
        """Return a text with its marks."""
        text = self.leaves[leaf].text
        start, end = _text_edges(text)
        if style is Style.MIDDLE:
            middle = _text_middle(text)
            return f"{text[:middle]}{self._mark_word(2 * leaf)}{text[middle:]}"
        if style is Style.OUTER:
            start, end = 0, len(text)
        core = text[start:end]
        opened, closed = self._mark_word(2 * leaf), self._mark_word(2 * leaf + 1)
        return f"{text[:start]}{opened}{core}{closed}{text[end:]}"

    def read(self, marked: str) -> tuple[str, list[tuple[int, int]]]:
        """Return the text without marks, and the number and offset of each mark."""
        found: list[tuple[int, int]] = []
        pieces: list[str] = []
        at = length = 0
        for match in self._pattern.finditer(marked):
            piece = marked[at : match.start()]
            pieces.append(piece)
            length += len(piece)
            found.append((int(match[1].lower().translate(_AS_DIGITS)), length))
            at = match.end()
        pieces.append(marked[at:])
        return "".join(pieces), found

    def runs(
        self, text: str, mark_places: Sequence[tuple[int, int]], styles: Mapping[int, Style]
    ) -> list[Run]:
        """Return the ranges that the marks enclose; `styles` has the marks of each text."""
        runs: list[Run] = []
        opened: dict[int, int] = {}
        for number, place in mark_places:
            # `put` gives the opening mark an even number, and the closing mark an odd one.
            leaf, closes = divmod(number, 2)
            if styles[leaf] is Style.MIDDLE:
                runs.append(self._run_around(text, leaf, place))
            elif not closes:
                # The template repeated the beginning of this text; the first copy lacks its end.
                if leaf in opened:
                    runs.append(self._run_from(text, leaf, opened[leaf]))
                opened[leaf] = place
            elif leaf in opened:
                runs.append(Run(opened.pop(leaf), place, leaf))
            else:
                runs.append(self._run_up_to(text, leaf, place))
        # The end of these texts is missing, as where a template cuts a long text.
        runs += (self._run_from(text, leaf, place) for leaf, place in opened.items())
        return runs

    def _run_around(self, text: str, leaf: int, place: int) -> Run:
        whole = self.leaves[leaf].text
        middle = _text_middle(whole)
        before = suffix_length(text[:place], whole[:middle])
        after = prefix_length(text[place:], whole[middle:])
        return Run(place - before, place + after, leaf)

    def _run_from(self, text: str, leaf: int, place: int) -> Run:
        """Find the beginning of a text whose end was cut off."""
        core = self.leaves[leaf].text.strip()
        return Run(place, place + prefix_length(text[place:], core), leaf)

    def _run_up_to(self, text: str, leaf: int, place: int) -> Run:
        """Find the end of a text whose beginning was cut off."""
        core = self.leaves[leaf].text.strip()
        return Run(place - suffix_length(text[:place], core), place, leaf)

    def _mark_word(self, number: int) -> str:
        return self._prefix + f"{number:0{MARK_DIGITS}d}".translate(_AS_LETTERS)


def unused_word(haystack: str, least: int = 4) -> str:
    """Return a word of at least so many letters that occurs in `haystack` in no case."""
    lower = haystack.lower()
    # Only letters, since digits and signs may be escaped, and rare ones, to find a short word.
    words = ("".join(letters) for n in count(least) for letters in product("zqxvw", repeat=n))
    return next(word for word in words if word not in lower)


def _text_middle(text: str) -> int:
    """Return the middle of a text that is not blank, after its first letter at least."""
    start, end = _text_edges(text)
    return start + max(1, (end - start) // 2)


def _text_edges(text: str) -> tuple[int, int]:
    start = len(text) - len(text.lstrip())
    return start, max(start, len(text.rstrip()))
