"""The tokenizer of a GGUF header, where its kind is one that can be made here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import TokenizerError
from autoparser.analysis.loading.sources.gguf import GgufContents

from .byte_level import byte_level_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["tokenizer_of_gguf"]

BYTE_LEVEL = "gpt2"
"""What GGUF calls byte-level BPE of any model."""

GPT2_RULES = ("gpt-2", "gpt2")
"""Names of GPT-2's own rule to cut text into words, which the tokenizers library has built in."""


def tokenizer_of_gguf(contents: GgufContents, *, segmenting: bool) -> Tokenizer:
    """Make the tokenizer.

    ``segmenting`` says that texts are to be cut as the model's own tokenizer cuts them. Raises
    TokenizerError for what the file does not hold.
    """
    if contents.model != BYTE_LEVEL or not contents.tokens:
        kind = repr(contents.model) if contents.model else "no kind"
        raise TokenizerError(
            f"the vocabulary of this file is of {kind}, and only that of {BYTE_LEVEL!r}"
            " (byte-level BPE) can be read",
            file=contents.file,
            hint="give the model's tokenizer.json with --tokenizer",
        )
    if segmenting and contents.pre not in GPT2_RULES:
        raise TokenizerError(
            f"a GGUF file names the rule by which text is cut into words ({contents.pre!r}), but"
            " does not hold it, so its tokens cannot be told",
            file=contents.file,
            hint="give the model's tokenizer.json with --tokenizer",
        )
    added = contents.added
    tokens = {text: at for at, text in enumerate(contents.tokens) if at not in added}
    merges = [(left, right) for left, _, right in (each.partition(" ") for each in contents.merges)]
    return byte_level_tokenizer(tokens, merges, added, contents.file)
