"""Check grammars of random schemas in random formats: `python -m tests.fuzz.schemas`.

Run it in the project's root with the test requirements installed. Each fixture with calls is a
format; a random schema becomes a grammar in Lark or GBNF, and jsonschema decides which values it
must accept; with `jsonschema[format-nongpl]` it checks more formats. Equal seeds make equal
schemas; `--first` continues an earlier run.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from autoparser import AutoparserError, ChatTemplate, TurnFormat, analyze
from tests.corpus.corpus_templates import own_paths
from tests.fixture_analyses import TOKENS
from tests.fuzz.edits import Tally, fuzz_options, in_shares, paths_named, print_finds

from .trial import FORMS, told, trial


def format_of(path: Path) -> TurnFormat | None:
    """Return the format of a fixture; None if it writes no calls, or not as it seems to."""
    try:
        analysis = analyze(ChatTemplate(path.read_text(encoding="utf-8"), TOKENS))
    except AutoparserError:
        return None
    calls = analysis.format.calls
    whole = analysis.check.passed == analysis.check.total
    return analysis.format if calls is not None and whole and not calls.arguments.encoded else None


def fuzz_schemas(paths: Sequence[Path], grammars: int, seed: int, first: int = 0) -> Tally:
    """Spread so many grammars over formats and forms; the first ones of each may be left out."""
    formats = {path.stem: format_of(path) for path in paths}
    known = [(name, format_) for name, format_ in formats.items() if format_ is not None]
    tally = Tally()
    for at in range(grammars if known else 0):
        name, format_ = known[at % len(known)]
        number = first + at // len(known)
        form = FORMS[number % len(FORMS)]
        tally += trial(name, format_, form, f"{seed} {name} {form} {number}")
    return tally


def main() -> int:
    """Run; 1 where something was found."""
    options = fuzz_options("tests.fuzz.schemas", __doc__, "grammars", 2_000)
    options.add_argument("--first", type=int, default=0, help="grammars of each fixture to skip")
    given = options.parse_args()
    fuzz = partial(fuzz_schemas, seed=given.seed, first=given.first)
    paths = paths_named(own_paths(), given.words)
    whole = in_shares(fuzz, paths, given.amount, given.jobs)
    # The first find of each schema is enough.
    shown = {(find.format, find.seed): find for find in reversed(whole.finds)}
    counts = Counter(name for name, _ in shown).items()
    return print_finds(
        [*shown.values()][::-1],
        *(f"{name}: {finds} schemas with finds" for name, finds in counts),
        f"seed {given.seed}: {told(whole)}",
    )


if __name__ == "__main__":
    sys.exit(main())
