"""Load a model's tokenizer from a file, a directory, the Hub, or a program's object."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from msgspec.structs import replace

from autoparser.analysis.core.errors import AutoparserError, TokenizerError

from .found_templates import CONFIG_FILE, special_tokens_of
from .gguf_files import contents_of, file_window
from .hub_listing import HubListing, fetch_files, listing_of
from .hub_requests import hub_name
from .local_files import part_of, path_exists, read_json_object
from .template_sources import gguf_on_hub
from .tokenizer import Eos, ModelTokenizer
from .tokenizer_files import is_tiktoken, read_tiktoken, read_tokenizer_json, tokenizer_of_gguf

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenizers import Tokenizer

    from .tokenizer import FastTokenizer


# The tokenizer of a model, wherever the model is: the one home of finding and reading it.
#
# Found in this order: ``tokenizer.json``; tiktoken's ranks, in ``*.tiktoken`` or a
# ``tokenizer.model`` of that form. A ``tokenizer.model`` of sentencepiece cannot be read, and is
# said to be there. A GGUF file holds its own.


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
    if named and path_exists(path):
        return read_tokenizer(path, segmenting=segmenting)
    name = hub_name(named)
    if name is None:
        raise _none_here(named)
    # A commit that was found already says more than the URL.
    revision = revision or name.revision
    listing = listing_of(name.repository, revision)
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
    if not source or not path_exists(path):
        return source if hub_name(source) is not None else None
    if path.suffix.lower() == ".gguf":
        return source
    file = (file_of or tokenizer_file)(path if path.is_dir() else path.parent)
    return None if file is None else str(file)


def tokenizer_file(directory: Path) -> Path | None:
    """Return the file of a directory that holds its tokenizer, or None if there is none."""
    for name in (TOKENIZER_FILE, *_rank_files(directory), SENTENCEPIECE_FILE):
        file = part_of(directory, name)
        if file is not None:
            return file
    return None


def _rank_files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.glob("*.tiktoken"))


def read_tokenizer(path: Path, *, segmenting: bool = True) -> Tokenizer:
    """Read the tokenizer of a file or a directory, as `load_tokenizer` does."""
    if path.suffix.lower() == ".gguf":
        return tokenizer_of_gguf(contents_of(file_window(path)), segmenting=segmenting)
    file = tokenizer_file(path) if path.is_dir() else path
    if file is None or not path_exists(file):
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


def _none_here(source_name: str) -> AutoparserError:
    return TokenizerError(
        "there is no tokenizer here",
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
    """Make a tokenizer that can be asked anything of what somebody has; nothing is computed yet.

    Of the same object it is the same one each time.

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
    if eos is None and vocab_size is None:
        return made
    return replace(
        made,
        eos=made.eos if eos is None else eos,
        width=made.width if vocab_size is None else vocab_size,
    )


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
        ends: int | None = getattr(source, "eos_token_id", None)
        return _adapt_object(inner, inner.get_vocab_size(), ends)
    raise TokenizerError(
        f"{type(source).__name__} is not a tokenizer",
        place="tokenizer",
        hint="give a fast tokenizer, its tokenizer.json, or the directory of the model",
    )


@lru_cache(maxsize=16)
def _adapt_object(tokenizer: Tokenizer, size: int, eos: int | None) -> ModelTokenizer:
    """Adapt a tokenizer that a caller holds, once: it may come with every request."""
    # It grows when tokens are added to it, and never changes otherwise.
    del size
    return ModelTokenizer(tokenizer, eos)


def _load(source: str | Path, *, segmenting: bool) -> ModelTokenizer:
    path = Path(source)
    # A bare word is a path; only what holds a slash may be a model on the Hub.
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
    file = part_of(directory, GENERATION_FILE)
    declared = None if file is None else read_json_object(file).get("eos_token_id")
    if isinstance(declared, int | list):
        return cast("int | list[int]", declared)
    return special_tokens_of(directory).get("eos_token")
