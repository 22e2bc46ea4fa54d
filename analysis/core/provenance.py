"""Where a template came from: what was asked for, and what exactly that was."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

from msgspec import Struct, convert

from .documents import JsonDocument


class SourceKind(StrEnum):
    """The kinds of sources."""

    STANDARD_INPUT = "standard input"
    DIRECTORY = "directory"
    FILE = "file"
    GGUF = "gguf"
    HUB = "hub"
    ENCODER = "encoder"


class Provenance(Struct, frozen=True):
    """A source as it was found; the same source at the same commit gives the same value."""

    kind: SourceKind
    id: str
    """What names it: a path, ``-``, a repository, an encoder's ``module:function``."""
    file: str | None = None
    """The file that holds the template, within a directory or repository; None if it is `id`."""
    revision: str | None = None
    """The revision that was asked for; None for the default one, and where there are none."""
    commit: str | None = None
    """The commit that the revision was at; None where there are none."""
    ran_code: bool = False
    """Whether Python code of the source was run to render."""


class NamedTemplate(Protocol):
    """What names a template, whether its text is at hand or not."""

    @property
    def name(self) -> str | None:
        """Its name among the templates of a model."""
        ...

    @property
    def origin(self) -> str | None:
        """The file, or standard input."""
        ...

    @property
    def source(self) -> Provenance | None:
        """Where it came from; None for a text that was given directly."""
        ...


class TemplateDocument(JsonDocument, frozen=True):
    """What names a template."""

    name: str | None
    origin: str | None
    """The file, or standard input."""
    source: Provenance | None
    """Where it came from; null for a text that was given directly."""


def named_template(template: NamedTemplate) -> TemplateDocument:
    """Return what names a template, for documents of what was done with it."""
    return convert(template, TemplateDocument, from_attributes=True)
