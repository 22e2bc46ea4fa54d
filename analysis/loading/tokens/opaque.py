"""Which added tokens llguidance never takes as text, and a vocabulary in which no text spells them.

llguidance takes an added token as a token of its own, never as text, when it is flagged special or
looks like ``<…>``; only ``<[id]>`` in a grammar reaches it. But where a grammar forces text (a
``const``, the rest of an ``enum``'s value, a regex without a choice), llguidance tokenizes that
text with the tokenizer, gets the added token, offers it alone, and then refuses it: generation is
stuck (llguidance 1.9). So such tokens get names that no text holds. Forced text then comes out in
the plain tokens that llguidance takes, and the ids stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from autoparser.analysis.core.value_kind import is_mapping

from .byte_level import byte_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["opaque_ids", "opaque_json"]

OPEN, CLOSE = "\ue000", "\ue001"
"""Characters of the private use area; together with the token's id they stand in no text."""


def opaque_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """Return the ids of the added tokens that llguidance never takes as text.

    llguidance is asked, with a vocabulary of single bytes, which loads in a moment.
    """
    from llguidance import LLTokenizer  # noqa: PLC0415 - slow to import

    added = tokenizer.get_added_tokens_decoder()
    small = byte_tokenizer((token.content, token.special) for token in added.values())
    asked = LLTokenizer(small.to_str())
    found: set[int] = set()
    for number, token in added.items():
        small_id = small.token_to_id(token.content)
        if small_id is not None and asked.is_special_token(small_id):
            found.add(number)
    return frozenset(found)


def opaque_json(text: str, ids: Collection[int]) -> str:
    """Rename the added tokens ``ids`` in a tokenizer's JSON ``text``; all ids stay."""
    document: dict[str, Any] = json.loads(text)
    names: dict[str, str] = {}
    for token in document["added_tokens"]:
        if token["id"] in ids:
            names[token["content"]] = f"<{OPEN}{token['id']}{CLOSE}>"
            token["content"] = names[token["content"]]
            token["special"] = True
            token["normalized"] = False
    model: dict[str, Any] = document["model"]
    if model.get("unk_token") in names:
        model["unk_token"] = names[model["unk_token"]]
    vocabulary = model["vocab"]
    if is_mapping(vocabulary):
        model["vocab"] = {names.get(piece, piece): number for piece, number in vocabulary.items()}
    else:
        model["vocab"] = [[names.get(piece, piece), score] for piece, score in vocabulary]
    # What they add or cut has no place in a grammar's text.
    document |= {"post_processor": None, "padding": None, "truncation": None}
    return json.dumps(document, ensure_ascii=False)
