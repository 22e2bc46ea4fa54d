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

import argparse
import random
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from autoparser import ChatTemplate
from tests.corpus.corpus_templates import corpus_paths
from tests.fixture_analyses import TOKENS

from .shares import OWN, in_shares, named, paths_of
from .targets import Find, Target, attack, target_of

PROCESSES = 2
SHOWN = 20


def fuzz(paths: Sequence[Path], edits: int, seed: int) -> tuple[int, list[Find]]:
    """Spread so many edited turns over templates; return how many were parsed, and the finds."""
    targets: list[Target] = []
    for path in paths:
        tokens = TOKENS if path.parent in OWN else {}
        template = ChatTemplate(path.read_text(encoding="utf-8"), tokens)
        target = target_of(template, name=path.stem)
        if target is not None:
            targets.append(target)
    finds: list[Find] = []
    done = 0
    for at, target in enumerate(targets):
        # A stream of its own for each template, so that one can be run again alone.
        rng = random.Random(f"{seed} {target.name}")
        share = edits * (at + 1) // len(targets) - edits * at // len(targets)
        for _ in range(share):
            find = attack(target, rng)
            done += 1
            if find is not None:
                finds.append(find)
    return done, finds


def main() -> int:
    """Run; 1 where something was found."""
    options = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    options.add_argument("--edits", type=int, default=10_000, help="edited turns in all")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--jobs", "-j", type=int, default=PROCESSES)
    options.add_argument("--every", type=int, default=1, help="only every n-th template")
    options.add_argument("words", nargs="*", help="only templates whose names hold one of these")
    given = options.parse_args()
    paths = [*paths_of(given.words), *named(corpus_paths(), given.words)][:: given.every]
    results = in_shares(partial(fuzz, seed=given.seed), paths, given.edits, given.jobs)
    done = sum(parsed for parsed, _ in results)
    finds = [find for _, found in results for find in found]
    for find in finds[:SHOWN]:
        sys.stdout.write(f"{find}\n")
    sys.stdout.write(
        f"{done} edited turns of {len(paths)} templates, seed {given.seed}: {len(finds)} finds\n"
    )
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
