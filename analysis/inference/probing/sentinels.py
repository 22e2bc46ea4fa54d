"""Words that stand for a message's parts, so that a render shows where each part went.

A sentinel survives `trim`, `lower`, `tojson`, sorting and HTML escaping, is unlike every other
sentinel at both its ends, and never occurs in the template it is used on.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from autoparser.analysis.core.format import JsonType

_FIRST = "bcdfghjkmpqrstvwxz"
_INNER = "bcdfghjkmnpqrstvwxz"
_DIGITS = "0123456789"
_WORD_LENGTH = 8
_ID_LENGTH = 9
"""Some templates insist on ids of nine letters and digits; others take any."""


@dataclass(frozen=True, slots=True)
class Sentinels:
    """One set of sentinels; members of a tuple are given to the first, second, third of a kind."""

    system: str
    user: str
    next_user: str
    answer: str
    reasoning: str
    content: str
    names: tuple[str, str, str]
    ids: tuple[str, str, str]
    keys: tuple[str, ...]
    """Keys of string arguments, in descending order."""
    typed_keys: Mapping[JsonType, str]
    """Keys of arguments of each type."""
    values: tuple[str, str, str]
    integer: int
    number: float

    def words(self) -> tuple[str, ...]:
        """Return every sentinel's text."""
        return (
            self.system,
            self.user,
            self.next_user,
            self.answer,
            self.reasoning,
            self.content,
            *self.names,
            *self.ids,
            *self.keys,
            *self.typed_keys.values(),
            *self.values,
            str(self.integer),
            str(self.number),
        )


def choose_sentinels(template_text: str) -> Sentinels:
    """Choose the first set of sentinels of which none occurs in the template."""
    haystack = template_text.lower()
    attempt = 0
    while True:
        sentinels = _sentinels(attempt)
        if not any(word in haystack for word in sentinels.words()):
            return sentinels
        attempt += 1


@lru_cache(maxsize=8)
def _sentinels(seed: int) -> Sentinels:
    source = random.Random(seed)
    firsts = source.sample(_FIRST, len(_FIRST))
    lasts = source.sample(_FIRST, len(_FIRST))

    def word() -> str:
        inner = "".join(source.choices(_INNER, k=_WORD_LENGTH - 2))
        return firsts.pop() + inner + lasts.pop()

    def spare() -> str:
        return "".join(source.choices(_INNER, k=_WORD_LENGTH))

    def call_id(first: str) -> str:
        return first + "".join(source.choices(_INNER + _DIGITS, k=_ID_LENGTH - 1))

    system, user, next_user, answer, reasoning, content = (word() for _ in range(6))
    names = (word(), word(), word())
    values = (word(), word(), word())
    # Keys are handed out in descending order, so that a template which sorts them shows it.
    keys = tuple(sorted((word() for _ in range(3)), reverse=True))
    others = [kind for kind in JsonType if kind is not JsonType.STRING]
    typed_keys = {JsonType.STRING: keys[0]} | {kind: spare() for kind in others}
    ids = (call_id("k"), call_id("d"), call_id("w"))
    integer = source.randrange(4_000_000, 4_999_999)
    number = source.randrange(600_000, 699_999) + 0.5
    return Sentinels(
        system=system,
        user=user,
        next_user=next_user,
        answer=answer,
        reasoning=reasoning,
        content=content,
        names=names,
        ids=ids,
        keys=keys,
        typed_keys=typed_keys,
        values=values,
        integer=integer,
        number=number,
    )
