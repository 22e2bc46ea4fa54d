"""The reasoning gate of a turn: what opens and closes reasoning, and where the prompt stands."""

from __future__ import annotations

from autoparser.analysis.constraining.grammar import Grammar
from autoparser.analysis.core.conversation import Presence
from autoparser.analysis.core.format import Part, TurnFormat
from autoparser.analysis.reading.expression import Start, Turn

from .constraint import Constraint
from .grammar_backend import GrammarBackend
from .reasoning_gate import ReasoningGate, ReasoningOpening

__all__ = ["reasoning_gate_of"]


def reasoning_gate_of(
    format_: TurnFormat, turn: Turn, constraint: Constraint | Grammar, backend: GrammarBackend
) -> ReasoningGate:
    """Make the gate of a turn of a format: the constraint holds from where content begins.

    All that stands between the two ends the reasoning: not only `<|end|>`, where a header comes
    before the content, but `<|end|><|start|>assistant<|channel|>final<|message|>`. Where the turn
    has no reasoning, or the prompt has closed it, the constraint holds at once. Raises
    ``ConstraintError`` where no text ends the reasoning, and as ``backend.grammar`` does.
    """
    reasoning = turn.reasoning
    if reasoning is None or turn.start is Start.CONTENT:
        return backend.reasoning_grammar(constraint, end="", opening=ReasoningOpening.CLOSED)
    opened = turn.start is Start.REASONING or reasoning.leads
    # What the prompt leaves to the model: whitespace, or the whole header.
    before = reasoning.open.before if turn.unwritten else ""
    if turn.start is Start.TURN:
        before = turn.header.core + turn.header.after
    return backend.reasoning_grammar(
        constraint,
        end=_between(format_) or reasoning.close.core,
        start=before + reasoning.open.core,
        opening=ReasoningOpening.OPEN if opened else ReasoningOpening.ABSENT,
    )


def _between(format_: TurnFormat) -> str:
    """Return what stands between reasoning and content, but for the whitespace around it."""
    layout = format_.layouts.get(Presence(reasoning=True, content=True))
    if layout is None or layout.parts[:2] != (Part.REASONING, Part.CONTENT):
        return ""
    return layout.literals[1].strip()
