"""GGUF files for the tests: by the format's own writer, and byte by byte where it would refuse."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from tokenizers import pre_tokenizers

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}[{{ m.role }}]{{ m.content }}{{ eos_token }}{% endfor %}"
)
NORMAL, CONTROL, USER_DEFINED = 1, 3, 4


def byte_vocabulary() -> tuple[list[str], list[int], list[str]]:
    """Return tokens, types and merges of a small byte-level vocabulary."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [*letters, "he", "ll", "hell", "hello", "<s>", "</s>", "<tool_call>"]
    types = [*[NORMAL] * (len(letters) + 4), CONTROL, CONTROL, USER_DEFINED]
    return tokens, types, ["h e", "l l", "he ll", "hell o"]


def write_model(
    path: Path,
    template: str | Sequence[Mapping[str, str]] | None = TEMPLATE,
    *,
    pre: str = "gpt-2",
    big_endian: bool = False,
    model: str = "gpt2",
    weights: int = 1000,
) -> Path:
    """Write a file with a vocabulary, templates and a tensor."""
    order = gguf.GGUFEndian.BIG if big_endian else gguf.GGUFEndian.LITTLE
    writer: Any = gguf.GGUFWriter(path, "llama", endianess=order)
    writer.add_uint32("llama.block_count", 1)
    writer.add_float32("llama.rope.freq_base", 10000.0)
    writer.add_bool("llama.flag", True)
    writer.add_array("llama.layers", [1, 2, 3])
    tokens, types, merges = byte_vocabulary()
    writer.add_tokenizer_model(model)
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_scores([0.5] * len(tokens))
    writer.add_token_merges(merges)
    writer.add_bos_token_id(tokens.index("<s>"))
    writer.add_eos_token_id(tokens.index("</s>"))
    if template is not None:
        writer.add_chat_template(template)
    writer.add_tensor("weights", np.zeros(weights, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def text(value: str | bytes) -> bytes:
    """Return a text as the format has it."""
    content = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<Q", len(content)) + content


def header(pairs: bytes, count: int, *, version: int = 3) -> bytes:
    """Return a header of these pairs, which says that there are ``count`` of them."""
    return b"GGUF" + struct.pack("<IQQ", version, 0, count) + pairs


def pair(key: str, kind: int, value: bytes) -> bytes:
    """Return a key, a type and a value."""
    return text(key) + struct.pack("<I", kind) + value
