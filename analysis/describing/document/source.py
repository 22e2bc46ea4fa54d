"""The document of where a template came from."""

from __future__ import annotations

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.loading.template import ChatTemplate, Provenance

__all__ = ["source_document", "template_document"]


def template_document(template: ChatTemplate) -> dict[str, Json]:
    """Return what names a template, for documents of what was done with it."""
    return {
        "name": template.name,
        "origin": template.origin,
        "source": source_document(template.source),
    }


def source_document(source: Provenance | None) -> dict[str, Json] | None:
    """Return a source as values that JSON can hold; None for a text given directly."""
    if source is None:
        return None
    return {
        "kind": source.kind.value,
        "id": source.id,
        "file": source.file,
        "revision": source.revision,
        "commit": source.commit,
        "ran_code": source.ran_code,
    }
