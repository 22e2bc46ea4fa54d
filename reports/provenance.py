"""Where a template came from, in words, where its name alone does not say that."""

from __future__ import annotations

from autoparser.analysis.core.provenance import Provenance

from .visible import visible

__all__ = ["provenance_words"]


def provenance_words(source: Provenance | None) -> str | None:
    """Say at which commit a template was, and whether code was run for it; None for neither."""
    if source is None:
        return None
    if source.ran_code:
        _, _, values = source.id.partition("?")
        words = "an encoder: its Python code was run"
        return f"{words}, with {visible(values.replace('&', ', '))}" if values else words
    if source.commit is None:
        return None
    words = f"from {visible(source.id)} at commit {visible(source.commit)}"
    if source.revision not in (None, source.commit):
        words += f", revision {visible(str(source.revision))}"
    return words if source.file is None else f"{words}, {visible(source.file)}"
