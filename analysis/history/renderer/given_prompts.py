"""The prompts that bridges have given: each comes back, and the next one begins with it.

So its ids are known to be in the vocabulary, and of its text only what was added is read. Many
conversations may take turns, and several outputs may follow one prompt.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple, TypeAlias

from autoparser.analysis.loading.tokens import TokenText

MOST_IDS = 1 << 22
"""Ids of all prompts that are kept at a time; the oldest are dropped first."""
KEY_IDS = 16
"""Ids at the end of a prompt by which it is looked up, before it is compared."""

Ids: TypeAlias = tuple[int, ...]


class _Unread(NamedTuple):
    """A stretch of ids that were not decoded, and the text after them."""

    start: int
    end: int
    text: str


class PromptPast:
    """A prompt, and what was found in it or in one that it begins with.

    What stands in a prompt stands in all that go on from it, so nothing is looked at twice.
    """

    def __init__(self, tokens: TokenText, ids: Ids) -> None:
        """Begin with nothing looked at."""
        self.ids = ids
        self.found: set[Hashable] = set()
        """What stands in it, as far as that was asked."""
        self.dropped: dict[Hashable, str] = {}
        """Which block of it the template drops, by what becomes of earlier turns."""
        self.looked: dict[Hashable, int] = {}
        """Up to where in its text something was looked for, and does not stand."""
        self._tokens = tokens
        self._text = ""
        self._unread: tuple[_Unread, ...] = (_Unread(0, len(ids), ""),)

    def followed_by(self, ids: Ids, written: int, text: str) -> PromptPast:
        """Return the past of a prompt that begins with this one.

        After it stand so many ids that a model has written, and then this text.
        """
        past, known = PromptPast(self._tokens, ids), len(self.ids)
        past.found, past.looked = {*self.found}, {**self.looked}
        past.dropped = {**self.dropped}
        past._text = self._text
        past._unread = (*self._unread, _Unread(known, known + written, text))
        return past

    @property
    def text(self) -> str:
        """The prompt's text. Raises TokenizerError."""
        if self._unread:
            decode = self._tokens.decode_between
            said = (decode(self.ids, start, end) + text for start, end, text in self._unread)
            self._text, self._unread = "".join((self._text, *said)), ()
        return self._text

    def holds(self, id_: int) -> bool:
        """Whether an id is in it."""
        if id_ not in self.found and id_ in self.ids[self.looked.get(id_, 0) :]:
            self.found.add(id_)
        self.looked[id_] = len(self.ids)
        return id_ in self.found


class GivenPrompts:
    """Knows the prompts that were given last."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known: dict[tuple[int, Ids], PromptPast] = {}
        self._length = 0

    def find(self, ids: Ids) -> PromptPast | None:
        """Return the past of a prompt that was given; None for any other ids."""
        found = self._known.get(_key(ids))
        return found if found is not None and found.ids == ids else None

    def keep(self, past: PromptPast) -> None:
        """Keep a prompt that is given now."""
        key = _key(past.ids)
        self._drop(key)
        self._known[key] = past
        self._length += len(past.ids)
        while self._length > MOST_IDS:
            self._drop(next(iter(self._known)))

    def _drop(self, key: tuple[int, Ids]) -> None:
        known = self._known.pop(key, None)
        self._length -= 0 if known is None else len(known.ids)


def _key(ids: Ids) -> tuple[int, Ids]:
    return len(ids), ids[-KEY_IDS:]
