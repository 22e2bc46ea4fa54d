"""The grammar of one request, to be written for the engine that decodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoparser.analysis.conversation import Json
from autoparser.analysis.expression import Turn

from .lark import write_lark
from .rules import Rules
from .tokenizer import Vocabulary, vocabulary_of
from .turns import rules_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer


@dataclass(frozen=True)
class Grammar:
    """What a model may write for one request: no more than the template would write."""

    turn: Turn
    tools: Mapping[str, Json]
    """The parameters' schema by the names of the tools that may be called."""
    parallel: bool = True
    json_schema: Json = None
    """What content has to be; None: free text."""
    lazy: bool = False
    """Whether it begins only where a trigger was written."""

    def rules(self, atoms: Sequence[str] = ()) -> Rules:
        """Give the grammar before any target's syntax; `atoms` are texts that no rule may cut."""
        return rules_of(
            self.turn,
            self.tools,
            parallel=self.parallel,
            json_schema=self.json_schema,
            lazy=self.lazy,
            atoms=atoms,
        )

    def lark(self, tokenizer: Tokenizer | Vocabulary) -> str:
        """Write it as Lark for llguidance, made for this tokenizer."""
        known = tokenizer if isinstance(tokenizer, Vocabulary) else vocabulary_of(tokenizer)
        return write_lark(self.rules(tuple(known.added)), known)
