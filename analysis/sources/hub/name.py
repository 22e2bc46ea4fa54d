"""Which texts name a model on the Hub, by the rules of `huggingface_hub` for such names.

A repository is ``org/name``, or one word for those that are older than organisations. What ends
as template files do is a file that is not there, not a repository. Behind the repository a GGUF
file may be named, as ``org/name/file.gguf``, or by its quantisation, as ``org/name:Q4_K_M``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["HubName", "hub_name"]

_PART = r"[A-Za-z0-9_](?:[\w.\-]{0,94}[A-Za-z0-9_])?"
_NAME = re.compile(
    rf"(?P<repository>(?:{_PART}/)?{_PART})(?::(?P<tag>\w[\w.\-]*)|(?P<file>(?:/[^/\\]+)+\.gguf))?",
    re.ASCII,
)

_OF_FILES = (
    ".gguf",
    ".j2",
    ".jinja",
    ".jinja2",
    ".json",
    ".py",
    ".template",
    ".tmpl",
    ".txt",
    ".yaml",
    ".yml",
)


@dataclass(frozen=True, slots=True)
class HubName:
    """A model on the Hub, and what of it is meant."""

    repository: str
    """Such as ``org/name``."""
    file: str | None = None
    """A GGUF file of it; None for the repository's own choice."""
    tag: str | None = None
    """A part of a GGUF file's name; None as above."""


def hub_name(source: str) -> HubName | None:
    """Read a name; None where it cannot be one of a model on the Hub."""
    found = _NAME.fullmatch(source)
    if found is None:
        return None
    repository, file, tag = found["repository"], found["file"], found["tag"]
    # A greedy repository of one word would take the organisation for it.
    if file is not None and "/" not in repository:
        return None
    if repository.lower().endswith((*_OF_FILES, ".git")) or ".." in repository:
        return None
    return HubName(repository, None if file is None else file[1:], tag)
