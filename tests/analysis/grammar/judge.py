"""The judge of a grammar in GBNF: llguidance reads it, and it is checked to be llama.cpp's."""

from __future__ import annotations

import json
import random
from functools import lru_cache
from typing import Any

from llguidance import LLMatcher, LLTokenizer, grammar_from

from autoparser.analysis.grammar.gbnf_rules import GbnfRules, JsonStyle
from autoparser.analysis.grammar.schema_rules import schema_rules

from .gbnf_check import check_gbnf

LONGEST_WALK = 10_000


@lru_cache(maxsize=1)
def tokenizer() -> LLTokenizer:
    """One token a byte, so that the grammar alone decides."""
    return LLTokenizer("byte")


def gbnf(schema: Any, **style: Any) -> str:
    rules = GbnfRules()
    return rules.text(schema_rules(schema, rules, JsonStyle(**style)))


class Judge:
    def __init__(self, text: str) -> None:
        self.text = text
        check_gbnf(text)
        self.matcher = LLMatcher(tokenizer(), grammar_from("gbnf", text), log_level=0)
        assert not self.matcher.is_error(), self.matcher.get_error()

    @classmethod
    def of(cls, schema: Any, **style: Any) -> Judge:
        return cls(gbnf(schema, **style))

    def accepts(self, text: str) -> bool:
        tokens = list(text.encode())
        matcher = self.matcher.deep_copy()
        taken = matcher.try_consume_tokens(tokens)
        assert not matcher.is_error(), matcher.get_error()
        return taken == len(tokens) and matcher.is_accepting()

    def takes(self, value: Any, *, ascii_only: bool = False) -> bool:
        """Ask about a value, as `json.dumps` writes it."""
        return self.accepts(json.dumps(value, ensure_ascii=ascii_only))

    def walk(self, rng: random.Random) -> str:
        """Write at random what the masks allow, until the grammar ends; prefer to end."""
        matcher = self.matcher.deep_copy()
        end = tokenizer().eos_token
        tokens: list[int] = []
        while not matcher.is_stopped():
            assert len(tokens) < LONGEST_WALK, f"no end after {bytes(tokens[:200])!r}"
            mask = matcher.compute_bitmask()
            allowed = [at for at in range(len(mask) * 8) if mask[at // 8] >> at % 8 & 1]
            assert allowed, f"nothing may follow {bytes(tokens)!r}"
            if end in allowed:
                break
            token = _likely(allowed, len(tokens), rng)
            assert matcher.consume_token(token), matcher.get_error()
            tokens.append(token)
        return bytes(tokens).decode()


FEW = 20
"""Fewer tokens than this are allowed between values, more inside a string."""


def _likely(allowed: list[int], written: int, rng: random.Random) -> int:
    """Choose a token; the longer the text, the more likely one that closes what is open."""
    closing = [token for token in allowed if token in (b'"' if len(allowed) > FEW else b"]}")]
    if closing and rng.random() < 0.1 + written / 500:
        return rng.choice(closing)
    ascii_only = [token for token in allowed if token < 0x80]
    return rng.choice(ascii_only if ascii_only and rng.random() < 0.95 else allowed)
