"""Check exports and saved formats of real templates.

Exports are parsed by the installed transformers, or by engines in their own Python. Saved formats
are loaded in a process without jinja2 and compared with the analyses that wrote them.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from statistics import median

from autoparser import Analysis, AutoparserError, TurnFormat, analyze, load_format, load_template
from autoparser.analysis.export.export_limits import Export
from autoparser.analysis.export.response_template import (
    ExportTrial,
    Parse,
    response_template,
    transformers_parser,
    try_out,
)
from tests.analysis.formats.behavior import differing
from tests.engines.export_reader import ExportReader, RefusedExportError

from .corpus_templates import Board, of_sound

TRANSFORMERS: Mapping[str, str] = {"transformers": ""}
"""The one program that is imported here, and has no Python of its own."""


@dataclass(frozen=True, slots=True)
class Exported:
    name: str
    engine: str
    limits: tuple[str, ...]
    """Parts that are not expressed, with the reason."""
    trial: ExportTrial
    refusal: str = ""
    """Why the engine does not load it; empty: it does."""

    @property
    def first(self) -> str:
        """The first message that came back otherwise, and how."""
        if self.trial.ok:
            return ""
        found = self.trial.mismatches[0]
        return f"{found.title}: {found.expected} came back as {found.read_message} {found.error}"

    @property
    def lacks(self) -> tuple[str, ...]:
        """Parts of messages that are not expressed."""
        limits = self.limits or ("arguments: their names are plain words",)
        return limits if self.trial.left_out else ()


_reader = cache(ExportReader)
"""A process that exports keeps an engine's program."""


def exports_of(
    name: str, analysis: Analysis, engines: Mapping[str, str] = TRANSFORMERS
) -> list[Exported]:
    """Export a format, and have programs read it, by their names and Pythons."""
    format_ = analysis.formats.united
    export = response_template(format_)
    limits = tuple(f"{limit.piece}: {limit.reason}" for limit in export.limits)
    found: list[Exported] = []
    for engine, python in sorted(engines.items()):
        refusal, trial = "", ExportTrial(0, 0, 0, 0)
        try:
            promised, parse = _loaded(engine, python, format_, export)
            trial = try_out(format_, promised, parse, analysis.prober())
        except RefusedExportError as error:
            refusal = str(error)
        found.append(Exported(name, engine, limits, trial, refusal))
    return found


def _loaded(engine: str, python: str, format_: TurnFormat, export: Export) -> tuple[Export, Parse]:
    """Return a program's promise for an export, and its parser."""
    if python:
        reader = _reader(engine, python)
        return reader.load(format_, export), reader
    parse = transformers_parser()
    assert parse is not None, "transformers is a test requirement"
    return export, parse


def _lines(answers: Sequence[Sequence[Exported]]) -> Iterator[str]:
    every = [row for answer in answers for row in answer]
    for engine in dict.fromkeys(row.engine for row in every):
        found = [row for row in every if row.engine == engine]
        loaded = [row for row in found if not row.refusal]
        kept = [export for export in loaded if not export.trial.mismatches]
        passed = sum(row.trial.passed for row in found)
        promised = sum(row.trial.total for row in found)
        yield f"{engine}"
        yield f"{len(found):>6}  templates whose self-check passes"
        yield f"{len(loaded):>6}  exports load"
        yield f"{sum(not row.lacks for row in kept):>6}  give back every message of the battery"
        yield f"{len(kept):>6}  give back every message that they promise"
        yield f"{passed:>6}  of {promised} promised messages come back"
        names: dict[str, list[str]] = {}
        for row in found:
            titles = dict.fromkeys(found.title for found in row.trial.mismatches)
            for cause in (
                *([f"not loaded: {row.refusal}"] if row.refusal else []),
                *(f"not expressed: {lack}" for lack in row.lacks),
                *(f"comes back otherwise: {title}" for title in titles),
            ):
                names.setdefault(cause, []).append(row.name)
        for cause, those in sorted(names.items(), key=lambda item: -len(item[1])):
            yield f"{len(those):>6}    {cause}"
            yield from (f"{'':12}{name}" for name in those)
        yield from (f"{'':8}{row.name}: first, {row.first}" for row in found if row.first)


def exports_board(engines: Mapping[str, str] = TRANSFORMERS) -> Board[Path, list[Exported]]:
    ask = of_sound(partial(exports_of, engines=engines))
    return Board(ask, _lines, lambda found: not any(row.refusal for row in found))


AT_ONCE = 8
"""Files that one process loads."""
READS = 5
"""How often each file is read; the quickest counts."""


@dataclass(frozen=True, slots=True)
class AskedFile:
    name: str
    texts: int
    """Texts of the template that analysis and file were asked to read."""
    size: int
    seconds: float
    wrong: tuple[str, ...]
    """Questions that the file answers differently from the analysis."""


def file_shares(paths: Sequence[Path]) -> list[Sequence[Path]]:
    return [paths[at : at + AT_ONCE] for at in range(0, len(paths), AT_ONCE)]


def asked_files(paths: Sequence[Path]) -> list[AskedFile | None]:
    """Compare the files of some templates; None for one that cannot be analyzed."""
    analyses: dict[str, Analysis] = {}
    for path in paths:
        try:
            analyses[path.stem] = analyze(load_template(path))
        except AutoparserError:
            continue
    with tempfile.TemporaryDirectory() as folder:
        differs, texts = differing(analyses, Path(folder))
        found: list[AskedFile | None] = [None] * (len(paths) - len(analyses))
        for name in analyses:
            file = Path(folder) / f"{name}.format.json"
            size, seconds = file.stat().st_size, _reading_seconds(file)
            found.append(AskedFile(name, texts[name], size, seconds, tuple(differs[name])))
    return found


def _reading_seconds(path: Path) -> float:
    taken: list[float] = []
    for _ in range(READS):
        start = time.perf_counter()
        load_format(path)
        taken.append(time.perf_counter() - start)
    return min(taken)


def _file_lines(found: Sequence[Sequence[AskedFile | None]]) -> Iterator[str]:
    asked = list(chain.from_iterable(found))
    files = [row for row in asked if row is not None]
    yield f"{len(files):>6}  saved formats, which a process without jinja2 loaded"
    yield f"{len(asked) - len(files):>6}  templates that cannot be analyzed"
    yield f"{sum(file.texts for file in files):>6}  texts of them, each parsed whole and streamed"
    yield f"{sum(bool(file.wrong) for file in files):>6}  files that answer otherwise"
    if files:
        slowest, largest = (
            max(files, key=lambda row: row.seconds),
            max(files, key=lambda row: row.size),
        )
        yield f"{1000 * median(file.seconds for file in files):>6.2f}  ms to read one, the median"
        yield f"{1000 * slowest.seconds:>6.2f}  ms at most: {slowest.name}"
        yield f"{median(file.size for file in files) / 1000:>6.1f}  kB, the median"
        yield f"{largest.size / 1000:>6.1f}  kB at most: {largest.name}"
    yield from (f"{file.name}: {question}" for file in files for question in file.wrong)


FILES = Board(
    asked_files,
    _file_lines,
    lambda share: not any(row.wrong for row in share if row is not None),
    chunk=1,
)
