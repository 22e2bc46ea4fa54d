"""The source of a template: its name as a user gave it, and the exact file and commit."""

# Annotations are values here: as texts, msgspec would compile each at the first read.
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
    """A resolved source; the same source at the same commit gives the same value."""

    kind: SourceKind
    """The kind of source, such as `"hub"`."""
    id: str
    """A path, `-`, a repository such as `"org/model"`, or an encoder's `module:function`."""
    file: str | None = None
    """The template's file in a directory or repository, such as `"chat_template.jinja"`, or None
    if `id` is the file."""
    revision: str | None = None
    """The requested revision, such as `"main"`, or None for the default."""
    commit: str | None = None
    """The commit of the revision, such as `"0123456789abcdef0123456789abcdef01234567"`, or None if
    the source has no commits."""
    ran_code: bool = False
    """Whether Python code of the source was run to render, as for the kind `"encoder"`."""


class NamedTemplate(Protocol):
    """The names of a template, with or without its text."""

    @property
    def name(self) -> str | None:
        """Its name among the templates of a model."""
        ...

    @property
    def origin(self) -> str | None:
        """Its file, or standard input."""
        ...

    @property
    def source(self) -> Provenance | None:
        """Its source, or None for a text that was given directly."""
        ...


class TemplateDocument(JsonDocument, frozen=True):
    """The names of a template."""

    name: str | None
    """Its name among the templates of a model, such as `"tool_use"`, or null."""
    origin: str | None
    """Its file, such as `"chat_template.jinja"`, or standard input."""
    source: Provenance | None
    """Its source; null for a text that was given directly."""


def named_template(template: NamedTemplate) -> TemplateDocument:
    """Return the names of a template, as documents have them."""
    return convert(template, TemplateDocument, from_attributes=True)
