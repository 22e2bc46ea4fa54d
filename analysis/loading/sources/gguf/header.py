"""The keys and values at the beginning of a GGUF file, read without the tensors after them.

Facts from the format's specification (github.com/ggml-org/ggml, docs/gguf.md) and from the wheel
gguf 0.19.0: the magic ``GGUF``, a version (uint32), the number of tensors and of key-value pairs
(uint64 each), then the pairs: a key (uint64 length, bytes), a type (uint32), a value; a text is
length and bytes, an array is a type, a number (uint64) and its values. Versions 2 and 3; a file
of the other byte order shows by its version's upper half.

Why not the ``gguf`` package: its reader maps a whole file from a disk, so nothing can be read
over a network without the weights; it makes several arrays of each of some 400,000 texts; it
needs numpy, requests and tqdm; and it believes what a file says of its lengths. The tests hold
this one against it.

Contract: no number of the file is believed. What it says of lengths is held against the bytes
that there are before anything is read or made, so a header costs a small multiple of its own
bytes in memory, and no more than a bound. An error names the byte.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from autoparser.analysis.core.errors import TemplateReadError

from .window import LARGEST_HEADER, Window

__all__ = ["Header", "Value", "read_header"]

Value: TypeAlias = "str | int | float | bool | list[Value]"

MAGIC = b"GGUF"
VERSIONS = (2, 3)

STRING, ARRAY = 8, 9
SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
"""How `struct` writes each type of a single value."""

LONGEST_KEY = 0xFFFF
MOST_VALUES = 1 << 22
"""Values of an array that is kept; no vocabulary has a million."""

DEEPEST = 4
"""Arrays in arrays; the specification allows any number, and files have none."""

SMALLEST = {
    STRING: 8,
    ARRAY: 12,
    **{kind: struct.calcsize(f"<{SCALARS[kind]}") for kind in SCALARS},
}
"""The fewest bytes that a value of each type has."""

SMALLEST_PAIR = 8 + 1 + 4 + 1


@dataclass(frozen=True, slots=True)
class Header:
    """What was read."""

    file: str
    values: Mapping[str, Value]
    """The values of the keys that were wanted."""
    end: int
    """How many bytes the keys and values take from the beginning of the file."""


def read_header(window: Window, wanted: Callable[[str], bool]) -> Header:
    """Read the header and keep the values of the wanted keys.

    Raises TemplateReadError, with the byte where the file is not what it should be.
    """
    return _HeaderReader(window).header(wanted)


class _HeaderReader:
    """Reads on from a place, in the byte order of the file."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.at = 0
        self.order = "<"

    def header(self, wanted: Callable[[str], bool]) -> Header:
        if self.take(len(MAGIC)) != MAGIC:
            raise self.wrong("this is not a GGUF file", 0)
        version = self.number("I")
        if not version & 0xFFFF:
            self.order = ">"
            version = int.from_bytes(version.to_bytes(4, "little"), "big")
        if version not in VERSIONS:
            raise self.wrong(f"GGUF of version {version} cannot be read, but 2 and 3 can", 4)
        self.number("Q")
        count = self.counted("key-value pairs", SMALLEST_PAIR)
        values: dict[str, Value] = {}
        for _ in range(count):
            start = self.at
            key = self.text(LONGEST_KEY)
            if key in values:
                raise self.wrong(f"the key {key!r} is there twice", start)
            if wanted(key):
                values[key] = self.value(self.number("I"))
            else:
                self.skip(self.number("I"))
        return Header(self.window.name, values, self.at)

    def value(self, kind: int, depth: int = 0) -> Value:
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            start = self.at
            inner, count = self.array(depth)
            if count > MOST_VALUES:
                raise self.wrong(f"{count} values are more than any vocabulary has", start)
            if inner in SCALARS:
                return list(self.unpack(f"{count}{SCALARS[inner]}"))
            return [self.value(inner, depth + 1) for _ in range(count)]
        return self.unpack(self.scalar(kind))[0]

    def skip(self, kind: int, depth: int = 0) -> None:
        """Pass by a value without making it."""
        if kind == STRING:
            self.pass_by(self.counted("bytes of a text", 1))
        elif kind == ARRAY:
            inner, count = self.array(depth)
            if inner in SCALARS:
                self.pass_by(count * SMALLEST[inner])
            else:
                for _ in range(count):
                    self.skip(inner, depth + 1)
        else:
            self.pass_by(struct.calcsize(f"<{self.scalar(kind)}"))

    def array(self, depth: int) -> tuple[int, int]:
        """Read what an array is of, and how many there are."""
        start = self.at
        if depth >= DEEPEST:
            raise self.wrong("arrays are nested too deep", start)
        inner = self.number("I")
        if inner not in SMALLEST:
            raise self.wrong(f"there is no type {inner} of values", start)
        return inner, self.counted("values of an array", SMALLEST[inner])

    def scalar(self, kind: int) -> str:
        if kind not in SCALARS:
            raise self.wrong(f"there is no type {kind} of values", self.at - 4)
        return SCALARS[kind]

    def text(self, longest: int | None = None) -> str:
        start = self.at
        size = self.counted("bytes of a text", 1)
        if longest is not None and size > longest:
            raise self.wrong(f"a key of {size} bytes is too long", start)
        # Vocabularies have tokens that are not whole characters.
        return self.take(size).decode("utf-8", "surrogateescape")

    def counted(self, what: str, smallest: int) -> int:
        """Read a number of things, each of at least so many bytes, that the file can hold."""
        start = self.at
        count = self.number("Q")
        room = min(self.window.size, LARGEST_HEADER) - self.at
        if count * smallest > room:
            raise self.wrong(
                f"{count} {what} are claimed, and {max(room, 0)} bytes are left for them", start
            )
        return count

    def number(self, kind: str) -> int:
        return int(self.unpack(kind)[0])

    def unpack(self, kinds: str) -> tuple[int | float | bool, ...]:
        form = self.order + kinds
        return struct.unpack(form, self.take(struct.calcsize(form)))

    def take(self, size: int) -> bytes:
        start = self.at
        self.pass_by(size)
        self.window.reach(self.at)
        return bytes(self.window.content[start : self.at])

    def pass_by(self, size: int) -> None:
        if self.at + size > min(self.window.size, LARGEST_HEADER):
            raise self.wrong("the file ends in the middle of its header", self.at)
        self.at += size

    def wrong(self, words: str, place: int) -> TemplateReadError:
        return TemplateReadError(
            words,
            file=self.window.name,
            place=f"byte {place}",
            hint="the file is broken or cut short; fetch it again, or pass another one",
        )
