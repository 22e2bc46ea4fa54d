"""Triggers of lazy grammars, judged by what templates write and by llguidance.

A server waits for a trigger and from there on holds the text to the lazy grammar. So in every turn
with a call that the template writes a trigger has to stand, and from its first one on the grammar
has to take the rest; and in a turn without a call none may stand, nor in any text of the corpus'
own words that holds no marker.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from llguidance import LLMatcher

from autoparser import AutoparserError
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.grammar.turn_rules import GrammarTrigger, TriggerKind
from autoparser.analysis.sources.token_bytes import OpaqueTokens

from .behind import Behind, RenderedTurns, answer, calls_written, rendered_turns
from .corpus_templates import Board, sound_analysis
from .gate_judge import byte_tokens
from .plain_texts import plain_texts, words_of

TEXTS = 40
"""Texts without markers that each template is asked to write as content."""
EVERY = 12
"""The words of these texts come from every so many-th template."""


@dataclass(frozen=True, slots=True)
class Triggered:
    """What came of one template's triggers."""

    name: str
    triggers: tuple[GrammarTrigger, ...] = ()
    called: int = 0
    """Turns with a call that were asked about."""
    uncalled: int = 0
    """Turns without one, and texts without markers."""
    silent: int = 0
    """Messages of which the template does not say how they go on after its prompt."""
    refused: str = ""
    """Why there is no trigger."""
    faults: tuple[str, ...] = ()
    unwritten: int = 0
    """Turns that the grammar refuses whether it is lazy or not: no matter of its triggers."""

    @property
    def ok(self) -> bool:
        return not self.faults and not self.refused


def triggered(path: Path, words: Sequence[str]) -> Triggered | None:
    """Ask of one template; None where its analysis does not hold, or it writes no call."""
    analysis = sound_analysis(path)
    if analysis is None or analysis.format.calls is None:
        return None
    return triggered_by(path.stem, analysis, words)


def triggered_by(name: str, analysis: Analysis, words: Sequence[str]) -> Triggered:
    """Ask of one analysis."""
    found = Triggered(name)
    for turns in rendered_turns(analysis):
        called = [turn for turn in turns.turns if calls_written(turns.asked, turn)]
        found = replace(found, silent=found.silent + turns.silent)
        if called:
            try:
                judge = _judge(analysis, turns)
            except AutoparserError as error:
                return replace(found, refused=str(error))
            uncalled = [turn for turn in turns.turns if not turn.message.calls]
            found = judge.judged(found, called, [*uncalled, *_worded(analysis, turns, words)])
    return found


def _worded(analysis: Analysis, turns: RenderedTurns, words: Sequence[str]) -> Iterator[Behind]:
    chance = random.Random(analysis.template.name)
    for text in plain_texts(analysis, words, chance, TEXTS):
        turn = answer(turns.asked, text)
        if turn.silence is None:
            yield turn


@dataclass(frozen=True, slots=True)
class _Judge:
    """The triggers of a request, and its grammar in llguidance, lazy and whole."""

    triggers: tuple[GrammarTrigger, ...]
    lazy: LLMatcher
    whole: LLMatcher

    def judged(
        self, found: Triggered, called: Sequence[Behind], uncalled: Sequence[Behind]
    ) -> Triggered:
        """Add what is said of turns with calls, and without."""
        faults = [f"{each.value!r} begins no call" for each in self.triggers if self._idle(each)]
        unwritten = 0
        for turn in called:
            fault = self.missed(turn)
            if fault and refused(self.whole, turn.text, turn.least):
                unwritten += 1
            elif fault:
                faults.append(fault)
        early = [(turn, at) for turn in uncalled if (at := self.first(turn.text)) is not None]
        faults += [f"{turn.title!r} has {turn.text[at:][:60]!r}" for turn, at in early]
        return replace(
            found,
            triggers=tuple(dict.fromkeys([*found.triggers, *self.triggers])),
            called=found.called + len(called),
            uncalled=found.uncalled + len(uncalled),
            faults=(*found.faults, *faults),
            unwritten=found.unwritten + unwritten,
        )

    def first(self, text: str) -> int | None:
        """Say where the first trigger stands in a text."""
        matches = (_compiled(each).search(text) for each in self.triggers)
        return min((each.start(each.lastindex or 0) for each in matches if each), default=None)

    def missed(self, turn: Behind) -> str:
        """Say what is wrong with the first trigger of a turn with a call."""
        at = self.first(turn.text)
        if at is None:
            return f"{turn.title}: no trigger stands in {turn.text[:90]!r}"
        rest = turn.text[at:]
        least = turn.least - len(turn.text[:at].encode())
        refusal = refused(self.lazy, rest, least)
        return f"{turn.title}: from its trigger on, {refusal}" if refusal else ""

    def _idle(self, trigger: GrammarTrigger) -> bool:
        """Whether a trigger begins nothing that the lazy grammar takes."""
        tokens = list(trigger.text.encode())
        return self.lazy.deep_copy().try_consume_tokens(tokens) < len(tokens)


def refused(start: LLMatcher, text: str, least: int) -> str:
    """Say where a grammar refuses a text; after `least` bytes of it no more has to be taken."""
    matcher, tokens = start.deep_copy(), list(text.encode())
    taken = matcher.try_consume_tokens(tokens)
    ends = matcher.is_accepting() or matcher.is_stopped()
    if ends and (taken == len(tokens) or taken >= least):
        return ""
    done = bytes(tokens[:taken]).decode(errors="ignore")
    return f"{text[len(done) :][:40]!r} is refused after {done[-60:]!r}"


def _judge(analysis: Analysis, turns: RenderedTurns) -> _Judge:
    lazy, whole = (
        analysis.grammar(turns.tools, prompt=turns.prompt, lazy=lazy) for lazy in (True, False)
    )
    return _Judge(lazy.server_triggers, started(lazy), started(whole))


def started(grammar: Grammar) -> LLMatcher:
    """Load a grammar into llguidance, for which every marker is text."""
    start = LLMatcher(byte_tokens(), grammar.lark(OpaqueTokens()), log_level=0)
    assert not start.is_error(), start.get_error()
    return start


def _compiled(trigger: GrammarTrigger) -> re.Pattern[str]:
    """Compile a trigger as llama.cpp does."""
    match trigger.kind:
        case TriggerKind.WORD:
            return re.compile(re.escape(trigger.value))
        case TriggerKind.PATTERN:
            return re.compile(trigger.value)
        case TriggerKind.PATTERN_FULL:
            return re.compile(rf"\A(?:{trigger.value})\Z")


def _lines(found: Sequence[Triggered]) -> Iterator[str]:
    asked = [each for each in found if each.called or each.refused]
    yield f"{len(found):>6}  templates whose self-check passes and whose format has calls"
    yield f"{len(found) - len(asked):>6}  of these write no call after their own prompt"
    yield f"{sum(each.ok for each in asked):>6}  of the {len(asked)} others have sound triggers"
    yield f"{sum(each.called for each in found):>6}  turns with a call"
    yield f"{sum(each.unwritten for each in found):>6}    that the grammar refuses, lazy or not"
    yield f"{sum(each.uncalled for each in found):>6}  turns and texts without one"
    yield f"{sum(each.silent for each in found):>6}  messages not asked"
    for kind in TriggerKind:
        having = sum(any(one.kind is kind for one in each.triggers) for each in asked)
        yield f"{having:>6}  templates have triggers of the kind {kind.name.lower()}"
    for each in asked:
        if not each.ok:
            yield f"{'':8}{each.name}: {each.refused or each.faults[0]}"


def triggers_board(paths: Sequence[Path]) -> Board[Triggered]:
    """Return the board whose texts are made of these templates' words."""
    ask = partial(triggered, words=words_of(paths[::EVERY]))
    return Board(ask, _lines, lambda each: each.ok)
