"""tiktoken's files of ranks, for models that ship no ``tokenizer.json``.

Facts from the wheel tiktoken 0.14.0, ``load.py``: a line is a token's bytes in base64, a space,
and its rank, which is its id. The merges are what the ranks say: a token is made of the two
parts that tokens of lower ranks leave. The rule that cuts text into words, and the added tokens,
are not part of the file; the added ones are in the directory's ``tokenizer_config.json``.
"""

from __future__ import annotations

import binascii
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import TokenizerError
from autoparser.analysis.core.value_kind import is_mapping
from autoparser.analysis.loading.sources.files import part_of, read_json_object
from autoparser.analysis.loading.sources.special_tokens import CONFIG_FILE

from .byte_level import byte_level_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["is_tiktoken", "read_tiktoken"]

LARGEST = 32 << 20
LONGEST_TOKEN = 1024


def is_tiktoken(path: Path) -> bool:
    """Whether the file begins with a line of ranks."""
    try:
        with path.open("rb") as stream:
            line = stream.readline(2 * LONGEST_TOKEN)
    except OSError:
        return False
    return _entry(line) is not None


def read_tiktoken(path: Path, *, segmenting: bool) -> Tokenizer:
    """Read ranks, and the added tokens beside them.

    ``segmenting`` says that texts are to be cut as the model's own tokenizer cuts them. Raises
    TokenizerError for what the files do not hold.
    """
    if segmenting:
        raise TokenizerError(
            "tiktoken's file holds the tokens, but not the rule by which text is cut into words,"
            " which is in the model's Python code",
            file=str(path),
            hint="convert it once with transformers (AutoTokenizer … save_pretrained) and give the"
            " tokenizer.json",
        )
    ranks = dict(_entries(path))
    letters = _alphabet()
    written = {token: "".join(letters[byte] for byte in token) for token in ranks}
    merges = [
        (written[left], written[right])
        for token in sorted(ranks, key=lambda token: ranks[token])
        if len(token) > 1
        for left, right in _halves(token, ranks)
    ]
    tokens = {written[token]: rank for token, rank in ranks.items()}
    return byte_level_tokenizer(tokens, merges, _added(path.parent), str(path))


def _entries(path: Path) -> Iterator[tuple[bytes, int]]:
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST + 1)
    except OSError as error:
        raise _wrong(path, f"cannot read the file ({error.strerror})", None) from None
    if len(content) > LARGEST:
        raise _wrong(path, f"this is larger than {LARGEST >> 20} MiB", None)
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip():
            entry = _entry(line)
            if entry is None:
                raise _wrong(path, "this is not a token in base64 with its rank", number)
            yield entry


def _entry(line: bytes) -> tuple[bytes, int] | None:
    parts = line.split()
    if len(parts) != 2 or not parts[1].isdigit() or len(parts[1]) > 9:  # noqa: PLR2004
        return None
    try:
        token = binascii.a2b_base64(parts[0], strict_mode=True)
    except ValueError:
        return None
    return (token, int(parts[1])) if 0 < len(token) <= LONGEST_TOKEN else None


def _halves(token: bytes, ranks: Mapping[bytes, int]) -> Iterator[tuple[bytes, bytes]]:
    """Return the last merge that makes a token; none where lower ranks do not lead to it."""
    parts = [token[at : at + 1] for at in range(len(token))]
    limit = ranks[token]
    while len(parts) > 2:  # noqa: PLR2004 - two parts are the merge
        pairs = [ranks.get(parts[at] + parts[at + 1], limit) for at in range(len(parts) - 1)]
        best = min(pairs)
        if best >= limit:
            return
        at = pairs.index(best)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    left, right = parts
    if left in ranks and right in ranks:
        yield left, right


def _alphabet() -> list[str]:
    """Return GPT-2's letter for each byte."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {byte: chr(byte) for byte in printable}
    others = (byte for byte in range(256) if byte not in letters)
    letters.update({byte: chr(256 + at) for at, byte in enumerate(others)})
    return [letters[byte] for byte in range(256)]


def _added(directory: Path) -> dict[int, tuple[str, bool]]:
    path = part_of(directory, CONFIG_FILE)
    decoder = None if path is None else read_json_object(path).get("added_tokens_decoder")
    found: dict[int, tuple[str, bool]] = {}
    if is_mapping(decoder):
        for number, value in decoder.items():
            text = value.get("content") if is_mapping(value) else None
            if number.isdigit() and len(number) <= 9 and isinstance(text, str):  # noqa: PLR2004
                found[int(number)] = (text, bool(value.get("special")))
    return found


def _wrong(path: Path, words: str, line: int | None) -> TokenizerError:
    return TokenizerError(
        words,
        file=str(path),
        place=None if line is None else f"line {line}",
        hint="give a tokenizer.json, or tiktoken's file of ranks",
    )
