"""Parsing what templates write: the battery around the closed loop, for every template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoparser import AutoparserError
from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.turn_format import RefusedMessageError
from tests.analysis.parsing.loop import difference
from tests.analysis.parsing.messages import random_messages

from .each_template import of_each
from .outcomes import PROCESSES, analysis_at

ENOUGH = 0.99
"""How many of a template's messages have to come back."""


CHANNEL = "content beside calls is written into the reasoning's channel"
UNOPENED = "nothing opens reasoning: without its close it cannot be told from content"
UNMARKED = "nothing opens or closes reasoning"
UNESCAPED = "strings are written without their quotes escaped, or without quotes"
UNTOLD = "an array's empty items, and those that are not strings, are written like strings"
ENDED = "the turn is ended before its calls"
BROKEN = "a call without arguments is not JSON: its arguments are missing"
_BY_CAUSE: Mapping[str, tuple[str, ...]] = {
    CHANNEL: (
        "CrowtherLabs-Atom-Electron-1.0",
        "LLMWildling-gpt-oss-220a20b",
        "OpenGVLab-InternVL3_5-GPT-OSS-20B-A4B-Preview",
        "Salesforce-FARE-20B",
        "llm-jp-llm-jp-4-8b-instruct",
        "llm-jp-llm-jp-4-8b-thinking",
        "microsoft-OptiMind-SFT",
        "microsoft-SchGen",
        "openai-gpt-oss-120b",
        "openai-gpt-oss-safeguard-20b",
        "unsloth-gpt-oss-20b",
    ),
    UNOPENED: (
        "Apriel-1.6-15b-Thinker-fixed",
        "NVIDIA-Nemotron-Nano-v2",
        "nvidia-NVIDIA-Nemotron-Nano-12B-v2",
        "nvidia-NVIDIA-Nemotron-Nano-9B-v2-Japanese",
    ),
    UNMARKED: ("spitfire4794-supra-arith",),
    UNESCAPED: (
        "LiquidAI-LFM2.5-VL-450M",
        "baseten-Llama-3.2-3B-Instruct-pythonic",
    ),
    UNTOLD: ("MiniMaxAI-MiniMax-M3-MXFP8",),
    ENDED: ("tiiuae-Falcon-H1-Tiny-Tool-Calling-90M",),
    BROKEN: ("Motif-Technologies-Motif-3-Beta",),
}
AMBIGUOUS = {name: cause for cause, names in _BY_CAUSE.items() for name in names}
"""Templates that write messages which no reader could tell apart, or read at all."""


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
        return AMBIGUOUS.get(self.name, "")

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
    try:
        analysis = analysis_at(path)
    except AutoparserError:
        return None
    if analysis.check.failures:
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


def loops(paths: Sequence[Path], processes: int = PROCESSES) -> list[Loop]:
    """Go round with every template whose self-check passes."""
    return of_each(loop_of, paths, processes, chunk=16)


def loop_table(found: Sequence[Loop]) -> str:
    """Lay out how many messages came back, and of which templates not enough did."""
    return "\n".join(_lines(found)) + "\n"


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
