"""Measure how well a learned format parses the template's turns.

The template's calls and reasoning are hidden. The examples are messages rendered after its prompt,
drawn by a seed or chosen for their features. With outputs, they are unlabeled walks of its grammar
with three tools, and only calls, or calls and reasoning, are hidden. The learned format then parses
the messages of the closed loop; parts that the template drops are taken from its own renders.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from msgspec import structs

from autoparser import Analysis, AutoparserError, Message, OutputParser, TurnFormat
from autoparser.analysis.core.format_choice import Formats
from autoparser.analysis.core.json_types import json_type
from autoparser.analysis.core.message_battery import battery_messages, loose_tools
from autoparser.analysis.decoding.answer_judge import DecodingTrial, made_tokenizer
from autoparser.analysis.decoding.constraints import ConstraintError
from autoparser.analysis.learning.continuations import turns_after
from autoparser.analysis.learning.example_conclusion import learn_examples
from autoparser.analysis.learning.examples import Example, without_calls
from autoparser.analysis.learning.outputs import LoggedOutput, OfferedTools
from autoparser.analysis.parsing.parsed_message import message_from
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_request import read_request
from autoparser.analysis.teaching.output_learning import OutputTrial
from autoparser.analysis.teaching.taught_analysis import reads_as

from .closed_loop import loop_cases
from .corpus_templates import FIXTURES, Board, of_sound

EXAMPLES, OUTPUTS = (1, 2, 5, 20), (5, 20, 100)
"""So many examples, and so many outputs, are learned from."""
TOOLS: list[dict[str, Any]] = yaml.safe_load((FIXTURES / "tools.yaml").read_text("utf-8"))
CALLING = 4
"""One of so many walks may say something without a call."""
REASONING = 2
"""One of so many walks reasons."""
ENOUGH = 0.99
WRONG_EVERY = 10
"""One of so many texts is spoiled, where noise is asked for."""
_LIMIT = 1500


class Reading(NamedTuple):
    read: int
    asked: int
    error: str = ""
    missed: tuple[str, ...] = ()
    odd: int = 0
    """Spoiled texts that were learned from."""
    named: int = 0
    """The reported ones of them."""

    @property
    def enough(self) -> bool:
        return self.asked > 0 and self.read >= ENOUGH * self.asked


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """A message, as a template writes it after its prompt."""

    title: str
    text: str
    message: Message
    example: bool
    """It may be given as an example; all others are asked alone."""


@dataclass(frozen=True, slots=True)
class LearnedReadings:
    """The messages that a template writes and reads, and what came of learning."""

    name: str
    shown: Sequence[ShownMessage]
    own: Reading
    """By its own analysis, of all messages that it writes."""
    learned: dict[str, Reading]
    """By how many texts, and how they were found."""

    def learn(
        self, title: str, spoiled: set[int], learn: Callable[[], tuple[TurnFormat, set[int]]]
    ) -> None:
        """Learn a format, and which texts are odd, and have it read all messages."""
        try:
            found, odd = learn()
        except AutoparserError as error:
            reading = Reading(0, len(self.shown), str(error), odd=len(spoiled))
        else:
            reading = _read(self.shown, Formats.of(found))
            reading = reading._replace(odd=len(spoiled), named=len(odd & spoiled))
        self.learned[title] = reading


def _unlearned(name: str, analysis: Analysis) -> LearnedReadings | None:
    """Return the readings before learning, or None without a generation prompt."""
    if not analysis.format.openings:
        return None
    every = list(_shown_by(analysis))
    own = _read(every, analysis.formats)
    # Ambiguously rendered messages are not used as examples.
    shown = [message for message in every if message.title not in own.missed]
    return LearnedReadings(name, shown, own, {})


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


def _read(shown: Sequence[ShownMessage], formats: Formats) -> Reading:
    request = read_request(loose_tools(), begun_turn=formats.default)
    parser = OutputParser(build_expression(formats, request))
    missed = tuple(
        message.title for message in shown if not reads_as(parser, message.text, message.message)
    )
    return Reading(len(shown) - len(missed), len(shown), missed=missed)


def without_parts(format_: TurnFormat) -> TurnFormat:
    """Return the format with content only; the header, the prompts and the ends are kept."""
    silent = without_calls(format_)
    return structs.replace(
        silent,
        layouts={
            presence: layout
            for presence, layout in silent.layouts.items()
            if not presence.reasoning
        },
        reasoning_cut=None,
        reasoning_open="",
        reasoning_close="",
    )


def example_readings(
    name: str, analysis: Analysis, noise: bool = False, counts: Sequence[int] = EXAMPLES
) -> LearnedReadings | None:
    """Learn from so many examples; None if the template writes no calls."""
    asked = _unlearned(name, analysis)
    if asked is None or not any(
        message.example and message.message.calls for message in asked.shown
    ):
        return None
    hidden = without_parts(analysis.format)
    for how in ("drawn", "chosen"):
        for count in counts:
            chance = random.Random(f"1 {name} {count}")
            drawn = _drawn(asked.shown, count, chance, chosen=how == "chosen")
            texts = [message.text for message in drawn]
            called = [call.name for message in drawn for call in message.message.calls]
            spoiled = _spoil(texts, called, chance) if noise else set[int]()
            examples = [
                Example(text, shown_.message) for text, shown_ in zip(texts, drawn, strict=True)
            ]
            asked.learn(f"{count} {how}", spoiled, partial(_of_examples, examples, hidden))
    return asked


def _of_examples(examples: Sequence[Example], hidden: TurnFormat) -> tuple[TurnFormat, set[int]]:
    found = learn_examples(examples, hidden)
    return found.format, set(found.others)


def _drawn(
    shown: Sequence[ShownMessage], count: int, chance: random.Random, *, chosen: bool
) -> list[ShownMessage]:
    """Draw examples, the first with a call of two arguments; or choose each for its new features.

    So a person chooses who is told what no example shows yet.
    """
    shown = [message for message in shown if message.example]
    called = [message for message in shown if message.message.calls]
    telling = [
        message
        for message in called
        if any(len(call.arguments) > 1 for call in message.message.calls)
    ]
    drawn = [chance.choice(telling or called)]
    rest = [message for message in shown if message is not drawn[0]]
    chance.shuffle(rest)
    while rest and len(drawn) < count:
        if chosen:
            known = {feature for one in drawn for feature in _features(one.message)}
            rest.sort(key=lambda shown: len(_features(shown.message) - known))
        drawn.append(rest.pop())
    return drawn


_SIGNS = {"a quote": "\"'", "an escape": "\\\n", "markup": "<&"}


def _features(message: Message) -> set[str]:
    """Return the features of a message: its parts, number of calls, types of values, signs."""
    parts = [part for part, has in message.presence._asdict().items() if has]
    found = {*parts, *(f"{one} before {other}" for one, other in pairwise(parts))}
    if message.calls:
        found.add("several calls" if len(message.calls) > 1 else "a call")
    for call in message.calls:
        if not call.arguments:
            found.add("no arguments")
        for value in call.arguments.values():
            found.add(f"an argument that is {json_type(value)}")
            held = list(value.values()) if isinstance(value, dict) else value
            if isinstance(held, list) and any(isinstance(item, (list, dict)) for item in held):
                found.add("one in another")
            if isinstance(value, str):
                found |= {name for name, chars in _SIGNS.items() if {*value} & {*chars}}
    return found


def _spoil(texts: list[str], names: Sequence[str], chance: random.Random) -> set[int]:
    """Cut, garble or replace the calls in every so many-th text; return which."""
    spoiled: set[int] = set()
    for at in range(WRONG_EVERY // 2, len(texts), WRONG_EVERY):
        text = texts[at]
        name = next((name for name in names if name in text), "")
        if name:
            place = text.index(name)
            ways = (
                text[: place + len(name) // 2],
                text[: place - 3] + text[place + 3 :],
                f'Action: {names[0]}\nAction Input: {{"city": "Oslo", "days": 3}}',
            )
            texts[at] = chance.choice(ways)
            spoiled.add(at)
    return spoiled


def output_readings(
    name: str,
    analysis: Analysis,
    noise: bool = False,
    both: bool = False,
    counts: Sequence[int] = OUTPUTS,
) -> LearnedReadings | None:
    """Learn from so many outputs; None if the template writes no calls."""
    asked = _unlearned(name, analysis)
    if asked is None or not any(message.message.calls for message in asked.shown):
        return None
    outputs = _outputs(analysis, max(counts))
    if len(outputs) < min(counts):
        return None
    hidden = (without_parts if both else without_calls)(analysis.format)
    names = [str(tool["function"]["name"]) for tool in TOOLS]
    for count in counts:
        texts = outputs[:count]
        chance = random.Random(f"{name} {count}")
        spoiled = _spoil(texts, names, chance) if noise else set[int]()
        asked.learn(f"{count}", spoiled, partial(_of_outputs, texts, hidden))
    return asked


def _of_outputs(texts: Sequence[str], hidden: TurnFormat) -> tuple[TurnFormat, set[int]]:
    given = [LoggedOutput(text, place=f"line {at}") for at, text in enumerate(texts, start=1)]
    found = OutputTrial(given, hidden, OfferedTools(TOOLS), ()).conclude_format()
    odd = {reading.output.place for reading in found.readings if reading.problem}
    return found.format, {at for at, output in enumerate(given) if output.place in odd}


def _outputs(analysis: Analysis, count: int) -> list[str]:
    """Return the template's text of walks, alternately with calls and without."""
    kinds = {choice: _walked(analysis, count, choice) for choice in ("required", "auto")}
    found: list[str] = []
    for at in range(count):
        text = next(kinds["auto" if at % CALLING == CALLING - 1 else "required"], None)
        if text is None:
            break
        found.append(text)
    return found


def _walked(analysis: Analysis, count: int, choice: str) -> Iterator[str]:
    # Models write declared names, so use a strict grammar: under an open one, walks make names up.
    grammar = analysis.grammar(TOOLS, tool_choice=choice, strict=True)
    parser = analysis.parser(TOOLS, tool_choice=choice)
    turns = analysis.turns(TOOLS)
    begun = analysis.begun(TOOLS)[0]
    try:
        trial = DecodingTrial(begun, grammar, parser, made_tokenizer(grammar), turns)
        for at, answer in enumerate(trial.walks(4 * count, seed=0, limit=_LIMIT)):
            if answer.broken or not answer.ended:
                continue
            try:
                message = _reasoned(message_from(parser.parse(answer.text)), at)
                text = turns.written_turn(message).continuation
                # Digits beyond a float's range are parsed as Infinity, which JSON lacks.
                json.dumps([dict(call.arguments) for call in message.calls], allow_nan=False)
            except ValueError:
                continue
            if text is not None and (message.calls or choice == "auto"):
                yield text
    except (AutoparserError, ConstraintError):
        return


def _reasoned(message: Message, at: int) -> Message:
    """Move the content of some walks into reasoning: by themselves they hardly ever reason."""
    said = message.content.strip()
    if at % REASONING or message.reasoning or not said:
        return message
    return structs.replace(message, content="" if message.calls else said, reasoning=said)


def _lines(found: Sequence[LearnedReadings], head: str, what: str, named: str) -> Iterator[str]:
    """Lay out the ways of learning; templates are named that are not read well in one of them."""
    yield f"{len(found)} templates that render calls after their prompt, {head}"
    yield f"{what:>9}  {'templates with 99 % read':>24}  {'messages read':>14}  none learned"
    yield _row("analyzed", [row.own for row in found])
    for name in found[0].learned if found else ():
        yield _row(name, [row.learned[name] for row in found])
    odd = [reading for row in found for reading in row.learned.values() if reading.odd]
    if odd:
        right = sum(row.named for row in odd)
        yield f"spoiled {what}: {sum(row.odd for row in odd)}, of them named: {right}"
    for row in found:
        reading = row.learned[named]
        if not reading.enough:
            words = reading.error or "; ".join(reading.missed[:3])
            yield f"  {row.name}: {reading.read} of {reading.asked}: {words}"


def _row(name: str, found: Sequence[Reading]) -> str:
    enough = sum(row.enough for row in found)
    asked, read = sum(row.asked for row in found), sum(row.read for row in found)
    failed = sum(bool(row.error) for row in found)
    share = f"{enough} ({enough / max(len(found), 1):.0%})"
    return f"{name:>9}  {share:>24}  {read / max(asked, 1):>14.1%}  {failed}"


def learning_board(
    *, outputs: bool = False, noise: bool = False, both: bool = False
) -> Board[Path, LearnedReadings]:
    if outputs:
        ask = partial(output_readings, noise=noise, both=both)
        lines = partial(_lines, head="and write their walks", what="outputs", named="20")
    else:
        ask = partial(example_readings, noise=noise)
        lines = partial(_lines, head="renders hidden", what="examples", named="5 chosen")
    return Board(of_sound(ask, calling=True), lines, lambda _: True)
