"""Parse rendered turns and texts without calls, and prove the templates' grammars.

Each template renders the battery's and random messages; parsing gives them back. Texts without
calls consist of words from the corpus' prompts, so they contain no marker of the parsed format but
may contain others' markers; no character may be lost in any chunking. A grammar accepts its
template's turns, and random walks of it parse cleanly.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from autoparser import Analysis, AutoparserError, ChatTemplate
from autoparser.analysis.core.conversation import Message, Presence
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.text_alignment import TemplateLiteral
from autoparser.analysis.core.turn_format import RefusedMessageError
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.parsing.stop_marks import content_stops
from tests.analysis.grammar.proofs import USUAL, Fault, prove, prove_gbnf, so_many
from tests.analysis.parsing.loop import TOOLS, difference, disagreement, generated
from tests.analysis.parsing.messages import random_messages

from .corpus_templates import Board, analysis_at, by_cause, known_causes, of_sound, read_template

ENOUGH = 0.99
"""How many of a template's messages have to come back."""
UNOPENED = "nothing opens reasoning: without its close it cannot be told from content"
"""A cause of `causes.yaml`."""
RANDOM = 25
"""How many random messages each template is tried with, beside the battery."""


@dataclass(frozen=True, slots=True)
class Loop:
    name: str
    good: int
    total: int
    titles: tuple[str, ...] = ()
    """The messages that did not come back."""
    first: str = ""
    """How the first of them differs."""

    @property
    def cause(self) -> str:
        """The known cause in the template for lost messages, or empty."""
        return known_causes("parse").get(self.name, "")

    @property
    def ok(self) -> bool:
        return self.good >= ENOUGH * self.total


def loop_cases() -> Iterator[tuple[str, Message]]:
    yield from ((case.title, case.message) for case in battery_messages())
    for at, message in enumerate(random_messages(RANDOM)):
        yield f"random message {at}", message


def loop_of(name: str, analysis: Analysis) -> Loop:
    bad: dict[str, str] = {}
    total = 0
    for title, message in loop_cases():
        try:
            found = difference(analysis.format, message)
        except RefusedMessageError:
            continue
        except Exception as error:  # noqa: BLE001 - a crash is what the survey looks for
            found = f"crash: {error!r}"
        total += 1
        if found:
            bad[title] = found
    first = next(iter(bad.values()), "")
    return Loop(name, total - len(bad), total, tuple(bad), first)


def _lines(found: Sequence[Loop]) -> Iterator[str]:
    good, total = sum(row.good for row in found), sum(row.total for row in found)
    yield f"{len(found):>6}  templates whose self-check passes"
    yield f"{sum(row.good == row.total for row in found):>6}  give back every message"
    enough = sum(row.ok for row in found)
    yield f"{enough:>6}  give back at least {ENOUGH:.0%} of their messages"
    yield f"{good:>6}  of {total} messages came back: {good / max(total, 1):.2%}"
    for cause, same in by_cause((row for row in found if not row.ok), lambda row: row.cause):
        yield f"{len(same):>6}  {cause or 'of unknown cause'}"
        for row in same:
            yield f"{'':8}  {row.name}: {row.good} of {row.total}, first: {row.titles[0]}"


LOOPS = Board(of_sound(loop_of), _lines, lambda row: row.ok or bool(row.cause), chunk=16)

SPACES = (" ", " ", " ", "  ", "\n", "\n\n", "\t")
LONGEST = 40
"""How many words a text has at most."""


def words_of(paths: Sequence[Path]) -> list[str]:
    """Return the words of the templates' prompts, each once, those with markers among them."""
    words: dict[str, None] = {}
    for path in paths:
        for text in _prompts(read_template(path)):
            words.update(dict.fromkeys(text.split()))
    return list(words)


def _prompts(template: ChatTemplate) -> Iterator[str]:
    asked = [{"role": "user", "content": "Please look into it."}]
    told = [*asked, {"role": "assistant", "content": "Here is what I found."}, *asked]
    for messages, tools in ((asked, list(TOOLS)), (told, None)):
        try:
            yield template.render(messages, tools=tools, add_generation_prompt=True)
        except AutoparserError:
            continue


def plain_texts(
    analysis: Analysis, words: Sequence[str], chance: random.Random, count: int
) -> Iterator[str]:
    """Make texts without the format's header in which nothing ends content, for its parser."""
    _, parser = generated(analysis.format, "")
    stops = content_stops(parser.turn)
    header = TemplateLiteral.of(analysis.format.header).markers
    own = [word for word in words if any(marker in word for marker in header)]
    usable = [word for word in words if word not in own and stops.find(word, 0) is None]
    for _ in range(count if usable else 0):
        drawn = [chance.choice(usable) for _ in range(chance.randint(1, LONGEST))]
        text = "".join(f"{word}{chance.choice(SPACES)}" for word in drawn).strip()
        if stops.find(text, 0) is None:
            yield text


def lost_texts(path: Path, words: Sequence[str], count: int) -> tuple[int, list[str]]:
    """Parse so many texts with a template's parser; return the number read and the lost ones."""
    try:
        format_ = analysis_at(path).format
    except AutoparserError:
        return 0, []
    layout = format_.layouts.get(Presence(content=True))
    unopened = known_causes("parse").get(path.stem) == UNOPENED
    if unopened or layout is None or layout.refusal or layout.parts != (TurnPart.CONTENT,):
        return 0, []
    chance = random.Random(path.stem)
    texts = list(plain_texts(analysis_at(path), words, chance, count))
    lost: list[str] = []
    for text in texts:
        turn, parser = generated(format_, format_.write(Message(text)))
        size = chance.randint(1, 9)
        pieces = [turn[at : at + size] for at in range(0, len(turn), size)]
        parsed = parser.parse(turn)
        wrong = parsed.content != text or parsed.tool_calls
        lost += [text] if wrong or disagreement(parser, turn, pieces) else []
    return len(texts), lost


PROVED = 0.97
"""Of the templates whose self-check passes."""


@dataclass(frozen=True, slots=True)
class Proof:
    name: str
    asked: int
    faults: tuple[Fault, ...]
    crash: str = ""

    @property
    def ok(self) -> bool:
        return not self.faults and not self.crash

    @property
    def cause(self) -> str:
        return known_causes("grammar").get(self.name, "")


def proof_of(
    name: str, analysis: Analysis, walks: int, *, gbnf: bool = False, tools: Sequence[int] = ()
) -> Proof:
    """Prove one template's grammar, as Lark or GBNF.

    `tools` are the numbers of tools that are offered, one after the other, each with so many walks
    for each tokenizer; none: what the battery calls, and strict ones.
    """
    asked = 0
    faults: list[Fault] = []
    for offer in map(so_many, tools) if tools else (USUAL,):
        try:
            verdict = (prove_gbnf if gbnf else prove)(analysis.format, walks, offer)
        except Exception as error:  # noqa: BLE001 - a crash is what the survey looks for
            return Proof(name, asked, tuple(faults), repr(error))
        asked += verdict.asked
        title = f"{len(offer.called)} tools, " if tools else ""
        faults += [replace(fault, title=title + fault.title) for fault in verdict.faults]
    return Proof(name, asked, tuple(faults))


def _proof_lines(found: Sequence[Proof]) -> Iterator[str]:
    whole = sum(row.ok for row in found)
    yield f"{len(found):>6}  templates whose self-check passes"
    yield f"{whole:>6}  have a grammar that is complete and sound: {whole / max(len(found), 1):.2%}"
    yield f"{sum(row.asked for row in found):>6}  turns and walks"
    for cause, same in by_cause((row for row in found if not row.ok), lambda row: row.cause):
        yield f"{len(same):>6}  {cause or 'of unknown cause'}"
        for row in same:
            counted = Counter(str(fault.question) for fault in row.faults)
            told = ", ".join(f"not: {question} ({count})" for question, count in counted.items())
            yield f"{'':8}  {row.name}: {row.crash or told}"
            if row.faults:
                first = row.faults[0]
                yield f"{'':10}  {first.title}: {first.text[:200]}"


def proofs_board(
    walks: int, *, gbnf: bool = False, tools: Sequence[int] = ()
) -> Board[Path, Proof]:
    prove_one = of_sound(partial(proof_of, walks=walks, gbnf=gbnf, tools=tools))
    return Board(prove_one, _proof_lines, lambda row: row.ok, chunk=8, enough=PROVED)
