"""Stops, judged by what templates write: an engine that stops at them stops where the turn is over.

Each rendered turn is cut into tokens, every marker in it being one, and an engine runs along it: by
the ids at which an output ends wherever they stand (`get_stop_token_ids`), and by position
(`find_stop`). Where it stops, all of the message has to stand before, and nothing of it after.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from autoparser import AutoparserError, ChatTemplate
from autoparser.analysis.analysis import Analysis, analyze
from autoparser.analysis.core.conversation import Json, ToolResult, UserMessage
from autoparser.analysis.core.text_alignment import edge_units, is_unit
from autoparser.analysis.history.renderer import Renderer
from autoparser.analysis.sources.token_bytes import byte_tokenizer

from .behind import Asker, Behind, RenderedTurns, calls_written, rendered_turns
from .corpus_templates import Board, read_template

NEXT = "Departed"
"""The text of the message after a turn; no word of any turn."""


class After(StrEnum):
    """What a turn ends with."""

    CONTENT = "content"
    CALLS = "calls"


class Engine(StrEnum):
    """What tells an engine to stop."""

    IDS = "by get_stop_token_ids"
    POSITION = "by find_stop"


@dataclass(frozen=True, slots=True)
class Stopped:
    """What came of one template's stops."""

    name: str
    turns: Counter[After] = field(default_factory=Counter[After])
    unended: Counter[After] = field(default_factory=Counter[After])
    """Turns after whose last part the template writes no marker: nothing says where they end."""
    wrong: Counter[tuple[After, Engine]] = field(default_factory=Counter[tuple[After, Engine]])
    first: str = ""
    """The first turn that ends elsewhere by position."""
    refused: str = ""
    """Why there is no renderer: a special token that is not known."""


def stopped(path: Path) -> Stopped | None:
    """Ask of one template; None where its analysis does not hold."""
    try:
        template = read_template(path)
        analysis = analyze(template)
        if analysis.stand_ins:
            known = {name: str(text) for name, text in analysis.stand_ins.items()}
            analysis = analyze(ChatTemplate(template.text, known, name=template.name))
    except AutoparserError:
        return None
    return stopped_by(path.stem, analysis) if not analysis.check.failures else None


def stopped_by(name: str, analysis: Analysis) -> Stopped:
    """Ask of one analysis."""
    found = Stopped(name)
    for turns in rendered_turns(analysis):
        if not turns.turns:
            continue
        try:
            judge = _Judge.of(analysis, turns)
        except AutoparserError as error:
            return Stopped(name, refused=str(error))
        for turn in turns.turns:
            after = _after(turns, turn)
            if after is not None:
                found = judge.judged(found, turn, after)
    return found


def _after(turns: RenderedTurns, turn: Behind) -> After | None:
    """Say what a turn ends with; None where that is neither content nor a call."""
    message = turn.message
    if message.calls:
        return After.CALLS if calls_written(turns.asked, turn) else None
    return After.CONTENT if message.content.strip() in turn.text and message.content else None


@dataclass(frozen=True, slots=True)
class _Judge:
    renderer: Renderer
    asked: Asker
    prompt: list[int]
    tools: Sequence[Json]

    @classmethod
    def of(cls, analysis: Analysis, turns: RenderedTurns) -> _Judge:
        """Make an engine for which every marker of the turns is a token."""
        texts = [turns.prompt, *(turn.text for turn in turns.turns)]
        marks = {unit for text in texts for unit in edge_units(text) if _is_token(unit)}
        # Whatever it looks like, what ends a turn is a token of the model.
        for stop in (stop for format_ in analysis.formats for stop in format_.stop_strings):
            units = {unit for unit in edge_units(stop) if _is_token(unit)}
            marks |= units or ({stop} if stop[2:] and " " not in stop else set())
        tokenizer = byte_tokenizer([(mark, True) for mark in sorted(marks)])
        renderer = Renderer(analysis, tokenizer)
        return cls(renderer, turns.asked, renderer.encode(turns.prompt[-200:]), turns.tools)

    def judged(self, found: Stopped, turn: Behind, after: After) -> Stopped:
        """Run along one turn, and the next message where it stands after it."""
        follows = self._follows(turn)
        text = turn.text + follows
        turns, unended, wrong = Counter(found.turns), Counter(found.unended), Counter(found.wrong)
        words = _words(turn)
        tail = _behind(turn.text, words) + follows.partition(NEXT)[0]
        first = found.first
        if not any(map(is_unit, edge_units(tail))):
            unended[after] += 1
        else:
            turns[after] += 1
            ids = self.renderer.encode(text)
            flat = self.renderer.get_stop_token_ids()
            places = {
                Engine.IDS: next((at for at, id_ in enumerate(ids) if id_ in flat), None),
                Engine.POSITION: self.renderer.find_stop(ids, self.prompt, tools=self.tools),
            }
            for engine, place in places.items():
                if place is not None and self._over(self._rest(ids, place), words, follows):
                    continue
                wrong[after, engine] += 1
                if engine is Engine.POSITION and not first:
                    where = "nowhere" if place is None else repr(self._rest(ids, place)[:60])
                    first = f"{turn.title}: {turn.text[-90:]!r} ends before {where}"
        return Stopped(found.name, turns, unended, wrong, first)

    def _follows(self, turn: Behind) -> str:
        """Return what stands after a turn once the next message is there, its text included."""
        results = [ToolResult(NEXT, call.name, call.id) for call in turn.message.calls]
        for later in ([UserMessage(NEXT)], results):
            whole = (self.asked.render(turn.message, *later) or "") if later else ""
            if whole.startswith(turn.whole):
                return whole[len(turn.whole) :]
        return ""

    @staticmethod
    def _over(rest: str, words: set[str], follows: str) -> bool:
        """Whether nothing of the turn stands in the rest, and all of the next message's text."""
        own = rest.removesuffix(follows) if follows else rest
        if len(rest) < len(follows):
            return NEXT in rest
        return not any(re.search(rf"\b{re.escape(word)}\b", own) for word in words)

    def _rest(self, ids: Sequence[int], place: int) -> str:
        return self.renderer.decode(ids[place + 1 :])


def _is_token(unit: str) -> bool:
    """Whether a unit of a text is what a tokenizer would have as a token: a marker in brackets."""
    bracketed = unit[-1:] in ">]⟧⟩」】" and "=" not in unit and '"' not in unit
    return is_unit(unit) and bracketed and " " not in unit


def _words(turn: Behind) -> set[str]:
    """Return the words of a message that can be told from a template's."""
    message = turn.message
    texts = [message.content, message.reasoning, *(call.name for call in message.calls)]
    texts += [value for call in message.calls for value in _strings(dict(call.arguments))]
    return {word for text in texts for word in re.findall(r"\w{4,}", text) if word in turn.text}


def _strings(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for item in value:
                yield from _strings(item)
        case dict():
            for item in value.values():
                yield from _strings(item)
        case _:
            return


def _behind(text: str, words: set[str]) -> str:
    """Return what stands after the last word of a message."""
    return text[max((text.rfind(word) + len(word) for word in words), default=0) :]


def _lines(found: Sequence[Stopped]) -> Iterator[str]:
    yield f"{len(found):>6}  templates whose self-check passes"
    yield f"{sum(bool(each.refused) for each in found):>6}  not asked: a special token is not known"
    for after in After:
        asked = sum(each.turns[after] for each in found)
        having = [each for each in found if each.turns[after]]
        yield f"{asked:>6}  turns that end after {after}, of {len(having)} templates"
        yield f"{sum(each.unended[after] for each in found):>6}    and so many without any marker"
        for engine in Engine:
            wrong = sum(each.wrong[after, engine] for each in having)
            sound = sum(not each.wrong[after, engine] for each in having)
            yield f"{asked - wrong:>6}    end there {engine}: all of {sound} templates"
    for each in found:
        if each.first:
            yield f"{'':8}{each.name}: {each.first}"


STOPS = Board(stopped, _lines, lambda each: not each.first)
