"""What was fetched: the commit, the files and their sizes."""

from __future__ import annotations

from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, JsonDocument, json_of
from autoparser.analysis.core.provenance import Provenance
from autoparser.analysis.sources.template_loading import FetchedFiles

from .provenance import provenance_words
from .visible import visible

__all__ = ["FetchedDocument", "fetch_report", "fetched_document"]


class FetchedDocument(JsonDocument, frozen=True):
    """What was fetched."""

    source: Provenance
    files: dict[str, Count]
    """Sizes in bytes by names."""


def fetched_document(found: FetchedFiles) -> dict[str, Json]:
    """Return the same as values that JSON can hold."""
    return json_of(FetchedDocument(found.source, dict(found.files)))


def fetch_report(found: FetchedFiles, directory: str | None) -> Text:
    """List the files with their sizes in bytes; ``directory`` is where they were written to."""
    sizes = [f"{size:,}" for size in found.files.values()]
    width = max(map(len, sizes), default=0)
    lines = [
        f"{size:>{width}}  {visible(name)}" for size, name in zip(sizes, found.files, strict=True)
    ]
    where = [] if directory is None else [f"Written to {visible(directory)}"]
    return Text("\n".join([_headline(found), *lines, *where]))


def _headline(found: FetchedFiles) -> str:
    words = provenance_words(found.source) or ""
    return words[:1].upper() + words[1:]
