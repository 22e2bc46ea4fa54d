"""The template that a saved format was learned from, where it still is and has not changed.

Contract: only the very text that the file's digest names is taken, so that what is rendered is what
was learned; where it lies is no more than a suggestion. Nothing is fetched, and no encoder is run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from autoparser.analysis.core.documents import text_digest
from autoparser.analysis.core.errors import AutoparserError, TemplateNeededError
from autoparser.analysis.core.provenance import SourceKind

from .saved_format import SavedFormat

if TYPE_CHECKING:
    from autoparser.analysis.templates.chat_template import ChatTemplate


_HERE = (SourceKind.DIRECTORY, SourceKind.FILE, SourceKind.GGUF)
"""Sources that are read again without a word; others are named by whoever asks."""


def template_of_format(saved: SavedFormat, template_place: str | None = None) -> ChatTemplate:
    """Load the template that a saved format was learned from, with the special tokens of then.

    `template_place` says where it is; else it is looked for where it was, from here and from the
    file's folder, and by its name beside the file. Raises TemplateNeededError where it is not
    there, or is another text by now.
    """
    places = [template_place] if template_place is not None else list(_places(saved))
    for place in places:
        found = _unchanged(saved, place, wanted=template_place is not None)
        if found is not None:
            return replace(found, special_tokens=dict(saved.template.special_tokens))
    if places:
        raise TemplateNeededError(
            f"this takes renders, and {places[0]} has changed since this was learned from it",
            file=saved.file,
            hint=f"pass the template itself, or make the file again: autoparser analyze {places[0]}"
            f" --format file -o {saved.file}",
        )
    origin = saved.template.origin
    raise TemplateNeededError(
        "this takes renders, and the template that it was learned from"
        f"{f', {origin},' if origin else ''} is not here",
        file=saved.file,
        hint="say where it is: --template PATH",
    )


def _places(saved: SavedFormat) -> Iterator[str]:
    """Return where it may be: files and directories that are there."""
    source = saved.template.source
    if source is None or source.kind not in _HERE:
        return
    beside = Path(saved.file).parent
    candidates = (Path(source.id), beside / source.id, beside / Path(source.id).name)
    yield from dict.fromkeys(str(each) for each in candidates if each.exists())


def _unchanged(saved: SavedFormat, place: str, *, wanted: bool) -> ChatTemplate | None:
    """Return the template of a place if it is the very text; a `wanted` one has to be readable."""
    from autoparser.analysis.sources.template_loading import load_templates  # noqa: PLC0415 - jinja2

    try:
        loaded = load_templates(place)
    except AutoparserError:
        if wanted:
            raise
        return None
    return next((each for each in loaded if text_digest(each.text) == saved.sha256), None)
