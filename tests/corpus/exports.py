"""Exporting real templates: what a response template expresses of each, and what comes back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.export.response_template import (
    response_template,
    transformers_parser,
    try_out,
)
from tests.engines.export_reader import ExportReader, RefusedExportError

from .corpus_templates import Board, of_shares, sound_analysis


@dataclass(frozen=True, slots=True)
class Exported:
    """What became of one template's export."""

    name: str
    limits: tuple[str, ...]
    """What is not expressed: the part, and why."""
    passed: int
    promised: int
    left_out: int
    first: str = ""
    """The first message that came back otherwise, and how."""

    @property
    def kept(self) -> bool:
        """Whether all came back that the export promises."""
        return self.passed == self.promised


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
    first = ""
    if trial.mismatches:
        found = trial.mismatches[0]
        first = f"{found.title}: {found.expected} came back as {found.read_message}{found.error}"
    return Exported(path.stem, limits, trial.passed, trial.total, trial.left_out, first)


def _lines(found: Sequence[Exported]) -> Iterator[str]:
    whole = [each for each in found if not each.limits]
    part = [each for each in found if each.limits]
    yield f"{len(found):>6}  templates whose self-check passes"
    yield from _group("are exported whole", whole)
    yield from _group("are exported in part", part)
    reasons = {reason: None for each in part for reason in each.limits}
    for reason in sorted(reasons):
        lacking = [each.name for each in part if reason in each.limits]
        yield f"{len(lacking):>6}  {reason}"
        yield from (f"{'':8}  {name}" for name in lacking)
    for each in found:
        if not each.kept:
            yield f"{'':8}  {each.name}: {each.passed} of {each.promised}, first: {each.first}"


def _group(words: str, found: Sequence[Exported]) -> Iterator[str]:
    yield f"{len(found):>6}  {words}"
    passed, promised = sum(each.passed for each in found), sum(each.promised for each in found)
    left_out = sum(each.left_out for each in found)
    kept = sum(each.kept for each in found)
    yield f"{kept:>6}    of these give back every message that they promise"
    yield f"{passed:>6}    of {promised} promised messages came back"
    if left_out:
        yield f"{left_out:>6}    messages have a part that is not expressed"


EXPORTS = Board(export_of, _lines, lambda each: each.kept, chunk=16)


@dataclass(frozen=True, slots=True)
class EngineExport:
    """What an engine makes of one template's export."""

    name: str
    engine: str
    refusal: str = ""
    """Why the engine does not load it; empty: it does."""
    passed: int = 0
    promised: int = 0
    lacks: tuple[str, ...] = ()
    """The parts that the export does not express, where messages of the battery have them."""
    otherwise: tuple[str, ...] = ()
    """The messages of the battery that come back otherwise, by title."""
    first: str = ""
    """The first of them, and how it comes back."""

    @property
    def whole(self) -> bool:
        """Whether every message of the battery comes back."""
        return not (self.refusal or self.lacks or self.otherwise)


def engine_exports(
    paths: Sequence[Path], engines: Mapping[str, str], processes: int
) -> list[EngineExport]:
    """Export every template whose self-check passes; `engines` are names and their Pythons."""
    found = of_shares(partial(_read, engines), paths, processes)
    return sorted(
        (each for part in found for each in part), key=lambda each: (each.name, each.engine)
    )


def _read(engines: Mapping[str, str], paths: Sequence[Path]) -> list[EngineExport]:
    found: list[EngineExport] = []
    with ExitStack() as stack:
        readers = {
            engine: stack.enter_context(ExportReader(engine, python))
            for engine, python in engines.items()
        }
        for path in paths:
            analysis = sound_analysis(path)
            if analysis is not None:
                found += (
                    _tried(path.stem, engine, analysis, reader)
                    for engine, reader in readers.items()
                )
    return found


def _tried(name: str, engine: str, analysis: Analysis, reader: ExportReader) -> EngineExport:
    format_ = analysis.formats.united
    export = response_template(format_)
    try:
        promised = reader.load(format_, export)
    except RefusedExportError as error:
        return EngineExport(name, engine, refusal=str(error))
    trial = try_out(format_, promised, reader, analysis.prober())
    lacks = [f"{each.piece}: {each.reason}" for each in export.limits] if trial.left_out else []
    if trial.left_out and not lacks:
        lacks = ["arguments: their names are plain words"]
    first = ""
    if trial.mismatches:
        found = trial.mismatches[0]
        first = f"{found.title}: {found.expected} came back as {found.read_message} {found.error}"
    otherwise = tuple(each.title for each in trial.mismatches)
    return EngineExport(name, engine, "", trial.passed, trial.total, tuple(lacks), otherwise, first)


def engine_table(found: Sequence[EngineExport]) -> str:
    """Lay out what each engine loads and gives back, and by cause what not."""
    return "\n".join(_engine_lines(found)) + "\n"


def _engine_lines(found: Sequence[EngineExport]) -> Iterator[str]:
    for engine in dict.fromkeys(each.engine for each in found):
        of = [each for each in found if each.engine == engine]
        loaded = [each for each in of if not each.refusal]
        kept = [each for each in loaded if not each.otherwise]
        passed, promised = sum(each.passed for each in of), sum(each.promised for each in of)
        yield f"{engine}"
        yield f"{len(of):>6}  templates whose self-check passes"
        yield f"{len(loaded):>6}  exports load"
        yield f"{sum(each.whole for each in loaded):>6}  give back every message of the battery"
        yield f"{len(kept):>6}  give back every message that they promise"
        yield f"{passed:>6}  of {promised} promised messages come back"
        yield from _causes(of)


def _causes(found: Sequence[EngineExport]) -> Iterator[str]:
    """Count the templates of each cause, and name them."""
    causes: Counter[str] = Counter()
    names: dict[str, list[str]] = {}
    for each in found:
        refused = [f"not loaded: {each.refusal}"] if each.refusal else []
        otherwise = [f"comes back otherwise: {title}" for title in dict.fromkeys(each.otherwise)]
        for cause in (*refused, *(f"not expressed: {lack}" for lack in each.lacks), *otherwise):
            causes[cause] += 1
            names.setdefault(cause, []).append(each.name)
    for cause, count in causes.most_common():
        yield f"{count:>6}    {cause}"
        yield from (f"{'':12}{name}" for name in names[cause])
    yield from (f"{'':8}{each.name}: first, {each.first}" for each in found if each.first)
