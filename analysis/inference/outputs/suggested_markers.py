"""Added tokens of a tokenizer in outputs: they suggest what is markup where those leave it open.

A marker that is one token of the vocabulary begins and ends where the token does. What a token is
called says nothing; where it stands does:

    '<|mull|>Rain, perhaps.<|told|>Let me see.<|use|>look {…'   reasoning stands between the first
    two, since words stand there, and the third opens the call
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

__all__ = ["SuggestedMarkers"]


class SuggestedMarkers:
    """The added tokens of a tokenizer."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        """Take the tokens' texts; without any, nothing is suggested."""
        words = sorted((text for text in texts if text.strip()), key=len, reverse=True)
        self._any = re.compile("|".join(map(re.escape, words)) or r"(?!)")

    def block(self, fronts: Sequence[str]) -> tuple[str, str] | None:
        """Return the tokens between which words stand at the front of most texts that have such."""
        pairs = Counter(
            (block[0].group(), block[1].group()) for text in fronts if (block := self._block(text))
        )
        return max(pairs, key=lambda pair: pairs[pair], default=None)

    def opening(self, begins: Sequence[str], shared: str) -> str:
        """Return what opens calls, from a token on, of what all stand behind in `begins`."""
        opened = Counter(begin[at:] for begin in begins if (at := self._opening(begin)) is not None)
        usual = max(opened, key=lambda text: opened[text], default="")
        return usual if usual and shared.endswith(usual) else shared

    def _opening(self, begin: str) -> int | None:
        block = self._block(begin)
        found = self._any.search(begin, block[1].end() if block else 0)
        return None if found is None else found.start()

    def _block(self, text: str) -> tuple[re.Match[str], re.Match[str]] | None:
        """Return the first two tokens, where the text begins with one and words stand between."""
        found = self._any.finditer(text)
        first, second = next(found, None), next(found, None)
        if first is None or second is None or text[: first.start()].strip():
            return None
        # A word alone is a name, of a role or a channel.
        words = text[first.end() : second.start()].split()
        return (first, second) if len(words) > 1 else None
