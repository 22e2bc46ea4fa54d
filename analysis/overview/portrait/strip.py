"""A sampled turn cut into tokens: those that the next prompt begins with, and the others."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from autoparser.analysis.core.errors import AutoparserError, TemplateRenderError
from autoparser.analysis.history.roundtrip import Outcome, Row
from autoparser.analysis.history.roundtrip.replay import ReplayStage
from autoparser.analysis.history.roundtrip.token_level import AT_NEWLINES, shared_tokens
from autoparser.analysis.history.roundtrip.verdict import CONTEXT
from autoparser.analysis.loading.tokens import TokenText

LEAD = 6
"""Pieces of the prompt that are shown before the turn."""
INSTEAD = 12
"""Pieces of the next prompt that are shown where it departs."""

SINGLE_NEWLINES = "single-newlines"
"""The variation that writes each newline as a token."""

_WORDS = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class TokenStrip:
    """What of one turn is reused; the verdict says why the rest is not."""

    lead: tuple[str, ...]
    """The last pieces of the prompt."""
    lead_reused: int
    pieces: tuple[str, ...]
    """What the model wrote."""
    reused: int
    """So many of the pieces, from the first on."""
    instead: tuple[str, ...]
    """What the next prompt has where the first piece is not reused; empty where all are."""
    tokens: bool
    """Whether the pieces are tokens; else they are words and signs of the text."""


def strip_of(stage: ReplayStage, row: Row, tokens: TokenText | None) -> TokenStrip:
    """Cut the turn of a row, as its usual verdict has it."""
    if tokens is not None:
        try:
            return _strip(stage, row, _TokenCut(tokens, row), tokens=True)
        except AutoparserError:
            # The tokenizer has no token for a character that only this turn has.
            pass
    return _strip(stage, row, _WordCut(), tokens=False)


class _Cut(Protocol):
    """How texts are cut."""

    def text(self, text: str) -> list[str]:
        """Cut a prompt."""
        ...

    def sampled(self, text: str) -> list[str]:
        """Cut what the model wrote, as it wrote it."""
        ...

    def following(self, text: str, prompt: int) -> list[str]:
        """Cut the next prompt; the last one was `prompt` characters long."""
        ...


class _WordCut:
    """Cuts into words and signs."""

    def text(self, text: str) -> list[str]:
        return _WORDS.findall(text)

    def sampled(self, text: str) -> list[str]:
        return self.text(text)

    def following(self, text: str, prompt: int) -> list[str]:
        # No word goes across the place where the model began to write.
        return [*self.text(text[:prompt]), *self.text(text[prompt:])]


class _TokenCut:
    """Cuts into tokens."""

    def __init__(self, tokens: TokenText, row: Row) -> None:
        self._tokens = tokens
        self._newlines = SINGLE_NEWLINES in row.scenario.variations

    def text(self, text: str) -> list[str]:
        """Return the text of each token; of those that share a character the first has it."""
        return self._tokens.encode(text).pieces(text)

    def sampled(self, text: str) -> list[str]:
        pieces = AT_NEWLINES.findall(text) if self._newlines else [text]
        return [token for piece in pieces for token in self.text(piece)]

    def following(self, text: str, prompt: int) -> list[str]:  # noqa: ARG002 - tokens go across
        return self.text(text)


def _strip(stage: ReplayStage, row: Row, cut: _Cut, *, tokens: bool) -> TokenStrip:
    verdict = row.verdict
    prompt, sampled = _prompt(stage, row), verdict.sampled
    asked, pieces = cut.text(prompt), cut.sampled(sampled)
    lead = tuple(asked[-LEAD:])
    if verdict.outcome is Outcome.RAISES:
        return TokenStrip(lead, len(lead), tuple(pieces), 0, (), tokens)
    after = prompt + sampled
    whole = True
    difference = verdict.difference
    if difference is not None:
        # As far as the verdict has it, the next prompt: what both have, and a little more.
        after = after[: len(prompt) + difference.at] + difference.rendered
        whole = len(difference.rendered) < CONTEXT
    following = cut.following(after, len(prompt))
    shared = shared_tokens([*asked, *pieces], following)
    lost = len(asked) + len(pieces) - shared
    instead = following[shared : len(following) if whole else -1]
    return TokenStrip(
        lead,
        max(0, len(lead) - max(0, len(asked) - shared)),
        tuple(pieces),
        max(0, shared - len(asked)),
        tuple(instead[:INSTEAD] or ("",)) if lost else (),
        tokens,
    )


def _prompt(stage: ReplayStage, row: Row) -> str:
    scenario = row.scenario
    try:
        return stage.prompt(scenario.history, scenario.tools, row.verdict.setting).text
    except TemplateRenderError:
        return ""
