"""How well a format that was learned from examples reads what the template writes.

What a template's renders say of calls and reasoning is hidden. Messages that it writes after its
prompt are given as examples, so many of them, drawn by a seed; then all are parsed, and random
messages that are never examples. The judge is the message that the template was given: what it does
not write of it, its own renders tell.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from autoparser import AutoparserError
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.core.message_battery import battery_messages, loose_tools
from autoparser.analysis.core.schema_keywords import type_of
from autoparser.analysis.core.turn_format import Formats, TurnFormat
from autoparser.analysis.learning.continuations import turns_after
from autoparser.analysis.learning.example_conclusion import learn_examples
from autoparser.analysis.learning.examples import Example, without_calls
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_request import request_of
from autoparser.analysis.teaching.taught_analysis import reads_as

from .closed_loop import loop_cases
from .corpus_templates import of_each, sound_analysis

COUNTS = (1, 2, 5, 20)
ENOUGH = 0.99
_NAMED = 5
"""Templates that are not read well after so many chosen examples are named."""
WRONG_EVERY = 10
"""One of so many outputs is spoiled, where noise is asked for."""


class Reading(NamedTuple):
    """How many messages one format reads."""

    examples: int
    read: int
    asked: int
    chosen: bool = False
    """Each example shows something that those before it do not; else they are drawn."""
    error: str = ""
    missed: tuple[str, ...] = ()
    odd: int = 0
    """Spoiled examples."""
    named: int = 0
    """Spoiled examples that are named."""

    @property
    def enough(self) -> bool:
        """Whether nearly all were read."""
        return self.asked > 0 and self.read >= ENOUGH * self.asked


@dataclass(frozen=True, slots=True)
class TemplateReadings:
    """What came of one template."""

    name: str
    own: Reading
    """By its own analysis."""
    learned: tuple[Reading, ...]


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message, as a template writes it after its prompt."""

    title: str
    text: str
    message: Message
    example: bool
    """It may be given as an example; all others are asked alone."""


def readings(
    path: Path, seed: int, noise: bool = False, counts: Sequence[int] = COUNTS
) -> TemplateReadings | None:
    """Learn from so many examples; None where nothing is analyzed, or calls are not written."""
    asked = asked_of(path)
    if asked is None or not any(each.example and each.message.calls for each in asked.shown):
        return None
    hidden = without_parts(asked.analysis.format)
    learned: list[Reading] = []
    for chosen in (False, True):
        for count in counts:
            chance = random.Random(f"{seed} {path.stem} {count}")
            drawn = _drawn(asked.shown, count, chance, chosen=chosen)
            found = _learned_from(drawn, asked.shown, hidden, chance, noise=noise)
            learned.append(found._replace(examples=count, chosen=chosen))
    return TemplateReadings(path.stem, asked.own, tuple(learned))


class Asked(NamedTuple):
    """A template's analysis, and the messages that it writes and reads."""

    analysis: Analysis
    shown: list[ShownMessage]
    own: Reading
    """Of all messages that it writes."""


def asked_of(path: Path) -> Asked | None:
    """Analyze a template; None where its check fails, or it writes no calls after its prompt."""
    analysis = sound_analysis(path)
    if analysis is None or analysis.format.calls is None or not analysis.format.openings:
        return None
    every = list(_shown_by(analysis))
    own = read_of(every, analysis.formats, 0)
    # What the template writes so that nobody can tell it again is no question to examples.
    return Asked(analysis, [each for each in every if each.title not in own.missed], own)


def without_parts(format_: TurnFormat) -> TurnFormat:
    """Return the format with content only; the header, the prompts and the ends are kept."""
    silent = without_calls(format_)
    return structs.replace(
        silent,
        layouts={each: layout for each, layout in silent.layouts.items() if not each.reasoning},
        reasoning_cut=None,
        reasoning_open="",
        reasoning_close="",
    )


def _shown_by(analysis: Analysis) -> Iterator[ShownMessage]:
    """Return the messages of the closed loop, as the template writes them after its prompt."""
    format_ = analysis.format
    turns = turns_after(format_, format_.openings[0], analysis.prober())
    if not turns.prompted.rendered:
        return
    titles = {case.title for case in battery_messages()}
    for title, given in loop_cases():
        message = format_.with_naming_ids(given)
        text = turns.written_turn(message).continuation
        if text is not None:
            yield ShownMessage(title, text, turns.shown_message(message), title in titles)


def _learned_from(
    drawn: Sequence[ShownMessage],
    shown: Sequence[ShownMessage],
    hidden: TurnFormat,
    chance: random.Random,
    *,
    noise: bool,
) -> Reading:
    examples = [Example(each.text, each.message) for each in drawn]
    spoiled = _spoil(examples, chance) if noise else ()
    count = len(examples)
    try:
        found = learn_examples(examples, hidden)
    except AutoparserError as error:
        return Reading(count, 0, len(shown), error=str(error))
    reading = read_of(shown, Formats.of(found.format), count)
    named = sum(at in found.others for at in spoiled)
    return reading._replace(odd=len(spoiled), named=named)


def _drawn(
    shown: Sequence[ShownMessage], count: int, chance: random.Random, *, chosen: bool
) -> list[ShownMessage]:
    """Draw examples, the first with a call of two arguments; or choose each for what it shows.

    So a person chooses who is told what no example shows yet.
    """
    shown = [each for each in shown if each.example]
    called = [each for each in shown if each.message.calls]
    drawn = [chance.choice([each for each in called if _tells(each.message)] or called)]
    rest = [each for each in shown if each is not drawn[0]]
    chance.shuffle(rest)
    while rest and len(drawn) < count:
        if chosen:
            known = {each for one in drawn for each in _features(one.message)}
            rest.sort(key=lambda each: len(_features(each.message) - known))
        drawn.append(rest.pop())
    return drawn


_SIGNS = {"a quote": "\"'", "an escape": "\\\n", "markup": "<&"}
"""What notations escape."""


def _features(message: Message) -> set[str]:
    """Return what a message shows: its parts, how many calls, types of values, signs."""
    values = [value for call in message.calls for value in call.arguments.values()]
    kinds = {f"an argument that is {type_of(value)}" for value in values}
    held = [inner for value in values for inner in _held(value)]
    nested = (
        {"one in another"} if any(isinstance(each, (list, dict)) for each in held) else set[str]()
    )
    texts = {char for value in values if isinstance(value, str) for char in value}
    signs = {name for name, chars in _SIGNS.items() if texts & set(chars)}
    calls = (
        {"several calls" if len(message.calls) > 1 else "a call"} if message.calls else set[str]()
    )
    empty = {"no arguments" for call in message.calls if not call.arguments}
    parts = [part for part, has in message.presence._asdict().items() if has]
    beside = {f"{one} before {other}" for one, other in pairwise(parts)}
    return kinds | nested | signs | calls | empty | beside | set(parts)


def _held(value: Json) -> list[Json]:
    """Return what an array or an object holds."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _tells(message: Message) -> bool:
    """Whether a message has a call of two arguments."""
    return any(len(call.arguments) > 1 for call in message.calls)


def _spoil(examples: list[Example], chance: random.Random) -> tuple[int, ...]:
    """Cut, garble or replace every so many-th output; return which."""
    places = range(WRONG_EVERY // 2, len(examples), WRONG_EVERY)
    for at in places:
        text = examples[at].output
        spoiled = (
            text[: len(text) // 2],
            text[: len(text) // 3] + text[len(text) // 3 + 5 :],
            f"Action: {examples[at].message.content}",
        )
        examples[at] = replace(examples[at], output=chance.choice(spoiled))
    return tuple(places)


def read_of(shown: Sequence[ShownMessage], formats: Formats, count: int) -> Reading:
    tools = loose_tools()
    parser = OutputParser(
        build_expression(formats, request_of(tools, begun_turn=formats.default)),
    )
    missed = tuple(each.title for each in shown if not reads_as(parser, each.text, each.message))
    return Reading(count, len(shown) - len(missed), len(shown), missed=missed)


def judged_learning(
    paths: Sequence[Path], processes: int, *, seed: int = 1, noise: bool = False
) -> tuple[str, bool]:
    """Learn from every template's own words; return the table, and whether nothing crashed."""
    found = of_each(partial(readings, seed=seed, noise=noise), paths, processes, chunk=4)
    head = f"{len(found)} templates that render calls after their prompt, renders hidden"
    names = [f"{count} {how}" for how in ("drawn", "chosen") for count in COUNTS]
    return table_of(head, "examples", names, f"{_NAMED} chosen", found), True


def table_of(
    head: str, what: str, names: Sequence[str], named: str, found: Sequence[TemplateReadings]
) -> str:
    """Return the table; templates are named that are not read well in the row `named`."""
    lines = [
        head,
        f"{what:>9}  {'templates with 99 % read':>24}  {'messages read':>14}  none learned",
        _row("analyzed", [each.own for each in found]),
        *(_row(name, [each.learned[at] for each in found]) for at, name in enumerate(names)),
    ]
    odd = [reading for each in found for reading in each.learned if reading.odd]
    if odd:
        right = sum(each.named for each in odd)
        lines.append(f"spoiled {what}: {sum(each.odd for each in odd)}, of them named: {right}")
    for each in found:
        reading = each.learned[names.index(named)]
        if not reading.enough:
            words = reading.error or "; ".join(reading.missed[:3])
            lines.append(f"  {each.name}: {reading.read} of {reading.asked}: {words}")
    return "\n".join(lines) + "\n"


def _row(name: str, found: Sequence[Reading]) -> str:
    """Return the row of a table of what was learned one way."""
    enough = sum(each.enough for each in found)
    asked, read = sum(each.asked for each in found), sum(each.read for each in found)
    failed = sum(bool(each.error) for each in found)
    share = f"{enough} ({enough / max(len(found), 1):.0%})"
    return f"{name:>9}  {share:>24}  {read / max(asked, 1):>14.1%}  {failed}"
