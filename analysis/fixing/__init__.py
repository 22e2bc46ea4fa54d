"""Edited templates: findings of lint fixed, round trips that hold, each edit proven by renders."""

from .edit_proof import ChangedRender, ProvenEdit
from .fix import FindingFix, FixedTemplate, Unfixed, fix_template, fixes_apart
from .fix_run import FixRun, FixTarget, fix_sources
from .preserve import LeftStep, PreservingTemplate, preserving_template

__all__ = [
    "ChangedRender",
    "FindingFix",
    "FixRun",
    "FixTarget",
    "FixedTemplate",
    "LeftStep",
    "PreservingTemplate",
    "ProvenEdit",
    "Unfixed",
    "fix_sources",
    "fix_template",
    "fixes_apart",
    "preserving_template",
]
