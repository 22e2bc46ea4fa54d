"""Which texts name a model on the Hub, by the rules of `huggingface_hub` for such names.

A repository is ``org/name``, or one word for those that are older than organisations. What ends
as template files do is a file that is not there, not a repository. After the repository a GGUF
file may be named, as ``org/name/file.gguf``, or by its quantisation, as ``org/name:Q4_K_M``. The
URL of any of them on the Hub is a name of it, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from autoparser.analysis.core.errors import AutoparserError

from .url import is_url, named_in, no_model

__all__ = ["HubName", "hub_name"]

_PART = r"[A-Za-z0-9_](?:[\w.\-]{0,94}[A-Za-z0-9_])?"
_NAME = re.compile(
    rf"(?P<repository>(?:{_PART}/)?{_PART})(?::(?P<tag>\w[\w.\-]*)|(?P<file>(?:/[^/\\]+)+\.gguf))?",
    re.ASCII,
)

GGUF = ".gguf"

_OF_FILES = (
    GGUF,
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
    """A file of it that holds templates; None for the repository's own choice."""
    tag: str | None = None
    """A part of a GGUF file's name; None as above."""
    revision: str | None = None
    """The branch, tag or commit of a URL; None where the name has none."""

    @property
    def in_gguf(self) -> bool:
        """Whether a GGUF file is meant."""
        return self.tag is not None or (self.file or "").endswith(GGUF)

    def at(self, revision: str | None) -> str | None:
        """Return the revision that is meant. Raises AutoparserError where two are."""
        if revision is not None and self.revision not in (None, revision):
            raise AutoparserError(
                f"the URL names the revision {self.revision!r}, but {revision!r} was asked for",
                file=self.repository,
                hint="leave one of them out",
            )
        return revision or self.revision


def hub_name(source: str) -> HubName | None:
    """Read a name; None where it cannot be one of a model on the Hub.

    Raises TemplateNotFoundError for a URL that is of none.
    """
    if is_url(source):
        named = named_in(source)
        whole = hub_name(named.repository)
        if whole is None:
            raise no_model(source)
        return replace(whole, file=named.file, revision=named.revision)
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
