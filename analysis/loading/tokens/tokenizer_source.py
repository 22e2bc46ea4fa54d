"""From what a person or a program has of a tokenizer to one that can be asked anything."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from autoparser.analysis.core.errors import TokenizerError
from autoparser.analysis.loading.sources.files import part_of, read_json_object
from autoparser.analysis.loading.sources.special_tokens import special_tokens_of

from .tokenizer import Eos, ModelTokenizer
from .tokenizer_loading import load_tokenizer, read_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from .token_text import FastTokenizer

__all__ = ["tokenizer_of"]

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
    made = _made(source, segmenting=segmenting)
    if eos is None and vocab_size is None:
        return made
    return replace(
        made,
        eos=made.eos if eos is None else eos,
        width=made.width if vocab_size is None else vocab_size,
    )


def _made(source: object, *, segmenting: bool) -> ModelTokenizer:
    from tokenizers import Tokenizer  # noqa: PLC0415 - slow to import

    if isinstance(source, ModelTokenizer):
        return source
    if isinstance(source, Tokenizer):
        return _held(source, source.get_vocab_size(), None)
    if isinstance(source, str | Path):
        return _loaded(source, segmenting=segmenting)
    inner: object = getattr(source, "backend_tokenizer", None)
    if isinstance(inner, Tokenizer):
        ends: int | None = getattr(source, "eos_token_id", None)
        return _held(inner, inner.get_vocab_size(), ends)
    raise TokenizerError(
        f"{type(source).__name__} is not a tokenizer",
        place="tokenizer",
        hint="give a fast tokenizer, its tokenizer.json, or the directory of the model",
    )


@lru_cache(maxsize=16)
def _held(tokenizer: Tokenizer, size: int, eos: int | None) -> ModelTokenizer:
    """Adapt a tokenizer that a caller holds, once: it may come with every request."""
    # It grows when tokens are added to it, and never changes otherwise.
    del size
    return ModelTokenizer(tokenizer, eos)


def _loaded(source: str | Path, *, segmenting: bool) -> ModelTokenizer:
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
