"""Which template it is, and where it came from."""

from __future__ import annotations

from msgspec import convert

from autoparser.analysis.core.json_document import JsonDocument
from autoparser.analysis.core.provenance import NamedTemplate, Provenance

__all__ = ["TemplateDocument", "named_template"]


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
