"""A template in which findings of lint are fixed: the smallest edits, proven by renders."""

from .edit_proof import ChangedRender, ProvenEdit
from .fix import FindingFix, FixedTemplate, Unfixed, fix_template, fixes_apart
from .fix_run import FixRun, FixTarget, fix_sources

__all__ = [
    "ChangedRender",
    "FindingFix",
    "FixRun",
    "FixTarget",
    "FixedTemplate",
    "ProvenEdit",
    "Unfixed",
    "fix_sources",
    "fix_template",
    "fixes_apart",
]
