"""The texts that a value of a message may have in an output, and where they stand."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Escape, Text, json_notation, python_notation

__all__ = [
    "WordSpan",
    "decoded_objects",
    "decoded_strings",
    "found",
    "key_texts",
    "value_texts",
    "whole_words",
]


@dataclass(frozen=True, slots=True)
class WordSpan:
    """A part of an output."""

    start: int
    end: int


MOST = 6
"""So many places of one text are tried."""


def found(text: str, word: str, start: int) -> Iterator[WordSpan]:
    """Find a text from a place on; of a word first those that stand as a word, then the others."""
    places: list[WordSpan] = []
    at = text.find(word, start)
    while word and at >= 0 and len(places) < MOST:
        places.append(WordSpan(at, at + len(word)))
        at = text.find(word, at + 1)
    yield from (place for place in places if whole_words(text, place))
    yield from (place for place in places if not whole_words(text, place))


def whole_words(text: str, place: WordSpan) -> bool:
    """Whether no letter or digit of a word goes on beyond a span."""
    before, after = text[: place.start][-1:], text[place.end :][:1]
    return not (
        (_wordly(before) and _wordly(text[place.start]))
        or (_wordly(after) and _wordly(text[place.end - 1]))
    )


def _wordly(char: str) -> bool:
    return char.isalnum() or char == "_"


def value_texts(value: Json, escape: Escape) -> tuple[str, ...]:
    """Return how a value of an argument may be written, the usual text first."""
    if isinstance(value, str):
        return (Text(escape=escape).write(value),)
    notations = (
        *(json_notation(comma=comma, colon=colon) for comma, colon in _SPACINGS),
        json_notation(ascii_only=True),
        python_notation(),
    )
    return tuple(dict.fromkeys(notation.write(value) for notation in notations))


def key_texts(key: str, escape: Escape) -> tuple[str, ...]:
    """Return how an argument's name may be written: as it is, or escaped as strings are."""
    if escape in (Escape.VERBATIM, Escape.PYTHON):
        return (key,)
    return tuple(dict.fromkeys((key, Text(escape=escape).write(key))))


_SPACINGS = ((", ", ": "), (",", ":"))


def decoded_objects(text: str, start: int, wanted: Mapping[str, Json]) -> Iterator[WordSpan]:
    """Find the JSON objects, or Python's literals, that are equal to the wanted one."""
    decoder, told = json.JSONDecoder(), _told(dict(wanted))
    at = text.find("{", start)
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except ValueError:
            value, end = _literal(text, at)
        if end and _told(value) == told:
            yield WordSpan(at, end)
        at = text.find("{", at + 1)


def decoded_strings(text: str, start: int, wanted: Mapping[str, Json]) -> Iterator[WordSpan]:
    """Find the JSON strings whose text is JSON that is equal to the wanted object."""
    decoder, told = json.JSONDecoder(), _told(dict(wanted))
    at = text.find('"', start)
    while at >= 0:
        try:
            held, end = decoder.raw_decode(text, at)
            if _told(json.loads(held)) == told:
                yield WordSpan(at, end)
        except (ValueError, TypeError):
            pass
        at = text.find('"', at + 1)


def _told(value: object) -> str:
    """Tell values apart as JSON does: to Python true is 1."""
    try:
        return json.dumps(value, sort_keys=True)
    except (TypeError, ValueError):
        return ""


def _literal(text: str, at: int) -> tuple[object, int]:
    """Read a Python literal of balanced brackets; the end is 0 where there is none."""
    if "'" not in text:
        return None, 0
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] in "{[") - (text[end] in "}]")
        if depth == 0:
            try:
                return ast.literal_eval(text[at : end + 1]), end + 1
            except (ValueError, SyntaxError):
                return None, 0
    return None, 0
