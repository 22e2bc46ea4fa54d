"""Real templates' exports, each read by the engines' own parsers: what loads, what comes back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from autoparser import AutoparserError
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.export.response_template import response_template, try_out
from tests.engines.export_reader import ExportReader, RefusedExportError

from .each_template import of_shares
from .outcomes import analysis_at


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
            try:
                analysis = analysis_at(path)
            except AutoparserError:
                continue
            if not analysis.check.failures:
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
        first = f"{found.title}: {found.expected} came back as {found.found} {found.error}"
    otherwise = tuple(each.title for each in trial.mismatches)
    return EngineExport(name, engine, "", trial.passed, trial.total, tuple(lacks), otherwise, first)


def engine_table(found: Sequence[EngineExport]) -> str:
    """Lay out what each engine loads and gives back, and by cause what not."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Sequence[EngineExport]) -> Iterator[str]:
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
