"""A ``tokenizer.json`` as the tokenizers library writes it, which may be a stranger's.

What such a file could do to its reader, measured with tokenizers 0.23: it takes about 430 bytes
of memory for each entry of a vocabulary; ids may be any number up to 2^32, and tables by id are
as long; padding of any length is put around whatever is encoded, and replacing normalizers may
write a thousand characters for one, several times. A regex that takes too long, and a nesting
that is too deep, the library refuses itself. Hence the bounds below.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import TokenizerError
from autoparser.analysis.core.value_kind import is_list, is_mapping
from autoparser.analysis.loading.bounded_reading import opened

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["check_ids", "read_tokenizer_json"]

LARGEST = 64 << 20
"""Bytes; the largest of real models has half of that."""

MOST_COMMAS = 3_000_000
"""Each entry of a vocabulary, and each merge, costs one or two; real files have half of that."""

MOST_GROWTH = 64
"""Characters that normalizers may make of one."""


def read_tokenizer_json(path: Path) -> Tokenizer:
    """Read a tokenizer, without its padding and truncation. Raises TokenizerError."""
    # Imported here since most commands need none, and it is slow to import.
    from tokenizers import Tokenizer  # noqa: PLC0415

    content = _content(path)
    try:
        tokenizer = Tokenizer.from_buffer(content)
        tokenizer.no_padding()
        tokenizer.no_truncation()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - bare exceptions, and Rust's panics
        reason = str(error)
    else:
        check_ids(tokenizer, path)
        _check_growth(tokenizer, path)
        return tokenizer
    raise TokenizerError(
        f"this is not a tokenizer ({reason})",
        file=str(path),
        hint="give a tokenizer.json as the tokenizers library writes it",
    )


def _content(path: Path) -> bytes:
    try:
        with opened(path) as stream:
            content = stream.read(LARGEST + 1)
    except OSError as error:
        raise TokenizerError(
            f"cannot read the file ({error.strerror or type(error).__name__})",
            file=str(path),
            hint="check its permissions or give another file",
        ) from None
    if len(content) > LARGEST or content.count(b",") > MOST_COMMAS:
        raise TokenizerError(
            f"this is larger than any tokenizer: more than {LARGEST >> 20} MiB or"
            f" {MOST_COMMAS} entries",
            file=str(path),
            hint="it was not read; give the tokenizer.json of a model",
        )
    return content


def check_ids(tokenizer: Tokenizer, path: Path) -> None:
    """Raise TokenizerError where the ids are spread over far more than the tokens there are."""
    ids = tokenizer.get_vocab(with_added_tokens=True).values()
    largest = max(ids, default=0)
    if largest > 4 * len(ids) + (1 << 16):
        raise TokenizerError(
            f"there are {len(ids)} tokens, and one of them has the id {largest}",
            file=str(path),
            hint="no model has such a vocabulary; give the tokenizer.json of one",
        )


def _check_growth(tokenizer: Tokenizer, path: Path) -> None:
    normalizer = tokenizer.normalizer
    if normalizer is None:
        return
    if _growth(json.loads(normalizer.__getstate__())) > MOST_GROWTH:
        raise TokenizerError(
            f"its normalizers blow text up: one character becomes more than {MOST_GROWTH} of them",
            file=str(path),
            hint="no model needs that; give the tokenizer.json of one",
        )


def _growth(normalizer: object) -> int:
    """Return how many characters one may become, at most."""
    if not is_mapping(normalizer):
        return 1
    most = 1
    inner = normalizer.get("normalizers")
    for each in inner if is_list(inner) else []:
        most *= _growth(each)
        if most > MOST_GROWTH:
            return most
    content = normalizer.get("content")
    return most * max(1, len(content)) if isinstance(content, str) else most
