"""Both proofs for one format: its turns are accepted, and walks of its grammar parse cleanly."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from random import Random

from autoparser import Analysis, Grammar, Json, Message, ToolCall, TurnFormat
from autoparser.analysis.core.format_choice import Formats, PromptFormat
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.turn_format import RefusedMessageError
from autoparser.analysis.core.turn_shape import PromptProgress, TurnOpening
from autoparser.analysis.decoding.answer_judge import HASTE, AnswerJudge, closing_texts
from autoparser.analysis.decoding.constraints import Constraint, ConstraintError
from autoparser.analysis.decoding.grammar_backend import GrammarBackend
from autoparser.analysis.decoding.mask_sampling import MaskedWalk, RandomSampler, masked_walk
from autoparser.analysis.decoding.matcher_grammar import (
    GrammarObject,
    is_allowed,
    mask_row,
    new_mask,
)
from autoparser.analysis.decoding.message_rendering import NoTurns
from autoparser.analysis.grammar.turn_rules import text_without_end
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_request import ParserRequest, read_request
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.parsing.loop import with_ids
from tests.offers import BATTERY, STRICT, offered

from .judge import EOS, byte_tokenizer, markers

LONGEST = 3000
"""Tokens after which a walk is given up."""
MASKED = 4


class Question(StrEnum):
    """A question to a grammar."""

    COMPLETE = "accepts what the template writes"
    SOUND = "allows what reads cleanly"
    ENDS = "walks end"


@dataclass(frozen=True, slots=True)
class Fault:
    """An answer that is not as it should be."""

    question: Question
    title: str
    """The message, or the seed of the walk."""
    text: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """How many questions were asked, and what went wrong."""

    asked: int
    faults: tuple[Fault, ...]


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools that are offered."""

    called: Sequence[Json]
    """To the messages of the battery, of which those are left out that call others."""
    walked: Sequence[Sequence[Json]]
    """To walks, each set to some of them."""


USUAL = Offer(BATTERY, (BATTERY, STRICT))


def so_many(count: int) -> Offer:
    """Offer so many tools."""
    tools = offered(count)
    return Offer(tools, (tools,))


@cache
def backend(tokens: tuple[str, ...]) -> GrammarBackend:
    """Return the backend of a tokenizer of bytes and these added tokens."""
    return GrammarBackend(tokenizer_of(byte_tokenizer(tokens), eos=EOS), workers=1)


# A backend loads grammars in a thread, which a fork lacks: it would wait forever. The boards
# of the corpus fork, and other tests of the process may have proven grammars before.
os.register_at_fork(after_in_child=backend.cache_clear)


Load = Callable[[Grammar], GrammarObject]


def in_lark(tokens: tuple[str, ...] = ()) -> Load:
    """Load grammars in Lark, for a tokenizer with these added tokens."""
    return lambda grammar: backend(tokens).grammar(grammar)


def in_gbnf(grammar: Grammar) -> GrammarObject:
    """Load a grammar by way of GBNF, in which every marker is plain text."""
    return backend(()).grammar(Constraint.ebnf(grammar.gbnf()))


def prove(format_: TurnFormat, walks: int, offer: Offer = USUAL) -> Verdict:
    """Ask all questions, with markers as tokens and as text.

    `walks` are the walks for each tokenizer and set of tools.
    """
    return _verdict(format_, walks, [in_lark(markers(format_)), in_lark()], offer)


def prove_gbnf(format_: TurnFormat, walks: int, offer: Offer = USUAL) -> Verdict:
    """Ask the same of the grammar in GBNF, which knows no tokens."""
    return _verdict(format_, walks, [in_gbnf], offer)


def _verdict(format_: TurnFormat, walks: int, loads: Sequence[Load], offer: Offer) -> Verdict:
    found: list[Fault | None] = []
    for load in loads:
        found += completeness(format_, load, offer)
        found += soundness(format_, walks, load, offer)
    return Verdict(len(found), tuple(filter(None, found)))


def grammar_for(format_: TurnFormat, request: ParserRequest) -> Grammar:
    return Grammar(
        build_expression(Formats.of(format_), request),
        request.tools or {},
        parallel=request.parallel,
        required=request.required,
    )


def turn_without_end(format_: TurnFormat, message: Message) -> str:
    """Return the turn of a message up to its end, which is the engine's and in no grammar."""
    return text_without_end(format_.end_literals, format_.write(with_ids(format_, message)))


def written_call(
    analysis: Analysis, tools: Sequence[Json], call: ToolCall
) -> tuple[str, str] | None:
    """Return a prompt and the turn of a call without its end, or None if none is written."""
    turn = analysis.turns(tools).written_turn(Message("", calls=(call,)))
    calls = analysis.format.calls
    # If the id carries the name, the written name is not the call's own.
    if turn.continuation is None or call.name not in turn.continuation:
        return None
    if calls is None or calls.naming is not None:
        return None
    return turn.prompt, text_without_end(analysis.format.end_literals, turn.continuation)


def request_for(format_: TurnFormat, turn: str, tools: Sequence[Json]) -> tuple[ParserRequest, int]:
    """Return where in a turn the model begins: after the prompt, the header, or at once."""
    default = next((opening for opening in format_.openings if not opening.setting), None)
    if default is not None and default.text and turn.startswith(default.text):
        return read_request(tools, prompt=default.text), len(default.text)
    if turn.startswith(format_.header):
        return read_request(tools, begun_turn=PromptFormat(format_, None)), len(format_.header)
    at_once = TurnOpening({}, "", PromptProgress.NOTHING, tools=True)
    return read_request(tools, begun_turn=PromptFormat(format_, at_once)), 0


def completeness(format_: TurnFormat, load: Load, offer: Offer) -> Iterator[Fault | None]:
    """Feed every turn of the battery that the format writes, token by token."""
    loaded: dict[tuple[str | None, int], GrammarObject] = {}
    names = read_request(offer.called).tools or {}
    for case in battery_messages():
        if not all(call.name in names for call in case.message.calls):
            continue
        try:
            turn = turn_without_end(format_, case.message)
        except RefusedMessageError:
            continue
        request, written = request_for(format_, turn, offer.called)
        key = (request.prompt, written)
        if key not in loaded:
            loaded[key] = load(grammar_for(format_, request))
        found = refusal(loaded[key], turn[written:])
        yield Fault(Question.COMPLETE, case.title, found) if found else None


def refusal(start: GrammarObject, text: str) -> str:
    """Feed a text token by token; say where it is refused, if it is.

    Of each `MASKED` tokens the last has to be in the mask, too: masks take most of the time.
    """
    state, tokenizer = start.clone(), start.tokenizer
    mask = new_mask(1, tokenizer.mask_words)
    tokens = tokenizer.encode(text)
    for at, token in enumerate(tokens):
        masked = at % MASKED == MASKED - 1
        try:
            if masked:
                state.fill_vocab_mask(mask)
        except ConstraintError as error:
            return f"behind {tokenizer.decode(tokens[:at])[-60:]!r}: {error}"
        allowed = not masked or is_allowed(mask_row(mask, 0), token)
        if not allowed or not state.try_accept(token):
            shown = f"{tokenizer.decode([token])!r} behind {tokenizer.decode(tokens[:at])[-60:]!r}"
            return f"{shown}: masked"
    return "" if state.is_accepting() else f"not at an end behind {text[-60:]!r}"


def soundness(format_: TurnFormat, walks: int, load: Load, offer: Offer) -> Iterator[Fault | None]:
    """Walk at random and parse the results; closing texts are also written inside JSON."""
    for tools in offer.walked:
        grammar = grammar_for(format_, read_request(tools))
        compiled, parser = load(grammar), grammar.parser()
        tokenizer = compiled.tokenizer
        calls = grammar.turn.strict.calls
        closers = closing_texts(grammar.rules(tokenizer.opaque), calls)
        ending = (*closers, calls.section_close) if calls is not None else closers
        judge = AnswerJudge(format_, grammar, parser, compiled, NoTurns("only the format is known"))
        for seed in range(walks):
            walk = _walk(compiled, seed, Random(seed).choice(HASTE), closers)
            # A slow walk may not end in time, with long texts and call after call: hurry it.
            walk = walk if walk.ended else _walk(compiled, seed, max(HASTE), ending)
            if not walk.ended:
                yield Fault(Question.ENDS, f"walk {seed}", "")
                continue
            complaints = judge.judge(walk.text, walk.tokens).complaints
            words = "; ".join(
                f"{complaint.fault.value}: {complaint.detail}" for complaint in complaints
            )
            shown = f"{words}: {walk.text!r}"
            yield Fault(Question.SOUND, f"walk {seed}", shown) if complaints else None


def _walk(compiled: GrammarObject, seed: int, haste: float, closers: Sequence[str]) -> MaskedWalk:
    tokenizer = compiled.tokenizer
    sampler = RandomSampler(tokenizer, seed, ending=haste, closing=haste, closers=closers)
    return masked_walk(compiled.clone(), tokenizer, sampler, LONGEST)
