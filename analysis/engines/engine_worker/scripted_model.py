"""A model that writes given texts and nothing else, as a GGUF file: a server must have some model.

Its vocabulary is the bytes and the special tokens that a template reads, and one more token for
each byte of each text. Such a token makes the next one of its text certain, and all other tokens
make none likelier than another. So whichever token comes first decides all that follows:

    script  «hi»     «h» -> «i» -> the end
    prompt  …        all alike, but for what the request says itself: its bias on the first «h»

A row of the last matrix is a token's code, which is random; a row of the first is the code of what
follows the token, so that their product is greatest there. The layer between them adds nothing.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from itertools import accumulate
from math import prod
from pathlib import Path
from random import Random
from typing import NamedTuple

_LITTLE_ENDIAN = "<"
_WIDTH = 128
"""Numbers of a code: that of the next token is multiplied to this, no other to much of it."""
_UINT32, _INT32, _FLOAT32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_UNKNOWN, _CONTROL, _BYTE = 2, 3, 6
_ALIGNED = 32
_NUMBER = 4
"""Bytes of a number."""
CONTEXT = 65_536
BIAS = 0.2 * _WIDTH
"""On a script's first token: more than nothing, and less than what follows a token."""
_EIGHT = [
    struct.pack(_LITTLE_ENDIAN + "8f", *(1.0 if byte >> bit & 1 else -1.0 for bit in range(8)))
    for byte in range(256)
]


class Script(NamedTuple):
    """The tokens of one text."""

    first: int
    """What it begins with: the end, where the text is empty."""
    length: int

    @property
    def tokens(self) -> range:
        """Its tokens, without the end."""
        return range(self.first, self.first + self.length)


def write_scripted_model(path: Path, bos: str, eos: str, texts: Sequence[str]) -> list[Script]:
    """Write the model, with these texts of its first and its last token; return the scripts."""
    control = [bos, eos] if bos != eos else [bos]
    tokens = ["<unk>", *control, *map(_byte, range(256))]
    kinds = [_UNKNOWN, *[_CONTROL] * len(control), *[_BYTE] * 256]
    scripts: list[Script] = []
    follows: dict[int, int] = {}
    for at, text in enumerate(texts):
        script = Script(len(tokens) if text else len(control), len(text.encode()))
        # A token's text is there once, but of a byte's only the number is read.
        tokens += [f"{_byte(byte)}{at}.{place}" for place, byte in enumerate(text.encode())]
        follows |= zip(script.tokens, (*script.tokens[1:], len(control)), strict=False)
        scripts.append(script)
    kinds += [_BYTE] * (len(tokens) - len(kinds))
    path.write_bytes(_gguf(_fields(tokens, kinds, len(control)), _tensors(len(tokens), follows)))
    return scripts


def _byte(byte: int) -> str:
    return f"<0x{byte:02X}>"


def _tensors(tokens: int, follows: dict[int, int]) -> dict[str, tuple[tuple[int, ...], bytes]]:
    """Return shapes and numbers, by name."""
    random = Random(0)
    codes = [
        b"".join(_EIGHT[byte] for byte in random.randbytes(_WIDTH // 8)) for _ in range(tokens)
    ]
    nothing = bytes(_NUMBER * _WIDTH)
    embedded = [codes[follows[at]] if at in follows else nothing for at in range(tokens)]
    made = {
        "token_embd": ((_WIDTH, tokens), b"".join(embedded)),
        "output_norm": ((_WIDTH,), struct.pack(_LITTLE_ENDIAN + "f", 1) * _WIDTH),
        "output": ((_WIDTH, tokens), b"".join(codes)),
    }
    shapes = {f"blk.0.{part}": (_WIDTH,) for part in ("attn_norm", "ffn_norm")} | {
        f"blk.0.{part}": (_WIDTH, _WIDTH)
        for part in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
    }
    return made | {name: (shape, bytes(_NUMBER * prod(shape))) for name, shape in shapes.items()}


def _fields(tokens: Sequence[str], kinds: Sequence[int], eos: int) -> list[bytes]:
    scores = [struct.pack(_LITTLE_ENDIAN + "f", 0)] * len(tokens)
    types = [struct.pack(_LITTLE_ENDIAN + "i", kind) for kind in kinds]
    epsilon = struct.pack(_LITTLE_ENDIAN + "f", 1e-5)
    return [
        _text("general.architecture", "llama"),
        _number("llama.context_length", CONTEXT),
        _number("llama.embedding_length", _WIDTH),
        _number("llama.block_count", 1),
        _number("llama.feed_forward_length", _WIDTH),
        _number("llama.attention.head_count", 1),
        _field("llama.attention.layer_norm_rms_epsilon", _FLOAT32, epsilon),
        _text("tokenizer.ggml.model", "llama"),
        _array("tokenizer.ggml.tokens", _STRING, [*map(_string, tokens)]),
        _array("tokenizer.ggml.scores", _FLOAT32, scores),
        _array("tokenizer.ggml.token_type", _INT32, types),
        _number("tokenizer.ggml.unknown_token_id", 0),
        _number("tokenizer.ggml.bos_token_id", 1),
        _number("tokenizer.ggml.eos_token_id", eos),
        # The server takes away from a prompt what it would itself put before it.
        _field("tokenizer.ggml.add_bos_token", _BOOL, b"\0"),
        _field("tokenizer.ggml.add_eos_token", _BOOL, b"\0"),
    ]


def _gguf(fields: Sequence[bytes], tensors: dict[str, tuple[tuple[int, ...], bytes]]) -> bytes:
    places = accumulate((len(numbers) for _, numbers in tensors.values()), initial=0)
    rows = [
        _string(f"{name}.weight")
        + struct.pack(_LITTLE_ENDIAN + "I", len(shape))
        + b"".join(struct.pack(_LITTLE_ENDIAN + "Q", size) for size in shape)
        + struct.pack(_LITTLE_ENDIAN + "IQ", 0, place)
        for (name, (shape, _)), place in zip(tensors.items(), places, strict=False)
    ]
    head = b"GGUF" + struct.pack(_LITTLE_ENDIAN + "IQQ", 3, len(tensors), len(fields))
    head += b"".join(fields) + b"".join(rows)
    return b"".join([head, bytes(-len(head) % _ALIGNED), *(each for _, each in tensors.values())])


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
