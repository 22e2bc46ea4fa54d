"""Hold random schemas in random formats: `python -m tests.fuzz.schemas --grammars 100000`.

Run it in the project's root, where the test requirements are installed. Every fixture that writes
calls is a format; in each, a schema is made at random, its grammar is written as Lark or GBNF, and
jsonschema judges what the grammar takes; of formats it judges more where
`jsonschema[format-nongpl]` is installed. Equal seeds make equal schemas; `--first` goes on where a
run has ended.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from autoparser import AutoparserError, ChatTemplate
from autoparser.analysis.analysis import analyze
from autoparser.analysis.core.turn_format import TurnFormat
from tests.fixture_analyses import TOKENS
from tests.fuzz.shares import in_shares, paths_of

from .trial import FORMS, SchemaTally, trial

SHOWN = 20


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
    fuzz = partial(fuzz_schemas, seed=given.seed, first=given.first)
    tallies = in_shares(fuzz, paths_of(given.words), given.grammars, given.jobs)
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
