"""Globs against paths, as people know them from files of ignored paths.

A pattern without a slash is the name of a file or folder anywhere; with one it begins at the
root. ``*`` stays within a folder, ``**`` crosses folders; what names a folder means all in it.
"""

from __future__ import annotations

import re
from functools import lru_cache

_MAGIC = re.compile(r"[*?\[]")


def is_pattern(text: str) -> bool:
    """Whether a text has any of the characters that stand for others; no address has."""
    return "://" not in text and _MAGIC.search(text) is not None


def matches(pattern: str, path: str) -> bool:
    """Whether `path`, relative to the root and with slashes, is meant by `pattern`."""
    return _compiled(pattern).fullmatch(path) is not None


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    bare = pattern.removeprefix("./").rstrip("/")
    anywhere = "" if "/" in bare else "(?:.*/)?"
    return re.compile(f"{anywhere}{''.join(_translated(bare))}(?:/.*)?", re.DOTALL)


_PIECE = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]]*\]|.", re.DOTALL)
_SIGNS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _translated(pattern: str) -> list[str]:
    found: list[str] = []
    for piece in _PIECE.findall(pattern):
        if piece in _SIGNS:
            found.append(_SIGNS[piece])
        elif len(piece) > 1:
            inner = piece[1:-1].replace("\\", "\\\\").replace("[", "\\[")
            inner = f"^{inner[1:]}" if inner.startswith("!") else inner
            found.append(f"(?!/)[{inner}]")
        else:
            found.append(re.escape(piece))
    return found
