"""Both proofs for one format: what it writes is accepted, what its grammar allows reads cleanly."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from llguidance import LLTokenizer
from tokenizers import Tokenizer

from autoparser.analysis.core.conversation import Json, Message
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.turn_format import Begun, Formats, RefusedMessageError, TurnFormat
from autoparser.analysis.core.turn_shape import PromptProgress, TurnOpening
from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.parsing.output_parser import OutputParser
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_request import ParserRequest, request_of
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.parsing.loop import with_ids

from .offers import BATTERY, STRICT, offered
from .tokens import byte_tokenizer, guidance, markers
from .walks import Decoder, closings, complaint, decoder, gbnf_decoder, refusal, walk

Load: TypeAlias = Callable[[Grammar, Tokenizer, LLTokenizer], Decoder]
"""Loads a grammar in one of its forms."""


class Question(StrEnum):
    """What was asked of a grammar."""

    COMPLETE = "accepts what the template writes"
    SOUND = "allows what reads cleanly"
    ENDS = "walks end"


@dataclass(frozen=True, slots=True)
class Fault:
    """An answer that is not as it should be."""

    question: Question
    spelled: bool
    """The markers were plain text to the tokenizer, not tokens of their own."""
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


def prove(format_: TurnFormat, walks: int, offer: Offer = USUAL) -> Verdict:
    """Ask all questions, with markers as tokens and as text.

    `walks` are the walks for each tokenizer and set of tools.
    """
    asked = 0
    faults: list[Fault] = []
    for spelled in (False, True):
        tokens = () if spelled else markers(format_)
        for fault in (
            *completeness(format_, tokens, offer=offer),
            *soundness(format_, tokens, walks, offer=offer),
        ):
            asked += 1
            if fault is not None:
                faults.append(replace(fault, spelled=spelled))
    return Verdict(asked, tuple(faults))


def prove_gbnf(format_: TurnFormat, walks: int, offer: Offer = USUAL) -> Verdict:
    """Ask the same of the grammar in GBNF, which knows no tokens."""
    questions = (
        *completeness(format_, (), gbnf_decoder, offer=offer),
        *soundness(format_, (), walks, gbnf_decoder, offer=offer),
    )
    faults = [replace(fault, spelled=True) for fault in questions if fault is not None]
    return Verdict(len(questions), tuple(faults))


def grammar_for(format_: TurnFormat, request: ParserRequest) -> Grammar:
    return Grammar(
        build_expression(Formats.of(format_), request),
        request.tools or {},
        parallel=request.parallel,
        required=request.required,
    )


def request_for(format_: TurnFormat, turn: str, tools: Sequence[Json]) -> tuple[ParserRequest, int]:
    """Say where in a turn the model begins: after the prompt, the header, or at once."""
    default = next((each for each in format_.openings if not each.setting), None)
    if default is not None and default.text and turn.startswith(default.text):
        return request_of(tools, prompt=default.text), len(default.text)
    if turn.startswith(format_.header):
        return request_of(tools, begun=Begun(format_, None)), len(format_.header)
    at_once = TurnOpening({}, "", PromptProgress.NOTHING, tools=True)
    return request_of(tools, begun=Begun(format_, at_once)), 0


def completeness(
    format_: TurnFormat,
    tokens: tuple[str, ...],
    load: Load = decoder,
    *,
    offer: Offer = USUAL,
) -> Iterator[Fault | None]:
    """Feed every turn of the battery that the format writes, token by token."""
    loaded: dict[tuple[str | None, int], Decoder] = {}
    names = request_of(offer.called).tools or {}
    for case in battery_messages():
        if not _calls_only(case.message, names):
            continue
        turn = _turn(format_, with_ids(format_, case.message))
        if turn is None:
            continue
        request, written = request_for(format_, turn, offer.called)
        key = (request.prompt, written)
        if key not in loaded:
            grammar = grammar_for(format_, request)
            loaded[key] = load(grammar, byte_tokenizer(tokens), guidance(tokens))
        found = refusal(loaded[key], turn[written:])
        yield Fault(Question.COMPLETE, False, case.title, found) if found else None


def _calls_only(message: Message, tools: Container[str]) -> bool:
    return all(call.name in tools for call in message.calls)


def _turn(format_: TurnFormat, message: Message) -> str | None:
    try:
        return format_.write(message)
    except RefusedMessageError:
        return None


def soundness(
    format_: TurnFormat,
    tokens: tuple[str, ...],
    walks: int,
    load: Load = decoder,
    *,
    offer: Offer = USUAL,
    hostile: bool = False,
) -> Iterator[Fault | None]:
    """Walk at random, and read what comes of it."""
    tokenizer = byte_tokenizer(tokens)
    for tools in offer.walked:
        request = request_of(tools)
        grammar = grammar_for(format_, request)
        loaded = load(grammar, tokenizer, guidance(tokens))
        closes = closings(grammar.rules(tokenizer_of(tokenizer).opaque))
        parser = OutputParser(grammar.turn, offered=frozenset(grammar.tools))
        for seed in range(walks):
            text = walk(loaded, closes, seed, hostile=hostile)
            if text is None:
                yield Fault(Question.ENDS, False, f"walk {seed}", "")
                continue
            found = complaint(parser.parse(text), text, grammar.tools)
            shown = f"{found}: {text!r}"
            yield Fault(Question.SOUND, False, f"walk {seed}", shown) if found else None
