"""Literals that repeat a word of their own call, made comparable with those of other calls."""

from __future__ import annotations

import re
from collections.abc import Mapping

from autoparser.analysis.core.conversation import ToolCall

__all__ = [
    "ARGUMENTS_MARK",
    "ID_MARK",
    "KEY_MARK",
    "NAME_MARK",
    "filled",
    "with_key_mark",
    "with_own_words",
]

NAME_MARK, ID_MARK, ARGUMENTS_MARK, KEY_MARK = "\ue001", "\ue002", "\ue003", "\ue004"


def with_own_words(literal: str, call: ToolCall) -> str:
    """Put marks where a literal repeats the name or the id of its call."""
    for word, mark in ((call.id, ID_MARK), (call.name, NAME_MARK)):
        if word and word in literal:
            literal = _marked(literal, word, mark)
    return literal


def with_key_mark(literal: str, key: str) -> str:
    """Put a mark where a literal repeats the key of its argument, as `</city>` does."""
    return _marked(literal, key, KEY_MARK) if key in literal else literal


def filled(literal: str, words: Mapping[str, str]) -> str:
    """Put words in the places of their marks."""
    for mark, word in words.items():
        literal = literal.replace(mark, word)
    return literal


def _marked(literal: str, word: str, mark: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", mark, literal)
