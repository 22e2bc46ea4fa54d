"""A model of one layer whose weights are all zero, as a GGUF file: a server must have some model.

Only its vocabulary matters: a token for each byte, and the special tokens that a template reads.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import accumulate
from math import prod
from pathlib import Path

_LITTLE_ENDIAN = "<"
_WIDTH = 32
_UINT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 6, 7, 8, 9
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6
_ALIGNED = 32


def write_blank_model(path: Path, bos: str, eos: str) -> None:
    """Write the model with these texts of its first and its last token."""
    control = [bos, eos] if bos != eos else [bos]
    tokens = ["<unk>", *control, *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [_UNKNOWN, *[_CONTROL] * len(control), *[_BYTE] * 256]
    fields = [
        _text("general.architecture", "llama"),
        _number("llama.context_length", 512),
        _number("llama.embedding_length", _WIDTH),
        _number("llama.block_count", 1),
        _number("llama.feed_forward_length", _WIDTH),
        _number("llama.attention.head_count", 1),
        _field(
            "llama.attention.layer_norm_rms_epsilon",
            _FLOAT32,
            struct.pack(_LITTLE_ENDIAN + "f", 1e-5),
        ),
        _text("tokenizer.ggml.model", "llama"),
        _array("tokenizer.ggml.tokens", _STRING, [*map(_string, tokens)]),
        _array(
            "tokenizer.ggml.scores", _FLOAT32, [struct.pack(_LITTLE_ENDIAN + "f", 0)] * len(tokens)
        ),
        _array(
            "tokenizer.ggml.token_type",
            5,
            [struct.pack(_LITTLE_ENDIAN + "i", kind) for kind in kinds],
        ),
        _number("tokenizer.ggml.unknown_token_id", 0),
        _number("tokenizer.ggml.bos_token_id", 1),
        _number("tokenizer.ggml.eos_token_id", len(control)),
        # The server takes away from a prompt what it would itself put before it.
        _field("tokenizer.ggml.add_bos_token", _BOOL, b"\0"),
        _field("tokenizer.ggml.add_eos_token", _BOOL, b"\0"),
    ]
    shapes = {"token_embd": (_WIDTH, len(tokens)), "output_norm": (_WIDTH,)}
    for part in ("attn_norm", "ffn_norm"):
        shapes[f"blk.0.{part}"] = (_WIDTH,)
    for part in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        shapes[f"blk.0.{part}"] = (_WIDTH, _WIDTH)
    sizes = [4 * prod(shape) for shape in shapes.values()]
    places = accumulate(sizes, initial=0)
    rows = [
        _string(f"{name}.weight")
        + struct.pack(_LITTLE_ENDIAN + "I", len(shape))
        + b"".join(struct.pack(_LITTLE_ENDIAN + "Q", size) for size in shape)
        + struct.pack(_LITTLE_ENDIAN + "IQ", 0, place)
        for (name, shape), place in zip(shapes.items(), places, strict=False)
    ]
    head = b"GGUF" + struct.pack(_LITTLE_ENDIAN + "IQQ", 3, len(shapes), len(fields))
    head += b"".join(fields) + b"".join(rows)
    head += bytes(-len(head) % _ALIGNED)
    path.write_bytes(head + bytes(sum(sizes)))


def _string(text: str) -> bytes:
    encoded = text.encode()
    return struct.pack(_LITTLE_ENDIAN + "Q", len(encoded)) + encoded


def _field(key: str, kind: int, value: bytes) -> bytes:
    return _string(key) + struct.pack(_LITTLE_ENDIAN + "I", kind) + value


def _text(key: str, value: str) -> bytes:
    return _field(key, _STRING, _string(value))


def _number(key: str, value: int) -> bytes:
    return _field(key, _UINT32, struct.pack(_LITTLE_ENDIAN + "I", value))


def _array(key: str, kind: int, values: Sequence[bytes]) -> bytes:
    return _field(
        key, _ARRAY, struct.pack(_LITTLE_ENDIAN + "IQ", kind, len(values)) + b"".join(values)
    )
