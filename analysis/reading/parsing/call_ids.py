"""Ids for calls that are written without one."""

from __future__ import annotations

import random
import string

_SIGNS = string.ascii_letters + string.digits
_LENGTH = 9
"""Some templates insist on ids of nine letters and digits; others take any."""


class CallIds:
    """Makes ids for calls; one maker's are unlike each other, whichever turns they are for.

    With a seed the row of ids is the same each time, so two makers of one seed make the same ids:
    give one maker to all parsers of a conversation. Without a seed they are unlike those of any
    other maker: of a million ids no two are alike, but for one in 27,000 such millions.
    """

    def __init__(self, seed: int | None = None) -> None:
        """Make a maker; `seed` repeats a row of ids."""
        self._source = random.SystemRandom() if seed is None else random.Random(seed)

    def __call__(self, name: str, index: int) -> str:
        """Make an id for a call of this function, with this number in its message."""
        del name, index
        return "".join(self._source.choices(_SIGNS, k=_LENGTH))
