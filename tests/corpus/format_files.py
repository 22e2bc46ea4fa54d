"""Saved formats of the corpus, in a process without jinja2, against the analyses they came from.

What became of a template is written down as soon as it is known: a run that was cut goes on.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

import msgspec

from autoparser import Analysis, AutoparserError, analyze, load_format, load_template
from tests.analysis.formats.behavior import differing

AT_ONCE = 8
"""Files that one process loads."""
READS = 5
"""How often each file is read; the quickest counts."""


class AskedFile(msgspec.Struct, frozen=True):
    """One saved format: what it does otherwise, how large it is, how long it takes to read."""

    name: str
    texts: int = 0
    """Texts of the template that analysis and file were asked to read."""
    size: int = 0
    seconds: float = 0.0
    wrong: tuple[str, ...] = ()
    """The questions that the file answers otherwise than the analysis."""
    problem: str = ""
    """Why the template cannot be analyzed."""


def judged_files(
    paths: Sequence[Path], processes: int, records: Path | None = None
) -> tuple[str, bool]:
    """Compare every file with its analysis; return the table, and whether nothing differs.

    Templates that `records` knows are not asked again, and each that is asked is added to it.
    """
    del processes
    known = {} if records is None else {each.name: each for each in _recorded(records)}
    waiting = [path for path in paths if path.stem not in known]
    for at in range(0, len(waiting), AT_ONCE):
        for asked in _asked(waiting[at : at + AT_ONCE]):
            known[asked.name] = asked
            if records is not None:
                with records.open("ab") as file:
                    file.write(msgspec.json.encode(asked) + b"\n")
    files = [known[path.stem] for path in paths]
    wrong = [f"{each.name}: {question}" for each in files for question in each.wrong]
    return "\n".join([*_table(files), *wrong]) + "\n", not wrong


def _recorded(records: Path) -> Iterator[AskedFile]:
    lines = records.read_bytes().splitlines() if records.exists() else []
    for line in lines:
        yield msgspec.json.decode(line, type=AskedFile)


def _asked(paths: Sequence[Path]) -> Iterator[AskedFile]:
    analyses: dict[str, Analysis] = {}
    for path in paths:
        try:
            analyses[path.stem] = analyze(load_template(path))
        except AutoparserError as error:
            yield AskedFile(path.stem, problem=str(error))
    with tempfile.TemporaryDirectory() as folder:
        differs, texts = differing(analyses, Path(folder))
        for name in analyses:
            file = Path(folder) / f"{name}.format.json"
            yield AskedFile(
                name,
                texts[name],
                file.stat().st_size,
                _reading_seconds(file),
                tuple(differs[name]),
            )


def _reading_seconds(path: Path) -> float:
    taken: list[float] = []
    for _ in range(READS):
        start = time.perf_counter()
        load_format(path)
        taken.append(time.perf_counter() - start)
    return min(taken)


def _table(asked: Sequence[AskedFile]) -> Iterator[str]:
    files = [each for each in asked if not each.problem]
    yield f"{len(files):>6}  saved formats, which a process without jinja2 loaded"
    yield f"{len(asked) - len(files):>6}  templates that cannot be analyzed"
    yield f"{sum(each.texts for each in files):>6}  texts of them, each parsed whole and streamed"
    yield f"{sum(bool(each.wrong) for each in files):>6}  files that answer otherwise"
    if not files:
        return
    slowest, largest = max(files, key=_seconds), max(files, key=_size)
    yield f"{1000 * median(map(_seconds, files)):>6.2f}  ms to read one, the median"
    yield f"{1000 * slowest.seconds:>6.2f}  ms at most: {slowest.name}"
    yield f"{median(map(_size, files)) / 1000:>6.1f}  kB, the median"
    yield f"{largest.size / 1000:>6.1f}  kB at most: {largest.name}"


def _seconds(file: AskedFile) -> float:
    return file.seconds


def _size(file: AskedFile) -> int:
    return file.size
