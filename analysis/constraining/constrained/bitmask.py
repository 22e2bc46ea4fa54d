"""Rows of token masks in anybody's memory: numpy arrays, torch tensors, plain buffers.

A mask is rows of int32 words, a bit a token, lowest bit first, 1 for a token that is allowed:
the layout of llguidance, xgrammar and the engines that use them.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

from autoparser.analysis.core.errors import AutoparserError

__all__ = ["MaskError", "MaskRow", "allowed_tokens", "is_allowed", "new_mask", "row_of"]

WORD_BYTES = 4


class MaskError(AutoparserError):
    """A mask's memory does not fit: its type, its shape, its place."""


class MaskRow:
    """One row of a mask: its address, its words; it keeps the memory alive."""

    __slots__ = ("_owner", "address", "words")

    def __init__(self, owner: object, address: int, words: int) -> None:
        self._owner = owner
        self.address = address
        self.words = words


def new_mask(rows: int, words: int) -> memoryview:
    """Return memory for ``rows`` rows of ``words`` int32 words, all zero, as a 2-D buffer."""
    flat = memoryview(array("i", bytes(rows * words * WORD_BYTES)))
    return flat.cast("B").cast("i", (rows, words))


def row_of(mask: Any, index: int) -> MaskRow:
    """Find row ``index`` of a mask: ``(rows, words)`` int32, C-contiguous, on the CPU.

    Raises ``MaskError``.
    """
    if hasattr(mask, "data_ptr"):
        return _tensor_row(mask, index)
    try:
        view = memoryview(mask)
    except TypeError as error:
        raise MaskError(f"a {type(mask).__name__} is not memory for a mask") from error
    if view.ndim != 2 or view.format not in {"i", "l"} or view.itemsize != WORD_BYTES:  # noqa: PLR2004
        raise MaskError("a mask is two-dimensional and of int32")
    if not view.c_contiguous or view.readonly:
        raise MaskError("a mask's memory is contiguous and can be written")
    rows, words = view.shape or (0, 0)
    _check_index(index, rows)
    whole = (ctypes.c_char * view.nbytes).from_buffer(view)
    return MaskRow(whole, ctypes.addressof(whole) + index * words * WORD_BYTES, words)


def _tensor_row(mask: Any, index: int) -> MaskRow:
    if mask.dim() != 2 or "int32" not in str(mask.dtype):  # noqa: PLR2004
        raise MaskError("a mask is two-dimensional and of int32")
    if mask.device.type != "cpu":
        raise MaskError(
            f"a mask is filled on the CPU, this one is on {mask.device}",
            hint="fill it there, then move it",
        )
    if not mask.is_contiguous():
        raise MaskError("a mask's memory is contiguous and can be written")
    rows, words = mask.shape
    _check_index(index, rows)
    return MaskRow(mask, mask.data_ptr() + index * words * WORD_BYTES, words)


def _check_index(index: int, rows: int) -> None:
    if not 0 <= index < rows:
        raise MaskError(f"there is no row {index} in a mask of {rows}")


def row_words(row: MaskRow) -> ctypes.Array[ctypes.c_uint32]:
    """Return the words of a row, to read and to write."""
    return (ctypes.c_uint32 * row.words).from_address(row.address)


def is_allowed(row: MaskRow, token: int) -> bool:
    """Say whether the row allows ``token``."""
    word = ctypes.c_uint32.from_address(row.address + token // 32 * WORD_BYTES).value
    return bool(word >> token % 32 & 1)


def allow(row: MaskRow, token: int, allowed: bool) -> None:
    """Set the bit of ``token``."""
    word = ctypes.c_uint32.from_address(row.address + token // 32 * WORD_BYTES)
    bit = 1 << token % 32
    word.value = word.value | bit if allowed else word.value & ~bit


def allow_all(row: MaskRow, tokens: int) -> None:
    """Allow the first ``tokens`` tokens, and none after them."""
    clear(row)
    ctypes.memset(row.address, 0xFF, tokens // 8)
    for token in range(tokens // 8 * 8, tokens):
        allow(row, token, allowed=True)


def allow_only(row: MaskRow, tokens: Iterable[int]) -> None:
    """Allow ``tokens`` and no others."""
    clear(row)
    for token in tokens:
        allow(row, token, allowed=True)


def clear(row: MaskRow) -> None:
    """Allow no token."""
    ctypes.memset(row.address, 0, row.words * WORD_BYTES)


def count_allowed(row: MaskRow) -> int:
    """Say how many tokens the row allows."""
    words = ctypes.string_at(row.address, row.words * WORD_BYTES)
    return int.from_bytes(words, "little").bit_count()


def allowed_tokens(row: MaskRow) -> Iterator[int]:
    """Return the tokens that the row allows, in the order of their ids."""
    for place, word in enumerate(row_words(row)):
        left = word
        while left:
            lowest = left & -left
            yield place * 32 + lowest.bit_length() - 1
            left ^= lowest
