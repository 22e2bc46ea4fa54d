"""Judge stops, triggers and structural tags by the turns that templates render after their prompts.

Stops: an engine stops at an id that ends outputs anywhere (`get_stop_token_ids`), or by position
(`find_stop`). Each turn is tokenized with one token per marker; the whole message must come before
the stop, and none of it after.

Triggers: a server waits for a trigger and then constrains the text with the lazy grammar. Every
turn with a call must contain a trigger, and the grammar must accept the rest from its first one on.
Turns without a call, and texts of corpus words without a marker, must contain none.

Structural tags: xgrammar compiles the tags of four requests; each must accept the turns that meet
the request and refuse the others.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from llguidance import LLMatcher

from autoparser import Analysis, AutoparserError, ChatTemplate, Renderer, analyze
from autoparser.analysis.core.conversation import Json, Message, ToolResult, UserMessage
from autoparser.analysis.core.text_alignment import edge_units, is_unit
from autoparser.analysis.grammar.call_triggers import GrammarTrigger, TriggerKind
from autoparser.analysis.sources.token_bytes import byte_tokenizer

from .closed_loop import plain_texts, words_of
from .corpus_templates import Board, of_sound
from .grammar_readers import refused, started, taking_turns
from .rendered_turns import RenderedTurn, RenderedTurns, rendered_turns

NEXT = "Departed"
"""The text of the message after a turn; no word of any turn."""


class After(StrEnum):
    CONTENT = "content"
    CALLS = "calls"


class Engine(StrEnum):
    IDS = "by get_stop_token_ids"
    POSITION = "by find_stop"


@dataclass(slots=True)
class Stopped:
    name: str
    turns: Counter[After] = field(default_factory=Counter[After])
    unended: Counter[After] = field(default_factory=Counter[After])
    """Turns after whose last part the template writes no marker: nothing says where they end."""
    wrong: Counter[tuple[After, Engine]] = field(default_factory=Counter[tuple[After, Engine]])
    first: str = ""
    """The first turn that ends elsewhere by position."""
    refused: str = ""
    """The reason if there is no renderer: an unknown special token."""


def stopped_by(name: str, analysis: Analysis) -> Stopped:
    """Ask of one analysis."""
    found = Stopped(name)
    if analysis.stand_ins:
        known = {name: str(text) for name, text in analysis.stand_ins.items()}
        analysis = analyze(ChatTemplate(analysis.template.text, known, name=name))
    for turns in rendered_turns(analysis):
        if turns.turns:
            try:
                renderer = _renderer(analysis, turns)
            except AutoparserError as error:
                return Stopped(name, refused=str(error))
            for turn in turns.turns:
                _stop(found, renderer, turns, turn)
    return found


def _renderer(analysis: Analysis, turns: RenderedTurns) -> Renderer:
    """Make an engine for which every marker of the turns is a token."""
    texts = [turns.prompt, *(turn.text for turn in turns.turns)]
    marks = {unit for text in texts for unit in edge_units(text) if _is_token(unit)}
    # The end of a turn is a token of the model, whatever it looks like.
    for stop in (stop for format_ in analysis.formats for stop in format_.stop_strings):
        units = {unit for unit in edge_units(stop) if _is_token(unit)}
        marks |= units or ({stop} if stop[2:] and " " not in stop else set())
    return Renderer(analysis, byte_tokenizer([(mark, True) for mark in sorted(marks)]))


def _is_token(unit: str) -> bool:
    """Whether a unit of a text looks like a special token: a marker in brackets."""
    bracketed = unit[-1:] in ">]⟧⟩」】" and "=" not in unit and '"' not in unit
    return is_unit(unit) and bracketed and " " not in unit


def _stop(found: Stopped, renderer: Renderer, turns: RenderedTurns, turn: RenderedTurn) -> None:
    """Run along one turn, and the next message where it stands after it."""
    message = turn.message
    after = After.CALLS if message.calls else After.CONTENT
    spoken = message.content and message.content.strip() in turn.text
    if not (turn.calls if message.calls else spoken):
        return
    follows, words = _follows(turns, turn), _words(turn)
    last = max((turn.text.rfind(word) + len(word) for word in words), default=0)
    if not any(map(is_unit, edge_units(turn.text[last:] + follows.partition(NEXT)[0]))):
        found.unended[after] += 1
        return
    found.turns[after] += 1
    ids, flat = renderer.encode(turn.text + follows), renderer.get_stop_token_ids()
    prompt = renderer.encode(turns.prompt[-200:])
    places = {
        Engine.IDS: next((at for at, id_ in enumerate(ids) if id_ in flat), None),
        Engine.POSITION: renderer.find_stop(ids, prompt, tools=turns.tools),
    }
    for engine, place in places.items():
        rest = "" if place is None else renderer.decode(ids[place + 1 :])
        if place is not None and _is_over(rest, words, follows):
            continue
        found.wrong[after, engine] += 1
        if engine is Engine.POSITION and not found.first:
            where = "nowhere" if place is None else repr(rest[:60])
            found.first = f"{turn.title}: {turn.text[-90:]!r} ends before {where}"


def _follows(turns: RenderedTurns, turn: RenderedTurn) -> str:
    """Return the text after a turn once the next message follows, including its text."""
    results = [ToolResult(NEXT, call.name, call.id) for call in turn.message.calls]
    for later in ([UserMessage(NEXT)], results):
        whole = (turns.asked.render(turn.message, *later) or "") if later else ""
        if whole.startswith(turn.whole):
            return whole[len(turn.whole) :]
    return ""


def _is_over(rest: str, words: set[str], follows: str) -> bool:
    """Whether nothing of the turn stands in the rest, and all of the next message's text."""
    if len(rest) < len(follows):
        return NEXT in rest
    own = rest.removesuffix(follows)
    return not any(re.search(rf"\b{re.escape(word)}\b", own) for word in words)


def _words(turn: RenderedTurn) -> set[str]:
    """Return the words of a message that can be told from a template's."""
    message = turn.message
    texts = [message.content, message.reasoning, *(call.name for call in message.calls)]
    texts += [value for call in message.calls for value in _strings(dict(call.arguments))]
    return {word for text in texts for word in re.findall(r"\w{4,}", text) if word in turn.text}


def _strings(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _stop_lines(found: Sequence[Stopped]) -> Iterator[str]:
    yield f"{len(found):>6}  templates whose self-check passes"
    yield f"{sum(bool(row.refused) for row in found):>6}  not asked: a special token is not known"
    for after in After:
        asked = sum(row.turns[after] for row in found)
        having = [row for row in found if row.turns[after]]
        yield f"{asked:>6}  turns that end after {after}, of {len(having)} templates"
        yield f"{sum(row.unended[after] for row in found):>6}    and so many without any marker"
        for engine in Engine:
            wrong = sum(row.wrong[after, engine] for row in having)
            sound = sum(not row.wrong[after, engine] for row in having)
            yield f"{asked - wrong:>6}    end there {engine}: all of {sound} templates"
    yield from (f"{'':8}{row.name}: {row.first}" for row in found if row.first)


STOPS = Board(of_sound(stopped_by), _stop_lines, lambda row: not row.first)

TEXTS = 40
"""Texts without markers that each template is asked to write as content."""
EVERY = 12
"""The words of these texts come from every so many-th template."""


@dataclass(slots=True)
class Triggered:
    name: str
    triggers: dict[GrammarTrigger, None] = field(default_factory=dict[GrammarTrigger, None])
    called: int = 0
    """Turns with a call that were asked about."""
    uncalled: int = 0
    """Turns without one, and texts without markers."""
    silent: int = 0
    """Messages of which the template does not say how they go on after its prompt."""
    refused: str = ""
    faults: list[str] = field(default_factory=list[str])
    unwritten: int = 0
    """Turns that the grammar refuses whether it is lazy or not: no matter of its triggers."""

    @property
    def ok(self) -> bool:
        return not self.faults and not self.refused


def triggered_by(name: str, analysis: Analysis, words: Sequence[str]) -> Triggered:
    """Ask of one analysis."""
    found = Triggered(name)
    for turns in rendered_turns(analysis):
        found.silent += turns.silent
        if not any(turn.calls for turn in turns.turns):
            continue
        try:
            lazy, whole = (
                analysis.grammar(turns.tools, prompt=turns.prompt, lazy=lazy)
                for lazy in (True, False)
            )
            triggers, lazy_start = lazy.server_triggers, started(lazy)
        except AutoparserError as error:
            found.refused = str(error)
            break
        uncalled = [turn for turn in turns.turns if not turn.message.calls]
        uncalled += _worded(analysis, turns, words)
        _trigger(found, triggers, lazy_start, started(whole), turns, uncalled)
    return found


def _worded(
    analysis: Analysis, turns: RenderedTurns, words: Sequence[str]
) -> Iterator[RenderedTurn]:
    chance = random.Random(analysis.template.name)
    for text in plain_texts(analysis, words, chance, TEXTS):
        turn = turns.asked.turn(text, Message(text))
        if turn.silence is None:
            yield turn


def _trigger(
    found: Triggered,
    triggers: Sequence[GrammarTrigger],
    lazy: LLMatcher,
    whole: LLMatcher,
    turns: RenderedTurns,
    uncalled: Sequence[RenderedTurn],
) -> None:
    """Check triggers and a lazy grammar with turns with calls, and without."""
    found.triggers |= dict.fromkeys(triggers)
    for trigger in triggers:
        tokens = list(trigger.text.encode())
        if lazy.deep_copy().try_consume_tokens(tokens) < len(tokens):
            found.faults.append(f"{trigger.value!r} begins no call")
    for turn in turns.turns:
        if not turn.calls:
            continue
        found.called += 1
        fault = _missed(triggers, lazy, turn)
        if fault and refused(whole, turn.text, turn.least):
            found.unwritten += 1
        elif fault:
            found.faults.append(f"{turn.title}: {fault}")
    for turn in uncalled:
        found.uncalled += 1
        at = _first(triggers, turn.text)
        if at is not None:
            found.faults.append(f"{turn.title!r} has {turn.text[at:][:60]!r}")


def _missed(triggers: Sequence[GrammarTrigger], lazy: LLMatcher, turn: RenderedTurn) -> str:
    """Return the fault of the first trigger of a turn with a call, or empty."""
    at = _first(triggers, turn.text)
    if at is None:
        return f"no trigger stands in {turn.text[:90]!r}"
    least = turn.least - len(turn.text[:at].encode())
    refusal = refused(lazy, turn.text[at:], least, ahead=40, behind=60)
    return f"from its trigger on, {refusal}" if refusal else ""


def _first(triggers: Sequence[GrammarTrigger], text: str) -> int | None:
    """Return where the first trigger stands in a text, read as llama.cpp reads it."""
    matches = (re.search(_pattern(trigger), text) for trigger in triggers)
    return min((match.start(match.lastindex or 0) for match in matches if match), default=None)


def _pattern(trigger: GrammarTrigger) -> str:
    match trigger.kind:
        case TriggerKind.WORD:
            return re.escape(trigger.value)
        case TriggerKind.PATTERN:
            return trigger.value
        case TriggerKind.PATTERN_FULL:
            return rf"\A(?:{trigger.value})\Z"


def _trigger_lines(found: Sequence[Triggered]) -> Iterator[str]:
    asked = [row for row in found if row.called or row.refused]
    yield f"{len(found):>6}  templates whose self-check passes and whose format has calls"
    yield f"{len(found) - len(asked):>6}  of these write no call after their own prompt"
    yield f"{sum(row.ok for row in asked):>6}  of the {len(asked)} others have sound triggers"
    yield f"{sum(row.called for row in found):>6}  turns with a call"
    yield f"{sum(row.unwritten for row in found):>6}    that the grammar refuses, lazy or not"
    yield f"{sum(row.uncalled for row in found):>6}  turns and texts without one"
    yield f"{sum(row.silent for row in found):>6}  messages not asked"
    for kind in TriggerKind:
        having = sum(any(one.kind is kind for one in row.triggers) for row in asked)
        yield f"{having:>6}  templates have triggers of the kind {kind.name.lower()}"
    for row in asked:
        if not row.ok:
            yield f"{'':8}{row.name}: {row.refused or row.faults[0]}"


def triggers_board(paths: Sequence[Path]) -> Board[Path, Triggered]:
    """Return the board whose texts are made of these templates' words."""
    ask = of_sound(partial(triggered_by, words=words_of(paths[::EVERY])), calling=True)
    return Board(ask, _trigger_lines, lambda row: row.ok)


class Wish(StrEnum):
    AUTO = "nothing"
    REQUIRED = "a call"
    ALONE = "no two calls"
    NAMED = "one tool"


class Question(StrEnum):
    TAKES = "takes what it allows"
    REFUSES = "refuses what it does not"


@dataclass(slots=True)
class Tagged:
    name: str
    asked: Counter[tuple[Wish, Question]] = field(default_factory=Counter[tuple[Wish, Question]])
    triggered: bool = False
    """Text is free, and triggers begin tags, where nothing is asked."""
    refused: str = ""
    faults: list[tuple[Wish, Question, str]] = field(default_factory=list[Any])
    unwritten: int = 0
    """Turns that the whole grammar refuses as well: no matter of the tag."""

    @property
    def ok(self) -> bool:
        return not self.faults and not self.refused


def tagged_by(name: str, analysis: Analysis) -> Tagged | None:
    """Judge one analysis; None if it writes no call after its own prompt."""
    found = Tagged(name)
    calling = [
        rendered_turn
        for rendered_turn in rendered_turns(analysis)
        if any(turn.calls for turn in rendered_turn.turns)
    ]
    for turns in calling:
        named = next(turn.calls[0].name for turn in turns.turns if turn.calls)
        whole = started(analysis.grammar(turns.tools, prompt=turns.prompt))
        hard = {turn.title for turn in turns.turns if refused(whole, turn.text, turn.least)}
        for wish, options in _options(named).items():
            try:
                grammar = analysis.grammar(turns.tools, prompt=turns.prompt, **options)
                tag = grammar.structural_tag()
            except AutoparserError as error:
                return Tagged(name, refused=str(error))
            found.triggered |= "triggered_tags" in json.dumps(tag)
            try:
                takes = taking_turns(tag)
            except Exception as error:  # noqa: BLE001 - it reads no such tag, whatever it raises
                return Tagged(name, refused=f"xgrammar: {error}")
            for turn in turns.turns:
                if turn.message.calls and not turn.calls:
                    continue
                question = Question.TAKES if _allows(wish, turn, named) else Question.REFUSES
                found.asked[wish, question] += 1
                taken = takes(turn)
                if taken is (question is Question.TAKES):
                    continue
                if not taken and turn.title in hard:
                    found.unwritten += 1
                else:
                    found.faults.append((wish, question, f"{turn.title}: {turn.text[:200]!r}"))
    return found if calling else None


def _options(named: str) -> Mapping[Wish, dict[str, Any]]:
    return {
        Wish.AUTO: {},
        Wish.REQUIRED: {"tool_choice": "required"},
        Wish.ALONE: {"parallel_tool_calls": False},
        Wish.NAMED: {"tool_choice": {"type": "function", "function": {"name": named}}},
    }


def _allows(wish: Wish, turn: RenderedTurn, named: str) -> bool:
    names = [call.name for call in turn.calls]
    return {
        Wish.AUTO: True,
        Wish.REQUIRED: bool(names),
        Wish.ALONE: len(names) < 2,
        Wish.NAMED: {*names} == {named},
    }[wish]


def _tag_lines(found: Sequence[Tagged]) -> Iterator[str]:
    yield f"{len(found):>6}  templates that pass the self-check and write calls after their prompt"
    yield f"{sum(not row.refused for row in found):>6}  have a structural tag"
    yield f"{sum(row.ok for row in found):>6}  that holds whatever is asked"
    yield f"{sum(row.triggered for row in found):>6}  with triggers, where nothing is asked"
    yield f"{sum(row.unwritten for row in found):>6}  turns that the whole grammar refuses, too"
    for wish in Wish:
        for question in Question:
            asked = sum(row.asked[wish, question] for row in found)
            wrong = sum(fault[:2] == (wish, question) for row in found for fault in row.faults)
            yield f"{asked - wrong:>6}  of {asked} turns, {wish} being asked: {question}"
    for row in found:
        if not row.ok:
            shown = row.refused or " | ".join(map(str, row.faults[0]))
            yield f"{'':8}{row.name}: {len(row.faults)} {shown}"


TAGS = Board(of_sound(tagged_by, calling=True), _tag_lines, lambda row: row.ok)
