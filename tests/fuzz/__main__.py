"""Parse a great many spoiled turns: `python -m tests.fuzz --edits 1000000`.

Run it in the project's root, where the test requirements are installed. Turns of the battery, as
the templates of the corpus and of fixtures/ write them, are edited at random: stretches deleted,
doubled, swapped, the end cut off, markers and pieces of them dropped, doubled and inserted, other
whitespace, line ends of other systems, byte order marks. Each result is parsed in one shot, as a
stream of characters and as one of pieces; none may raise, the spans must hold every character once,
calls must be JSON, the deltas must add up to the message, and all must agree.
What is found is printed with all that is needed to see it again; equal seeds edit equally.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from autoparser import ChatTemplate
from tests.corpus.corpus_templates import corpus_paths, own_paths
from tests.fixture_analyses import TOKENS

from .shares import fuzz_options, in_shares, paths_named, print_finds
from .targets import Find, attack, target_of


def fuzz(paths: Sequence[Path], edits: int, seed: int) -> tuple[int, list[Find]]:
    """Spread so many edited turns over templates; return how many were parsed, and the finds."""
    own = set(own_paths())
    read = (
        (path.stem, ChatTemplate(path.read_text(encoding="utf-8"), TOKENS if path in own else {}))
        for path in paths
    )
    found = (target_of(template, name=name) for name, template in read)
    targets = [target for target in found if target is not None]
    tried: list[Find | None] = []
    for at, target in enumerate(targets):
        # A stream of its own for each template, so that one can be run again alone.
        rng = random.Random(f"{seed} {target.name}")
        share = edits * (at + 1) // len(targets) - edits * at // len(targets)
        tried += [attack(target, rng) for _ in range(share)]
    return len(tried), [find for find in tried if find is not None]


def main() -> int:
    """Run; 1 where something was found."""
    options = fuzz_options("tests.fuzz", __doc__, "edits", 10_000)
    options.add_argument("--every", type=int, default=1, help="only every n-th template")
    given = options.parse_args()
    paths = paths_named([*own_paths(), *corpus_paths()], given.words)[:: given.every]
    results = in_shares(partial(fuzz, seed=given.seed), paths, given.amount, given.jobs)
    done = sum(parsed for parsed, _ in results)
    finds = [find for _, found in results for find in found]
    return print_finds(
        finds,
        f"{done} edited turns of {len(paths)} templates, seed {given.seed}: {len(finds)} finds",
    )


if __name__ == "__main__":
    sys.exit(main())
