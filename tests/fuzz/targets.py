"""What is edited: turns as templates write them, each with the parser that has to take them."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from autoparser import AutoparserError, ChatTemplate, analyze
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.turn_format import RefusedMessageError
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.parsed_message import ReasoningIn
from tests.analysis.parsing.loop import TOOLS, disagreement, generated, literal_texts, with_ids

from .edits import cut, edited

MOST_EDITS = 4
REASONING: tuple[ReasoningIn, ...] = ("separate", "separate", "inline", "raw")
"""Where reasoning goes, of four turns."""


class Target(NamedTuple):
    """The turns of one template."""

    name: str
    turns: tuple[tuple[str, OutputParser], ...]
    pieces: tuple[str, ...]
    """Markers, to insert."""


class Find(NamedTuple):
    """A text on which the parser did what it must not do."""

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
        # Without tools given, any name is a call's.
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


def attack(target: Target, rng: random.Random) -> Find | None:
    """Edit one turn of a template at random and parse it; return what went wrong."""
    turn, parser = rng.choice(target.turns)
    text = edited(rng, turn, target.pieces, rng.randint(1, MOST_EDITS))
    pieces = cut(rng, text)
    complete = rng.random() < 0.7
    what = judge(parser, text, pieces, complete=complete)
    return Find(target.name, text, tuple(pieces), complete, what) if what else None


def judge(parser: OutputParser, text: str, pieces: Sequence[str], *, complete: bool) -> str:
    """Parse in one shot and as streams of two cuts; return what is wrong, or an empty text."""
    try:
        return disagreement(parser, text, pieces, [*text], complete=complete)
    except Exception as error:  # noqa: BLE001 - that nothing raises is what is tested
        return f"raised {error!r}"
