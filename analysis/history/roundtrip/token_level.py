"""The token level: are the prompt's and the sampled tokens a prefix of the next prompt's tokens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoparser.analysis.loading.tokens import tokenizer_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

AT_NEWLINES = re.compile(r"\n|[^\n]+")
"""Finds the pieces of a text whose newlines are tokens of their own."""


@dataclass(frozen=True, slots=True)
class TokenVerdict:
    """How many tokens need no computing again."""

    holds: bool
    sampled: int
    """Tokens that the model wrote."""
    reused: int
    """Those of them that the next prompt begins with, the last prompt's tokens before them."""
    prompt: int
    """Tokens of the prompt."""
    prompt_reused: int


class Encoder:
    """Encodes texts, each once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        """Encode with this tokenizer; special tokens in a text are taken as such."""
        self._tokenizer = tokenizer_of(tokenizer)
        self._known: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text. Raises TokenizerError where there are none."""
        if text not in self._known:
            self._known[text] = self._tokenizer.encode(text)
        return self._known[text]

    def compare(self, prompt: str, sampled: str, text: str, *, newlines: bool) -> TokenVerdict:
        """Compare what was in the cache with the next prompt.

        `newlines` says that the model wrote each newline as a token of its own. What it wrote
        is else encoded as the tokenizer would, apart from the prompt that it could not change.
        """
        asked = self.encode(prompt)
        pieces = AT_NEWLINES.findall(sampled) if newlines else [sampled]
        written = [token for piece in pieces for token in self.encode(piece)]
        shared = shared_tokens([*asked, *written], self.encode(text))
        return TokenVerdict(
            holds=shared == len(asked) + len(written),
            sampled=len(written),
            reused=max(0, shared - len(asked)),
            prompt=len(asked),
            prompt_reused=min(shared, len(asked)),
        )

    def size(self, text: str) -> int:
        """Say in how many tokens a text is encoded."""
        return len(self.encode(text))


def shared_tokens(left: Sequence[object], right: Sequence[object]) -> int:
    """Count the tokens that two rows have in common at their beginning."""
    limit = min(len(left), len(right))
    return next((at for at in range(limit) if left[at] != right[at]), limit)
