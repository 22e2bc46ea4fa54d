"""A value of a render in few words, as Jinja writes it: what a trace keeps of it."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from itertools import islice

from jinja2 import Undefined

__all__ = ["value_words"]

LONGEST_STRING = 160
"""Characters of a text that are kept; what is longer is cut in the middle."""

DEEPEST = 2
MOST_ITEMS = 6


class _JinjaWords(reprlib.Repr):
    """Python's own short `repr`, with the words of Jinja and keys in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.fillvalue = "…"
        self.maxlevel = DEEPEST
        self.maxstring = LONGEST_STRING
        self.maxlong = LONGEST_STRING
        self.maxlist = self.maxtuple = self.maxdict = MOST_ITEMS

    def repr1(self, x: object, level: int) -> str:
        """Return the words of a value."""
        if x is None:
            return "none"
        if isinstance(x, bool):
            return "true" if x else "false"
        if isinstance(x, Undefined):
            return "undefined"
        return super().repr1(x, level)

    def repr_dict(self, x: Mapping[object, object], level: int) -> str:
        """Return the first entries; Python sorts them by their keys."""
        if not x:
            return "{}"
        if level <= 0:
            return f"{{{self.fillvalue}}}"
        entries = [
            f"{self.repr1(key, level - 1)}: {self.repr1(value, level - 1)}"
            for key, value in islice(x.items(), self.maxdict)
        ]
        more = [self.fillvalue] if len(x) > self.maxdict else []
        return f"{{{', '.join([*entries, *more])}}}"

    def repr_instance(self, x: object, level: int) -> str:
        """Return the type's name: what an object says of itself may be of any length."""
        del level
        return f"<{type(x).__name__}>"


_WORDS = _JinjaWords()


def value_words(value: object) -> str:
    """Return what a value is, in a bounded number of characters. Nothing of it is changed.

    For example `{'role': 'user', 'content': 'Hi'}`, `none`, `undefined`, `<Macro>`.
    """
    return _WORDS.repr(value)
