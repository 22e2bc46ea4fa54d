"""Texts without calls: words that the corpus' own prompts are made of, read as content.

A text holds no marker of the format that reads it, but may hold those of others. What the template
writes around it is markup; of the text itself no character may be lost, in one piece or in many.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoparser import AutoparserError, ChatTemplate
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Message, Presence
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.core.turn_format import RefusedMessageError
from autoparser.analysis.parsing.stop_marks import content_stops
from tests.analysis.parsing.loop import TOOLS, client_sum, generated, streamed

from .closed_loop import UNOPENED
from .corpus_templates import analysis_at, known_causes, read_template

SPACES = (" ", " ", " ", "  ", "\n", "\n\n", "\t")
LONGEST = 40
"""How many words a text has at most."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A text that did not come back whole."""

    name: str
    text: str
    found: str | None


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


def lost_texts(path: Path, words: Sequence[str], count: int) -> tuple[int, list[Lost]]:
    """Have a template's parser read so many texts; return how many it read, and what it lost."""
    if known_causes("parse").get(path.stem) == UNOPENED:
        return 0, []
    try:
        analysis = analysis_at(path)
    except AutoparserError:
        return 0, []
    layout = analysis.format.layouts.get(Presence(content=True))
    if layout is None or layout.refusal or layout.parts != (TurnPart.CONTENT,):
        return 0, []
    chance = random.Random(path.stem)
    lost: list[Lost] = []
    read = 0
    for text in plain_texts(analysis, words, chance, count):
        read += 1
        found = _wrong(analysis, text, chance)
        if found is not None:
            lost.append(found)
    return read, lost


def plain_texts(
    analysis: Analysis, words: Sequence[str], chance: random.Random, count: int
) -> Iterator[str]:
    """Make texts in which nothing ends content, for the parser of that format."""
    _, parser = generated(analysis.format, "")
    stops = content_stops(parser.turn)
    usable = [word for word in words if stops.find(word, 0) is None]
    for _ in range(count if usable else 0):
        drawn = [chance.choice(usable) for _ in range(chance.randint(1, LONGEST))]
        text = "".join(f"{word}{chance.choice(SPACES)}" for word in drawn).strip()
        if stops.find(text, 0) is None:
            yield text


def _wrong(analysis: Analysis, text: str, chance: random.Random) -> Lost | None:
    format_ = analysis.format
    try:
        written = format_.write(Message(text))
    except RefusedMessageError:
        return None
    turn, parser = generated(format_, written)
    parsed = parser.parse(turn)
    size = chance.randint(1, 9)
    stream = streamed(parser, [turn[at : at + size] for at in range(0, len(turn), size)])
    for content in (parsed.content, client_sum(stream.deltas)["content"]):
        if content != text:
            return Lost(analysis.template.name or "", text, content)
    return Lost(analysis.template.name or "", text, "a call") if parsed.tool_calls else None
