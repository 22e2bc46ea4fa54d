"""Compare streams with another checkout: `python -m tests.fuzz.streams --beside CHECKOUT`.

Turns rendered by the templates of fixtures/ and of the parsing benchmark, and answers with long
arguments, half of them edited, are cut into random pieces and parsed with random options, here and
by other checkouts, each in its own process. Messages and the sums of deltas must be equal; a delta
may arrive with an earlier piece, never with a later one. Differences are counted by kind and
printed; equal seeds draw equal cases.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from autoparser import ChatTemplate
from tests.analysis.parsing.loop import TOOLS
from tests.benchmarks.measuring import ROOT, corpus
from tests.benchmarks.parse import CODE, WORDS
from tests.benchmarks.parser_peers import FORMATS, tools
from tests.corpus.corpus_templates import own_paths
from tests.fixture_analyses import TOKENS

from .__main__ import Target, target_of
from .edits import cut, edited, fuzz_options, mutated, paths_named, print_finds
from .stream_answers import changes

OPTIONS: Mapping[str, Sequence[object]] = {
    "reasoning": ("separate", "inline", "raw"),
    "call_deltas": ("incremental", "whole"),
    "unclosed_reasoning": ("calls", "keep", "content"),
    "forgive": ("repairs", "all", "exact"),
    "markup": ("keep", "drop", "separate"),
    "parallel_tool_calls": (True, False),
}
"""The values of each option, the default first."""
OPTED = 0.5
"""The part of texts that are parsed with options."""
SIZES = (0, 40, 300, 2_000)
"""Characters of the argument of a call in a format of the benchmark."""


def cases(words: Sequence[str], amount: int, seed: int) -> Iterator[dict[str, Any]]:
    """Draw cases from all templates, one template after the other."""
    benchmarked = {corpus()[model.template]: model for model in FORMATS}
    found: list[tuple[Path, str, Target]] = []
    for path in paths_named([*own_paths(), *benchmarked], words):
        text = path.read_text(encoding="utf-8")
        tokens = {} if path in benchmarked else TOKENS
        target = target_of(ChatTemplate(text, tokens), name=path.stem)
        if target is not None:
            found.append((path, text, target))
    # The formats of the benchmark get as many cases as all fixtures.
    weights = [len(found) // len(FORMATS) if path in benchmarked else 1 for path, _, _ in found]
    for at, (path, text, target) in enumerate(found):
        rng = random.Random(f"{seed} {target.name}")
        before, after = sum(weights[:at]), sum(weights[: at + 1])
        for _ in range(amount * after // sum(weights) - amount * before // sum(weights)):
            turn, _ = rng.choice(target.turns)
            offered: Sequence[Any] | None = rng.choice((TOOLS, TOOLS, TOOLS[:1], None))
            model = benchmarked.get(path)
            if model is not None and rng.random() < 0.7:
                offered, words_ = tools(3), rng.choice((WORDS, CODE, f'{CODE}\\ \\" {turn}'))
                long = model.long_call(words_, rng.choice(SIZES))
                turn = rng.choice((model.answer, f"{model.answer}\n{long}", long * 2))
            match rng.randrange(4):
                case 0:
                    turn = edited(rng, turn, target.pieces, rng.randint(1, 3))
                case 1:
                    other, _ = rng.choice(rng.choice(found)[2].turns)
                    turn = mutated(rng, turn, target.pieces, other)
            yield {
                "name": target.name,
                "template": text,
                "tokens": {} if path in benchmarked else TOKENS,
                "tools": offered,
                "options": _drawn(rng) if rng.random() < OPTED else {},
                "pieces": cut(rng, turn),
                "complete": rng.random() < 0.7,
            }


def _drawn(rng: random.Random) -> dict[str, object]:
    """Draw options; a first value is the default, and left out."""
    drawn = {name: rng.choice(values) for name, values in OPTIONS.items()}
    return {name: value for name, value in drawn.items() if value != OPTIONS[name][0]}


def answers(checkout: Path, asked: str) -> list[dict[str, Any]]:
    """Return what a checkout's parser makes of each case. Exits if another package is imported."""
    command = [sys.executable, str(Path(__file__).with_name("stream_answers.py"))]
    env = {**os.environ, "PYTHONPATH": str(checkout)}
    ran = subprocess.run(  # noqa: S603 - a file of this project
        command, input=asked, cwd=checkout, env=env, stdout=subprocess.PIPE, text=True, check=True
    )
    *found, last = map(json.loads, ran.stdout.splitlines())
    if not Path(last["file"]).resolve().is_relative_to(checkout):
        raise SystemExit(f"{checkout}: the package is imported from elsewhere")
    return found


def main() -> int:
    """Run; 1 where something differs, other than deltas that come earlier."""
    options = fuzz_options("tests.fuzz.streams", __doc__, "texts", 2_500)
    options.add_argument("--beside", type=Path, action="append", required=True, help="a checkout")
    given = options.parse_args()
    asked = [*cases(given.words, given.amount, given.seed)]
    lines = "".join(json.dumps(case) + "\n" for case in asked)
    checkouts = [ROOT, *(path.resolve() for path in given.beside)]
    with ThreadPoolExecutor(given.jobs) as pool:
        own, *others = pool.map(lambda checkout: answers(checkout, lines), checkouts)
    finds, summary = list[str](), list[str]()
    for checkout, theirs in zip(checkouts[1:], others, strict=True):
        counts = Counter[str]()
        for case, old, new in zip(asked, theirs, own, strict=True):
            found = dict(changes(old, new))
            counts[", ".join(found) or "equal"] += 1
            shown = "".join(f"\n  {kind}: {pair}" for kind, pair in found.items() if pair)
            finds += [f"{case['name']} {case['options']} {case['pieces']!r}{shown}"] * bool(shown)
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts.most_common())
        summary.append(f"{len(asked)} texts, seed {given.seed}, {checkout}: {kinds}")
    return print_finds(finds, *summary)


if __name__ == "__main__":
    sys.exit(main())
