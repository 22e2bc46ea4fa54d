"""Constrained decoding: compiled grammars and the masks that they fill.

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .lazy_names import lazy_imports

if TYPE_CHECKING:
    from autoparser.analysis.decoding.constraints import Constraint as Constraint
    from autoparser.analysis.decoding.grammar_backend import GrammarBackend as GrammarBackend
    from autoparser.analysis.decoding.matcher_grammar import (
        MatcherGrammar as MatcherGrammar,
        ReasoningGate as ReasoningGate,
        new_mask as new_mask,
    )
else:
    __getattr__, __dir__ = lazy_imports(__name__)
