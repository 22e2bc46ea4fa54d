"""Inspect a grammar object: its allowed tokens, and whether it accepts texts."""

from __future__ import annotations

from autoparser.analysis.decoding.matcher_grammar import (
    GrammarObject,
    allowed_tokens,
    count_allowed,
    is_allowed,
    mask_row,
    new_mask,
)
from autoparser.analysis.sources.tokenizer import ModelTokenizer


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
