"""Read chat templates, special tokens and the tokenizer's parts from the header of a GGUF file.

    GgufWindow: the first bytes -> read_header -> GgufHeader; contents_of -> GgufContents

Facts from the wheel gguf 0.19.0, ``constants.py`` and ``gguf_writer.py``: the default template is
``tokenizer.chat_template``, others are ``tokenizer.chat_template.<name>`` with their names in
``tokenizer.chat_templates``; special tokens are ids under ``tokenizer.ggml.<name>_token_id``; the
type of a token is 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 a byte.

For example, a file of 69 bytes with one key, `tokenizer.chat_template`, whose value is `Hi`:

    gguf_contents(file_window(Path("f.gguf")))
    ->  GgufContents("f.gguf", templates={None: "Hi"}, special_tokens={}, …, end=69)
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar

from msgspec import Struct

from autoparser.analysis.core.errors import TemplateNotFoundError, TemplateReadError

from .local_files import open_file, reading

LARGEST_HEADER = 64 << 20
"""Most bytes of a header. A vocabulary of 260,000 tokens with its merges has about 12 million."""

FIRST_PART = 1 << 20
LARGEST_PART = 8 << 20
"""Bytes of the first part that is read, and most bytes of a later one: each is twice as long as
the one before, since a header may have a few kilobytes or 12 million bytes."""


class GgufWindow:
    """The beginning of a file, read on demand and kept in memory."""

    def __init__(
        self, name: str, size: int, fetch: Callable[[int, int], bytes], content: bytes = b""
    ) -> None:
        """Begin with the bytes that are cached of a file of ``size`` bytes.

        ``name`` is the file, as errors name it. ``fetch`` returns the bytes from one place up to
        another, or fewer if there are fewer.
        """
        self.name = name
        self.size = size
        self.content = bytearray(content)
        self._fetch = fetch
        self._part = FIRST_PART

    def reach(self, end: int) -> None:
        """Read up to ``end`` bytes at least; the caller has checked that the file has so many."""
        while len(self.content) < end:
            start = len(self.content)
            stop = min(self.size, max(end, start + self._part))
            self._part = min(2 * self._part, LARGEST_PART)
            fetched = self._fetch(start, stop)
            if not fetched:
                raise TemplateReadError(
                    f"the file ends at byte {start}, although it should have {self.size}",
                    file=self.name,
                    hint="it is truncated; download it again",
                )
            self.content += fetched


def file_window(path: Path) -> GgufWindow:
    """Open the beginning of a local file. Raises TemplateReadError if it cannot be read."""

    def fetch(start: int, stop: int) -> bytes:
        with reading(path), open_file(path) as stream:
            stream.seek(start)
            return stream.read(stop - start)

    with reading(path):
        return GgufWindow(str(path), path.stat().st_size, fetch)


def cached_window(name: str, content: bytes) -> GgufWindow:
    """Return the cached beginning of a file, which has no more bytes than these."""
    return GgufWindow(name, len(content), lambda _start, _stop: b"", content)


# The header: the keys and values of a GGUF file, read without the tensors after them.
#
# Facts from the format's specification (github.com/ggml-org/ggml, docs/gguf.md) and from the
# wheel gguf 0.19.0: the magic ``GGUF``, a version (uint32), the number of tensors and of key-
# value pairs (uint64 each), then the pairs: a key (uint64 length, bytes), a type (uint32), a
# value; a text is length and bytes, an array is a type, a number (uint64) and its values.
# Versions 2 and 3; a file of the other byte order shows by its version's upper half.
#
# Not by the ``gguf`` package: its reader maps a whole file from a disk, so nothing can be read
# over a network without the weights; it makes several arrays of each of some 400,000 texts; it
# needs numpy, requests and tqdm; and it trusts the lengths in a file. The tests compare the two.
#
# Contract: no number of the file is trusted. Lengths are checked against the available bytes before
# anything is read or allocated, so a header costs a small multiple of its own bytes in memory, up
# to a bound. An error names the byte.


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
"""The `struct` format of each type of a single value."""

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
"""Bytes of the shortest pair: the length of a key, one letter of it, a type, and one byte."""


class GgufHeader(Struct, frozen=True):
    """The header that was read."""

    file: str
    """The file, as errors name it, e.g. `"org/name/model-Q4_K_M.gguf"`."""
    values: Mapping[str, Value]
    """The values of the keys that were wanted, e.g. `{"tokenizer.ggml.model": "gpt2"}`."""
    end: int
    """The length of the keys and values from the beginning of the file, in bytes, e.g. 5,409."""


def read_header(window: GgufWindow, wanted: Callable[[str], bool]) -> GgufHeader:
    """Read the header and keep the values of the wanted keys.

    Raises TemplateReadError, with the byte where the file is invalid.
    """
    return _HeaderReader(window).header(wanted)


class _HeaderReader:
    """Reads values one after the other, in the byte order of the file."""

    def __init__(self, window: GgufWindow) -> None:
        self.window = window
        self.at = 0
        self.order = "<"

    def header(self, wanted: Callable[[str], bool]) -> GgufHeader:
        if self.take(len(MAGIC)) != MAGIC:
            raise self.wrong("not a GGUF file", 0)
        version = self.number("I")
        if not version & 0xFFFF:
            self.order = ">"
            version = int.from_bytes(version.to_bytes(4, "little"), "big")
        if version not in VERSIONS:
            raise self.wrong(f"unsupported GGUF version {version}, not 2 or 3", 4)
        # Skip the number of tensors, which come after the header and are not needed here.
        self.number("Q")
        count = self.read_count("key-value pairs", SMALLEST_PAIR)
        values: dict[str, Value] = {}
        for _ in range(count):
            start = self.at
            key = self.text(LONGEST_KEY)
            if key in values:
                raise self.wrong(f"duplicate key {key!r}", start)
            if wanted(key):
                values[key] = self.value(self.number("I"))
            else:
                self.skip(self.number("I"))
        return GgufHeader(self.window.name, values, self.at)

    def value(self, kind: int, depth: int = 0) -> Value:
        if kind == STRING:
            return self.text()
        if kind == ARRAY:
            start = self.at
            inner, count = self.array(depth)
            if count > MOST_VALUES:
                raise self.wrong(f"{count} values are more than any vocabulary has", start)
            # One call for all values, since a vocabulary has a type for each of its tokens.
            if inner in SCALARS:
                return list(self.unpack(f"{count}{SCALARS[inner]}"))
            return [self.value(inner, depth + 1) for _ in range(count)]
        return self.unpack(self.scalar(kind))[0]

    def skip(self, kind: int, depth: int = 0) -> None:
        """Skip a value without creating it."""
        if kind == STRING:
            self.pass_by(self.read_count("bytes of a text", 1))
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
        """Read the item type and the length of an array."""
        start = self.at
        if depth >= DEEPEST:
            raise self.wrong("arrays are nested too deep", start)
        inner = self.number("I")
        if inner not in SMALLEST:
            raise self.wrong(f"unknown value type {inner}", start)
        return inner, self.read_count("values of an array", SMALLEST[inner])

    def scalar(self, kind: int) -> str:
        if kind not in SCALARS:
            raise self.wrong(f"unknown value type {kind}", self.at - 4)
        return SCALARS[kind]

    def text(self, longest: int | None = None) -> str:
        start = self.at
        size = self.read_count("bytes of a text", 1)
        if longest is not None and size > longest:
            raise self.wrong(f"a key of {size} bytes is too long", start)
        # Vocabularies have tokens that are not whole characters.
        return self.take(size).decode("utf-8", "surrogateescape")

    def read_count(self, what: str, smallest: int) -> int:
        """Read a count of items of at least ``smallest`` bytes that fit in the file."""
        start = self.at
        count = self.number("Q")
        # Refuse an impossible count before allocating memory for it.
        room = min(self.window.size, LARGEST_HEADER) - self.at
        if count * smallest > room:
            raise self.wrong(
                f"it claims {count} {what}, but only {max(room, 0)} bytes are left", start
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
            hint="the file is corrupt or truncated; download it again, or pass another one",
        )


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
"""Variables of templates by the end of the key."""

CONTROL, USER_DEFINED = 3, 4


class GgufContents(Struct, frozen=True):
    """The parts of a header that are used here."""

    file: str
    """The file, as errors name it: `"org/name/model-Q4_K_M.gguf"`."""
    templates: Mapping[str | None, str]
    """By their names, e.g. `{None: "{% for m in messages %}…"}`; the default one has the name None.
    """
    special_tokens: Mapping[str, str]
    """Such as ``bos_token``."""
    model: str
    """The kind of tokenizer, such as ``gpt2`` for byte-level BPE, or empty if none is named."""
    pre: str
    """The name of the pre-tokenizer, e.g. `"gpt-2"`, whose rules are not in the file; empty if
    unnamed."""
    tokens: Sequence[str]
    """The vocabulary by id, in the spelling of its kind: `"Ġthe"` for byte-level BPE."""
    types: Sequence[int]
    """The type of each token, e.g. 3 for a control token; empty if the file has no types."""
    merges: Sequence[str]
    """The merges of BPE, e.g. `"Ġ t"`; empty for other kinds."""
    end: int
    """How many bytes of the file this was read from, e.g. 5,409."""

    @property
    def added(self) -> dict[int, tuple[str, bool]]:
        """The added tokens by their ids: the text, and whether it is a control token."""
        return {
            number: (self.tokens[number], kind == CONTROL)
            for number, kind in enumerate(self.types)
            if kind in (CONTROL, USER_DEFINED)
        }


def gguf_contents(window: GgufWindow) -> GgufContents:
    """Read a header. Raises TemplateReadError; TemplateNotFoundError without a template."""
    header = read_header(window, _is_wanted)
    values = header.values
    tokens = _list(header, f"{VOCABULARY}tokens", str)
    types = _list(header, f"{VOCABULARY}token_type", int)
    if types and len(types) != len(tokens):
        raise _header_error(
            header, f"{VOCABULARY}token_type", f"{len(types)} types of {len(tokens)}"
        )
    special = {
        name: tokens[number]
        for end, name in SPECIAL_TOKENS.items()
        if isinstance(number := values.get(VOCABULARY + end), int) and 0 <= number < len(tokens)
    }
    templates: dict[str | None, str] = {
        key.removeprefix(TEMPLATE).removeprefix(".") or None: _text_value(header, key)
        for key in values
        # Not `tokenizer.chat_templates`, the list of their names.
        if key == TEMPLATE or key.startswith(f"{TEMPLATE}.")
    }
    if not templates:
        raise TemplateNotFoundError(
            "no chat template in this GGUF file",
            file=header.file,
            hint=f"it was looked for under {TEMPLATE} and {TEMPLATE}.*; pass the model's own files",
        )
    return GgufContents(
        header.file,
        templates,
        special,
        _text_value(header, f"{VOCABULARY}model"),
        _text_value(header, f"{VOCABULARY}pre"),
        tokens,
        types,
        _list(header, f"{VOCABULARY}merges", str),
        header.end,
    )


def _is_wanted(key: str) -> bool:
    end = key.removeprefix(VOCABULARY)
    return key.startswith(TEMPLATE) or (
        end != key
        and (end in SPECIAL_TOKENS or end in ("model", "pre", "tokens", "token_type", "merges"))
    )


def _text_value(header: GgufHeader, key: str) -> str:
    value = header.values.get(key, "")
    if not isinstance(value, str):
        raise _header_error(header, key, "not text")
    try:
        # Texts are decoded with surrogates in place of bad bytes, for the sake of vocabularies; a
        # template with such a byte could not be rendered.
        value.encode()
    except UnicodeEncodeError:
        raise _header_error(header, key, "not UTF-8") from None
    return value


def _list(header: GgufHeader, key: str, kind: type[Item]) -> list[Item]:
    value = header.values.get(key, [])
    if not isinstance(value, list):
        raise _header_error(header, key, "not a list")
    found: list[Item] = [item for item in value if isinstance(item, kind)]
    if len(found) < len(value):
        raise _header_error(header, key, "a list of something else")
    return found


def _header_error(header: GgufHeader, key: str, what: str) -> TemplateReadError:
    return TemplateReadError(
        f"the value is {what}",
        file=header.file,
        place=key,
        hint="the file is corrupt; download it again, or pass another one",
    )
