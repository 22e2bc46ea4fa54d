"""Calls as what reads them would: the JSON value or the Python call that holds an argument.

The judges are Python's own: `json` and `ast`.
"""

from __future__ import annotations

import ast
import json
from dataclasses import dataclass
from enum import StrEnum

from .conversations import Voice
from .played_conversation import PlayedConversation, WrittenText


class DocumentKind(StrEnum):
    """What a call is a part of."""

    LIST = "a JSON list"
    OBJECT = "a JSON object"
    PYTHON = "a Python call"


@dataclass(frozen=True, slots=True)
class CallSpan:
    """The texts of one message's calls, and the render from the text before to the text after."""

    texts: tuple[WrittenText, ...]
    start: int
    text: str
    following: Voice | None
    """Whose text comes after the calls; None where they are the last."""

    @property
    def joints(self) -> tuple[tuple[str, str], ...]:
        """What stands between two calls, with the name of the second of them."""
        pairs = zip(self.texts, self.texts[1:], strict=False)
        return tuple(
            (one.after, other.spoken.call.name)
            for one, other in pairs
            if other.spoken.call is not None and one.spoken.call != other.spoken.call
        )


def call_spans(played: PlayedConversation) -> list[CallSpan]:
    """Return the calls of each message that has any, in the order of the render."""
    spans: list[CallSpan] = []
    group: list[WrittenText] = []
    for text in (*played.written, None):
        goes_on = bool(group) and text is not None and text.spoken.entry == group[0].spoken.entry
        if group and not goes_on:
            following = None if text is None else text.spoken.voice
            spans.append(_span(played, group, following))
            group = []
        if text is not None and text.spoken.voice is Voice.CALL:
            group.append(text)
    return spans


def _span(
    played: PlayedConversation, group: list[WrittenText], following: Voice | None
) -> CallSpan:
    first, last = group[0], group[-1]
    start = first.start - len(first.before)
    end = last.start + len(last.spoken.text) + len(last.after)
    return CallSpan(tuple(group), start, played.render.text[start:end], following)


def document_kind(span: CallSpan, text: WrittenText) -> DocumentKind | None:
    """Return the outermost document that holds an argument; None where none can be read."""
    place = text.start - span.start
    for at in range(place):
        if span.text[at] in "[{":
            value = _json_from(span.text, at, place)
            if value is not None:
                return DocumentKind.LIST if isinstance(value, list) else DocumentKind.OBJECT
    call = text.spoken.call
    name = "" if call is None else f"{call.name}("
    at = span.text.rfind(name, 0, place) if name else -1
    return DocumentKind.PYTHON if at >= 0 and _is_python(span.text, at, place) else None


def _json_from(text: str, start: int, place: int) -> object:
    """Read JSON from a place on; None unless it reaches another place."""
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    return value if end > place else None


def _is_python(text: str, start: int, place: int) -> bool:
    end = text.find(")", place)
    if end < 0:
        return False
    try:
        return isinstance(ast.parse(text[start : end + 1], mode="eval").body, ast.Call)
    except (SyntaxError, ValueError, RecursionError):
        return False
