"""What reports on formats that were shown, not rendered, have alike: evidence, guesses, the odd."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.text import Text

from autoparser.analysis.core.evidence_kind import EvidenceKind
from autoparser.analysis.core.format import Part

from .layout import Lines, Row, heading, prose, rows
from .visible import visible

__all__ = ["departing", "evidence_section", "guess_section", "odd_section"]

_SHOWN = 40
"""So many characters are shown of where a text departs."""


def evidence_section(evidence: Mapping[Part, EvidenceKind], width: int) -> Lines:
    """Say of each part what showed it."""
    pairs = [(part.value, Text(evidence[part].value)) for part in Part if part in evidence]
    return [*heading("Evidence", width), *rows(pairs, width)]


def guess_section(guesses: Sequence[str], unit: str, width: int) -> Lines:
    """List what is a guess since nothing shows it; `unit` is what could, such as `example`."""
    if not guesses:
        return []
    drawn = heading(f"Guesses, since no {unit} shows them", width)
    for each in guesses:
        drawn += prose(f"{each}.", width)
    return drawn


def odd_section(title: str, odd: Sequence[Row], width: int) -> Lines:
    """List what is not as the rest."""
    return [*heading(title, width), *rows(odd, width)] if odd else []


def departing(text: str, at: int) -> str:
    """Return the beginning of what stands in a text from where it departs."""
    return visible(text[at:])[:_SHOWN]
