"""A ``tokenizer.json`` as the tokenizers library writes it, which may be a stranger's.

What such a file could do to its reader, measured with tokenizers 0.23: it takes about 430 bytes
of memory for each entry of a vocabulary; ids may be any number up to 2^32, and tables by id are
as long; padding of any length is put around whatever is encoded, and replacing normalizers may
write a thousand characters for one, several times. A regex that takes too long, and a nesting
that is too deep, the library refuses itself. Hence the bounds below.
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import TokenizerError, is_list, is_mapping

from .found_templates import CONFIG_FILE
from .gguf_files import GgufContents
from .local_files import open_file, part_of, read_json_object
from .token_bytes import byte_letters, byte_level_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer


# tiktoken's files of ranks, for models that ship no ``tokenizer.json``.
#
# Facts from the wheel tiktoken 0.14.0, ``load.py``: a line is a token's bytes in base64, a space,
# and its rank, which is its id. The merges are what the ranks say: a token is made of the two
# parts that tokens of lower ranks leave. The rule that cuts text into words, and the added
# tokens, are not part of the file; the added ones are in the directory's
# ``tokenizer_config.json``.


LARGEST_TIKTOKEN = 32 << 20
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
    letters = byte_letters()
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
            content = stream.read(LARGEST_TIKTOKEN + 1)
    except OSError as error:
        raise _wrong(path, f"cannot read the file ({error.strerror})", None) from None
    if len(content) > LARGEST_TIKTOKEN:
        raise _wrong(path, f"this is larger than {LARGEST_TIKTOKEN >> 20} MiB", None)
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


# The tokenizer of a GGUF header, where its kind is one that can be made here.


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


LARGEST_TOKENIZER_JSON = 64 << 20
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
        with open_file(path) as stream:
            content = stream.read(LARGEST_TOKENIZER_JSON + 1)
    except OSError as error:
        raise TokenizerError(
            f"cannot read the file ({error.strerror or type(error).__name__})",
            file=str(path),
            hint="check its permissions or give another file",
        ) from None
    if len(content) > LARGEST_TOKENIZER_JSON or content.count(b",") > MOST_COMMAS:
        raise TokenizerError(
            f"this is larger than any tokenizer: more than {LARGEST_TOKENIZER_JSON >> 20} MiB or"
            f" {MOST_COMMAS} entries",
            file=str(path),
            hint="it was not read; give the tokenizer.json of a model",
        )
    return content


def check_ids(tokenizer: Tokenizer, path: Path) -> None:
    """Raise TokenizerError if the ids are spread over far more than the tokens there are."""
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
