"""Load a model's tokenizer from a file, a directory, the Hub, or a program's object.

A ``tokenizer.json`` is as the tokenizers library writes it, and may be a stranger's. What such a
file could do to its reader, measured with tokenizers 0.23: it takes about 430 bytes of memory for
each entry of a vocabulary; ids may be any number up to 2^32, and tables by id are as long; padding
of any length is put around whatever is encoded, and replacing normalizers may write a thousand
characters for one, several times. A regex that takes too long, and a nesting that is too deep, the
library refuses itself. Hence the bounds below.

For example, tiktoken's ranks `a` 0, `b` 1, `c` 2, `ab` 3, `abc` 4 give the last merge of `abc`:

    _halves(b"abc", ranks)  ->  (b"ab", b"c")
"""

from __future__ import annotations

import binascii
import json
import os
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from autoparser.analysis.core.error_words import (
    is_list,
    is_mapping,
)
from autoparser.analysis.core.errors import (
    AutoparserError,
    TokenizerError,
)

from .gguf_files import GgufContents, file_window, gguf_contents
from .hub_listing import HubListing, fetch_files, list_repository
from .hub_requests import hub_name
from .local_files import model_file, open_file, path_exists, read_json_object
from .template_sources import CONFIG_FILE, gguf_on_hub, model_special_tokens
from .token_bytes import byte_letters, byte_level_tokenizer, library_complaint
from .tokenizer import Eos, ModelTokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenizers import Tokenizer

    from .tokenizer import FastTokenizer


# tiktoken's files of ranks, for models that ship no ``tokenizer.json``.
#
# Facts from the wheel tiktoken 0.14.0, ``load.py``: a line contains a token's bytes in base64, a
# space, and its rank, which is its id. The ranks determine the merges: a token is made of the two
# parts that tokens of lower ranks leave. The rule that cuts text into words, and the added tokens,
# are not part of the file; the added ones are in the directory's ``tokenizer_config.json``.


LARGEST_TIKTOKEN = 32 << 20
LONGEST_TOKEN = 1024


def is_tiktoken(path: Path) -> bool:
    """Return whether the file begins with a line of ranks."""
    try:
        with open_file(path, noted=False) as stream:
            line = stream.readline(2 * LONGEST_TOKEN)
    except OSError:
        return False
    return _parse_entry(line) is not None


def read_tiktoken(path: Path, *, segmenting: bool) -> Tokenizer:
    """Read ranks, and the added tokens beside them.

    ``segmenting`` says that texts are to be cut as the model's own tokenizer cuts them. Raises
    TokenizerError for what the files do not hold.
    """
    if segmenting:
        raise TokenizerError(
            "this tiktoken file has the tokens, but not the pre-tokenizer, which is in the model's"
            " Python code",
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
    return byte_level_tokenizer(tokens, merges, _read_added_tokens(path.parent), str(path))


def _entries(path: Path) -> Iterator[tuple[bytes, int]]:
    try:
        with open_file(path) as stream:
            content = stream.read(LARGEST_TIKTOKEN + 1)
    except OSError as error:
        raise _tokenizer_error(path, f"cannot read the file ({error.strerror})", None) from None
    if len(content) > LARGEST_TIKTOKEN:
        raise _tokenizer_error(path, f"larger than {LARGEST_TIKTOKEN >> 20} MiB", None)
    for number, line in enumerate(content.splitlines(), 1):
        if line.strip():
            entry = _parse_entry(line)
            if entry is None:
                raise _tokenizer_error(path, "not a token in base64 with its rank", number)
            yield entry


def _parse_entry(line: bytes) -> tuple[bytes, int] | None:
    parts = line.split()
    if len(parts) != 2 or not parts[1].isdigit() or len(parts[1]) > 9:  # noqa: PLR2004
        return None
    try:
        token = binascii.a2b_base64(parts[0], strict_mode=True)
    except ValueError:
        return None
    return (token, int(parts[1])) if 0 < len(token) <= LONGEST_TOKEN else None


def _halves(token: bytes, ranks: Mapping[bytes, int]) -> Iterator[tuple[bytes, bytes]]:
    """Yield the last merge of a token, if lower ranks lead to one."""
    parts = [token[at : at + 1] for at in range(len(token))]
    limit = ranks[token]
    while len(parts) > 2:  # noqa: PLR2004 - two parts are the merge
        pairs = [ranks.get(parts[at] + parts[at + 1], limit) for at in range(len(parts) - 1)]
        # Merge like tiktoken: the pair of the lowest rank first, none beyond the token's own.
        best = min(pairs)
        if best >= limit:
            return
        at = pairs.index(best)
        parts[at : at + 2] = [parts[at] + parts[at + 1]]
    left, right = parts
    if left in ranks and right in ranks:
        yield left, right


def _read_added_tokens(directory: Path) -> dict[int, tuple[str, bool]]:
    path = model_file(directory, CONFIG_FILE)
    decoder = None if path is None else read_json_object(path).get("added_tokens_decoder")
    found: dict[int, tuple[str, bool]] = {}
    if is_mapping(decoder):
        for number, value in decoder.items():
            text = value.get("content") if is_mapping(value) else None
            if number.isdigit() and len(number) <= 9 and isinstance(text, str):  # noqa: PLR2004
                found[int(number)] = (text, bool(value.get("special")))
    return found


def _tokenizer_error(path: Path, words: str, line: int | None) -> TokenizerError:
    return TokenizerError(
        words,
        file=str(path),
        place=None if line is None else f"line {line}",
        hint="give a tokenizer.json, or tiktoken's file of ranks",
    )


BYTE_LEVEL = "gpt2"
"""GGUF's name of byte-level BPE, whatever the model."""

GPT2_RULES = ("gpt-2", "gpt2")
"""Names of GPT-2's pre-tokenizer, which the tokenizers library contains."""


def tokenizer_of_gguf(contents: GgufContents, *, segmenting: bool) -> Tokenizer:
    """Make the tokenizer.

    ``segmenting`` says that texts are to be cut as the model's own tokenizer cuts them. Raises
    TokenizerError for what the file does not hold.
    """
    if contents.model != BYTE_LEVEL or not contents.tokens:
        kind = repr(contents.model) if contents.model else "unknown"
        raise TokenizerError(
            f"the type of this file's vocabulary is {kind}, and only {BYTE_LEVEL!r} (byte-level"
            " BPE) is supported",
            file=contents.file,
            hint="give the model's tokenizer.json with --tokenizer",
        )
    if segmenting and contents.pre not in GPT2_RULES:
        raise TokenizerError(
            f"this GGUF file names its pre-tokenizer ({contents.pre!r}), but does not contain it,"
            " so the tokens of a text are unknown",
            file=contents.file,
            hint="give the model's tokenizer.json with --tokenizer",
        )
    added = contents.added
    tokens = {text: at for at, text in enumerate(contents.tokens) if at not in added}
    merges = [
        (left, right) for left, _, right in (merge.partition(" ") for merge in contents.merges)
    ]
    return byte_level_tokenizer(tokens, merges, added, contents.file)


LARGEST_TOKENIZER_JSON = 64 << 20
"""Bytes; the largest of real models has half of that."""

MOST_COMMAS = 3_000_000
"""Each entry of a vocabulary, and each merge, costs one or two; real files have half of that."""

MOST_GROWTH = 64
"""Characters that normalizers may make of one."""


def read_tokenizer_json(path: Path) -> Tokenizer:
    """Read a tokenizer, without its padding and truncation. Raises TokenizerError."""
    # Imported here since it is slow to import and most commands need no tokenizer.
    from tokenizers import Tokenizer  # noqa: PLC0415

    content = _content(path)
    try:
        tokenizer = Tokenizer.from_buffer(content)
        tokenizer.no_padding()
        tokenizer.no_truncation()
    except BaseException as error:  # noqa: BLE001 - bare exceptions, and Rust's panics
        reason = library_complaint(error)
    else:
        check_ids(tokenizer, path)
        _check_growth(tokenizer, path)
        return tokenizer
    raise TokenizerError(
        f"not a tokenizer ({reason})",
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
            f"larger than any tokenizer: more than {LARGEST_TOKENIZER_JSON >> 20} MiB or"
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
            f"the vocabulary has {len(ids)} tokens, but one has the id {largest}",
            file=str(path),
            hint="no model has such a vocabulary; give the tokenizer.json of one",
        )


def _check_growth(tokenizer: Tokenizer, path: Path) -> None:
    normalizer = tokenizer.normalizer
    if normalizer is None:
        return
    if _growth(json.loads(normalizer.__getstate__())) > MOST_GROWTH:
        raise TokenizerError(
            f"its normalizers expand one character to more than {MOST_GROWTH}",
            file=str(path),
            hint="no model needs that; give the tokenizer.json of one",
        )


def _growth(normalizer: object) -> int:
    """Return the most characters that one character may become."""
    if not is_mapping(normalizer):
        return 1
    most = 1
    inner = normalizer.get("normalizers")
    # Each step of a sequence gets the output of the previous one, so their growth multiplies.
    for step in inner if is_list(inner) else []:
        most *= _growth(step)
        if most > MOST_GROWTH:
            return most
    content = normalizer.get("content")
    return most * max(1, len(content)) if isinstance(content, str) else most


# A model's tokenizer is searched in this order: ``tokenizer.json``; tiktoken's ranks, in
# ``*.tiktoken`` or a ``tokenizer.model`` of that form. A ``tokenizer.model`` of sentencepiece
# cannot be read, and the error names it. A GGUF file contains its own.


TOKENIZER_FILE = "tokenizer.json"
SENTENCEPIECE_FILE = "tokenizer.model"


def load_tokenizer(
    source: str | os.PathLike[str], *, revision: str | None = None, segmenting: bool = True
) -> Tokenizer:
    """Load the tokenizer of a file, a directory, a GGUF file, or a model on the Hub.

        load_tokenizer("models/base").encode("Hello")

    With `segmenting`, texts are split into the same tokens as by the model's own tokenizer;
    without, only the vocabulary is loaded, which suffices for masks. Raises TokenizerError, and the
    errors of reading the source.
    """
    named = os.fspath(source)
    path = Path(named)
    if named and path_exists(path):
        return read_tokenizer(path, segmenting=segmenting)
    name = hub_name(named)
    if name is None:
        raise _none_here(named)
    # A commit that is known already is more exact than the revision of the URL.
    revision = revision or name.revision
    listing = list_repository(name.repository, revision)
    directory = None
    if not name.in_gguf:
        directory = fetch_files(listing, tokenizer_files(listing), revision)
    if directory is not None and tokenizer_file(directory) is not None:
        return read_tokenizer(directory, segmenting=segmenting)
    contents = gguf_on_hub(listing, name)
    if contents is None:
        raise _none_here(named)
    return tokenizer_of_gguf(contents, segmenting=segmenting)


def tokenizer_files(listing: HubListing) -> list[str]:
    """Return the names of a listing that its tokenizer is read from."""
    if TOKENIZER_FILE in listing.files:
        return [TOKENIZER_FILE]
    ranks = sorted(file for file in listing.files if file.endswith(".tiktoken"))
    # tiktoken's files lack the added tokens, which are in the configuration.
    wanted = (*ranks, SENTENCEPIECE_FILE, CONFIG_FILE)
    return [file for file in wanted if file in listing.files]


def tokenizer_beside(
    source: str, file_of: Callable[[Path], Path | None] | None = None
) -> str | None:
    """Return the source of the tokenizer that belongs to a template's source, or None.

    That is the source itself for a GGUF file and a model on the Hub, else a file of its
    directory, or of the directory that it is in. `file_of` is `tokenizer_file`, or one that
    remembers, for whoever asks about many sources of a directory.
    """
    path = Path(source)
    if not source or not path_exists(path):
        return source if hub_name(source) is not None else None
    if path.suffix.lower() == ".gguf":
        return source
    file = (file_of or tokenizer_file)(path if path.is_dir() else path.parent)
    return None if file is None else str(file)


def tokenizer_file(directory: Path) -> Path | None:
    """Return the tokenizer file of a directory, or None if it has none."""
    ranks = sorted(path.name for path in directory.glob("*.tiktoken"))
    for name in (TOKENIZER_FILE, *ranks, SENTENCEPIECE_FILE):
        file = model_file(directory, name)
        if file is not None:
            return file
    return None


def read_tokenizer(path: Path, *, segmenting: bool = True) -> Tokenizer:
    """Read the tokenizer of a file or a directory, as `load_tokenizer` does."""
    if path.suffix.lower() == ".gguf":
        return tokenizer_of_gguf(gguf_contents(file_window(path)), segmenting=segmenting)
    file = tokenizer_file(path) if path.is_dir() else path
    if file is None or not path_exists(file):
        raise _none_here(str(path))
    if file.suffix == ".tiktoken" or (file.suffix == ".model" and is_tiktoken(file)):
        return read_tiktoken(file, segmenting=segmenting)
    if file.suffix == ".model":
        raise TokenizerError(
            "sentencepiece is not supported, and no tokenizer.json is beside the file",
            file=str(file),
            hint="convert it once with transformers (AutoTokenizer … save_pretrained) and pass the"
            " tokenizer.json with --tokenizer",
        )
    return read_tokenizer_json(file)


def _none_here(source_name: str) -> AutoparserError:
    return TokenizerError(
        "no tokenizer found",
        file=source_name,
        hint=f"give a {TOKENIZER_FILE}, a directory that holds one, or a GGUF file",
    )


GENERATION_FILE = "generation_config.json"


def tokenizer_of(
    source: ModelTokenizer | FastTokenizer | str | Path | object,
    *,
    eos: Eos | None = None,
    vocab_size: int | None = None,
    segmenting: bool = False,
) -> ModelTokenizer:
    """Adapt any tokenizer to a `ModelTokenizer`, whose properties are computed when needed.

    The same object gives the same `ModelTokenizer` each time.

    ``source`` is a ``tokenizers.Tokenizer``, a fast tokenizer of transformers (anything with a
    ``backend_tokenizer``), what this has made, or what `load_tokenizer` loads: a path, a directory,
    a GGUF file, a model on the Hub. ``eos`` ends an answer; if None, it is what the directory's
    ``generation_config.json`` and ``tokenizer_config.json``, the tokenizer of transformers, or last
    llguidance say. ``vocab_size`` is the width of the model's logits where that is more than the
    vocabulary. ``segmenting`` says that what is loaded has to cut texts as the model's own
    tokenizer does; masks need the tokens alone. Raises ``TokenizerError``; what is wrong with the
    ends or the width, and a tokenizer that llguidance cannot take, shows when that is asked for.
    """
    made = _adapt(source, segmenting=segmenting)
    return made if eos is None and vocab_size is None else made.ending_with(eos, vocab_size)


def _adapt(source: object, *, segmenting: bool) -> ModelTokenizer:
    from tokenizers import Tokenizer  # noqa: PLC0415 - slow to import

    if isinstance(source, ModelTokenizer):
        return source
    if isinstance(source, Tokenizer):
        return _adapt_object(source, source.get_vocab_size(), None)
    if isinstance(source, str | Path):
        return _load(source, segmenting=segmenting)
    inner: object = getattr(source, "backend_tokenizer", None)
    if isinstance(inner, Tokenizer):
        own: int | None = getattr(source, "eos_token_id", None)
        declared = _ends_of_model(str(getattr(source, "name_or_path", "") or ""))
        # A tokenizer names one end; a model may declare several, such as the end of a turn and of
        # a text.
        every = tuple(dict.fromkeys((*declared, *(() if own is None else (own,)))))
        return _adapt_object(inner, inner.get_vocab_size(), every if declared else own)
    raise TokenizerError(
        f"{type(source).__name__} is not a tokenizer",
        place="tokenizer",
        hint="give a fast tokenizer, its tokenizer.json, or the directory of the model",
    )


@lru_cache(maxsize=16)
def _adapt_object(
    tokenizer: Tokenizer, size: int, eos: int | tuple[int, ...] | None
) -> ModelTokenizer:
    """Adapt a tokenizer that a caller holds, once: it may come with every request."""
    # `size` is part of the cache key: the only change of a tokenizer is adding tokens.
    del size
    return ModelTokenizer(tokenizer, eos)


def _load(source: str | Path, *, segmenting: bool) -> ModelTokenizer:
    path = Path(source)
    # A bare word is a path; only a name with a slash may be a model on the Hub.
    remote = not path.exists() and "/" in str(source)
    tokenizer = (
        load_tokenizer(source, segmenting=segmenting)
        if remote
        else read_tokenizer(path, segmenting=segmenting)
    )
    directory = path if path.is_dir() else path.parent
    ends = None if remote else _declared_end(directory)
    return ModelTokenizer(tokenizer, ends, file=str(source))


def _declared_end(directory: Path) -> Eos | None:
    """Read the end token(s) that a model's directory declares, generation's own first."""
    return _generation_ends(directory) or model_special_tokens(directory).get("eos_token")


def _generation_ends(directory: Path) -> list[int]:
    """Read the ids that end generation by a model's directory."""
    file = model_file(directory, GENERATION_FILE)
    declared = None if file is None else read_json_object(file).get("eos_token_id")
    return [end for end in (declared if is_list(declared) else [declared]) if isinstance(end, int)]


@lru_cache(maxsize=16)
def _ends_of_model(name: str) -> tuple[int, ...]:
    """Return the ids that end generation by the files of a model, as an engine has loaded them.

    `name` is a directory, or a model on the Hub whose files are in the cache of its client.
    """
    directory = Path(name)
    if name and not path_exists(directory):
        try:
            # Only from the cache: an engine has loaded the model, and no request waits for the Hub.
            from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - engines have it

            found = try_to_load_from_cache(name, GENERATION_FILE)
        except (ImportError, ValueError):
            return ()
        directory = Path(found).parent if isinstance(found, str) else Path()
        name = found if isinstance(found, str) else ""
    try:
        return tuple(_generation_ends(directory)) if name else ()
    except AutoparserError:
        return ()
