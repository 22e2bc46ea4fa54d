"""What a phase found, and the renders that say so."""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.core.alignment import DiffSplit, diff_split
from autoparser.analysis.core.evidence_kind import EvidenceKind
from autoparser.analysis.inference.probing import Probe


@dataclass(frozen=True, slots=True)
class Evidence:
    """Two conversations that differ in one thing, and their renders."""

    difference: str
    """The one thing, in words: "no call / a call"."""
    left: Probe
    right: Probe

    @property
    def split(self) -> DiffSplit:
        """Where the renders differ; a refused render counts as an empty text."""
        return diff_split(self.left.text, self.right.text)


@dataclass(frozen=True, slots=True)
class Finding:
    """The conclusion of one phase."""

    phase: str
    title: str
    conclusion: str
    """One line for a person."""
    evidence: tuple[Evidence, ...] = ()
    markers: tuple[str, ...] = ()
    """The members of the marker registry that this phase is the source of."""
    kind: EvidenceKind = EvidenceKind.RENDER
    """What says so."""

    @property
    def confirmed(self) -> bool:
        """Whether more than the prompt's words says so."""
        return self.kind is not EvidenceKind.WORDS


def standing(before: str, after: str) -> str:
    """Say between what a thing stands, as the end of a sentence; nothing where it stands bare."""
    if before and after:
        return f" between {before!r} and {after!r}"
    return f" after {before!r}" if before else f" before {after!r}" if after else ""
