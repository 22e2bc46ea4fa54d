"""Linting a project: which templates, by which settings, and what it came to."""

from .baseline import Baseline, BaselineError, digest_of, read_baseline
from .choice import RuleChoice, codes_of
from .ignores import Ignore
from .problem import Problem
from .project_run import LintRequest, baseline_of, lint_project, places_of
from .project_settings import FailOn, ProjectSettings, SettingsError, find_settings, read_settings
from .result import Inspected, LintRun

__all__ = [
    "Baseline",
    "BaselineError",
    "FailOn",
    "Ignore",
    "Inspected",
    "LintRequest",
    "LintRun",
    "Problem",
    "ProjectSettings",
    "RuleChoice",
    "SettingsError",
    "baseline_of",
    "codes_of",
    "digest_of",
    "find_settings",
    "lint_project",
    "places_of",
    "read_baseline",
    "read_settings",
]
