"""The document of where a template came from."""

from __future__ import annotations

from autoparser.analysis.conversation import Json
from autoparser.analysis.template import Provenance

__all__ = ["source_document"]


def source_document(source: Provenance | None) -> dict[str, Json] | None:
    """Give a source as values that JSON can hold; None for a text given directly."""
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
