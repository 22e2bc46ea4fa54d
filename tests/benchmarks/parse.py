"""Measure the cost of parsing ordinary outputs: `python -m tests.benchmarks.parse`.

It prints three tables, each from one run, in microseconds of process time, which other programs on
the machine hardly change:

- a whole short answer: one sentence, one call with two arguments, 20 tools, with a new parser per
  request, and with a kept parser;
- `parser(tools)` alone, for known tools and for new ones;
- one delta of a long answer, in pieces of 1, 4 and 16 characters and of about a token: reasoning,
  content, prose and code in arguments, and many calls.

`--short` prints only the first table. `--beside CHECKOUT` alternates with another checkout of this
project. The peers are those of `parser_peers`.
"""

from __future__ import annotations

import gc
import json
import logging
import math
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import process_time_ns
from typing import NamedTuple

from tests.benchmarks.measuring import ROOT, cells, collector_off, print_lines
from tests.benchmarks.parser_peers import (
    CODER,
    FORMATS,
    PEERS,
    QWEN3,
    SENTENCE,
    ModelFormat,
    Start,
    Tools,
    analysis_of,
    tools,
)

RUNS, LONG_RUNS = 25, 3
TOOLS = 20
SIZE = 16_000
WORDS = "The quick brown fox jumps over the lazy dog and does not look back. "
CODE = (
    'def f(x):\n    """Say "hi"."""\n    if x < 3 and x > 1:\n'
    '        return {"a": [x, \'b\'], "c": "\\t"}\n    return None\n\n'
)
TOKEN = re.compile(r"<\|?\w+\|?>| ?\w{1,8}|\s+|[^\w\s]{1,3}")
"""About a token."""


class LongText(NamedTuple):
    """A long answer in a model's format."""

    name: str
    model: ModelFormat
    text: str


LONG = (
    LongText("reasoning", QWEN3, f"<think>\n{WORDS * (SIZE // len(WORDS))}\n</think>\n\nYes."),
    LongText("content", QWEN3, WORDS * (SIZE // len(WORDS))),
    LongText("content, code", QWEN3, CODE * (SIZE // len(CODE))),
    *(
        LongText(f"{kind} arguments, {what}", model, model.long_call(words, size))
        for kind, model in (("JSON", QWEN3), ("tagged", CODER))
        for what, words, size in (
            ("prose", WORDS, SIZE),
            ("code", CODE, SIZE),
            ("1k of code", CODE, 1_000),
        )
    ),
    LongText("100 JSON calls", QWEN3, f"{QWEN3.call}\n" * 100),
    LongText("100 tagged calls", CODER, f"{CODER.call}\n" * 100),
)


def pieces_of(text: str, size: int) -> list[str]:
    """Cut a text into pieces of so many characters, or of about a token for 0."""
    if not size:
        return TOKEN.findall(text)
    return [text[at : at + size] for at in range(0, len(text), size)]


def answer_time(start: Start, pieces: list[str], runs: int) -> float:
    """Return the least microseconds of a whole answer, its parser made."""
    best = math.inf
    gc.collect()
    with collector_off():
        for _ in range(runs):
            begun = process_time_ns()
            feed = start()
            for piece in pieces:
                feed(piece)
            best = min(best, (process_time_ns() - begun) / 1e3)
    return best


def median_time(make: Callable[[Tools], object], offered: Sequence[Tools]) -> float:
    """Return the median microseconds of a call that gets one of these."""
    taken: list[float] = []
    gc.collect()
    with collector_off():
        for row in offered:
            begun = process_time_ns()
            make(row)
            taken.append((process_time_ns() - begun) / 1e3)
    return statistics.median(taken)


def started(peer: str, model: ModelFormat) -> Start | str:
    """Return the function that begins an answer in a peer's parser, or why it has none."""
    try:
        start = PEERS[peer](model, tools(TOOLS))
        start()(model.answer[:4])
    except Exception as error:  # noqa: BLE001 - whatever keeps a peer from starting is shown
        return f"skipped: {error!r}"[:60]
    return start


def short_answers() -> Iterator[tuple[str, str, float | str]]:
    """Measure a short answer in every format and by every parser."""
    for model in FORMATS:
        pieces = pieces_of(model.answer, 4)
        for peer in PEERS:
            start = started(peer, model)
            taken = start if isinstance(start, str) else answer_time(start, pieces, RUNS)
            yield model.name, peer, taken


def parsers_made() -> Iterator[tuple[str, str, float]]:
    """Measure `parser(tools)` for known and for new tools."""
    run = 0
    for model in FORMATS:
        make = analysis_of(model).parser
        for count in (1, 20, 100):
            known = tools(count)
            make(known)
            yield model.name, f"same {count}", median_time(make, [known] * RUNS)
            run += RUNS
            new = [tools(count, number) for number in range(run, run + RUNS)]
            yield model.name, f"new {count}", median_time(make, new)


def long_answers() -> Iterator[tuple[str, str, int, float | str]]:
    """Measure a delta of each long answer, by every parser and in every cut."""
    for kind in LONG:
        for peer in PEERS:
            if peer == "kept":
                continue
            start = started(peer, kind.model)
            if isinstance(start, str):
                yield kind.name, peer, 4, start
                continue
            for size in (0, 1, 4, 16):
                pieces = pieces_of(kind.text, size)
                # Parsers whose cost grows with the square of the length would take minutes.
                if answer_time(start, pieces[: len(pieces) // 8], 1) > _TOO_LONG:
                    yield kind.name, peer, size, "too long"
                    continue
                # The first run of a short text finds nothing in the processor's caches.
                runs = LONG_RUNS * max(1, SIZE // len(kind.text))
                yield kind.name, peer, size, answer_time(start, pieces, runs) / len(pieces)


_TOO_LONG = 400_000.0


def table(
    columns: list[str], found: dict[tuple[str, str], dict[str, float | str]]
) -> Iterator[str]:
    """Return the lines of a table whose rows have two names."""
    yield f"{'':<44}{cells(columns, '>10')}"
    for (first, second), row in found.items():
        figures = [
            f"{value:.2f}"
            if isinstance(value, float) and value < 20
            else f"{value:.0f}"
            if isinstance(value, float)
            else "–"
            for value in (row.get(column, "") for column in columns)
        ]
        notes = {value for value in row.values() if isinstance(value, str)}
        yield f"{first:<26}{second:<18}{cells(figures, '>10')}  {'; '.join(sorted(notes))}".rstrip()


def own_figures() -> dict[str, float]:
    """Measure this project's parser alone."""
    own = ("autoparser", "kept")
    figures = {
        f"{name}, {peer}": value
        for name, peer, value in short_answers()
        if peer in own and isinstance(value, float)
    }
    figures |= {f"{name}, {what}": value for name, what, value in parsers_made()}
    for name, peer, size, value in long_answers():
        if peer in own and isinstance(value, float):
            figures[f"{name}, pieces of {size or 'a token'}"] = value
    return figures


def beside(checkout: Path) -> Iterator[str]:
    """Compare with another checkout: the best of some processes of each, by turns."""
    runs = [(_figures_of(checkout.resolve()), _figures_of(ROOT)) for _ in range(LONG_RUNS)]
    yield f"{'process µs':<50}{cells(('there', 'here', 'ratio'), '>10')}"
    for name in runs[0][0]:
        old, ours = (min(figures[name] for figures in row) for row in zip(*runs, strict=True))
        yield f"{name:<50}{old:>10.2f}{ours:>10.2f}{old / ours:>9.1f}x"


def _figures_of(root: Path) -> dict[str, float]:
    """Measure by this file in a process that imports the package from a checkout."""
    # The package comes from `root`, the test modules from this checkout.
    env = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{ROOT}"}
    command = [sys.executable, __file__, "--own"]
    ran = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=True)  # noqa: S603
    found = json.loads(ran.stdout)
    if not Path(found.pop("package")).resolve().is_relative_to(root):
        raise SystemExit(f"{root}: the package is imported from elsewhere")
    figures: dict[str, float] = found
    return figures


def main() -> None:
    """Print the tables."""
    logging.disable(logging.WARNING)
    match sys.argv[1:]:
        case ["--own"]:
            package = str(sys.modules[type(analysis_of(QWEN3)).__module__].__file__)
            sys.stdout.write(json.dumps({**own_figures(), "package": package}))
            return
        case ["--beside", checkout]:
            print_lines(beside(Path(checkout)))
            return
    rows: dict[tuple[str, str], dict[str, float | str]] = {}
    for name, peer, taken in short_answers():
        rows.setdefault((name, ""), {})[peer] = taken
    length = len(SENTENCE)
    print_lines([f"a short answer, a sentence of {length} characters and a call: process µs"])
    print_lines(table([*PEERS], rows))
    if sys.argv[1:] == ["--short"]:
        return
    rows = {}
    for name, what, made in parsers_made():
        rows.setdefault((name, ""), {})[what] = made
    print_lines(["", "parser(tools), tools known or new: process µs"])
    print_lines(
        table([f"{kind} {count}" for kind in ("same", "new") for count in (1, 20, 100)], rows)
    )
    rows = {}
    for name, peer, size, value in long_answers():
        rows.setdefault((name, peer), {})[str(size or "token")] = value
    print_lines(["", f"a delta of a long answer, {SIZE} characters: process µs, by size of pieces"])
    print_lines(table(["token", "1", "4", "16"], rows))


if __name__ == "__main__":
    main()
