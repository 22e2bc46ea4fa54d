"""Saved formats of the corpus, in a process without jinja2, against the analyses they came from."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from autoparser import Analysis, AutoparserError, analyze, load_format, load_template
from tests.analysis.learnt.asking import differing

AT_ONCE = 20
"""Files that one process loads."""
READS = 5
"""How often each file is read; the quickest counts."""


@dataclass(frozen=True, slots=True)
class LoadedFile:
    """One saved format: how large it is, and how long it takes to read."""

    name: str
    size: int
    seconds: float


def judged_files(paths: Sequence[Path], processes: int) -> tuple[str, bool]:
    """Compare every file with its analysis; return the table, and whether nothing differs."""
    del processes
    files: list[LoadedFile] = []
    wrong: list[str] = []
    unusable = texts = 0
    for at in range(0, len(paths), AT_ONCE):
        analyses = dict(_analysed(paths[at : at + AT_ONCE]))
        unusable += len(paths[at : at + AT_ONCE]) - len(analyses)
        with tempfile.TemporaryDirectory() as folder:
            differs, read = differing(analyses, Path(folder))
            files += [_loaded(name, Path(folder) / f"{name}.format.json") for name in analyses]
        wrong += differs
        texts += read
    return "\n".join([*_table(files, texts, unusable), *wrong]) + "\n", not wrong


def _analysed(paths: Sequence[Path]) -> Iterator[tuple[str, Analysis]]:
    for path in paths:
        try:
            yield path.stem, analyze(load_template(path))
        except AutoparserError:
            continue


def _loaded(name: str, path: Path) -> LoadedFile:
    taken: list[float] = []
    for _ in range(READS):
        start = time.perf_counter()
        load_format(path)
        taken.append(time.perf_counter() - start)
    return LoadedFile(name, path.stat().st_size, min(taken))


def _table(files: Sequence[LoadedFile], texts: int, unusable: int) -> Iterator[str]:
    yield f"{len(files):>6}  saved formats, which a process without jinja2 loaded"
    yield f"{unusable:>6}  templates that cannot be analysed"
    yield f"{texts:>6}  texts of the templates, each parsed whole and streamed"
    if not files:
        return
    slowest, largest = max(files, key=_seconds), max(files, key=_size)
    yield f"{1000 * median(map(_seconds, files)):>6.2f}  ms to read one, the median"
    yield f"{1000 * slowest.seconds:>6.2f}  ms at most: {slowest.name}"
    yield f"{median(map(_size, files)) / 1000:>6.1f}  kB, the median"
    yield f"{largest.size / 1000:>6.1f}  kB at most: {largest.name}"


def _seconds(file: LoadedFile) -> float:
    return file.seconds


def _size(file: LoadedFile) -> int:
    return file.size
