"""Hold random schemas in random formats: `python -m tests.fuzz.schemas --grammars 100000`.

Run it in the project's root, where the test requirements are installed. Every fixture that writes
calls is a format; in each, a schema is made at random, its grammar is written as Lark or GBNF, and
jsonschema judges what the grammar takes; of formats it judges more where
`jsonschema[format-nongpl]` is installed. Equal seeds make equal schemas; `--first` goes on where a
run has ended.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from autoparser import AutoparserError, ChatTemplate
from autoparser.analysis.analysis import analyze
from autoparser.analysis.core.turn_format import TurnFormat
from tests.fixture_analyses import TEMPLATES, TOKENS

from .trial import FORMS, SchemaTally, trial

SHOWN = 20
OWN = (TEMPLATES, TEMPLATES.parent / "novel")


def paths_of(words: Sequence[str]) -> list[Path]:
    """Return the fixtures to use: all, or those whose names hold one of the words."""
    paths = [path for folder in OWN for path in sorted(folder.glob("*.jinja"))]
    return [path for path in paths if not words or any(word in path.stem for word in words)]


def format_of(path: Path) -> TurnFormat | None:
    """Return the format of a fixture; None where it writes no calls, or not as it seems to."""
    template = ChatTemplate(path.read_text(encoding="utf-8"), TOKENS)
    try:
        analysis = analyze(template)
    except AutoparserError:
        return None
    calls = analysis.format.calls
    whole = analysis.check.passed == analysis.check.total
    return analysis.format if calls is not None and whole and not calls.arguments.encoded else None


def fuzz_schemas(paths: Sequence[Path], grammars: int, seed: int, first: int = 0) -> SchemaTally:
    """Spread so many grammars over formats and forms; the first ones of each may be left out."""
    formats = {path.stem: format_of(path) for path in paths}
    known = [(name, format_) for name, format_ in formats.items() if format_ is not None]
    tally = SchemaTally()
    for at in range(grammars if known else 0):
        name, format_ = known[at % len(known)]
        number = first + at // len(known)
        form = FORMS[number % len(FORMS)]
        tally.add(trial(name, format_, form, f"{seed} {name} {form} {number}"))
    return tally


def main() -> int:
    """Run; 1 where something was found."""
    options = argparse.ArgumentParser(prog="python -m tests.fuzz.schemas", description=__doc__)
    options.add_argument("--grammars", type=int, default=2_000, help="grammars in all")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--first", type=int, default=0, help="grammars of each fixture to skip")
    options.add_argument("--jobs", "-j", type=int, default=2)
    options.add_argument("words", nargs="*", help="only fixtures whose names hold one of these")
    given = options.parse_args()
    paths = paths_of(given.words)
    count = max(1, min(given.jobs, len(paths)))
    shares = [paths[start::count] for start in range(count)]
    amounts = [given.grammars // count] * count
    amounts[0] += given.grammars - sum(amounts)
    if count == 1:
        tallies = [fuzz_schemas(shares[0], amounts[0], given.seed, given.first)]
    else:
        context = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(count, mp_context=context) as pool:
            again = ([given.seed] * count, [given.first] * count)
            tallies = list(pool.map(fuzz_schemas, shares, amounts, *again))
    whole = SchemaTally()
    for tally in tallies:
        whole.add(tally)
    # Of what one schema shows, the first says enough.
    shown = {(find.format, find.seed): find for find in reversed(whole.finds)}
    for find in [*shown.values()][::-1][:SHOWN]:
        sys.stdout.write(f"{find}\n")
    for name, finds in Counter(name for name, _ in shown).items():
        sys.stdout.write(f"{name}: {finds} schemas with finds\n")
    sys.stdout.write(f"seed {given.seed}: {whole}\n")
    return 1 if whole.finds else 0


if __name__ == "__main__":
    sys.exit(main())
