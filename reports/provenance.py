"""Where a template came from, in words, where its name alone does not say that."""

from __future__ import annotations

from autoparser.analysis.core.provenance import Provenance
from autoparser.analysis.formats.learned_format import LearntFormat
from autoparser.analysis.formats.saved_format import SavedFormat

from .visible import visible


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


def origin_of(learnt: LearntFormat) -> str:
    """Return where a template came from, or which file holds what was learned of it."""
    if isinstance(learnt, SavedFormat):
        return visible(learnt.file)
    template = learnt.template
    name = f" (named {template.name})" if template.name not in (None, "default") else ""
    return visible(f"{template.origin or 'a text'}{name}")


def short_name(learnt: LearntFormat) -> str:
    """Return the last part of where a template came from."""
    template = learnt.template
    origin = template.origin or template.name or "a template"
    return visible(origin.replace("\\", "/").rstrip("/").rpartition("/")[2] or origin)
