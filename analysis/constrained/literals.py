"""Texts of a grammar, split where the tokenizer has tokens of its own, and written in Lark."""

from __future__ import annotations

import json

from autoparser.analysis.tokens import OpaqueTokens

__all__ = ["lark_literal", "lark_regex_text", "lark_string"]


def lark_literal(text: str, opaque: OpaqueTokens) -> str:
    """Write ``text`` as a row of Lark strings and ``<[id]>``; ``""`` if it is empty."""
    written = [
        f"<[{piece}]>" if isinstance(piece, int) else lark_string(piece)
        for piece in opaque.pieces(text)
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
