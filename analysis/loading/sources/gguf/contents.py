"""What a GGUF header says of chat templates and tokens.

Facts from the wheel gguf 0.19.0, ``constants.py`` and ``gguf_writer.py``: the default template is
``tokenizer.chat_template``, others are ``tokenizer.chat_template.<name>`` with their names in
``tokenizer.chat_templates``; special tokens are ids under ``tokenizer.ggml.<name>_token_id``; the
type of a token is 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 a byte.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from autoparser.analysis.core.errors import TemplateNotFoundError, TemplateReadError

from .header import Header, read_header
from .window import Window

__all__ = ["GgufContents", "contents_of"]

TEMPLATE = "tokenizer.chat_template"
VOCABULARY = "tokenizer.ggml."

Item = TypeVar("Item")

SPECIAL_TOKENS = {
    "bos_token_id": "bos_token",
    "eos_token_id": "eos_token",
    "unknown_token_id": "unk_token",
    "seperator_token_id": "sep_token",  # as the format spells it
    "padding_token_id": "pad_token",
    "cls_token_id": "cls_token",
    "mask_token_id": "mask_token",
}
"""Names of templates' variables by the ends of the keys."""

CONTROL, USER_DEFINED = 3, 4


@dataclass(frozen=True, slots=True)
class GgufContents:
    """The parts of a header that are of use here."""

    file: str
    templates: Mapping[str | None, str]
    """By their names; None names the default one."""
    special_tokens: Mapping[str, str]
    """Such as ``bos_token``."""
    model: str
    """The kind of tokenizer, such as ``gpt2`` for byte-level BPE; empty where none is named."""
    pre: str
    """The name of the pre-tokenizer, whose rules the file does not hold; empty if unnamed."""
    tokens: Sequence[str]
    types: Sequence[int]
    """One for each token, or none."""
    merges: Sequence[str]
    end: int
    """How many bytes of the file this was read from."""

    @property
    def added(self) -> dict[int, tuple[str, bool]]:
        """The added tokens by their ids: the text, and whether it is a control token."""
        return {
            number: (self.tokens[number], kind == CONTROL)
            for number, kind in enumerate(self.types)
            if kind in (CONTROL, USER_DEFINED)
        }


def contents_of(window: Window) -> GgufContents:
    """Read a header. Raises TemplateReadError; TemplateNotFoundError without a template."""
    header = read_header(window, _is_wanted)
    values = header.values
    tokens = _texts(header, f"{VOCABULARY}tokens")
    types = _numbers(header, f"{VOCABULARY}token_type")
    if types and len(types) != len(tokens):
        raise _wrong(header, f"{VOCABULARY}token_type", f"{len(types)} types of {len(tokens)}")
    special = {
        name: tokens[number]
        for end, name in SPECIAL_TOKENS.items()
        if isinstance(number := values.get(VOCABULARY + end), int) and 0 <= number < len(tokens)
    }
    templates: dict[str | None, str] = {
        key.removeprefix(TEMPLATE).removeprefix(".") or None: _text(header, key)
        for key in values
        if key == TEMPLATE or key.startswith(f"{TEMPLATE}.")
    }
    if not templates:
        raise TemplateNotFoundError(
            "this GGUF file holds no chat template",
            file=header.file,
            hint=f"it was looked for under {TEMPLATE} and {TEMPLATE}.*; pass the model's own files",
        )
    return GgufContents(
        header.file,
        templates,
        special,
        _text(header, f"{VOCABULARY}model"),
        _text(header, f"{VOCABULARY}pre"),
        tokens,
        types,
        _texts(header, f"{VOCABULARY}merges"),
        header.end,
    )


def _is_wanted(key: str) -> bool:
    end = key.removeprefix(VOCABULARY)
    return key.startswith(TEMPLATE) or (
        end != key
        and (end in SPECIAL_TOKENS or end in ("model", "pre", "tokens", "token_type", "merges"))
    )


def _text(header: Header, key: str) -> str:
    value = header.values.get(key, "")
    if not isinstance(value, str):
        raise _wrong(header, key, "not text")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _wrong(header, key, "not UTF-8") from None
    return value


def _texts(header: Header, key: str) -> list[str]:
    return _list(header, key, str)


def _numbers(header: Header, key: str) -> list[int]:
    return _list(header, key, int)


def _list(header: Header, key: str, kind: type[Item]) -> list[Item]:
    value = header.values.get(key, [])
    if not isinstance(value, list):
        raise _wrong(header, key, "not a list")
    found: list[Item] = [each for each in value if isinstance(each, kind)]
    if len(found) < len(value):
        raise _wrong(header, key, "a list of something else")
    return found


def _wrong(header: Header, key: str, what: str) -> TemplateReadError:
    return TemplateReadError(
        f"the value is {what}",
        file=header.file,
        place=key,
        hint="the file is broken; fetch it again, or pass another one",
    )
