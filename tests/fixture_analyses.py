"""Analyses of the templates in fixtures/, each made once per process and shared."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from autoparser import Analysis, analyze, load_template

TEMPLATES = Path(__file__).parents[1] / "fixtures" / "templates"
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


@cache
def analyzed(name: str) -> Analysis:
    """Analyze a template from its file, with the special tokens that its model would bring.

    One analysis serves the tests of parsers, grammars, reports and documents: 127 of them take
    seconds, and each worker that runs tests makes its own.
    """
    template = load_template(TEMPLATES / f"{name}.jinja")
    # Reports name the file, so use a path that is the same in every checkout.
    origin = f"fixtures/templates/{name}.jinja"
    return analyze(replace(template, special_tokens=TOKENS, origin=origin))
