"""How well a format that was learned from unlabeled outputs reads what the template writes.

What a template's renders say of calls is hidden; with `both`, of reasoning, too. Walks through its
grammar, three tools offered, are messages; what the template writes of each after its prompt is an
output. Walks say something first, and that is what a template writes as reasoning in one of a few.
So many outputs are given with the tools, and nobody says what they mean. The judge is what
learning from examples is judged by: the messages of the closed loop, as the template writes them.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import yaml
from msgspec.structs import replace

from autoparser import AutoparserError
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json, Message, Tool
from autoparser.analysis.core.turn_format import Formats
from autoparser.analysis.decoding.answer_judge import DecodingTrial, made_tokenizer
from autoparser.analysis.decoding.constraints import ConstraintError
from autoparser.analysis.learning.examples import without_calls
from autoparser.analysis.learning.outputs import LoggedOutput
from autoparser.analysis.parsing.parsed_message import message_of
from autoparser.analysis.teaching.output_learning import format_of_outputs

from .corpus_templates import of_each
from .learning import (
    WRONG_EVERY,
    Reading,
    TemplateReadings,
    asked_of,
    read_of,
    table_of,
    without_parts,
)

COUNTS = (5, 20, 100)
TOOLS: list[Tool] = yaml.safe_load(
    (Path(__file__).parents[2] / "fixtures" / "tools.yaml").read_text("utf-8")
)
CALLING = 4
"""One of so many walks may say something without a call."""
REASONING = 2
"""One of so many walks reasons."""
_LIMIT = 1500
"""Tokens of a walk."""


def unlabeled_readings(
    path: Path, noise: bool = False, both: bool = False, counts: Sequence[int] = COUNTS
) -> TemplateReadings | None:
    """Learn from so many outputs; None where nothing is analyzed, or calls are not written."""
    asked = asked_of(path)
    if asked is None or not any(each.message.calls for each in asked.shown):
        return None
    outputs = _outputs(asked.analysis, max(counts))
    if len(outputs) < min(counts):
        return None
    hide = without_parts if both else without_calls
    hidden = hide(asked.analysis.format)
    learned: list[Reading] = []
    for count in counts:
        chance = random.Random(f"{path.stem} {count}")
        given, spoiled = (
            _spoiled(outputs[:count], chance) if noise else (outputs[:count], set[str]())
        )
        try:
            found = format_of_outputs(given, hidden, TOOLS)
        except AutoparserError as error:
            lost = Reading(count, 0, len(asked.shown), error=str(error), odd=len(spoiled))
            learned.append(lost)
            continue
        odd = {each.output.place for each in found.readings if each.problem}
        reading = read_of(asked.shown, Formats.of(found.format), count)
        learned.append(reading._replace(odd=len(spoiled), named=len(odd & spoiled)))
    return TemplateReadings(path.stem, asked.own, tuple(learned))


def _outputs(analysis: Analysis, count: int) -> list[LoggedOutput]:
    """Return what the template writes of walks, those with calls and others in turn."""
    kinds = {choice: _walked(analysis, count, choice) for choice in ("required", "auto")}
    found: list[str] = []
    for at in range(count):
        text = next(kinds["auto" if at % CALLING == CALLING - 1 else "required"], None)
        if text is None:
            break
        found.append(text)
    return [LoggedOutput(text, place=f"line {at}") for at, text in enumerate(found, start=1)]


def _walked(analysis: Analysis, count: int, choice: str) -> Iterator[str]:
    # Models write the names that their tools declare; an open grammar has walks make names up.
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
                message = _reasoned(message_of(parser.parse(answer.text)), at)
                text = turns.written_turn(message).continuation
            except ValueError:
                continue
            if text is None or not (message.calls or choice == "auto"):
                continue
            # Digits that no float holds come out as Infinity, which is none of JSON's numbers.
            if all(_is_json(call.arguments) for call in message.calls):
                yield text
    except (AutoparserError, ConstraintError):
        return


def _is_json(arguments: Mapping[str, Json]) -> bool:
    try:
        json.dumps(dict(arguments), allow_nan=False)
    except ValueError:
        return False
    return True


def _reasoned(message: Message, at: int) -> Message:
    """Let some walks mean as reasoning what they say: by themselves they hardly ever reason."""
    said = message.content.strip()
    if at % REASONING or message.reasoning or not said:
        return message
    return replace(message, content="" if message.calls else said, reasoning=said)


def _spoiled(
    outputs: Sequence[LoggedOutput], chance: random.Random
) -> tuple[list[LoggedOutput], set[str]]:
    """Cut, garble or replace the calls of every so many-th output; return which."""
    given = list(outputs)
    spoiled: set[str] = set()
    names = [str(tool["function"]["name"]) for tool in TOOLS]  # type: ignore[index,call-overload]
    for at in range(WRONG_EVERY // 2, len(given), WRONG_EVERY):
        text = given[at].text
        name = next((name for name in names if name in text), "")
        if not name:
            continue
        place = text.index(name)
        texts = (
            text[: place + len(name) // 2],
            text[: place - 3] + text[place + 3 :],
            f'Action: {names[0]}\nAction Input: {{"city": "Oslo", "days": 3}}',
        )
        given[at] = LoggedOutput(chance.choice(texts), place=given[at].place)
        spoiled.add(given[at].place)
    return given, spoiled


def judged_outputs(
    paths: Sequence[Path], processes: int, *, noise: bool = False, both: bool = False
) -> tuple[str, bool]:
    """Learn from every template's own outputs; return the table, and whether nothing crashed."""
    ask = partial(unlabeled_readings, noise=noise, both=both)
    found = of_each(ask, paths, processes, chunk=4)
    head = f"{len(found)} templates that render calls after their prompt, and write their walks"
    return table_of(head, "outputs", [f"{count}" for count in COUNTS], "20", found), True
