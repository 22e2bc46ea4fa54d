"""Run rules on one template, in a worker. Nothing raises.

InspectionTask -> inspect_template -> SeenHits
"""

from __future__ import annotations

import traceback
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from autoparser.analysis.analysis import analyze
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.formats.saved_format import load_format
from autoparser.analysis.sources.tokenizer_loading import load_tokenizer, tokenizer_of
from autoparser.analysis.teaching.taught_analysis import (
    unwritten_tokens,
    with_saved,
)

from . import rules as rules_package
from .baselines import template_ignores
from .inspection import InspectionTask, SeenHits
from .linting import run_rules
from .project_sources import InputProblem
from .registry import find_rule
from .rule import RuleNeed
from .subject import Subject

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def inspect_template(task: InspectionTask) -> SeenHits:
    """Run the rules on a template, without its tokenizer if that cannot be read."""
    troubles: list[InputProblem] = []
    encoder = None
    try:
        encoder = None if task.tokenizer is None else _tokenizer(task.tokenizer)
    except AutoparserError as error:
        troubles.append(InputProblem(error.file or "", error.message, error.hint or ""))
    try:
        subject = Subject(
            task.template,
            tokenizer=encoder,
            directory=task.directory,
            analysis=None
            if task.saved_format is None
            else with_saved(analyze(task.template), load_format(task.saved_format)),
            jinjas=task.jinjas,
            given_tools=task.tools,
        )
        found, left_out = run_rules(subject, [find_rule(code) for code in task.rules])
        if subject.has(RuleNeed.OTHER_JINJAS):
            troubles += [InputProblem("", jinja.words) for jinja in subject.in_other_jinjas]
    except AutoparserError as error:
        troubles.append(InputProblem("", error.message, error.hint or ""))
    except MemoryError:
        # The worker ran out of memory, and reports that itself.
        raise
    except Exception as error:  # noqa: BLE001 - one template must not end the run for all
        hint = "this is a fault of autoparser, please report it"
        troubles.append(InputProblem("", _crash(error), hint))
    else:
        return SeenHits(
            tuple((finding.code, finding.hit) for finding in found),
            tuple((rule.code, need) for rule, need in left_out),
            tuple(troubles),
            # The path is filled in by the run: templates with equal texts share a result.
            *template_ignores(task.template.text, ""),
            evidence=tuple(subject.format.evidence.items())
            if subject.has(RuleNeed.ANALYSIS)
            else (),
            unwritten=_unwritten(subject),
        )
    return SeenHits(troubles=tuple(troubles), looked=False)


def _unwritten(subject: Subject) -> tuple[str, ...]:
    """Return the added tokens of a model directory's tokenizer that the template never writes."""
    if subject.tokenizer is None or subject.directory is None or not subject.has(RuleNeed.ANALYSIS):
        return ()
    # Such tokens suggest reasoning or calls; if turns show both, there is nothing to suggest.
    added = tokenizer_of(subject.tokenizer).added if subject.analysis.formats.lacks_parts else ()
    return unwritten_tokens(subject.analysis, [token.text for token in added])


def _crash(error: Exception) -> str:
    """Return the exception's words and the rule in which it was raised, if a rule raised it."""
    home = str(Path(rules_package.__file__ or "").parent)
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if home in frame.filename
    ]
    # The innermost frame is the last one.
    rule = f" in {Path(frames[-1].filename).stem}" if frames else ""
    return f"{type(error).__name__}{rule}: {error}"


@lru_cache(maxsize=2)
def _tokenizer(source: str) -> Tokenizer:
    return load_tokenizer(Path(source))
