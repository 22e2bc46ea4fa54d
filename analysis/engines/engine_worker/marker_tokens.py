"""Tokenizers that an engine's parsers can be made with, where no model is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

_WORD = re.compile(r"\s?\w{1,5}|\s+|[^\w\s]{1,3}")


class Vocabulary(dict[str, int]):
    """A vocabulary in which every marker that is looked up is one token."""

    def add(self, text: str) -> int:
        """Return the number of a text, a new one where it has none."""
        return self.setdefault(text, len(self) + 1)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the number of a text."""
        del default
        return self.add(key)

    def __getitem__(self, key: str) -> int:
        return self.add(key)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and bool(self.add(key))


class LookedUpTokens:
    """A tokenizer for which what a parser looks up is a token, and words are cut small.

    A parser looks up the markers of its own format, and refuses a model whose tokenizer lacks them.
    Which of them the model has, its template does not say; so none is refused here.
    """

    bos_token = eos_token = pad_token = unk_token = "(the end)"  # noqa: S105 - no secret
    bos_token_id = eos_token_id = pad_token_id = unk_token_id = 0
    all_special_tokens: tuple[str, ...] = ()
    all_special_ids: tuple[int, ...] = ()
    is_fast = True
    name_or_path = ""

    def __init__(self) -> None:
        self.vocab = Vocabulary()
        self._texts: dict[int, str] = {}
        self._ids: dict[str, int] = {}

    def get_vocab(self) -> dict[str, int]:
        """Return the vocabulary."""
        return self.vocab

    get_added_vocab = get_vocab

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        """Return the number of a token, or those of several."""
        if isinstance(tokens, str):
            return self.vocab.add(tokens)
        return [self.vocab.add(each) for each in tokens]

    def encode(self, text: str, *_: object, **__: object) -> list[int]:
        """Cut a text into tokens."""
        markers = sorted((each for each in self.vocab if each.strip()), key=len, reverse=True)
        if not markers:
            return [self._word(word) for word in _WORD.findall(text)]
        ids: list[int] = []
        cut = re.compile(f"({'|'.join(map(re.escape, markers))})")
        for at, part in enumerate(cut.split(text)):
            if at % 2:
                ids.append(self.vocab[part])
            else:
                ids += map(self._word, _WORD.findall(part))
        return ids

    def decode(self, token_ids: Any, *_: object, **__: object) -> str:
        """Return the text of tokens."""
        ids = [token_ids] if isinstance(token_ids, int) else token_ids
        markers = {number: marker for marker, number in self.vocab.items()}
        return "".join(self._texts.get(each) or markers.get(each, "") for each in ids)

    def _word(self, word: str) -> int:
        # Far from the numbers of the markers.
        number = self._ids.setdefault(word, 1_000_000 + len(self._ids))
        self._texts[number] = word
        return number


class KnownTokens:
    """The tokenizer that an engine's `auto` looks at, as far as it is known."""

    def __init__(self, vocabulary: Sequence[str], template: str) -> None:
        self._vocabulary = {token: at for at, token in enumerate(vocabulary)}
        self.chat_template = template

    def get_vocab(self) -> dict[str, int]:
        """Return the tokens."""
        return self._vocabulary

    get_added_vocab = get_vocab
