"""The special tokens that a model's files name, as transformers 5.23.0 gives to a template.

Facts from the wheel, ``tokenization_utils_base.py``: the named tokens are the seven standard
ones, every other key that ends in ``_token`` and holds a token, and the entries of
``extra_special_tokens`` where it is an object. ``special_tokens_map.json`` is read, and wins,
only where ``tokenizer_config.json`` has no ``added_tokens_decoder``. Tokens that are only
defaults of a tokenizer's class are not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from autoparser.analysis.core.value_kind import is_mapping

from .files import part_of, read_json_object

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CONFIG_FILE", "MAP_FILE", "special_tokens_of"]

CONFIG_FILE = "tokenizer_config.json"
MAP_FILE = "special_tokens_map.json"


def special_tokens_of(directory: Path) -> dict[str, str]:
    """Return the named special tokens of a model directory; empty where no file names any.

    Raises TemplateReadError for files that cannot be read.
    """
    config = _object_of(directory, CONFIG_FILE)
    tokens = _named_tokens(config)
    if "added_tokens_decoder" not in config:
        tokens.update(_named_tokens(_object_of(directory, MAP_FILE)))
    return tokens


def _object_of(directory: Path, name: str) -> Mapping[str, object]:
    path = part_of(directory, name)
    return {} if path is None else read_json_object(path)


def _named_tokens(values: Mapping[str, object]) -> dict[str, str]:
    named = {key: value for key, value in values.items() if key.endswith("_token")}
    for key in ("extra_special_tokens", "model_specific_special_tokens"):
        extra = values.get(key)
        if is_mapping(extra):
            named.update(extra)
    texts = {name: _token_text(value) for name, value in named.items()}
    return {name: text for name, text in texts.items() if text is not None}


def _token_text(value: object) -> str | None:
    """Return a token's text: itself, or the content of an added token written as an object."""
    if is_mapping(value):
        value = value.get("content")
    return value if isinstance(value, str) else None
