"""``autoparser engines``: which of the installed engines' parsers read a template."""

from __future__ import annotations

import sys
from typing import Annotated

from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.templates.worker_limits import Limits

from . import wings
from .options import (
    ResultOptions,
    TokenizerOption,
)
from .output import open_outlet, protect_source, status_line
from .source import NamedSource

FINDINGS = 1
"""The exit code where no parsers read every text."""


def engines(
    *,
    python: Annotated[
        list[str] | None,
        "PATH",
        "The bin/python of an environment with vLLM, SGLang or llama.cpp (the package"
        " xllamacpp). May be given several times. [default: the one that runs this]",
    ] = None,
    tokenizer: TokenizerOption = None,
    source: NamedSource,
    result: ResultOptions,
    limits: Limits | None = None,
) -> int:
    """Try the parsers of vLLM, SGLang and llama.cpp on what a template writes, and rank them.

    The answer to "which --tool-call-parser do I pass?". The engines' own parsers read the
    template's turns after its prompts, and hostile ones, at once and streamed. What they give is
    compared with the message that was rendered: arguments as JSON, content and reasoning but for
    whitespace at their edges. No model and no server runs; an engine's code runs in its own Python,
    with the rights of this process.

    Exit code: 0 if some parsers read every text, 1 if none do, 2 if there is no engine to ask.
    """
    as_json = result.is_json
    source.check()
    protect_source(source.source, result.output)

    found = _find_engines(python or [sys.executable])
    with status_line("analyzing") as show_step:
        analysis = source.analysis(source.template(tokenizer), isolate=limits)
        held = source.tokenizer(tokenizer, analysis.template, segmenting=False)
        vocabulary = None if held is None else [*held.get_vocab(with_added_tokens=True)]
        tried = wings.try_engines(source.label, analysis, found, show_step, vocabulary)
    with open_outlet(result.output) as outlet:
        if as_json:
            outlet.json(wings.engines_document(tried))
        else:
            outlet.report(wings.engines_report(tried, outlet.width))
    return 0 if tried.ok else FINDINGS


def _find_engines(pythons: list[str]) -> list[tuple[str, str]]:
    """Return the engines, each with its Python. Raises AutoparserError where there is none."""
    found = [(engine, python) for python in pythons for engine in wings.engines_of(python)]
    if not found:
        raise AutoparserError(
            f"there is no engine to ask in {', '.join(pythons)}",
            hint=f"name a Python that has {' or '.join(wings.ENGINES)}: --python PATH/bin/python",
        )
    return found
