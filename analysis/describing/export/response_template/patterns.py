r"""Regular expressions as transformers' parser searches them, from literals.

A pattern is searched for again with every piece of text that comes, as a partial match, and what
may still become a match is held back. An optional end is not: once the text goes on otherwise,
the match without it counts. So nothing optional stands at a pattern's end here, except
whitespace of which every beginning matches, too.

For example:

    >>> exact("[call]"), loose("<call>\n"), at_most("\n\n")
    ('\\[call\\]', '<call>\\s*', '\\n{0,2}')
    >>> either(["a", "b"]), optional("a"), behind("a")
    ('(?:a|b)', '(?:a)?', '(?<=a\\s*)')
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import groupby

from autoparser.analysis.core.format import Literal

_SPECIAL = frozenset("\\.^$*+?{}[]|()")
_NAMED = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}
_SPACES = re.compile(r"\s+")

ANY_SPACE = r"\s*"

WORD = r"""[^\s{}\[\]<>"']+?"""
"""A name or an id, up to what follows it."""


def exact(text: str) -> str:
    """Match a text as it is."""
    return "".join(f"\\{char}" if char in _SPECIAL else _NAMED.get(char, char) for char in text)


def at_most(space: str) -> str:
    """Match whitespace as it is written, or any beginning or end of it."""
    runs = [(char, len(list(run))) for char, run in groupby(space)]
    return "".join(f"{exact(char)}{'?' if n == 1 else f'{{0,{n}}}'}" for char, n in runs)


def widest(spaces: Iterable[str]) -> str:
    """Match each of several pieces of whitespace, where one of them holds the others."""
    return at_most(max(spaces, key=len, default=""))


def loose(text: str) -> str:
    """Match a text, whatever whitespace stands at its edges and where it breaks lines."""
    literal = Literal.of(text)
    pieces: list[str] = []
    at = 0
    for space in _SPACES.finditer(literal.core):
        pieces.append(exact(literal.core[at : space.start()]))
        pieces.append(r"\s*" if "\n" in space.group() else exact(space.group()))
        at = space.end()
    pieces.append(exact(literal.core[at:]))
    before = r"\s*" if literal.before else ""
    after = r"\s*" if literal.after else ""
    return f"{before}{''.join(pieces)}{after}"


def either(patterns: Iterable[str]) -> str:
    """Match one of several patterns; empty where there is none."""
    found = list(dict.fromkeys(pattern for pattern in patterns if pattern))
    return found[0] if len(found) == 1 else f"(?:{'|'.join(found)})" if found else ""


def behind(pattern: str) -> str:
    """Look back over whitespace for a pattern."""
    return rf"(?<={pattern}\s*)"


def anchor(key: str, pattern: str) -> dict[str, str]:
    """Return a pattern under its key: as a literal where it is one, which streams without delay."""
    text = _literal(pattern)
    return {f"{key}_pattern": pattern} if text is None else {key: text}


def _literal(pattern: str) -> str | None:
    text: list[str] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "\\":
            at += 1
            char = pattern[at]
            if char not in _SPECIAL:
                named = {"n": "\n", "t": "\t", "r": "\r"}.get(char)
                if named is None:
                    return None
                char = named
        elif char in _SPECIAL:
            return None
        text.append(char)
        at += 1
    return "".join(text) or None


def space_at_start(text: str) -> str:
    """Return the whitespace that a text begins with."""
    return text[: len(text) - len(text.lstrip())]


def space_at_end(text: str) -> str:
    """Return the whitespace that a text ends with."""
    return text[len(text.rstrip()) :]


def optional(pattern: str) -> str:
    """Match a pattern or nothing; for the beginning of a pattern only."""
    return f"(?:{pattern})?" if pattern else ""
