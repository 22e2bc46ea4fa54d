"""Structural tags, read by xgrammar and held against what templates write.

xgrammar compiles the tag of each request. Where a model may call or not, it has to take every turn
of the template; where a call is required, one alone allowed, or a tool named, it has to take the
turns that do so and to refuse those that do not. Every turn is the template's own render.
"""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from autoparser import AutoparserError
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import ToolCall

from .behind import Behind, RenderedTurns, calls_written, rendered_turns
from .corpus_templates import Board, sound_analysis
from .triggers import refused, started


class Wish(StrEnum):
    """What a request asks of the calls."""

    AUTO = "nothing"
    REQUIRED = "a call"
    ALONE = "no two calls"
    NAMED = "one tool"


class Question(StrEnum):
    """What a tag has to do with a turn."""

    TAKES = "takes what it allows"
    REFUSES = "refuses what it does not"


@dataclass(frozen=True, slots=True)
class Tagged:
    """What came of one template's structural tags."""

    name: str
    asked: Counter[tuple[Wish, Question]] = field(default_factory=Counter[tuple[Wish, Question]])
    triggered: bool = False
    """Text is free, and triggers begin tags, where nothing is asked."""
    refused: str = ""
    """Why there is no tag."""
    faults: tuple[tuple[Wish, Question, str], ...] = ()
    unwritten: int = 0
    """Turns that the whole grammar refuses as well: no matter of the tag."""

    @property
    def ok(self) -> bool:
        return not self.faults and not self.refused


Takes = Callable[[str], bool]
"""Whether a grammar takes a text as a whole."""


def read_by_xgrammar(tag: Mapping[str, object]) -> Takes:
    """Compile a tag as xgrammar reads it; raises what xgrammar raises."""
    grammar = importlib.import_module("xgrammar").Grammar.from_structural_tag(json.dumps(tag))
    matcher = importlib.import_module("xgrammar.testing")._get_matcher_from_grammar(grammar)

    def takes(text: str) -> bool:
        matcher.reset()
        return bool(matcher.accept_string(text) and matcher.is_terminated())

    return takes


def tagged(path: Path) -> Tagged | None:
    """Ask of one template; None where its analysis does not hold, or it writes no call."""
    analysis = sound_analysis(path)
    if analysis is None or analysis.format.calls is None:
        return None
    return tagged_by(path.stem, analysis)


def tagged_by(name: str, analysis: Analysis) -> Tagged | None:
    """Ask of one analysis; None where it writes no call after its own prompt."""
    found = Tagged(name)
    called = False
    for turns in rendered_turns(analysis):
        written = [(turn, calls_written(turns.asked, turn)) for turn in turns.turns]
        if any(calls for _, calls in written):
            called = True
            found = _judged(found, analysis, turns, written)
    return found if called else None


def _judged(
    found: Tagged,
    analysis: Analysis,
    turns: RenderedTurns,
    written: Sequence[tuple[Behind, tuple[ToolCall, ...]]],
) -> Tagged:
    asked = Counter(found.asked)
    faults = list(found.faults)
    unwritten = found.unwritten
    whole = started(analysis.grammar(turns.tools, prompt=turns.prompt))
    hard = {id(turn) for turn, _ in written if refused(whole, turn.text, turn.least)}
    triggered = found.triggered
    named = next(calls[0].name for _, calls in written if calls)
    for wish, options in _options(named).items():
        try:
            grammar = analysis.grammar(turns.tools, prompt=turns.prompt, **options)
            tag = grammar.structural_tag()
        except AutoparserError as error:
            return Tagged(found.name, refused=str(error))
        triggered |= "triggered_tags" in json.dumps(tag)
        try:
            takes = read_by_xgrammar(tag)
        except Exception as error:  # noqa: BLE001 - whatever xgrammar raises, it reads no such tag
            return Tagged(found.name, refused=f"xgrammar: {error}")
        for turn, calls in written:
            if not calls and turn.message.calls:
                continue
            question = Question.TAKES if _allows(wish, calls, named) else Question.REFUSES
            asked[wish, question] += 1
            taken = _taken(takes, turn)
            if taken is (question is Question.TAKES):
                continue
            if not taken and id(turn) in hard:
                unwritten += 1
            else:
                faults.append((wish, question, f"{turn.title}: {turn.text[:200]!r}"))
    return Tagged(found.name, asked, triggered, "", tuple(faults), unwritten)


def _options(named: str) -> Mapping[Wish, dict[str, Any]]:
    return {
        Wish.AUTO: {},
        Wish.REQUIRED: {"tool_choice": "required"},
        Wish.ALONE: {"parallel_tool_calls": False},
        Wish.NAMED: {"tool_choice": {"type": "function", "function": {"name": named}}},
    }


def _allows(wish: Wish, calls: Sequence[ToolCall], named: str) -> bool:
    match wish:
        case Wish.AUTO:
            return True
        case Wish.REQUIRED:
            return bool(calls)
        case Wish.ALONE:
            return len(calls) < 2
        case Wish.NAMED:
            return bool(calls) and all(call.name == named for call in calls)


def _taken(takes: Takes, turn: Behind) -> bool:
    """Whether a turn is taken, with what may end every conversation after it or without."""
    if takes(turn.text):
        return True
    least = turn.text.encode()[: turn.least].decode(errors="ignore")
    return least != turn.text and takes(least)


def _lines(found: Sequence[Tagged]) -> Iterator[str]:
    yield f"{len(found):>6}  templates that pass the self-check and write calls after their prompt"
    yield f"{sum(not each.refused for each in found):>6}  have a structural tag"
    yield f"{sum(each.ok for each in found):>6}  that holds whatever is asked"
    yield f"{sum(each.triggered for each in found):>6}  with triggers, where nothing is asked"
    yield f"{sum(each.unwritten for each in found):>6}  turns that the whole grammar refuses, too"
    for wish in Wish:
        for question in Question:
            asked = sum(each.asked[wish, question] for each in found)
            wrong = sum(fault[:2] == (wish, question) for each in found for fault in each.faults)
            yield f"{asked - wrong:>6}  of {asked} turns, {wish} being asked: {question}"
    for each in found:
        if not each.ok:
            shown = each.refused or " | ".join(map(str, each.faults[0]))
            yield f"{'':8}{each.name}: {len(each.faults)} {shown}"


TAGS = Board(tagged, _lines, lambda each: each.ok)
