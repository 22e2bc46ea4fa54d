"""Cache the prompts that bridges have returned: the next request passes one of them back.

It has more text after it. So its ids are known to be in the vocabulary, and only the added text
needs parsing. Many conversations may take turns, and several outputs may follow one prompt.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from autoparser.analysis.sources.tokenizer import TokenText

MOST_IDS = 1 << 22
"""Ids of all prompts that are kept at a time; the oldest are dropped first."""
KEY_IDS = 16
"""Ids at the end of a prompt by which it is looked up, before it is compared."""

Ids: TypeAlias = tuple[int, ...]


class _UnreadIds(NamedTuple):
    """A range of ids that were not decoded yet, and the text after them."""

    start: int
    """The index of the first id, such as `1347`."""
    end: int
    """The index after the last id, such as `1374`."""
    text: str
    r"""The text after these ids, which is known without decoding, such as
    `"\n<|im_start|>user\nWhy?<|im_end|>\n<|im_start|>assistant\n"`."""


class PromptPast:
    """A prompt, and cached search results in it and in its prefixes.

    Text of a prompt is also in all prompts that continue it, so nothing is searched twice.
    """

    def __init__(self, tokens: TokenText, ids: Ids) -> None:
        """Store the ids; nothing is decoded yet."""
        self.ids = ids
        self.contents: set[int | str | tuple[str, ...]] = set()
        """The ids, headers of turns, and names of all tools that were found in it."""
        self.dropped: dict[str, str] = {}
        """The block of it that the template drops, by what becomes of earlier turns."""
        self.looked: dict[int | str, int] = {}
        """How far it was searched in vain: its ids for one, its text for a dropped block."""
        self._tokens = tokens
        self._text = ""
        self._unread: tuple[_UnreadIds, ...] = (_UnreadIds(0, len(ids), ""),)

    def followed_by(self, ids: Ids, sampled_count: int, text: str) -> PromptPast:
        """Return the past of a prompt that begins with this one.

        After it come `sampled_count` ids of the model, and then this text.
        """
        past, known = PromptPast(self._tokens, ids), len(self.ids)
        # Copies, since several outputs may follow one prompt, each with findings of its own.
        past.contents, past.looked = {*self.contents}, {**self.looked}
        past.dropped = {**self.dropped}
        past._text = self._text
        past._unread = (*self._unread, _UnreadIds(known, known + sampled_count, text))
        return past

    @property
    def text(self) -> str:
        """The prompt's text. Raises TokenizerError."""
        if self._unread:
            decode = self._tokens.decode_between
            texts = (decode(self.ids, start, end) + text for start, end, text in self._unread)
            self._text, self._unread = "".join((self._text, *texts)), ()
        return self._text

    def holds(self, id_: int) -> bool:
        """Whether an id is in it."""
        # The ids of the prompt before this one were searched already.
        if id_ not in self.contents and id_ in self.ids[self.looked.get(id_, 0) :]:
            self.contents.add(id_)
        self.looked[id_] = len(self.ids)
        return id_ in self.contents


class GivenPrompts:
    """Caches the prompts that were returned last."""

    def __init__(self) -> None:
        """Begin with none."""
        self._known_pasts: dict[tuple[int, Ids], PromptPast] = {}
        self._length = 0

    def find(self, ids: Ids) -> PromptPast | None:
        """Return the past of a prompt that was returned, or None for other ids."""
        found = self._known_pasts.get(_prompt_key(ids))
        return found if found is not None and found.ids == ids else None

    def keep(self, past: PromptPast) -> None:
        """Cache a prompt that is about to be returned."""
        # Removed and added again, it is the newest: dictionaries keep the order in which keys were
        # added.
        key = _prompt_key(past.ids)
        self._drop(key)
        self._known_pasts[key] = past
        self._length += len(past.ids)
        while self._length > MOST_IDS:
            self._drop(next(iter(self._known_pasts)))

    def _drop(self, key: tuple[int, Ids]) -> None:
        known = self._known_pasts.pop(key, None)
        self._length -= 0 if known is None else len(known.ids)


def _prompt_key(ids: Ids) -> tuple[int, Ids]:
    return len(ids), ids[-KEY_IDS:]
