"""Engines that read a grammar and say what it takes: llguidance and xgrammar, every marker text."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from typing import TypeAlias

from llguidance import LLMatcher

from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.sources.token_bytes import OpaqueTokens
from tests.analysis.grammar.judge import tokenizer

from .behind import Behind

Taking: TypeAlias = Callable[[Behind], bool]
"""Whether a grammar takes a turn."""


def started(grammar: Grammar | str) -> LLMatcher:
    """Load a grammar into llguidance, or the text of one; raises ValueError where it is refused."""
    text = grammar if isinstance(grammar, str) else grammar.lark(OpaqueTokens())
    start = LLMatcher(tokenizer(), text, log_level=0)
    if start.is_error():
        raise ValueError(start.get_error().strip().splitlines()[0])
    return start


def refused(start: LLMatcher, text: str, least: int, *, ahead: int = 30, behind: int = 30) -> str:
    """Return where a grammar refuses a text, or empty.

    After `least` bytes it need take no more. So many characters ahead of the place and behind it
    are shown.
    """
    matcher, tokens = start.deep_copy(), list(text.encode())
    taken = matcher.try_consume_tokens(tokens)
    ends = matcher.is_accepting() or matcher.is_stopped()
    if taken == len(tokens) or (ends and taken >= least):
        return "" if ends else "it may not end there"
    done = bytes(tokens[:taken]).decode(errors="ignore")
    return f"{text[len(done) :][:ahead]!r} is refused after {done[-behind:]!r}"


def read_by_xgrammar(tag: Mapping[str, object]) -> Callable[[str], bool]:
    """Return whether a tag takes a text, compiled by xgrammar; raises what xgrammar raises."""
    grammar = importlib.import_module("xgrammar").Grammar.from_structural_tag(json.dumps(tag))
    matcher = importlib.import_module("xgrammar.testing")._get_matcher_from_grammar(grammar)

    def takes(text: str) -> bool:
        matcher.reset()
        return bool(matcher.accept_string(text) and matcher.is_terminated())

    return takes


def taking_turns(tag: Mapping[str, object]) -> Taking:
    """Return whether a tag takes a turn, with what may end every conversation or without."""
    takes = read_by_xgrammar(tag)

    def taking(turn: Behind) -> bool:
        least = turn.text.encode()[: turn.least].decode(errors="ignore")
        return takes(turn.text) or (least != turn.text and takes(least))

    return taking
