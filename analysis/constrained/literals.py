"""Texts of a grammar, split where the tokenizer has tokens of its own, and written in Lark."""

from __future__ import annotations

import json

from .tokenizer import AddedTokenText, DecodingTokenizer

__all__ = ["lark_literal", "lark_regex_text", "split_text"]

Piece = str | AddedTokenText


def split_text(text: str, tokenizer: DecodingTokenizer) -> tuple[Piece, ...]:
    """Split ``text`` at the added tokens that llguidance cannot take as text, leftmost-longest.

    Other added tokens stay text. llguidance takes them by their bytes there; as ``<[id]>`` it would
    take them too, but lose count of the bytes and fail to roll them back (1.9).
    """
    parts = tokenizer.marker_pattern.split(text)
    return tuple(
        tokenizer.markers[part] if place % 2 else part
        for place, part in enumerate(parts)
        if place % 2 or part
    )


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
