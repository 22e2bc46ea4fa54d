"""How a template wrote new messages after a turn, cached for the next time.

An attribution costs renders of its own. Where messages of the same roles come again, the text that
they should make is put together from what stood around their texts the last time, with what the
messages and the turn's calls bring: contents, names, ids. If that is what the template has
written, the attribution is the same; if not, it is made anew. For example

    <tool id=call_1>sunny</tool>   of {tool_call_id: call_1, content: sunny}

is `<tool id=`, the id, `>`, the content, `</tool>`, and so is what another call's result makes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from autoparser.analysis.core.conversation import ToolCall

from .attribution import Segment
from .history_renders import Messages

MOST_PATTERNS = 8
"""Cached for the same roles after the same kind of turn."""

Word: TypeAlias = tuple[str, int, str]
"""Where a word comes from: a new message or a call of the turn, its number, the field."""
Words: TypeAlias = Mapping[Word, str]

_SPELLINGS: tuple[Callable[[str], str], ...] = (
    str,
    str.strip,
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    lambda text: json.dumps(text)[1:-1],
)
"""Ways in which templates write a content: as it is, trimmed, inside a JSON string."""


@dataclass(frozen=True, slots=True)
class RenderPiece:
    """A stretch of the text that is all of one kind."""

    message: int
    content: bool
    parts: tuple[str | Word, ...]
    """What the template wrote, and the words of the conversation in it."""
    spelling: int = 0
    """How the content is written."""

    def text(self, words: Words) -> str:
        """Return the text that this piece makes of other words; empty where one is missing."""
        said = "".join(
            part if isinstance(part, str) else words.get(part, "") for part in self.parts
        )
        return _SPELLINGS[self.spelling](said) if self.content else said


@dataclass(frozen=True, slots=True)
class RenderPattern:
    """A text as what the template wrote around the words of its messages."""

    pieces: tuple[RenderPiece, ...]

    def segments(self, words: Words, text: str) -> tuple[Segment, ...] | None:
        """Attribute a text; None where it is not by this pattern."""
        found: list[Segment] = []
        at = 0
        for piece in self.pieces:
            said = piece.text(words)
            if not text.startswith(said, at) or (piece.content and not said.strip()):
                return None
            found.append(Segment(at, at + len(said), piece.message, piece.content, False, False))
            at += len(said)
        return tuple(found) if at == len(text) else None


def words_of(calls: Sequence[ToolCall], new: Messages) -> dict[Word, str]:
    """Return the words that may come again, changed: of new messages, and of the turn's calls."""
    found: dict[Word, str] = {}
    for at, message in enumerate(new):
        for field in ("content", "tool_call_id", "name"):
            value = message.get(field)
            if isinstance(value, str) and value.strip():
                found["message", at, field] = value
    for at, call in enumerate(calls):
        found |= {("call", at, "name"): call.name, ("call", at, "id"): call.id}
    return {word: text for word, text in found.items() if text}


def pattern_of(segments: Sequence[Segment], words: Words, text: str) -> RenderPattern | None:
    """Return the pattern of an attributed text; None where a content is written in another way."""
    pieces: list[RenderPiece] = []
    for segment in segments:
        said = text[segment.start : segment.end]
        if not segment.content:
            pieces.append(RenderPiece(segment.message, False, tuple(_parts(said, words))))
            continue
        word: Word = ("message", segment.message, "content")
        whole = words.get(word, "")
        spelling = next((at for at, way in enumerate(_SPELLINGS) if way(whole) == said), None)
        if spelling is None:
            return None
        pieces.append(RenderPiece(segment.message, True, (word,), spelling))
    return RenderPattern(tuple(pieces))


def _parts(said: str, words: Words) -> Iterator[str | Word]:
    """Cut what the template wrote at the names and ids in it."""
    sources = {text: word for word, text in words.items() if word[2] != "content"}
    if not sources:
        yield said
        return
    longest_first = sorted(sources, key=len, reverse=True)
    pieces = re.split(f"({'|'.join(map(re.escape, longest_first))})", said)
    yield from (sources.get(piece, piece) for piece in pieces if piece)
