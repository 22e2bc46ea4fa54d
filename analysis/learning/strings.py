"""How a string is written, learnt from one string that holds everything that gets escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product

from autoparser.analysis.format import Edges, Escape, Guard, Strip, Text

_HOSTILE = ('"', "'", "\\", "\n", "\t", "<", ">", "&", "/", "é", "日", "😀", "{", "%")
_LEAD, _TRAIL = "\n\n ", " \n\n"


def hostile_string(word: str) -> str:
    """Give a string of `word` and of every character that some notation escapes."""
    return _LEAD + word + "".join(char + word for char in _HOSTILE) + _TRAIL


def learn_text(
    written: str,
    word: str,
    quotes: Iterable[tuple[str, str]],
    write_again: Callable[[str], str | None],
) -> Text | None:
    """Say how `hostile_string(word)` came to be written so; None where nothing explains it.

    `quotes` are the pairs of literals that may belong to the string itself, and `write_again`
    shows how another string is written at the same place.
    """
    original = hostile_string(word)
    for open_, close in quotes:
        inside = _between(written, open_, close)
        if inside is None:
            continue
        text = _styled(inside, original, open_, close)
        if text is not None:
            return text
        text = _guarded(inside, original, word, open_, close, write_again)
        if text is not None:
            return text
        text = _tabled(inside, word, open_, close)
        if text is not None:
            return text
    return None


def _between(written: str, open_: str, close: str) -> str | None:
    long_enough = len(written) >= len(open_) + len(close)
    if long_enough and written.startswith(open_) and written.endswith(close):
        return written[len(open_) : len(written) - len(close)]
    return None


_STYLES = (
    Escape.VERBATIM,
    Escape.JSON,
    Escape.PYTHON,
    Escape.JSON_ASCII,
    Escape.HTML,
    Escape.JSON_HTML,
)


def _styled(inside: str, original: str, open_: str, close: str) -> Text | None:
    for escape in _STYLES:
        if Text(escape=escape).write(original) == inside:
            return Text(open_, close, escape)
    for escape, left, right in product(_STYLES, Strip, Strip):
        text = Text(open_, close, escape, Edges(left, right))
        if text.write(original) == f"{open_}{inside}{close}":
            return text
    return None


def _guarded(
    inside: str,
    original: str,
    word: str,
    open_: str,
    close: str,
    write_again: Callable[[str], str | None],
) -> Text | None:
    """Recognise a wrapper that is written around some strings only."""
    for escape in (Escape.VERBATIM, Escape.JSON):
        body = Text(escape=escape).write(original)
        at = inside.find(body)
        if at < 0:
            continue
        guard_open, guard_close = inside[:at], inside[at + len(body) :]
        guarded = ""
        for char in _HOSTILE:
            body = Text(escape=escape).write(word + char + word)
            if write_again(word + char + word) == open_ + guard_open + body + guard_close + close:
                guarded += char
        return Text(open_, close, escape, guard=Guard(guarded, guard_open, guard_close))
    return None


def _tabled(inside: str, word: str, open_: str, close: str) -> Text | None:
    """Read an escape for each character off the text between the words."""
    parts = inside.split(word)
    if len(parts) != len(_HOSTILE) + 2:
        return None
    edges = _edges(parts[0], parts[-1])
    if edges is None:
        return None
    table = {char: part for char, part in zip(_HOSTILE, parts[1:-1], strict=True) if part != char}
    return Text(open_, close, Escape.TABLE, edges, table)


def _edges(lead: str, trail: str) -> Edges | None:
    for left, right in product(Strip, Strip):
        if left.left(_LEAD) == lead and right.right(_TRAIL) == trail:
            return Edges(left, right)
    return None
