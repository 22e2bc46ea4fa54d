"""Texts with styles, as the reports of the terminal have them, as nodes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from rich.text import Text

from .element import Node, h

__all__ = ["styled"]

_CLASSES = {"cyan": "mark", "red": "bad", "green": "good", "yellow": "doubt"}
"""Colours of the terminal by what they say on a page."""
_QUOTE = "`"
_KEPT = frozenset({"bold", "dim", "italic"})


def styled(text: Text) -> Iterator[Node]:
    """Return a text's runs, each with the classes of its styles."""
    runs = list(_runs(text))
    marked = [False, *("mark" in classes for _, classes in runs), False]
    for at, (run, classes) in enumerate(runs, 1):
        if marked[at]:
            yield h("code", run, class_=classes)
            continue
        # Backquotes tell literals apart on a terminal; here their own look does.
        words = run.removesuffix(_QUOTE) if marked[at + 1] else run
        words = words.removeprefix(_QUOTE) if marked[at - 1] else words
        if words:
            yield h("span", words, class_=classes) if classes else words


def _runs(text: Text) -> Iterator[tuple[str, str]]:
    """Cut a text where its styles change; give each run with its classes."""
    plain = text.plain
    cuts = sorted({0, len(plain), *(edge for span in text.spans for edge in span[:2])})
    for start, end in pairwise(cuts):
        styles = [str(span.style) for span in text.spans if span.start <= start < span.end]
        classes = " ".join(_classes([str(text.style), *styles]))
        yield plain[start:end], classes


def _classes(styles: list[str]) -> list[str]:
    words = [word for style in styles for word in style.split()]
    return [
        _CLASSES.get(word, word)
        for word in dict.fromkeys(words)
        if word in _CLASSES or word in _KEPT
    ]
