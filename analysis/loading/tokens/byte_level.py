"""A byte-level BPE tokenizer from its parts, as far as a file has them; or of the bytes alone.

A GGUF header and a tiktoken file hold the tokens, but not the rule by which text is cut into
words before tokens are sought: one only names it, the other leaves it to Python code. Masks need
the tokens alone, so they can do without; whether a text comes back as the same tokens cannot be
judged without the rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from autoparser.analysis.core.errors import TokenizerError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["byte_level_tokenizer", "byte_tokenizer"]


def byte_level_tokenizer(
    tokens: Mapping[str, int],
    merges: Sequence[tuple[str, str]],
    added: Mapping[int, tuple[str, bool]],
    file: str,
) -> Tokenizer:
    """Make a tokenizer of GPT-2's kind, words cut as GPT-2 cuts them.

    ``tokens`` are written in GPT-2's alphabet of bytes; ``added`` gives the texts of the added
    tokens by their ids, and whether they are control tokens. Raises TokenizerError.
    """
    # The added tokens keep their ids only if the model's own vocabulary has them, too.
    vocabulary = {**tokens, **{text: number for number, (text, _) in added.items()}}
    try:
        return _assembled(vocabulary, merges, [added[number] for number in sorted(added)])
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - bare exceptions, and Rust's panics
        reason = str(error)
    raise TokenizerError(
        f"no tokenizer can be made of this vocabulary ({reason})",
        file=file,
        hint="give the model's tokenizer.json with --tokenizer",
    )


def byte_tokenizer(added: Iterable[tuple[str, bool]]) -> Tokenizer:
    """Make a tokenizer of one token a byte, and added ones: their texts, and which are control."""
    from tokenizers import pre_tokenizers  # noqa: PLC0415 - slow to import

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    return _assembled({sign: number for number, sign in enumerate(alphabet)}, (), added)


def _assembled(
    vocabulary: Mapping[str, int],
    merges: Sequence[tuple[str, str]],
    added: Iterable[tuple[str, bool]],
) -> Tokenizer:
    from tokenizers import (  # noqa: PLC0415 - slow to import
        AddedToken,
        Tokenizer,
        decoders,
        models,
        pre_tokenizers,
    )

    # Its stubs name no type of the tokens that are added.
    made: Any = Tokenizer(models.BPE(vocab=dict(vocabulary), merges=list(merges)))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    for text, special in added:
        made.add_tokens([AddedToken(text, special=special, normalized=False)])
    tokenizer: Tokenizer = made
    return tokenizer
