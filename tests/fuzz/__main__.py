"""Parse randomly edited turns and check invariants: `python -m tests.fuzz --edits 1000000`.

Run it in the project's root with the test requirements installed. Turns of the battery, rendered by
the templates of the corpus and of fixtures/, are edited at random: text deleted, doubled, swapped
or truncated; markers and pieces of markers dropped, doubled and inserted; other whitespace, line
ends and byte order marks. Every second turn is changed as a whole: markers dropped at random,
another format's turn between its parts, parts doubled and moved, look-alike and invisible
characters, halves of surrogate pairs, values of 5,000 brackets.

Each text is parsed in one shot, character by character and in pieces. Nothing may raise, spans must
cover every character once, arguments must be JSON, deltas must add up to the message, and all ways
must agree; a message with skipped words is not regular. Finds are printed with everything needed to
reproduce them; equal seeds give equal edits.
"""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from autoparser import AutoparserError, ChatTemplate, OutputParser, SpanKind, analyze
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.turn_format import RefusedMessageError
from autoparser.analysis.parsing.parsed_message import ParsedMessage, ReasoningIn
from tests.analysis.parsing.loop import TOOLS, disagreement, generated, literal_texts, with_ids
from tests.corpus.corpus_templates import corpus_paths, own_paths
from tests.fixture_analyses import TOKENS

from .edits import Tally, cut, edited, fuzz_options, in_shares, mutated, paths_named, print_finds

MOST_EDITS = 4
WHOLE = 0.5
"""The part of turns that are changed as a whole."""
LONG = 4_000
"""Characters of a text that is also fed one by one."""
REASONING: tuple[ReasoningIn, ...] = ("separate", "separate", "inline", "raw")
"""Where reasoning goes, of four turns."""


class Target(NamedTuple):
    """The turns of one template."""

    name: str
    turns: tuple[tuple[str, OutputParser], ...]
    pieces: tuple[str, ...]
    """Markers, to insert."""


class Find(NamedTuple):
    """A text on which the parser broke a promise."""

    template: str
    text: str
    pieces: tuple[str, ...]
    complete: bool
    what: str

    def __str__(self) -> str:
        return (
            f"{self.template}: {self.what}\n  text {self.text!r}\n  pieces {list(self.pieces)!r}"
            f"\n  complete {self.complete}"
        )


def target_of(template: ChatTemplate, *, name: str) -> Target | None:
    """Write the battery by the format of a template; return None if nothing can be written."""
    try:
        format_ = analyze(template).format
    except AutoparserError:
        return None
    turns: list[tuple[str, OutputParser]] = []
    for case in battery_messages():
        try:
            turn = format_.write(with_ids(format_, case.message))
        except RefusedMessageError:
            continue
        # Without tools, a call may have any name.
        text, parser = generated(format_, turn, TOOLS if len(turns) % 3 else None)
        turns.append((text, _with_options(parser, len(turns))))
    texts = literal_texts(format_)
    units = [unit for text in texts for unit in re.split(r"(?<=>)|\n", text)]
    pieces = tuple(dict.fromkeys(text for text in (*texts, *units) if text.strip()))
    return Target(name, tuple(turns), pieces) if turns else None


def _with_options(parser: OutputParser, number: int) -> OutputParser:
    """Read one turn in five with whole calls, and one in seven with a single one."""
    turn = parser.turn
    if number % 7 == 0 and turn.calls is not None:
        turn = replace(turn, calls=replace(turn.calls, single=True))
    return OutputParser(
        turn,
        reasoning=REASONING[number % len(REASONING)],
        whole_calls=number % 5 == 0,
        call_ids=lambda name, index: f"{name}:{index}",
    )


def attack(target: Target, rng: random.Random, others: Sequence[Target] = ()) -> Find | None:
    """Edit one turn of a template at random and parse it; return what went wrong.

    With `others`, every second turn is changed as a whole, with turns of other formats in it.
    """
    turn, parser = rng.choice(target.turns)
    if others and rng.random() < WHOLE:
        other, _ = rng.choice(rng.choice(others).turns)
        text = mutated(rng, turn, target.pieces, other)
    else:
        text = edited(rng, turn, target.pieces, rng.randint(1, MOST_EDITS))
    pieces = cut(rng, text)
    complete = rng.random() < 0.7
    # A long text takes too long character by character; the pieces split it, too.
    single = [[*text]] if len(text) < LONG else []
    try:
        what = disagreement(parser, text, pieces, *single, complete=complete)
        what = what or skipped_words(parser.parse(text, complete=complete), text)
    except Exception as error:  # noqa: BLE001 - that nothing raises is what is tested
        what = f"raised {error!r}"
    return Find(target.name, text, tuple(pieces), complete, what) if what else None


def skipped_words(message: ParsedMessage, text: str) -> str:
    """Return the skipped words of a message with a regular status, or empty."""
    last = max((span.end for span in message.spans if span.kind is not SpanKind.JUNK), default=0)
    skipped = (text[span.start : span.end] for span in message.spans if span.end <= last)
    kinds = (span.kind for span in message.spans if span.end <= last)
    for words, kind in zip(skipped, kinds, strict=True):
        if kind is SpanKind.JUNK and message.status.regular and any(map(str.isalnum, words)):
            return f"status {message.status}, and {words[:80]!r} is skipped"
    return ""


def fuzz(paths: Sequence[Path], edits: int, seed: int) -> Tally:
    """Parse so many edited turns, spread over templates."""
    own = set(own_paths())
    read = (
        (path.stem, ChatTemplate(path.read_text(encoding="utf-8"), TOKENS if path in own else {}))
        for path in paths
    )
    found = (target_of(template, name=name) for name, template in read)
    targets = [target for target in found if target is not None]
    tally = Tally()
    for at, target in enumerate(targets):
        # A random generator for each template, so that one template can be run again alone.
        rng = random.Random(f"{seed} {target.name}")
        share = edits * (at + 1) // len(targets) - edits * at // len(targets)
        tally.counts["turns"] += share
        tally.finds += filter(None, (attack(target, rng, targets) for _ in range(share)))
    return tally


def main() -> int:
    """Run; 1 where something was found."""
    options = fuzz_options("tests.fuzz", __doc__, "edits", 10_000)
    options.add_argument("--every", type=int, default=1, help="only every n-th template")
    given = options.parse_args()
    paths = paths_named([*own_paths(), *corpus_paths()], given.words)[:: given.every]
    tally = in_shares(partial(fuzz, seed=given.seed), paths, given.amount, given.jobs)
    done, found = tally.counts["turns"], len(tally.finds)
    summary = f"{done} edited turns of {len(paths)} templates, seed {given.seed}: {found} finds"
    return print_finds(tally.finds, summary)


if __name__ == "__main__":
    sys.exit(main())
