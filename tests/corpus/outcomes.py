"""What becomes of each template of the corpus: how its analysis ends, and what it shows without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from autoparser import AutoparserError
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.verdicts import Check

from .corpus_templates import Board, analysis_at, read_template
from .probes import renders_call, renders_reasoning


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


def outcome_of(path: Path) -> Outcome:
    """Analyze one template and probe it; whatever happens is an outcome."""
    template = read_template(path)
    found = _ending(path)
    try:
        shows_call, shows_reasoning = renders_call(template), renders_reasoning(template)
    except AutoparserError:
        return found
    return replace(found, shows_call=shows_call, shows_reasoning=shows_reasoning)


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


def _lines(found: Sequence[Outcome]) -> Iterator[str]:
    yield f"{'':>5}  {'calls':>5}  {'reasoning':>9}  outcome"
    yield _row(found, "all templates")
    for ending in Ending:
        ended = [each for each in found if each.ending is ending]
        if not ended:
            continue
        yield _row(ended, str(ending))
        causes = {each.cause: None for each in sorted(ended, key=lambda each: each.cause)}
        for cause in causes:
            same = [each for each in ended if each.cause == cause]
            yield _row(same, f"  {cause}")
            if ending is not Ending.PASSED:
                yield from (f"{'':25}    {_named(each)}" for each in same)
    for form in dict.fromkeys(each.spoiled for each in found if each.spoiled):
        spoiled = [each for each in found if each.spoiled == form]
        yield _row(spoiled, f"what users send is spoiled: {form}")
        yield from (f"{'':25}    {each.name}" for each in spoiled)
    yield "calls, reasoning: templates that render them, by probes apart from the analysis"


def _row(found: Sequence[Outcome], words: str) -> str:
    calls = sum(each.shows_call for each in found)
    reasoning = sum(each.shows_reasoning for each in found)
    return f"{len(found):>5}  {calls:>5}  {reasoning:>9}  {words}"


def _named(outcome: Outcome) -> str:
    if outcome.message:
        return f"{outcome.name}: {outcome.message}"
    return f"{outcome.name}: {outcome.passed} of {outcome.total} messages"


OUTCOMES = Board(outcome_of, _lines, lambda each: each.ending is not Ending.CRASHED, chunk=16)
