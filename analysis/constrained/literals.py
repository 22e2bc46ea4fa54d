"""Texts of a grammar, split where the tokenizer has tokens of its own, and written in Lark."""

from __future__ import annotations

import json
import re

from .tokenizer import AddedTokenText, DecodingTokenizer

__all__ = ["lark_literal", "lark_regex_text", "split_opaque", "split_text"]

Piece = str | AddedTokenText


def split_text(text: str, tokenizer: DecodingTokenizer) -> tuple[Piece, ...]:
    """Split ``text`` as the tokenizer does before all else: at its added tokens, leftmost-longest.

    Tokens of whitespace alone stay text (see ``DecodingTokenizer.markers``).
    """
    return _split(text, tokenizer.markers, tokenizer.marker_pattern)


def split_opaque(text: str, tokenizer: DecodingTokenizer) -> tuple[Piece, ...]:
    """Split ``text`` at the tokens that llguidance cannot take as text; the others stay text."""
    return _split(text, tokenizer.markers, tokenizer.opaque_pattern)


def lark_literal(text: str, tokenizer: DecodingTokenizer) -> str:
    """Write ``text`` as a row of Lark strings and ``<[id]>``; ``""`` if it is empty."""
    written = [
        f"<[{piece.id}]>" if isinstance(piece, AddedTokenText) else lark_string(piece)
        for piece in split_text(text, tokenizer)
    ]
    return " ".join(written) or '""'


def lark_string(text: str) -> str:
    """Write ``text`` as one string of Lark, whatever tokens there are."""
    return json.dumps(text, ensure_ascii=False)


def lark_regex_text(text: str) -> str:
    """Write ``text`` for use between the slashes of a regex of Lark, taken as it is."""
    return "".join(_regex_sign(sign) for sign in text)


def _regex_sign(sign: str) -> str:
    if sign.isalnum() or (sign.isprintable() and not sign.isascii()):
        return sign
    return f"\\x{ord(sign):02x}" if ord(sign) < 0x80 else f"\\u{{{ord(sign):x}}}"  # noqa: PLR2004 - end of ASCII


def _split(
    text: str, tokens: dict[str, AddedTokenText], pattern: re.Pattern[str]
) -> tuple[Piece, ...]:
    parts = pattern.split(text)
    return tuple(
        tokens[part] if place % 2 else part for place, part in enumerate(parts) if place % 2 or part
    )
