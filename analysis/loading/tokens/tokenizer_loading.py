"""The tokenizer of a model, wherever the model is: the one home of finding and reading it.

Found in this order: ``tokenizer.json``; tiktoken's ranks, in ``*.tiktoken`` or a
``tokenizer.model`` of that form. A ``tokenizer.model`` of sentencepiece cannot be read, and is
said to be there. A GGUF file holds its own.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import AutoparserError, TokenizerError
from autoparser.analysis.loading.sources.files import part_of
from autoparser.analysis.loading.sources.gguf import FileWindow, contents_of
from autoparser.analysis.loading.sources.hub import Listing, fetched, hub_name, listing_of
from autoparser.analysis.loading.sources.hub_source import gguf_on_hub
from autoparser.analysis.loading.sources.special_tokens import CONFIG_FILE

from .from_gguf import tokenizer_of_gguf
from .tiktoken import is_tiktoken, read_tiktoken
from .tokenizer_json import read_tokenizer_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenizers import Tokenizer

__all__ = [
    "TOKENIZER_FILE",
    "load_tokenizer",
    "read_tokenizer",
    "tokenizer_beside",
    "tokenizer_file",
    "tokenizer_files",
]

TOKENIZER_FILE = "tokenizer.json"
SENTENCEPIECE_FILE = "tokenizer.model"


def load_tokenizer(
    source: str | os.PathLike[str], *, revision: str | None = None, segmenting: bool = True
) -> Tokenizer:
    """Load the tokenizer of a file, a directory, a GGUF file, or a model on the Hub.

    ``segmenting`` says that texts are to be cut into the tokens that the model's own tokenizer
    would make of them; without, the tokens alone are of use, as for masks. Raises
    TokenizerError, and what reading the source raises.
    """
    named = os.fspath(source)
    path = Path(named)
    if named and _exists(path):
        return read_tokenizer(path, segmenting=segmenting)
    name = hub_name(named)
    if name is None:
        raise _none_here(named)
    # A commit that was found already says more than the URL.
    revision = revision or name.revision
    listing = listing_of(name.repository, revision)
    directory = None
    if not name.in_gguf:
        directory = fetched(listing, tokenizer_files(listing), revision)
    if directory is not None and tokenizer_file(directory) is not None:
        return read_tokenizer(directory, segmenting=segmenting)
    contents = gguf_on_hub(listing, name)
    if contents is None:
        raise _none_here(named)
    return tokenizer_of_gguf(contents, segmenting=segmenting)


def tokenizer_files(listing: Listing) -> list[str]:
    """Return the names of a listing that its tokenizer is read from."""
    if TOKENIZER_FILE in listing.files:
        return [TOKENIZER_FILE]
    ranks = sorted(each for each in listing.files if each.endswith(".tiktoken"))
    # What tiktoken's files lack of the added tokens is in the configuration.
    wanted = (*ranks, SENTENCEPIECE_FILE, CONFIG_FILE)
    return [each for each in wanted if each in listing.files]


def tokenizer_beside(
    source: str, file_of: Callable[[Path], Path | None] | None = None
) -> str | None:
    """Return what to load for the tokenizer of the model that a source is of; None without any.

    That is the source itself for a GGUF file and a model on the Hub, else a file of its
    directory, or of the directory that it is in. `file_of` is `tokenizer_file`, or one that
    remembers, for whoever asks about many sources of a directory.
    """
    path = Path(source)
    if not source or not _exists(path):
        return source if hub_name(source) is not None else None
    if path.suffix.lower() == ".gguf":
        return source
    file = (file_of or tokenizer_file)(path if path.is_dir() else path.parent)
    return None if file is None else str(file)


def tokenizer_file(directory: Path) -> Path | None:
    """Return the file of a directory that holds its tokenizer; None where there is none."""
    for name in (TOKENIZER_FILE, *_ranks(directory), SENTENCEPIECE_FILE):
        file = part_of(directory, name)
        if file is not None:
            return file
    return None


def _ranks(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.glob("*.tiktoken"))


def read_tokenizer(path: Path, *, segmenting: bool = True) -> Tokenizer:
    """Read the tokenizer of a file or a directory, as `load_tokenizer` does."""
    if path.suffix.lower() == ".gguf":
        return tokenizer_of_gguf(contents_of(FileWindow(path)), segmenting=segmenting)
    file = tokenizer_file(path) if path.is_dir() else path
    if file is None or not _exists(file):
        raise _none_here(str(path))
    if file.suffix == ".tiktoken" or (file.suffix == ".model" and is_tiktoken(file)):
        return read_tiktoken(file, segmenting=segmenting)
    if file.suffix == ".model":
        raise TokenizerError(
            "this is a sentencepiece model, which cannot be read: there is no tokenizer.json"
            " beside it",
            file=str(file),
            hint="convert it once with transformers (AutoTokenizer … save_pretrained) and give the"
            " tokenizer.json with --tokenizer",
        )
    return read_tokenizer_json(file)


def _none_here(named: str) -> AutoparserError:
    return TokenizerError(
        "there is no tokenizer here",
        file=named,
        hint=f"give a {TOKENIZER_FILE}, a directory that holds one, or a GGUF file",
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name too long for a file, a parent that may not be read
        return False
