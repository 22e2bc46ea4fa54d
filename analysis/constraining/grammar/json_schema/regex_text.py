"""A regular expression as text, for Rust's `regex` and for Python's `re`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from .code_points import ANY, CodePoints
from .regex_nodes import Anchor, Character, Regex, RegexChoice, RegexRepeat, RegexSequence


@lru_cache(maxsize=1024)
def rust_text(regex: Regex) -> str:
    """Write an expression without anchors for Rust, so that it matches a text as a whole."""
    return _text(regex, lambda point: f"\\x{{{point:x}}}")


@lru_cache(maxsize=1024)
def python_text(regex: Regex) -> str:
    """Write an expression without anchors for Python's `re.fullmatch`."""
    return _text(regex, lambda point: f"\\U{point:08x}")


def _text(regex: Regex, escape: Callable[[int], str]) -> str:
    match regex:
        case Character(points):
            return _character(points, escape)
        case RegexSequence(parts):
            return "".join(_text(part, escape) for part in parts)
        case RegexChoice(options):
            return f"(?:{'|'.join(_text(option, escape) for option in options)})"
        case RegexRepeat(item, least, most):
            count = "*" if (least, most) == (0, None) else _count(least, most)
            return f"(?:{_text(item, escape)}){count}"
        case Anchor():
            raise ValueError("anchors must be resolved before")


def _count(least: int, most: int | None) -> str:
    return f"{{{least},{'' if most is None else most}}}"


def _character(points: CodePoints, escape: Callable[[int], str]) -> str:
    if points == ANY:
        return "(?s:.)"

    def point(number: int) -> str:
        char = chr(number)
        return char if char.isascii() and char.isalnum() else escape(number)

    if points.single is not None:
        return point(ord(points.single))
    spans = (f"{point(first)}-{point(last)}" for first, last in points.ranges)
    # Where nothing is left, a class that is empty: the text's beginning after a character.
    return f"[{''.join(spans)}]"
