"""The token level: are the prompt's and the sampled tokens a prefix of the next prompt's tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoparser.analysis.errors import AutoparserError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_AT_NEWLINES = re.compile(r"\n|[^\n]+")


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
        self._tokenizer = tokenizer
        self._known: dict[str, list[int]] = {}

    def encode(self, text: str) -> list[int]:
        """Give the ids of a text. Raises AutoparserError where there are none."""
        if text not in self._known:
            try:
                ids = self._tokenizer.encode(text, add_special_tokens=False).ids
            except Exception as error:  # noqa: BLE001 - the tokenizer raises bare exceptions
                raise _unusable(str(error)) from None
            if text.strip() and not ids:
                raise _unusable("it gives no tokens for a text")
            self._known[text] = ids
        return self._known[text]

    def compare(self, prompt: str, sampled: str, text: str, *, newlines: bool) -> TokenVerdict:
        """Compare what was in the cache with the next prompt.

        `newlines` says that the model wrote each newline as a token of its own. What it wrote
        is else encoded as the tokenizer would, apart from the prompt that it could not change.
        """
        asked = self.encode(prompt)
        pieces = _AT_NEWLINES.findall(sampled) if newlines else [sampled]
        written = [token for piece in pieces for token in self.encode(piece)]
        shared = _shared([*asked, *written], self.encode(text))
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


def _shared(left: list[int], right: list[int]) -> int:
    limit = min(len(left), len(right))
    return next((at for at in range(limit) if left[at] != right[at]), limit)


def _unusable(reason: str) -> AutoparserError:
    return AutoparserError(
        f"the tokenizer cannot encode this template's prompts: {reason}",
        hint="give the model's own tokenizer.json with --tokenizer",
    )
