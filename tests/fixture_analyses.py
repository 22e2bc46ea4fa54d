"""Analyses of the templates in fixtures/, each made once a process: they are values, and shared."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from autoparser import Analysis, analyze, load_template

TEMPLATES = Path(__file__).parents[1] / "fixtures" / "templates"


@cache
def analysed(name: str) -> Analysis:
    """Analyse a template as the command line does: from its file, without special tokens."""
    return analyze(load_template(TEMPLATES / f"{name}.jinja"))
