"""The tokenizer of a model: the ``tokenizer.json`` of a directory, or a file of that form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autoparser.analysis.errors import AutoparserError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["TOKENIZER_FILE", "TokenizerError", "load_tokenizer", "tokenizer_beside"]

TOKENIZER_FILE = "tokenizer.json"


class TokenizerError(AutoparserError):
    """There is no tokenizer where one was named, or it cannot be read."""


def load_tokenizer(path: Path) -> Tokenizer:
    """Load a tokenizer from a file, or from the directory that holds one.

    Raises TokenizerError.
    """
    # Imported here since most commands need none, and it is slow to import.
    from tokenizers import Tokenizer  # noqa: PLC0415

    file = path / TOKENIZER_FILE if path.is_dir() else path
    if not file.is_file():
        raise TokenizerError(
            "there is no tokenizer here",
            file=str(path),
            hint=f"give a {TOKENIZER_FILE}, or a directory that holds one",
        )
    try:
        return Tokenizer.from_file(str(file))
    except Exception as error:  # noqa: BLE001 - the tokenizer raises bare exceptions
        reason = str(error)
    raise TokenizerError(
        f"this is no tokenizer ({reason})",
        file=str(file),
        hint=f"give a {TOKENIZER_FILE} as the tokenizers library writes it",
    )


def tokenizer_beside(source: str) -> Path | None:
    """Give the tokenizer of a model directory, or of a file's directory; None where none is."""
    path = Path(source)
    try:
        directory = path if path.is_dir() else path.parent
        file = directory / TOKENIZER_FILE
        return file if path.exists() and file.is_file() else None
    except OSError:
        return None
