"""Both proofs: what a template writes is accepted, and what a grammar allows is read cleanly."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import jsonschema
from llguidance import LLMatcher, LLTokenizer, grammar_from
from tokenizers import Tokenizer

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.grammar.grammar_rules import (
    ChoiceNode,
    FreeTextNode,
    GrammarRules,
    LiteralNode,
    Node,
    SequenceNode,
)
from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.parsing.parsed_message import ParsedMessage, Status
from autoparser.analysis.parsing.text_tape import SpanKind

from .tokens import ids

LONGEST = 3000
"""Tokens after which a walk is given up."""


@dataclass(frozen=True, slots=True)
class Decoder:
    """A tokenizer, and the grammar loaded for it."""

    tokenizer: Tokenizer
    guidance: LLTokenizer
    matcher: LLMatcher

    def fresh(self) -> LLMatcher:
        return self.matcher.deep_copy()


def decoder(grammar: Grammar, tokenizer: Tokenizer, guidance: LLTokenizer) -> Decoder:
    """Load a grammar; an error of llguidance is an assertion with its text."""
    text = LLMatcher.grammar_from_lark(grammar.lark(tokenizer))
    matcher = LLMatcher(guidance, text, log_level=0)
    assert not matcher.is_error(), matcher.get_error()
    return Decoder(tokenizer, guidance, matcher)


def gbnf_decoder(grammar: Grammar, tokenizer: Tokenizer, guidance: LLTokenizer) -> Decoder:
    """Load a grammar by way of GBNF, in which every marker is plain text."""
    matcher = LLMatcher(guidance, grammar_from("gbnf", grammar.gbnf()), log_level=0)
    assert not matcher.is_error(), matcher.get_error()
    return Decoder(tokenizer, guidance, matcher)


def refusal(loaded: Decoder, text: str) -> str:
    """Feed a text token by token, each of them in the mask; say where it is refused, if it is."""
    matcher = loaded.fresh()
    tokens = ids(loaded.tokenizer, text)
    for at, token in enumerate(tokens):
        mask = matcher.compute_logit_bias()
        if matcher.is_error() or not mask[token]:
            done = loaded.tokenizer.decode(tokens[:at], skip_special_tokens=False)
            reason = matcher.get_error().splitlines()[:1] or ["masked"]
            shown = loaded.tokenizer.decode([token], skip_special_tokens=False)
            return f"{shown!r} behind {done[-60:]!r}: {reason[0]}"
        if not matcher.consume_token(token):
            return f"not consumed: {matcher.get_error()}"
    return "" if matcher.is_accepting() else f"not at an end behind {text[-60:]!r}"


@dataclass(frozen=True, slots=True)
class Closings:
    """The texts of a grammar, by which a walk finds its way out of free text."""

    closes: tuple[str, ...]
    """What closes free text."""
    others: tuple[str, ...]


def closings(rules: GrammarRules) -> Closings:
    """Collect the texts of a grammar."""
    closes: dict[str, None] = {}
    others: dict[str, None] = {}
    for node in (rules.root, *rules.named.values()):
        for text, closing in _texts(node):
            if text:
                (closes if closing else others).setdefault(text)
    return Closings(tuple(closes), tuple(others))


def _texts(node: Node) -> Iterator[tuple[str, bool]]:
    match node:
        case LiteralNode(text):
            yield text, False
        case SequenceNode(items):
            for item in items:
                yield from _texts(item)
        case ChoiceNode(options):
            for option in options:
                yield from _texts(option)
        case FreeTextNode(exits):
            for exit_ in exits:
                yield exit_.close, exit_.prose is not None
                yield from _texts(exit_.then)
        case _:
            return


_JSON_CLOSES = "\"'}]"
_JSON_GOES_ON = ",:0"
_LONG = LONGEST // 4
"""Tokens after which a walk takes nothing that only goes on, such as a comma."""


def walk(loaded: Decoder, texts: Closings, seed: int, *, hostile: bool = False) -> str | None:
    """Walk at random under the mask, with a bias to what closes; None where it does not end.

    A hostile walk puts the closing texts into the strings of JSON, too.
    """
    chance = random.Random(seed)
    matcher = loaded.fresh()
    tokenizer = loaded.tokenizer
    closes = [ids(tokenizer, text) for text in texts.closes]
    others = [ids(tokenizer, text) for text in texts.others]
    short = [ids(tokenizer, char)[0] for char in _JSON_CLOSES + _JSON_GOES_ON]
    # In a string of JSON a letter and a quotation mark may stand, a line break may not.
    letter, line = ids(tokenizer, "z\n")
    added = sorted(tokenizer.get_added_tokens_decoder())
    ends = set(loaded.guidance.eos_tokens)
    taken: list[int] = []
    haste = chance.choice((0.05, 0.2, 0.5))
    while len(taken) < LONGEST:
        if matcher.is_accepting() and chance.random() < max(haste, len(taken) / 500):
            break
        haste = min(0.9, max(haste, len(taken) / 800))
        if len(taken) >= _LONG:
            short = short[: len(_JSON_CLOSES)]
        mask = matcher.compute_logit_bias()
        assert not matcher.is_error(), matcher.get_error()
        quoted = mask[letter] and mask[short[0]] and not mask[line]
        if (hostile or not quoted) and chance.random() < haste / 2:
            way = _open(matcher, closes if chance.random() < haste else others, chance)
            if way:
                assert matcher.consume_tokens(way), matcher.get_error()
                taken += way
                continue
        quick = [token for token in (*short, *added) if mask[token] and token not in ends]
        if quick and chance.random() < haste:
            # Quotation marks come first: inside a string, everything else goes on.
            token = chance.choice(quick[:2] if chance.random() < haste else quick)
        else:
            allowed = [at for at, bit in enumerate(mask) if bit and at not in ends]
            if not allowed:
                assert matcher.is_accepting(), "nothing is allowed, and this is not an end"
                break
            token = chance.choice(allowed)
        assert matcher.consume_token(token), matcher.get_error()
        taken.append(token)
    else:
        return None
    return str(tokenizer.decode(taken, skip_special_tokens=False))


def _open(matcher: LLMatcher, ways: Sequence[list[int]], chance: random.Random) -> list[int]:
    """Choose among the texts that may stand here as a whole."""
    for way in chance.sample(ways, len(ways)):
        if matcher.validate_tokens(way) == len(way):
            return way
    return []


def complaint(parsed: ParsedMessage, text: str, tools: Mapping[str, Json]) -> str:
    """Say what is not clean in a message that was read; nothing where all is well.

    Whitespace after the end is the template's own.
    """
    if not parsed.status.regular:
        return f"the status is {parsed.status}"
    for span in parsed.spans:
        if span.kind is SpanKind.JUNK and not text[span.start : span.end].isspace():
            return f"there is junk: {text[span.start : span.end]!r}"
    for call in parsed.tool_calls:
        if call.status is not Status.OK:
            return f"a call's status is {call.status}"
        if call.name not in tools:
            return f"no tool is named {call.name!r}"
        try:
            jsonschema.validate(json.loads(call.arguments), tools[call.name])
        except ValueError:
            return f"the arguments are not JSON: {call.arguments}"
        except jsonschema.ValidationError as error:
            return f"the arguments are not valid: {error.message} in {call.arguments}"
    return ""
