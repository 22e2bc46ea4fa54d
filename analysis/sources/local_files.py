"""Read text and JSON files; every failure is an error with its place.

Text is UTF-8 with the newlines of Python's text mode, as transformers opens its files. A file is
untrusted: no more than `LARGEST` bytes of it are read, and `model_file` follows no link out of the
directory that it is part of. All files from outside are opened here, so that a command knows which
files it has read and writes over none of them (`written_files.py`).

For example, what is said of a link out of a model's directory, and of bytes that are no text:

    model_file(Path("model"), "x.jinja")  ->  this link leads out of its directory, to /etc/passwd
    decode_text(b"ab" + bytes([255]), "f")
    ->  f: byte 2: not UTF-8 (invalid start byte 0xff); save the file as UTF-8
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import BinaryIO

from autoparser.analysis.core.documents import SAVED_FORMATS
from autoparser.analysis.core.error_words import (
    is_mapping,
    value_kind,
)
from autoparser.analysis.core.errors import TemplateReadError

LARGEST = 64 << 20
"""Bytes of a text that is read; the largest of real models have a few million."""

TEMPLATE_HINT = "pass a template, or a directory of a model"

pipe_seconds: ContextVar[float | None] = ContextVar("pipe_seconds", default=None)
"""The ``--timeout`` of a command that reads and writes files in its own process."""


def read_bounded(stream: BinaryIO, file: str, hint: str = TEMPLATE_HINT) -> bytes:
    """Return all of a stream. Raises TemplateReadError for more than `LARGEST` bytes.

    A file that says itself that it is larger is not read at all.
    """
    if _size(stream) <= LARGEST:
        content = stream.read(LARGEST + 1)
        if len(content) <= LARGEST:
            return content
    raise _too_large(file, hint)


def read_standard_input(hint: str = TEMPLATE_HINT) -> bytes:
    """Return all of standard input, which a shell may have opened a file for."""
    stream = sys.stdin.buffer
    with suppress(OSError):  # a stream in memory
        note_read(stream.fileno())
    return read_bounded(stream, "standard input", hint)


def read_path(path: Path, hint: str = TEMPLATE_HINT, *, noted: bool = True) -> bytes:
    """Return all of a file, or all that is written into a named pipe.

    With `noted` false, the command may write over it: it is its own. Raises OSError, and
    TemplateReadError for more than `LARGEST` bytes, or for a pipe in which nothing comes for as
    long as `pipe_patience` says.
    """
    if stat.S_ISFIFO(path.stat().st_mode):
        return _read_pipe(path, hint)
    with open_file(path, noted=noted) as stream:
        return read_bounded(stream, str(path), hint)


read_files: ContextVar[set[tuple[int, int]] | None] = ContextVar("read_files", default=None)
"""Device and inode of each file that a command has read, e.g. `{(2049, 131)}`; for a link, those of
its target. None outside of a command: a program decides itself what to overwrite."""


def file_identity(file: Path | int) -> tuple[int, int] | None:
    """Return device and inode of a regular file or descriptor, or None for anything else."""
    try:
        found = os.stat(file)  # noqa: PTH116 - of a descriptor, too
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def note_read(file: Path | int) -> None:
    """Record that this command has read a file, by its path or an open descriptor."""
    known, found = read_files.get(), file_identity(file)
    if known is not None and found is not None:
        known.add(found)


def pipe_patience() -> float | None:
    """Return the seconds to wait for the other end of a pipe, or None for ever.

    It is ``--timeout``: nothing else ends a task that only waits, since its limits are of
    processor time.
    """
    # Imported here: only reading a pipe needs the limits of workers.
    from autoparser.analysis.templates import worker_limits  # noqa: PLC0415

    guard = worker_limits.current_guard()
    if guard is None:
        return pipe_seconds.get() or worker_limits.DEFAULT_LIMITS.seconds
    return guard.limits.pipe_seconds or guard.limits.seconds


def _read_pipe(path: Path, hint: str) -> bytes:
    import select  # noqa: PLC0415 - only pipes need it

    seconds = pipe_patience()
    content = bytearray()
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        ready = select.poll()
        ready.register(descriptor, select.POLLIN)
        # Each piece restarts the timeout: a slow writer is not a missing one.
        while ready.poll(None if seconds is None else seconds * 1000):
            piece = os.read(descriptor, 1 << 16)
            if not piece:
                return bytes(content)
            content += piece
            if len(content) > LARGEST:
                raise _too_large(str(path), hint)
    finally:
        os.close(descriptor)
    raise TemplateReadError(
        f"nothing was written to this named pipe for {seconds:g} seconds",
        file=str(path),
        hint="start its writer first, or raise --timeout",
    )


def _too_large(file: str, hint: str) -> TemplateReadError:
    return TemplateReadError(
        f"larger than {LARGEST >> 20} MiB, the limit for a text",
        file=file,
        hint=hint,
    )


def open_file(path: Path, *, noted: bool = True) -> BinaryIO:
    """Open a file for reading; a named pipe without a writer is empty, and does not block.

    What a shell puts in the place of ``<(command)`` is such a pipe, with somebody who writes.
    Raises OSError.
    """
    stream = open(path, "rb", opener=_open_at_once)  # noqa: SIM115 - its caller closes it
    if noted:
        note_read(stream.fileno())
    return stream


def _open_at_once(path: str, flags: int) -> int:
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if hasattr(os, "set_blocking"):
        # Opening must not block, but reading waits for the writer.
        os.set_blocking(descriptor, True)
    return descriptor


def _size(stream: BinaryIO) -> int:
    """Return the bytes of a file; 0 of what has no size, such as a pipe."""
    try:
        return os.fstat(stream.fileno()).st_size
    except OSError:  # a stream in memory
        return 0


def cached_file(path: Path, largest: int = LARGEST) -> bytes | None:
    """Return the content of a cached file, or None if it cannot be read.

    Others may have put anything there: only a regular file is read, and none beyond a size.
    """
    try:
        with open_file(path, noted=False) as stream:
            found = os.fstat(stream.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size > largest:
                return None
            content = stream.read(largest + 1)
    except (OSError, ValueError):
        return None
    return content if len(content) <= largest else None


HOME = Path(__file__).parents[1]
"""The folder of the engine."""


def files_below(directory: str | Path, depth: int = 99) -> Iterator[str]:
    """Yield the files below a directory, down to a depth."""
    try:
        with os.scandir(directory) as entries:
            found = [*entries]
    except OSError:
        return
    for entry in found:
        if not entry.is_dir():
            yield entry.path
        # Compiled files change when a module is first imported, although nothing else has changed.
        elif depth and entry.name != "__pycache__":
            yield from files_below(entry.path, depth - 1)


_HEAD = 64
"""Bytes at the beginning of a file that show its kind."""

MISNAMED = "a GGUF file that is not named .gguf"
"""The kind of a GGUF file with another suffix."""

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


def file_kind(path: Path) -> str | None:
    """Name the kind of a file by its first bytes or its name; None if neither shows it."""
    try:
        with open_file(path, noted=False) as file:
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
    """Name the kind of a special file without reading it, or None for any other path."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return None
    return next((kind for is_one, kind in _SPECIAL.items() if is_one(mode)), None)


def binary_kind(content: bytes) -> str | None:
    """Name the kind of binary content by its first bytes, or None if it may be text."""
    head = content[:_HEAD]
    known = _by_magic(head)
    if b"\0" not in head or known in _TEXTS:
        return None
    return BINARY if known is None else known


def _by_magic(head: bytes) -> str | None:
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)


def model_file(directory: Path, name: str) -> Path | None:
    """Return a file of a directory by name, or None if it does not exist.

    Raises TemplateReadError if it is a link out of the directory: whoever made the directory
    would choose what is read here. A snapshot in the Hub's cache is made of links into that
    cache, and may be.
    """
    path = directory / name
    if not path.is_file():
        return None
    root = directory.resolve()
    # The layout of the cache is <cache>/models--<org>--<name>/snapshots/<commit>.
    if root.parent.name == "snapshots" and (root.parents[1] / "blobs").is_dir():
        root = root.parents[2]
    target = path.resolve()
    if target.is_relative_to(root):
        return path
    raise TemplateReadError(
        f"this link leads out of its directory, to {target}",
        file=str(path),
        hint="if this is intended, replace the link with a copy, or pass the file itself",
    )


def read_text(path: Path, *, noted: bool = True) -> str:
    """Return the file's text. Raises TemplateReadError with the byte offset of bad UTF-8."""
    with reading(path):
        content = read_path(path, noted=noted)
    return decode_text(content, str(path))


@contextmanager
def reading(path: Path) -> Generator[None]:
    """Turn an OSError of reading a file into a TemplateReadError."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TemplateReadError(
            f"cannot read the file ({reason})",
            file=str(path),
            hint="check its permissions or pass another file",
        ) from None


def path_exists(path: Path) -> bool:
    """Return whether there is something of this name, or False if it cannot be one.

    Raises TemplateReadError for a link to nothing, or to itself.
    """
    try:
        there = path.exists()
        broken = not there and path.is_symlink()
    except (OSError, ValueError):  # a name too long for a file, a parent that may not be read
        return False
    if broken:
        words = f"broken link to {path.readlink()}"
        try:
            path.stat()
        except OSError as error:
            if error.errno == errno.ELOOP:
                words = "a symbolic link that points to itself"
        raise TemplateReadError(words, file=str(path), hint="name the file itself")
    return there


def decode_text(content: bytes, file: str) -> str:
    """Return the bytes of ``file`` as text. Raises TemplateReadError if they are not UTF-8."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        kind = binary_kind(content)
        if kind is not None:
            words = f"this is {kind}, not a chat template"
            raise TemplateReadError(words, file=file, hint=TEMPLATE_HINT) from None
        raise TemplateReadError(
            f"not UTF-8 ({error.reason} 0x{content[error.start]:02x})",
            file=file,
            place=f"byte {error.start}",
            hint="save the file as UTF-8",
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_json_object(path: Path) -> Mapping[str, object]:
    """Return the JSON object in the file. Raises TemplateReadError with line and column."""
    text = read_text(path)
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        raise TemplateReadError(
            f"invalid JSON: {error.msg}",
            file=str(path),
            place=f"line {error.lineno}, column {error.colno}",
            hint="correct the JSON there",
        ) from None
    except (RecursionError, ValueError) as error:
        raise TemplateReadError(
            f"cannot read this JSON ({error})",
            file=str(path),
            hint="write a simpler file",
        ) from None
    if not is_mapping(value):
        raise TemplateReadError(
            f"must be a JSON object, got {value_kind(value)}",
            file=str(path),
            hint="pass a file that holds a JSON object",
        )
    return value


_LARGEST_FORMAT = 64 << 20
"""Bytes of a file that may be one."""
_FORMAT_HEAD = 4096
"""Bytes of a file's head, which are enough to rule out a saved format."""


def is_format_file(value: object) -> bool:
    """Return whether decoded JSON is a saved format, of any version."""
    schema = value.get("schema") if is_mapping(value) else None
    return isinstance(schema, str) and schema.startswith(SAVED_FORMATS)


def is_format_text(content: bytes) -> bool:
    """Return whether the content of a file is a saved format, of any version."""
    if content.lstrip()[:1] != b"{" or SAVED_FORMATS.encode() not in content:
        return False
    try:
        return is_format_file(json.loads(content))
    except (RecursionError, ValueError):
        # Recognize broken JSON by the `schema` at its beginning.
        return bool(
            re.match(rb'\s*{\s*"schema"\s*:\s*"' + re.escape(SAVED_FORMATS.encode()), content)
        )


def is_saved_format(path: str | os.PathLike[str]) -> bool:
    """Return whether a path names a saved format, whatever its name and version."""
    try:
        file = Path(path)
        if not file.is_file() or file.stat().st_size > _LARGEST_FORMAT:
            return False
        with open_file(file, noted=False) as stream:
            head = stream.read(_FORMAT_HEAD)
            if head.lstrip()[:1] not in (b"{", b""):
                # Do not read the rest of a file that cannot be a format.
                return False
            return is_format_text(head + stream.read(_LARGEST_FORMAT))
    except (OSError, ValueError):  # a name too long for a file, one that may not be read
        return False
