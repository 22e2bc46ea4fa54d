"""Parsing what templates write: the battery around the closed loop, for every template."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.turn_format import RefusedMessageError
from tests.analysis.parsing.loop import difference
from tests.analysis.parsing.messages import random_messages

from .corpus_templates import Board, known_causes, sound_analysis

ENOUGH = 0.99
"""How many of a template's messages have to come back."""
UNOPENED = "nothing opens reasoning: without its close it cannot be told from content"
"""A cause of `causes.yaml`."""


@dataclass(frozen=True, slots=True)
class Loop:
    """How the messages of one template came back."""

    name: str
    good: int
    total: int
    titles: tuple[str, ...] = ()
    """The messages that did not come back."""
    first: str = ""
    """How the first of them differs."""

    @property
    def cause(self) -> str:
        """What in the template itself keeps messages from coming back; empty: nothing."""
        return known_causes("parse").get(self.name, "")

    @property
    def ok(self) -> bool:
        return self.good >= ENOUGH * self.total


RANDOM = 25
"""How many random messages each template is tried with, beside the battery."""


def loop_cases() -> Iterator[tuple[str, Message]]:
    """Return the battery, and random messages beside it."""
    yield from ((case.title, case.message) for case in battery_messages())
    for at, message in enumerate(random_messages(RANDOM)):
        yield f"random message {at}", message


def loop_of(path: Path) -> Loop | None:
    """Send messages around the loop; None where the analysis does not hold."""
    analysis = sound_analysis(path)
    if analysis is None:
        return None
    format_ = analysis.format
    bad: dict[str, str] = {}
    total = 0
    for title, message in loop_cases():
        try:
            found = difference(format_, message)
        except RefusedMessageError:
            continue
        except Exception as error:  # noqa: BLE001 - a crash is what the survey looks for
            found = f"crash: {error!r}"
        total += 1
        if found:
            bad[title] = found
    first = next(iter(bad.values()), "")
    return Loop(path.stem, total - len(bad), total, tuple(bad), first)


def _lines(found: Sequence[Loop]) -> Iterator[str]:
    good, total = sum(each.good for each in found), sum(each.total for each in found)
    whole = sum(each.good == each.total for each in found)
    enough = sum(each.ok for each in found)
    yield f"{len(found):>6}  templates whose self-check passes"
    yield f"{whole:>6}  give back every message"
    yield f"{enough:>6}  give back at least {ENOUGH:.0%} of their messages"
    yield f"{good:>6}  of {total} messages came back: {good / max(total, 1):.2%}"
    short = [each for each in found if not each.ok]
    for cause in sorted({each.cause for each in short}):
        same = [each for each in short if each.cause == cause]
        yield f"{len(same):>6}  {cause or 'of unknown cause'}"
        for each in same:
            yield f"{'':8}  {each.name}: {each.good} of {each.total}, first: {each.titles[0]}"


LOOPS = Board(loop_of, _lines, lambda each: each.ok or bool(each.cause), chunk=16)
