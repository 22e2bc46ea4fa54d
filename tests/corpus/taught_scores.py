"""Learning from labeled outputs of models, scored on the others: canitoolcall's cases, drawn.

Of a model's labeled cases some are drawn as examples, by a seed, and given with the template; the
others are read by what was learned, and by the template's own analysis. The checks are those of
the package.
"""

from __future__ import annotations

import multiprocessing
import random
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from canitoolcall.checks import case_status, run_checks
from canitoolcall.fixtures import Expected, Fixture, load_families, load_fixtures

from autoparser import AutoparserError
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.core.turn_format import Formats
from autoparser.analysis.learning.examples import Example
from autoparser.analysis.teaching.example_learning import TaughtFormat, learn

from .learning import without_parts
from .scoreboard import TEMPLATES, analysis_for, observed

COUNTS = (1, 3, 5)


@dataclass(frozen=True, slots=True)
class TaughtScore:
    """What one draw of examples gave."""

    model: str
    count: int
    seed: int
    own: int
    """Cases that were not drawn and that the template's own analysis reads."""
    taught: int
    """The same, by what was learned."""
    asked: int
    misread: int = 0
    """Examples that what was learned does not read."""
    misread_by_own: int = 0
    lost: tuple[str, ...] = ()
    """Cases that the template's own analysis reads alone."""
    used: str = ""
    """What was taken of the template and of the examples."""


def taught_scores(
    model: str, seeds: Sequence[int], *, counts: Sequence[int] = COUNTS, hidden: bool = False
) -> list[TaughtScore]:
    """Learn from every draw of one model's cases; empty where no template stands for it.

    With `hidden`, the template renders neither calls nor reasoning.
    """
    analysis = analysis_for(model, ())
    if analysis is None:
        return []
    if hidden:
        each = tuple(map(without_parts, analysis.formats))
        analysis = replace(analysis, formats=Formats(each, analysis.formats.base, fullest=each[0]))
    fixtures = [each for each in load_fixtures() if each.reference_model == model and each.expected]
    own = _right(analysis, fixtures)
    draws = [(count, seed) for count in counts if count < len(fixtures) for seed in seeds]
    return [_scored(model, analysis, fixtures, own, *draw) for draw in draws]


def _right(analysis: Analysis, fixtures: Sequence[Fixture]) -> Mapping[str, bool]:
    """Return which cases pass, edge whitespace included."""
    families = load_families()
    return {
        each.id: case_status(run_checks(each, families[each.family], observed(analysis, each)))
        == "pass"
        for each in fixtures
    }


def _scored(
    model: str,
    analysis: Analysis,
    fixtures: Sequence[Fixture],
    own: Mapping[str, bool],
    count: int,
    seed: int,
) -> TaughtScore:
    drawn = random.Random(f"{seed} {model} {count}").sample(fixtures, count)
    rest = [each for each in fixtures if each not in drawn]
    before = sum(own[each.id] for each in rest)
    known = sum(not own[each.id] for each in drawn)
    try:
        found = learn(analysis, [_example(each) for each in drawn])
    except AutoparserError as error:
        # Nothing is learned, and the template's own analysis is what remains.
        return TaughtScore(
            model, count, seed, before, before, len(rest), known, known, (), str(error)
        )
    right = own if found.analysis is analysis else _right(found.analysis, rest)
    lost = tuple(each.id for each in rest if own[each.id] and not right[each.id])
    after = sum(right[each.id] for each in rest)
    return TaughtScore(
        model, count, seed, before, after, len(rest), len(found.odd), known, lost, _used(found)
    )


def _used(found: TaughtFormat) -> str:
    return f"{found.used}: {found.reason}"


def _example(fixture: Fixture) -> Example:
    expected = fixture.expected or Expected(None, None, ())
    calls = tuple(ToolCall(call.name, dict(call.arguments)) for call in expected.tool_calls)
    message = Message(expected.content or "", expected.reasoning_content or "", calls)
    return Example(fixture.raw_output, message, fixture.generation_prompt or "", fixture.id)


def judged_taught_scores(processes: int, seeds: Sequence[int]) -> tuple[str, bool]:
    """Score every model; return the table, and whether nothing that was learned reads less."""
    context = multiprocessing.get_context("spawn")
    found: list[list[TaughtScore]] = []
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        for hidden in (False, True):
            work = partial(taught_scores, seeds=seeds, hidden=hidden)
            found.append([each for row in pool.map(work, TEMPLATES) for each in row])
    shown, hidden_scores = (list(_table(each)) for each in found)
    tables = [*shown, "", "the same, calls and reasoning of the renders hidden", *hidden_scores]
    right = all(each.taught >= each.own for scores in found for each in scores)
    return "\n".join(tables) + "\n", right


def _table(found: Sequence[TaughtScore]) -> Iterator[str]:
    models = len({each.model for each in found})
    yield f"{models} models with labeled cases, drawn as examples; the others are read"
    yield f"{'examples':>9}   cases  template   learned  draws: less, more, misread"
    for count in COUNTS:
        rows = [each for each in found if each.count == count]
        asked, own, taught = (
            sum(getattr(each, name) for each in rows) for name in ("asked", "own", "taught")
        )
        less = sum(each.taught < each.own for each in rows)
        more = sum(each.taught > each.own for each in rows)
        odd = sum(each.misread > 0 for each in rows)
        yield f"{count:>9}  {asked:>6}  {own:>8}  {taught:>8}  {len(rows)}: {less}, {more}, {odd}"
    for each in found:
        if each.taught < each.own or each.lost or each.misread > each.misread_by_own:
            yield (
                f"  {each.model}, {each.count} of seed {each.seed}: {each.own} to {each.taught} of"
                f" {each.asked}; misread {each.misread_by_own} to {each.misread} ({each.used})"
            )
            yield from (f"      {case}" for case in each.lost[:3])
