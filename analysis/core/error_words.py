"""The words of errors: visible text in one line, "did you mean", and the kinds of values.

    >>> spelling_hint("rol", ["role", "content"])
    'did you mean role?'
    >>> value_kind([1, 2])
    'an array'

Nothing here knows an error class, so that `errors` can write its messages with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

# Visible characters as they are, and escapes for all others.
#
# A terminal obeys control characters, direction marks reverse the text beside them, and some
# characters that count as printable are invisible: Default_Ignorable_Code_Point in
# DerivedCoreProperties.txt of Unicode 16, and the empty Braille pattern, which is drawn as a space.


_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
).union(map(chr, range(0xFE00, 0xFE10)), map(chr, range(0xE0100, 0xE01F0)))
"""Invisible characters for which Python's `str.isprintable` is true."""


def is_inert(text: str) -> bool:
    """Return whether every character of the text is visible, and has no effect on a terminal."""
    return text.isprintable() and (text.isascii() or _INVISIBLE.isdisjoint(text))


def escape_text(text: str) -> str:
    """Return the text with a Python escape for each character that is not inert."""
    if is_inert(text):
        return text
    return "".join(
        character if is_inert(character) else character.encode("unicode_escape").decode()
        for character in text
    )


LONGEST_TEXT = 400
"""The most characters of one part of an error line; a longer one is cut in the middle."""


def one_line(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return `text` as one printable line: control characters escaped, cut if long."""
    if len(text) > longest:
        kept = longest // 2
        text = f"{text[:kept]} … {text[-kept:]}"
    return escape_text(text)


NEAR = 0.6
"""The similarity of two words, by `difflib`, from which one may be a misspelling of the other."""


def nearest_word(wrong_word: str, known_words: Iterable[object]) -> str | None:
    """Return the known word most similar to a wrong one, ignoring case, or None if none is near."""
    # Imported here because only errors need it.
    from difflib import get_close_matches  # noqa: PLC0415

    by_letters = {str(word).casefold(): str(word) for word in known_words}
    close = get_close_matches(wrong_word.casefold(), by_letters, n=1, cutoff=NEAR)
    return by_letters[close[0]] if close else None


def spelling_hint(wrong_word: str, known_words: Iterable[object], then: str = "") -> str:
    """Return a hint with the nearest known word, if any is near, and `then`."""
    close = nearest_word(wrong_word, known_words)
    return " ".join(filter(None, (close and f"did you mean {close}?", then)))


def missing_name_hint(wanted: str, names: Iterable[object], then: str) -> str:
    """Return a hint about a missing name with the nearest given one, if any is near, and `then`."""
    close = nearest_word(wanted, (name for name in names if name != wanted))
    return " ".join(filter(None, (close and f"did you mean {wanted} for {close}?", then)))


_KINDS: Mapping[type[object], str] = {
    bool: "a boolean",
    bytes: "bytes",
    dict: "an object",
    float: "a number",
    int: "a number",
    list: "an array",
    str: "a string",
    type(None): "null",
}


_MAPPINGS = (dict, Mapping)
"""`dict` first: nearly every object is one, and a check of an abstract class is slower."""


def value_kind(value: object) -> str:
    """Describe the kind of a value, in words for a person."""
    return _KINDS.get(type(value), f"a {type(value).__name__}")


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Return whether a value is an object, with any members."""
    return isinstance(value, _MAPPINGS)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Return whether a value is a list, with any items."""
    return isinstance(value, list)


def is_row(value: object) -> TypeGuard[Sequence[object]]:
    """Return whether a value is a list or a tuple, with any items."""
    return isinstance(value, list | tuple)
