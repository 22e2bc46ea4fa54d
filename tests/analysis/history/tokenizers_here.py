"""Tokenizers for tests: two real vocabularies from the package index, and a small one made here."""

from __future__ import annotations

from functools import cache

from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

from tests.real_vocabularies import byte_level, deepseek_file, qwen_without_special

SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
)
"""What the models of the first vocabulary treat as one token."""


@cache
def deepseek() -> Tokenizer:
    """Return DeepSeek's tokenizer as it is published."""
    return Tokenizer.from_file(str(deepseek_file()))


@cache
def qwen() -> Tokenizer:
    """Return Qwen's vocabulary, with tokens that end and open parts as its special ones."""
    tokenizer = qwen_without_special()
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in SPECIAL])
    return tokenizer


@cache
def small(*special: str) -> Tokenizer:
    """Return a tokenizer of single bytes, a few pairs, and these special tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pairs = [("Ċ", "Ċ"), ("t", "h"), ("th", "e"), ("Ġ", "a"), ("i", "n")]
    vocabulary = [*alphabet, *(left + right for left, right in pairs)]
    model = models.BPE({token: id_ for id_, token in enumerate(vocabulary)}, pairs)
    tokenizer = byte_level(Tokenizer(model), r"\s+|\S+")
    tokens = special or SPECIAL
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in tokens])
    return tokenizer
