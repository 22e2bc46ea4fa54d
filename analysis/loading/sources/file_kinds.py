"""What a file is that is not a template, in words for the person who named it."""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = ["MISNAMED", "binary_kind", "kind_of", "special_kind"]

_HEAD = 64
"""Bytes at the beginning of a file that tell its kind."""

MISNAMED = "a GGUF file that is not named .gguf"
"""What a file that is one is called where its name does not say so."""

_MAGIC: Mapping[bytes, str] = {
    b"version https://git-lfs": "a Git LFS pointer, whose file was not fetched",
    b"GGUF": MISNAMED,
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"%PDF": "a PDF document",
    b"PK\x03\x04": "a ZIP archive or a PyTorch checkpoint",
    b"\x1f\x8b": "a gzip archive",
    b"\x7fELF": "a program",
    b"SQLite format 3": "an SQLite database",
    b"\xff\xfe": "text in UTF-16",
    b"\xfe\xff": "text in UTF-16",
    b"#!": "a script",
}

_SUFFIXES: Mapping[str, str] = {
    ".c": "C",
    ".css": "CSS",
    ".csv": "a table",
    ".go": "Go",
    ".htm": "HTML",
    ".html": "HTML",
    ".js": "JavaScript",
    ".json": "JSON",
    ".jsonl": "JSON Lines",
    ".md": "Markdown",
    ".py": "Python",
    ".rs": "Rust",
    ".sh": "a shell script",
    ".toml": "TOML",
    ".ts": "TypeScript",
    ".xml": "XML",
    ".yaml": "YAML",
    ".yml": "YAML",
}

BINARY = "a binary file"
_TEXTS = ("text in UTF-16", "a script")

_SAFETENSORS_HEADER = 9
"""Eight bytes of a length, then the brace of a JSON object."""


def kind_of(path: Path) -> str | None:
    """Name the kind of a file by its first bytes, or by its name; None where neither tells."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return None
    if not head:
        return "an empty file"
    if path.suffix.lower() == ".safetensors" and head[_SAFETENSORS_HEADER - 1 :][:1] == b"{":
        return "a file of weights"
    known = _by_magic(head)
    if known is not None:
        return known
    return BINARY if b"\0" in head else _SUFFIXES.get(path.suffix.lower())


_SPECIAL: Mapping[Callable[[int], bool], str] = {
    stat.S_ISFIFO: "a named pipe",
    stat.S_ISCHR: "a device",
    stat.S_ISBLK: "a device",
    stat.S_ISSOCK: "a socket",
}


def special_kind(path: Path) -> str | None:
    """Name what is neither a file nor a directory, without reading it; None of all else."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return None
    return next((kind for is_one, kind in _SPECIAL.items() if is_one(mode)), None)


def binary_kind(content: bytes) -> str | None:
    """Name the kind of what is no text, by its first bytes; None where it may be meant as text."""
    head = content[:_HEAD]
    known = _by_magic(head)
    if b"\0" not in head or known in _TEXTS:
        return None
    return BINARY if known is None else f"{BINARY}, {known}"


def _by_magic(head: bytes) -> str | None:
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
