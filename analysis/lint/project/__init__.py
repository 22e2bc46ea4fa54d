"""Linting a project: which templates, by which settings, and what it came to."""

from .baseline import Baseline, BaselineError, digest_of, read_baseline
from .choice import Choice
from .ignores import Ignore
from .problem import Problem
from .result import Inspected, LintRun
from .run import Request, baseline_of, lint_project, places_of
from .settings import FailOn, Settings, SettingsError, find_settings, read_settings

__all__ = [
    "Baseline",
    "BaselineError",
    "Choice",
    "FailOn",
    "Ignore",
    "Inspected",
    "LintRun",
    "Problem",
    "Request",
    "Settings",
    "SettingsError",
    "baseline_of",
    "digest_of",
    "find_settings",
    "lint_project",
    "places_of",
    "read_baseline",
    "read_settings",
]
