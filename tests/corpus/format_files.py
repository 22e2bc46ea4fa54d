"""Saved formats of the corpus, in a process without jinja2, against the analyses they came from."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median

from autoparser import Analysis, AutoparserError, analyze, load_format, load_template
from tests.analysis.formats.behavior import differing

from .corpus_templates import Board

AT_ONCE = 8
"""Files that one process loads."""
READS = 5
"""How often each file is read; the quickest counts."""


@dataclass(frozen=True, slots=True)
class AskedFile:
    """One saved format: what it does otherwise, how large it is, how long it takes to read."""

    name: str
    texts: int
    """Texts of the template that analysis and file were asked to read."""
    size: int
    seconds: float
    wrong: tuple[str, ...]
    """The questions that the file answers otherwise than the analysis."""


def file_shares(paths: Sequence[Path]) -> list[Sequence[Path]]:
    """Return the paths in the shares that one process loads."""
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


def _lines(found: Sequence[Sequence[AskedFile | None]]) -> Iterator[str]:
    asked = list(chain.from_iterable(found))
    files = [each for each in asked if each is not None]
    yield f"{len(files):>6}  saved formats, which a process without jinja2 loaded"
    yield f"{len(asked) - len(files):>6}  templates that cannot be analyzed"
    yield f"{sum(each.texts for each in files):>6}  texts of them, each parsed whole and streamed"
    yield f"{sum(bool(each.wrong) for each in files):>6}  files that answer otherwise"
    if files:
        slowest, largest = (
            max(files, key=lambda each: each.seconds),
            max(files, key=lambda each: each.size),
        )
        yield f"{1000 * median(each.seconds for each in files):>6.2f}  ms to read one, the median"
        yield f"{1000 * slowest.seconds:>6.2f}  ms at most: {slowest.name}"
        yield f"{median(each.size for each in files) / 1000:>6.1f}  kB, the median"
        yield f"{largest.size / 1000:>6.1f}  kB at most: {largest.name}"
    yield from (f"{each.name}: {question}" for each in files for question in each.wrong)


FILES = Board(
    asked_files,
    _lines,
    lambda share: not any(each.wrong for each in share if each is not None),
    chunk=1,
)
