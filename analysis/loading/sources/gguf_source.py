"""Templates from GGUF files: one file, or the one that stands for all of a model's.

A model comes as several GGUF files, one a quantisation, whose templates are the same. Without
a choice, the first by name is taken that is a model's first part; reports name it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from autoparser.analysis.core.provenance import Provenance
from autoparser.analysis.loading.sources.gguf import FileWindow, GgufContents, contents_of

from .found_templates import DEFAULT_NAME, FoundTemplate, FoundTemplates

__all__ = ["GGUF", "chosen_gguf", "templates_in_gguf", "templates_of_gguf"]

GGUF = ".gguf"

_LATER_PART = re.compile(r"-(?!0*1-)\d+-of-\d+\.gguf$", re.IGNORECASE)
_OF_IMAGES = re.compile(r"(?:^|/)mmproj|-mmproj", re.IGNORECASE)
"""A projector of images, which has no tokens."""


def chosen_gguf(names: Iterable[str], tag: str | None = None) -> str | None:
    """Choose a file, by a part of its name where one is given; None where there is none."""
    fitting = sorted(
        name
        for name in names
        if name.lower().endswith(GGUF)
        and not _LATER_PART.search(name)
        and not _OF_IMAGES.search(name)
        and (tag is None or tag.lower() in name.lower())
    )
    return fitting[0] if fitting else None


def templates_in_gguf(path: Path, source: Provenance, part: str | None = None) -> FoundTemplates:
    """Read a local file. Raises TemplateReadError, TemplateNotFoundError."""
    return templates_of_gguf(contents_of(FileWindow(path)), source, part)


def templates_of_gguf(
    contents: GgufContents, source: Provenance, part: str | None
) -> FoundTemplates:
    """Return the templates of a header that was read."""
    by_name = {
        name or DEFAULT_NAME: FoundTemplate(text, contents.file, part)
        for name, text in contents.templates.items()
    }
    return FoundTemplates(by_name, contents.special_tokens, source)
