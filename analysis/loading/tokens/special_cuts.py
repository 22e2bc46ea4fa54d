"""The cut of a text at the tokens that llguidance never takes as text.

A literal of a grammar has to be cut so, and these tokens written by their ids: as text they would
be masked, or offered and then refused. With `<a>` among them, id 7, `x<a>y` is `x`, 7, `y`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from .opaque import opaque_ids

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["OpaqueTokens", "opaque_tokens"]

_MOST = 8192
"""Texts whose pieces are remembered; names of tools are among them, ever new ones."""


@dataclass(frozen=True)
class OpaqueTokens:
    """The tokens of a tokenizer that are not text in a grammar; without any, all is text."""

    ids: Mapping[str, int] = field(default_factory=dict[str, int])
    """By their texts."""
    _known: dict[str, Sequence[str | int]] = field(
        default_factory=dict[str, "Sequence[str | int]"], repr=False, compare=False
    )

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        # The longest first, since an alternation takes the first that fits.
        longest = sorted(filter(None, self.ids), key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest))) if longest else None

    @cached_property
    def texts(self) -> Mapping[int, str]:
        """Text by id."""
        return {number: text for text, number in self.ids.items()}

    def pieces(self, text: str) -> Sequence[str | int]:
        """Cut a text as the tokenizer does: its opaque tokens as ids, the rest as text."""
        known = self._known.get(text)
        if known is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            known = self._known[text] = self._cut(text)
        return known

    def _cut(self, text: str) -> Sequence[str | int]:
        pieces: list[str | int] = []
        at = 0
        for match in self._pattern.finditer(text) if self._pattern is not None else ():
            if match.start() > at:
                pieces.append(text[at : match.start()])
            pieces.append(self.ids[match.group()])
            at = match.end()
        if at < len(text):
            pieces.append(text[at:])
        return pieces


def opaque_tokens(tokenizer: Tokenizer) -> OpaqueTokens:
    """List the tokens that quoted text never matches in llguidance, by asking it."""
    added = tokenizer.get_added_tokens_decoder()
    return OpaqueTokens({added[number].content: number for number in opaque_ids(tokenizer)})
