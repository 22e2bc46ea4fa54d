"""Which template it is, and where it came from."""

from __future__ import annotations

from msgspec import convert

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.document import JsonDocument, json_of
from autoparser.analysis.core.provenance import NamedTemplate, Provenance

__all__ = ["TemplateDocument", "named_template", "source_document", "template_document"]


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


def template_document(template: NamedTemplate) -> dict[str, Json]:
    """Return what names a template, as values that JSON can hold."""
    return json_of(named_template(template))


def source_document(source: Provenance | None) -> dict[str, Json] | None:
    """Return a source as values that JSON can hold; None for a text given directly."""
    return None if source is None else json_of(source)
