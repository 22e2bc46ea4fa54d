"""What says how the parts of a turn are written, in words."""

from __future__ import annotations

from collections.abc import Iterable

from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.verdicts import EvidenceKind

__all__ = ["evidence_words"]

_KINDS = {
    EvidenceKind.RENDER: "the template's renders",
    EvidenceKind.EXAMPLE: "examples",
    EvidenceKind.OUTPUT: "outputs",
    EvidenceKind.WORDS: "the prompt's words alone",
}
_PARTS = {
    TurnPart.REASONING: "reasoning",
    TurnPart.CONTENT: "content",
    TurnPart.CALLS: "tool calls",
}


def evidence_words(evidence: Iterable[tuple[TurnPart, EvidenceKind]]) -> str:
    """Return what is known of each part, and from what; empty without any part.

    Example: `content: the template's renders; reasoning, tool calls: examples`.
    """
    parts: dict[EvidenceKind, list[str]] = {}
    for part, kind in evidence:
        parts.setdefault(kind, []).append(_PARTS[part])
    return "; ".join(f"{', '.join(names)}: {_KINDS[kind]}" for kind, names in parts.items())
