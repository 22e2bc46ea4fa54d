"""The tokenizer of a check: one made for a format, what a given one lacks, the way out of texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from autoparser.analysis.constrained import (
    JSON_CLOSERS,
    DecodingTokenizer,
    load_tokenizer,
)
from autoparser.analysis.grammar import Grammar
from autoparser.analysis.grammar.rules import (
    Choice,
    FreeText,
    Node,
    Rules,
    Sequence as InRow,
)

END = "\N{SYMBOL FOR END OF TRANSMISSION}"
"""The token that ends an answer in a vocabulary made here; no template writes it."""


def made_tokenizer(grammar: Grammar) -> DecodingTokenizer:
    """Make a tokenizer of one token a byte, and one for each of the format's markers."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    model = models.BPE(vocab={sign: number for number, sign in enumerate(alphabet)}, merges=[])
    # Its stubs name no type of the tokens that are added.
    made: Any = Tokenizer(model)
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(END, special=True, normalized=False)])
    made.add_tokens(
        [AddedToken(text, special=False, normalized=False) for text in grammar.preserved_tokens]
    )
    return load_tokenizer(made, eos=END)


def missing_markers(grammar: Grammar, tokenizer: DecodingTokenizer) -> tuple[str, ...]:
    """Name the format's markers that hold no token of their own in this vocabulary.

    A longer marker may be put together of a token and text; that is as good.
    """
    known = tuple(tokenizer.markers)
    return tuple(
        marker for marker in grammar.preserved_tokens if not any(text in marker for text in known)
    )


def closing_texts(rules: Rules) -> tuple[str, ...]:
    """Collect the texts of a grammar by which a walk finds its way out of free text."""
    closes: dict[str, None] = {}
    for node in (rules.root, *rules.named.values()):
        closes.update(dict.fromkeys(filter(None, _texts(node))))
    return (*closes, *JSON_CLOSERS)


def _texts(node: Node) -> Iterator[str]:
    nodes: Sequence[Node] = ()
    match node:
        case InRow(items):
            nodes = items
        case Choice(options):
            nodes = options
        case FreeText(exits):
            yield from (each.close for each in exits if each.prose is not None)
            nodes = [each.then for each in exits]
        case _:
            return
    for inner in nodes:
        yield from _texts(inner)
