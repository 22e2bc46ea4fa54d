from autoparser.analysis.decoding.constraints import (
    Constraint as Constraint,
)
from autoparser.analysis.decoding.grammar_backend import (
    GrammarBackend as GrammarBackend,
)
from autoparser.analysis.decoding.matcher_grammar import (
    MatcherGrammar as MatcherGrammar,
    ReasoningGate as ReasoningGate,
    new_mask as new_mask,
)
