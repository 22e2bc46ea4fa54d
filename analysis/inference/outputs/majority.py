r"""What nearly all of some texts begin or end with: a spoilt one outvotes nobody.

>>> shared_end(["Let me see. <call>", "<call>", "Oslo?\n<call>"])
'<call>'
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

__all__ = ["ODD", "TOLERANCES", "shared_beginning", "shared_end"]

ODD = 5
"""Of so many texts one may be odd."""


TOLERANCES = (3, 5, 10, 1_000_000)
"""Of so many texts one may be odd, by turns: what a few have alone may be wrong, or be content.

Of `<think></think><call>`, four times, and `<think></think>Let me see.<call>`, a majority shares
more than what opens calls.
"""


def shared_end(texts: Sequence[str], odd: int = ODD) -> str:
    """Return what nearly all end with; no word is cut in two."""
    shared = _longest([text[::-1] for text in texts], odd)[::-1]
    cut = _in_word(shared, [text[: -len(shared)][-1:] for text in texts if text.endswith(shared)])
    return shared[_word_length(shared) :] if shared and cut else shared


def shared_beginning(texts: Sequence[str], odd: int = ODD) -> str:
    """Return what nearly all begin with; no word is cut in two."""
    shared = _longest(texts, odd)
    after = [text[len(shared) :][:1] for text in texts if text.startswith(shared)]
    if shared and _in_word(shared[::-1], after):
        return shared[: len(shared) - _word_length(shared[::-1])]
    return shared


def _longest(texts: Sequence[str], odd: int) -> str:
    """Go on as long as all but a few texts have the same character."""
    group: list[str] = list(texts)
    needed, at = len(texts) - len(texts) // odd, 0
    while group:
        counted = Counter(text[at] for text in group if len(text) > at)
        char, count = max(counted.items(), key=lambda pair: pair[1], default=("", 0))
        if count < max(needed, 1):
            break
        group = [text for text in group if text[at : at + 1] == char]
        at += 1
    return group[0][:at] if group else ""


def _in_word(shared: str, beyond: Sequence[str]) -> bool:
    """Whether the first character of what is shared goes on a word of some text."""
    return _wordly(shared[:1]) and any(map(_wordly, beyond))


def _word_length(text: str) -> int:
    return next((at for at, char in enumerate(text) if not _wordly(char)), len(text))


def _wordly(char: str) -> bool:
    return char.isalnum() or char == "_"
