"""Texts with styles, as the reports of the terminal have them, as nodes."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from .element import Node, h

__all__ = ["styled"]

_CLASSES = {"cyan": "mark", "red": "bad", "green": "good", "yellow": "doubt"}
"""Colours of the terminal by what they say on a page."""
_QUOTE = "`"
_KEPT = frozenset({"bold", "dim", "italic"})


def styled(text: Text) -> Iterator[Node]:
    """Give a text's runs, each with the classes of its styles."""
    runs = list(_runs(text))
    for at, (run, classes) in enumerate(runs):
        if "mark" in classes:
            yield h("code", run, class_=classes)
            continue
        # Backquotes tell literals apart on a terminal; here their own look does.
        if at + 1 < len(runs) and "mark" in runs[at + 1][1]:
            run = run.removesuffix(_QUOTE)
        if at and "mark" in runs[at - 1][1]:
            run = run.removeprefix(_QUOTE)
        if run:
            yield h("span", run, class_=classes) if classes else run


def _runs(text: Text) -> Iterator[tuple[str, str]]:
    """Cut a text where its styles change; give each run with its classes."""
    plain = text.plain
    cuts = sorted({0, len(plain), *(edge for span in text.spans for edge in span[:2])})
    for start, end in zip(cuts, cuts[1:], strict=False):
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
