"""Exporting real templates: what a response template expresses of each, and what comes back.

transformers, as it is installed, reads what is promised; or engines do, each by its own Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from autoparser.analysis.export.response_template import (
    ExportTrial,
    response_template,
    transformers_parser,
    try_out,
)
from tests.engines.export_reader import ExportReader, RefusedExportError

from .corpus_templates import Board, sound_analysis


@dataclass(frozen=True, slots=True)
class Exported:
    """What became of one template's export, read by one program."""

    name: str
    limits: tuple[str, ...]
    """What is not expressed: the part, and why."""
    trial: ExportTrial
    engine: str = ""
    refusal: str = ""
    """Why the engine does not load it; empty: it does."""

    @property
    def first(self) -> str:
        """The first message that came back otherwise, and how."""
        if self.trial.ok:
            return ""
        found = self.trial.mismatches[0]
        error = f" {found.error}" if self.engine else found.error
        return f"{found.title}: {found.expected} came back as {found.read_message}{error}"

    @property
    def lacks(self) -> tuple[str, ...]:
        """What is not expressed of the messages."""
        limits = self.limits or ("arguments: their names are plain words",)
        return limits if self.trial.left_out else ()


def export_of(path: Path) -> Exported | None:
    """Export a template, and let transformers read it; None where the analysis does not hold."""
    parse = transformers_parser()
    assert parse is not None, "transformers is a test requirement"
    analysis = sound_analysis(path)
    if analysis is None:
        return None
    export = response_template(analysis.formats.united)
    trial = try_out(analysis.formats.united, export, parse, analysis.prober())
    limits = tuple(f"{limit.piece}: {limit.reason}" for limit in export.limits)
    return Exported(path.stem, limits, trial)


def _lines(found: Sequence[Exported]) -> Iterator[str]:
    yield f"{len(found):>6}  templates whose self-check passes"
    for words, part in (("whole", False), ("in part", True)):
        group = [each for each in found if bool(each.limits) is part]
        yield f"{len(group):>6}  are exported {words}"
        passed, promised, left_out = (
            sum(getattr(each.trial, name) for each in group)
            for name in ("passed", "total", "left_out")
        )
        kept = sum(each.trial.ok for each in group)
        yield f"{kept:>6}    of these give back every message that they promise"
        yield f"{passed:>6}    of {promised} promised messages came back"
        if left_out:
            yield f"{left_out:>6}    messages have a part that is not expressed"
    for reason in sorted({reason for each in found for reason in each.limits}):
        lacking = [each.name for each in found if reason in each.limits]
        yield f"{len(lacking):>6}  {reason}"
        yield from (f"{'':8}  {name}" for name in lacking)
    for each in found:
        if each.first:
            trial = each.trial
            yield f"{'':8}  {each.name}: {trial.passed} of {trial.total}, first: {each.first}"


EXPORTS = Board(export_of, _lines, lambda each: each.trial.ok, chunk=16)

_reader = cache(ExportReader)
"""A process that exports keeps an engine's program."""


def engine_exports(path: Path, engines: Mapping[str, str]) -> list[Exported] | None:
    """Have engines, by their names and Pythons, read an export; None without an analysis."""
    analysis = sound_analysis(path)
    if analysis is None:
        return None
    format_ = analysis.formats.united
    export = response_template(format_)
    limits = tuple(f"{each.piece}: {each.reason}" for each in export.limits)
    found: list[Exported] = []
    for engine, python in sorted(engines.items()):
        reader, refusal, trial = _reader(engine, python), "", ExportTrial(0, 0, 0, 0)
        try:
            trial = try_out(format_, reader.load(format_, export), reader, analysis.prober())
        except RefusedExportError as error:
            refusal = str(error)
        found.append(Exported(path.stem, limits, trial, engine, refusal))
    return found


def _engine_lines(answers: Sequence[Sequence[Exported]]) -> Iterator[str]:
    """Lay out what each engine loads and gives back, and by cause what not."""
    every = [each for answer in answers for each in answer]
    for engine in dict.fromkeys(each.engine for each in every):
        found = [each for each in every if each.engine == engine]
        loaded = [each for each in found if not each.refusal]
        kept = [each for each in loaded if not each.trial.mismatches]
        passed = sum(each.trial.passed for each in found)
        promised = sum(each.trial.total for each in found)
        yield f"{engine}"
        yield f"{len(found):>6}  templates whose self-check passes"
        yield f"{len(loaded):>6}  exports load"
        yield f"{sum(not each.lacks for each in kept):>6}  give back every message of the battery"
        yield f"{len(kept):>6}  give back every message that they promise"
        yield f"{passed:>6}  of {promised} promised messages come back"
        names: dict[str, list[str]] = {}
        for each in found:
            titles = dict.fromkeys(found.title for found in each.trial.mismatches)
            for cause in (
                *([f"not loaded: {each.refusal}"] if each.refusal else []),
                *(f"not expressed: {lack}" for lack in each.lacks),
                *(f"comes back otherwise: {title}" for title in titles),
            ):
                names.setdefault(cause, []).append(each.name)
        for cause, those in sorted(names.items(), key=lambda each: -len(each[1])):
            yield f"{len(those):>6}    {cause}"
            yield from (f"{'':12}{name}" for name in those)
        yield from (f"{'':8}{each.name}: first, {each.first}" for each in found if each.first)


def engines_board(engines: Mapping[str, str]) -> Board[Path, list[Exported]]:
    """Return the board of what engines read, by their names and Pythons."""
    ask = partial(engine_exports, engines=engines)
    return Board(ask, _engine_lines, lambda found: not any(each.refusal for each in found))
