"""Constrained decoding: which tokens a model may write next, by llguidance.

It knows a tokenizer and a constraint, and nothing of chat templates.
"""

from autoparser.analysis.errors import TokenizerError

from .backend import GrammarBackend
from .bitmask import MaskError, allowed_tokens, count_allowed, is_allowed, new_mask, row_of
from .chance import JSON_CLOSERS, RandomSampler
from .constraint import Constraint, ConstraintKind, one_constraint
from .errors import ConstraintError, RefusedTokenError
from .free import FreeGrammar
from .gate import Opening, ReasoningGate, opening_of
from .grammar import GrammarObject, MatcherGrammar
from .literals import lark_literal, split_text
from .marker import Marker
from .schema import ANY_JSON, Whitespace
from .statistics import GrammarStatistics
from .tokenizer import AddedTokenText, DecodingTokenizer
from .tokenizer_files import load_tokenizer
from .walk import Sampler, Turn, Walk, walk, walks

__all__ = [
    "ANY_JSON",
    "JSON_CLOSERS",
    "AddedTokenText",
    "Constraint",
    "ConstraintError",
    "ConstraintKind",
    "DecodingTokenizer",
    "FreeGrammar",
    "GrammarBackend",
    "GrammarObject",
    "GrammarStatistics",
    "Marker",
    "MaskError",
    "MatcherGrammar",
    "Opening",
    "RandomSampler",
    "ReasoningGate",
    "RefusedTokenError",
    "Sampler",
    "TokenizerError",
    "Turn",
    "Walk",
    "Whitespace",
    "allowed_tokens",
    "count_allowed",
    "is_allowed",
    "lark_literal",
    "load_tokenizer",
    "new_mask",
    "one_constraint",
    "opening_of",
    "row_of",
    "split_text",
    "walk",
    "walks",
]
