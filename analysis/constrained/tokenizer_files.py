"""From what a person has of a tokenizer to one that masks can be made for, loaded once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any, cast

from llguidance import LLTokenizer
from tokenizers import Tokenizer

from autoparser.analysis.errors import TokenizerError
from autoparser.analysis.sources import read_tokenizer

from .opaque import opaque_ids, opaque_json
from .tokenizer import AddedTokenText, DecodingTokenizer

__all__ = ["Eos", "load_tokenizer"]

Eos = int | str | Sequence[int | str]
"""Tokens that end an answer, by id or by text."""

KEPT = 8
"""Loaded tokenizers that are kept; the oldest goes first."""

_loaded: dict[str, DecodingTokenizer] = {}
_lock = Lock()


def load_tokenizer(
    source: DecodingTokenizer | Tokenizer | str | Path | object,
    *,
    eos: Eos | None = None,
    vocab_size: int | None = None,
) -> DecodingTokenizer:
    """Make a tokenizer ready for masks; the same one is loaded once in a process (about 1 s).

    ``source`` is a ``tokenizers.Tokenizer``, a fast tokenizer of transformers (anything with a
    ``backend_tokenizer``), the path of a file or directory that
    `autoparser.analysis.sources.read_tokenizer` reads, or one that is ready already.
    ``eos`` ends an answer; if None, it is what the directory's ``generation_config.json`` and
    ``tokenizer_config.json``, the tokenizer of transformers, or last llguidance say.
    ``vocab_size`` is the width of the model's logits where that is more than the vocabulary.
    Raises ``TokenizerError``.
    """
    if isinstance(source, DecodingTokenizer):
        return source
    tokenizer, declared = _read(source)
    text = tokenizer.to_str()
    wanted = eos if eos is not None else declared
    key = hashlib.sha256(f"{wanted!r} {vocab_size} {text}".encode()).hexdigest()
    with _lock:
        if key not in _loaded:
            made = _make(tokenizer, text, wanted, vocab_size)
            while len(_loaded) >= KEPT:
                del _loaded[next(iter(_loaded))]
            _loaded[key] = made
        return _loaded[key]


def _make(
    tokenizer: Tokenizer, text: str, eos: Eos | None, vocab_size: int | None
) -> DecodingTokenizer:
    opaque = opaque_ids(tokenizer)
    added = tuple(
        AddedTokenText(number, token.content, token.special, number in opaque)
        for number, token in sorted(tokenizer.get_added_tokens_decoder().items())
    )
    size = max(tokenizer.get_vocab(with_added_tokens=True).values(), default=-1) + 1
    if vocab_size is not None and vocab_size < size:
        raise TokenizerError(
            f"the vocabulary has {size} tokens, more than the {vocab_size} asked for",
            hint="give the width of the model's logits, or leave it out",
        )
    try:
        ends = _end_ids(tokenizer, text, eos, added)
        ll = LLTokenizer(opaque_json(text, opaque), n_vocab=vocab_size, eos_token=list(ends))
    except ValueError as error:
        raise TokenizerError(
            f"llguidance cannot take this tokenizer: {error}",
            hint="it takes those that decode to bytes: ByteLevel, or with ByteFallback",
        ) from error
    return DecodingTokenizer(tokenizer, ll, vocab_size or size, ends, added)


def _end_ids(
    tokenizer: Tokenizer, text: str, eos: Eos | None, added: tuple[AddedTokenText, ...]
) -> tuple[int, ...]:
    if eos is None:
        # llguidance knows the usual names, and says 0 where it finds none of them.
        guess = LLTokenizer(text).eos_token
        if guess not in {token.id for token in added}:
            raise TokenizerError(
                "the tokenizer does not say which token ends an answer",
                hint="name it, by its text or its id",
            )
        return (guess,)
    wanted: list[int | str] = [eos] if isinstance(eos, int | str) else list(eos)
    found: list[int] = []
    for end in wanted:
        number = tokenizer.token_to_id(end) if isinstance(end, str) else end
        if number is None or tokenizer.id_to_token(number) is None:
            raise TokenizerError(f"there is no token {end!r} to end an answer with")
        found.append(number)
    if not found:
        raise TokenizerError("no token was named to end an answer with")
    return tuple(dict.fromkeys(found))


def _read(source: object) -> tuple[Tokenizer, Eos | None]:
    if isinstance(source, Tokenizer):
        return source, None
    if isinstance(source, str | Path):
        return _read_files(Path(source))
    backend = getattr(source, "backend_tokenizer", None)
    if isinstance(backend, Tokenizer):
        return backend, cast("int | None", getattr(source, "eos_token_id", None))
    raise TokenizerError(
        f"a {type(source).__name__} is no tokenizer that masks can be made for",
        hint="give a fast tokenizer, its tokenizer.json, or the directory of the model",
    )


def _read_files(path: Path) -> tuple[Tokenizer, Eos | None]:
    directory = path if path.is_dir() else path.parent
    return read_tokenizer(path, segmenting=False), _declared_end(directory)


def _declared_end(directory: Path) -> Eos | None:
    """Read the end token(s) that a model's directory declares, generation's own first."""
    declared = _json(directory / "generation_config.json").get("eos_token_id")
    if isinstance(declared, int | list):
        return cast("int | list[int]", declared)
    token = _json(directory / "tokenizer_config.json").get("eos_token")
    if isinstance(token, dict):
        token = cast("dict[str, Any]", token).get("content")
    return token if isinstance(token, str) else None


def _json(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise TokenizerError(f"is no JSON: {error}", file=str(file)) from error
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
