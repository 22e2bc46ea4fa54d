"""Constrained decoding: which tokens a model may write next, by llguidance.

It knows a tokenizer and a constraint, of which the grammar of a request is one, and of chat
templates nothing but the turn that a reasoning gate is made for.
"""

from .bitmask import MaskError, allowed_tokens, count_allowed, is_allowed, new_mask, row_of
from .constraint import Constraint, ConstraintKind, one_constraint
from .constraint_errors import ConstraintError, RefusedTokenError
from .free import FreeGrammar
from .grammar_backend import GrammarBackend
from .matcher_grammar import GrammarObject, MatcherGrammar
from .random_sampler import JSON_CLOSERS, RandomSampler
from .reasoning_gate import ReasoningGate, ReasoningOpening
from .schema_constraint import ANY_JSON, Whitespace
from .statistics import GrammarStatistics
from .turn_gate import reasoning_gate_of
from .walk import Sampler, WaitingAnswer, Walk, walk, walks

__all__ = [
    "ANY_JSON",
    "JSON_CLOSERS",
    "Constraint",
    "ConstraintError",
    "ConstraintKind",
    "FreeGrammar",
    "GrammarBackend",
    "GrammarObject",
    "GrammarStatistics",
    "MaskError",
    "MatcherGrammar",
    "RandomSampler",
    "ReasoningGate",
    "ReasoningOpening",
    "RefusedTokenError",
    "Sampler",
    "WaitingAnswer",
    "Walk",
    "Whitespace",
    "allowed_tokens",
    "count_allowed",
    "is_allowed",
    "new_mask",
    "one_constraint",
    "reasoning_gate_of",
    "row_of",
    "walk",
    "walks",
]
