"""Edited templates: findings of lint fixed, round trips that hold, each edit proven by renders."""

from .edit_proof import ChangedRender, EditProof, ProvenEdit
from .fix import FindingFix, FixedTemplate, Unfixed, fix_template, fixes_apart
from .fix_run import FixRun, FixTarget, fix_sources
from .preserve import LeftStep, PreservingTemplate, preserving_template
from .proof_conversation import ProofConversation

__all__ = [
    "ChangedRender",
    "EditProof",
    "FindingFix",
    "FixRun",
    "FixTarget",
    "FixedTemplate",
    "LeftStep",
    "PreservingTemplate",
    "ProofConversation",
    "ProvenEdit",
    "Unfixed",
    "fix_sources",
    "fix_template",
    "fixes_apart",
    "preserving_template",
]
