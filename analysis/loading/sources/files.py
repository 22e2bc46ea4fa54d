"""Reading text and JSON files, each way to fail an error with its place.

Text is UTF-8 with the newlines of Python's text mode, as transformers opens its files. A file
may be a stranger's: no more than `LARGEST` bytes of it are read, and `part_of` follows no link
out of the directory that it is part of.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import TemplateReadError
from autoparser.analysis.core.value_kind import is_mapping
from autoparser.analysis.loading.bounded_reading import TEMPLATE_HINT, read_path

from .file_kinds import binary_kind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = [
    "decoded",
    "json_kind",
    "part_of",
    "read_json_object",
    "read_text",
]

JSON_KINDS: dict[type[object], str] = {
    bool: "true or false",
    dict: "an object",
    float: "a number",
    int: "a number",
    list: "a list",
    str: "a text",
}


def part_of(directory: Path, name: str) -> Path | None:
    """Return a file of a directory; None where there is none of this name.

    Raises TemplateReadError where it is a link out of the directory: whoever made the directory
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
        hint="if that is meant, put a copy in its place, or pass the file itself",
    )


def read_text(path: Path) -> str:
    """Return the file's text. Raises TemplateReadError with the byte offset of bad UTF-8."""
    try:
        content = read_path(path)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise TemplateReadError(
            f"cannot read the file ({reason})",
            file=str(path),
            hint="check its permissions or pass another file",
        ) from None
    return decoded(content, str(path))


def decoded(content: bytes, file: str) -> str:
    """Return the bytes of ``file`` as text. Raises TemplateReadError where they are not UTF-8."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        kind = binary_kind(content)
        if kind is not None:
            raise TemplateReadError(
                f"this is {kind}, not text", file=file, hint=TEMPLATE_HINT
            ) from None
        raise TemplateReadError(
            f"this is not UTF-8 ({error.reason} 0x{content[error.start]:02x})",
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
            f"broken JSON: {error.msg}",
            file=str(path),
            place=f"line {error.lineno}, column {error.colno}",
            hint="correct the JSON there",
        ) from None
    except (RecursionError, ValueError) as error:
        raise TemplateReadError(
            f"JSON that cannot be read ({error})",
            file=str(path),
            hint="write a simpler file",
        ) from None
    if not is_mapping(value):
        raise TemplateReadError(
            f"this JSON is {json_kind(value)}, not an object",
            file=str(path),
            hint="pass a file that holds a JSON object",
        )
    return value


def json_kind(value: object) -> str:
    """Name the kind of a decoded JSON value, with its article."""
    return JSON_KINDS.get(type(value), "null")
