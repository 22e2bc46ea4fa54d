"""The prompts that bridges have given: each comes back, and the next one begins with it.

So its ids are known to be in the vocabulary, and of its text only what was added is read. Many
conversations may take turns, and several outputs may follow one prompt.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import TypeAlias

from autoparser.analysis.loading.tokens import TokenText

MOST_IDS = 1 << 22
"""Ids of all prompts that are kept at a time; the oldest are dropped first."""
KEY_IDS = 16
"""Ids at the end of a prompt by which it is looked up, before it is compared."""

Ids: TypeAlias = tuple[int, ...]


class PromptPast:
    """A prompt, and its text: decoded when it is asked for, from where that of an earlier one ends."""

    def __init__(self, tokens: TokenText, ids: Ids, before: PromptPast | None = None) -> None:
        """Begin; `before` is the past of a prompt that these ids begin with."""
        self.ids = ids
        self._tokens = tokens
        self._before = before
        self._judged: dict[Hashable, int] = {}

    def followed_by(self, ids: Ids) -> PromptPast:
        """Return the past of a prompt that begins with this one."""
        read = self if "text" in vars(self) else self._before
        return PromptPast(self._tokens, ids, read)

    @cached_property
    def text(self) -> str:
        """The prompt's text. Raises TokenizerError."""
        before, self._before = self._before, None
        if before is None:
            return self._tokens.decode(self.ids)
        self._judged |= before._judged  # noqa: SLF001 - of its own kind
        return before.text + self._tokens.decode_from(self.ids, len(before.ids))

    def judged(self, question: Hashable) -> int:
        """Return up to where a question about the text was answered, for it or a beginning of it."""
        return self._judged.get(question, 0) if self.text else 0

    def judge(self, question: Hashable, end: int) -> None:
        """Say that it is answered up to there, and so for all prompts that go on from here."""
        self._judged[question] = end


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
