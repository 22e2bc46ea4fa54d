"""Match texts with llguidance and xgrammar, with every marker as plain text."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from llguidance import LLMatcher

from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.sources.token_bytes import OpaqueTokens, byte_tokenizer
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.analysis.grammar.judge import tokenizer

from .rendered_turns import RenderedTurn

Taking: TypeAlias = Callable[[RenderedTurn], bool]
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
    tokens, taken = list(text.encode()), 0
    for count in (least, len(tokens)):
        matcher = start.deep_copy()
        taken = matcher.try_consume_tokens(tokens[:count])
        if taken == count and (matcher.is_accepting() or matcher.is_stopped()):
            return ""
    if taken == len(tokens):
        return "it may not end there"
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


def vocabulary_of(tokenizer: ModelTokenizer) -> Any:
    """Return the vocabulary of a tokenizer, as xgrammar takes it."""
    xgrammar = importlib.import_module("xgrammar")
    return xgrammar.TokenizerInfo(
        list(tokenizer.token_bytes),
        vocab_type=xgrammar.VocabType.RAW,
        stop_token_ids=list(tokenizer.eos_ids),
    )


class EngineTokens:
    """Runs tags as engines do: by token, ids that end an answer being masked within a tag."""

    def __init__(self, markers: Sequence[str], ends: Sequence[str]) -> None:
        """Make a tokenizer of bytes and these markers, some of which end an answer."""
        self._xgrammar = importlib.import_module("xgrammar")
        made = byte_tokenizer([(marker, True) for marker in markers])
        self.tokenizer = tokenizer_of(made, eos=list(ends))
        self._compiler = self._xgrammar.GrammarCompiler(vocabulary_of(self.tokenizer))

    def masked(self, tag: Mapping[str, object], text: str) -> str:
        """Return the text of the first token that a tag masks, the end included, or empty."""
        ids = self.tokenizer.encode(text)
        taken, ended = self._walk(tag, ids)
        if taken < len(ids):
            return self.tokenizer.decode([ids[taken]])
        return "" if ended else "it may not end there"

    def taken(self, tag: Mapping[str, object], text: str, spelled: str) -> bool:
        """Return whether a tag takes a text in which this marker is written in other tokens."""
        parts = [self.tokenizer.encode(part) for part in text.split(spelled)]
        signs = [id_ for sign in spelled for id_ in self.tokenizer.encode(sign)]
        ids = [id_ for part in parts for id_ in (*signs, *part)][len(signs) :]
        return self._walk(tag, ids) == (len(ids), True)

    def _walk(self, tag: Mapping[str, object], ids: Sequence[int]) -> tuple[int, bool]:
        compiled = self._compiler.compile_structural_tag(json.dumps(tag))
        ends = list(self.tokenizer.eos_ids)
        matcher = self._xgrammar.GrammarMatcher(compiled, override_stop_tokens=ends)
        taken = next((at for at, id_ in enumerate(ids) if not matcher.accept_token(id_)), len(ids))
        return taken, matcher.is_terminated()


def taking_turns(tag: Mapping[str, object]) -> Taking:
    """Return whether a tag takes a turn, with what may end every conversation or without."""
    takes = read_by_xgrammar(tag)

    def taking(turn: RenderedTurn) -> bool:
        least = turn.text.encode()[: turn.least].decode(errors="ignore")
        return takes(turn.text) or (least != turn.text and takes(least))

    return taking
