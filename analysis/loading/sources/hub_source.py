"""Templates of a model on the Hub: from its files, or from the header of a GGUF file of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote

from autoparser.analysis.core.errors import TemplateNotFoundError
from autoparser.analysis.core.provenance import Provenance, SourceKind
from autoparser.analysis.loading.sources.gguf import (
    CachedWindow,
    FileWindow,
    GgufContents,
    contents_of,
)
from autoparser.analysis.loading.sources.hub import (
    HubName,
    HubWindow,
    Listing,
    cache_answer,
    cached_answer,
    fetched,
    is_cached,
    listing_of,
)

from .config_value import templates_in_json
from .directory import ADDITIONAL_TEMPLATES, LOOKED_IN, READ_FILES, templates_in_directory
from .files import part_of, read_text
from .found_templates import DEFAULT_NAME, FoundTemplate, FoundTemplates
from .gguf_source import chosen_gguf, templates_of_gguf
from .special_tokens import special_tokens_of

__all__ = [
    "gguf_on_hub",
    "nothing_there",
    "template_files",
    "templates_in_files",
    "templates_on_hub",
]

_ADDITIONAL = re.compile(rf"{ADDITIONAL_TEMPLATES}/[^/]+\.jinja")


def templates_on_hub(name: HubName, revision: str | None) -> FoundTemplates:
    """Fetch and read what a model has. Raises TemplateNotFoundError, TemplateReadError."""
    listing = listing_of(name.repository, revision)
    source = Provenance(SourceKind.HUB, name.repository, revision=revision, commit=listing.commit)
    if name.in_gguf:
        found = _in_gguf(listing, name, source)
    elif name.file is not None:
        found = _in_file(listing, name.file, source)
    else:
        found = templates_in_files(listing, source) or _in_gguf(listing, name, source)
    if found is None:
        raise nothing_there(listing, name)
    return found


def template_files(listing: Listing) -> list[str]:
    """Return the names of a listing that hold templates and their special tokens."""
    return [
        each for each in sorted(listing.files) if each in READ_FILES or _ADDITIONAL.fullmatch(each)
    ]


def templates_in_files(listing: Listing, source: Provenance) -> FoundTemplates | None:
    """Fetch and read a model's own files; None where they hold no template."""
    directory = fetched(listing, template_files(listing), source.revision)
    if directory is None:
        return None
    try:
        found = templates_in_directory(directory, source)
    except TemplateNotFoundError:
        return None
    # A path in the cache says little to a person.
    by_name = {
        key: replace(each, file=f"{listing.repository}/{each.part}")
        for key, each in found.by_name.items()
    }
    return replace(found, by_name=by_name)


def _in_file(listing: Listing, name: str, source: Provenance) -> FoundTemplates | None:
    """Fetch and read one file, with the model's special tokens; None where it is not there."""
    if name not in listing.files:
        return None
    # Once each; the file that was named is last, and marks the revision as fetched.
    names = [each for each in template_files(listing) if each != name]
    directory = fetched(listing, [*names, name], source.revision)
    path = None if directory is None else part_of(directory, name)
    if directory is None or path is None:
        return None
    if path.suffix == ".json":
        by_name = templates_in_json(path)
    else:
        by_name = {DEFAULT_NAME: FoundTemplate(read_text(path), name)}
    file = f"{listing.repository}/{name}"
    by_name = {key: replace(each, file=file, part=name) for key, each in by_name.items()}
    return FoundTemplates(by_name, special_tokens_of(directory), source) if by_name else None


def _in_gguf(listing: Listing, name: HubName, source: Provenance) -> FoundTemplates | None:
    file = _gguf_file(listing.files, name)
    if file is None:
        return None
    return templates_of_gguf(_contents(listing, file), source, file)


def gguf_on_hub(listing: Listing, name: HubName) -> GgufContents | None:
    """Read the header of the GGUF file that is meant; None where there is none."""
    file = _gguf_file(listing.files, name)
    return None if file is None else _contents(listing, file)


def _gguf_file(files: Mapping[str, object], name: HubName) -> str | None:
    if name.file is not None:
        return name.file if name.file in files else None
    return chosen_gguf(files, name.tag)


def _contents(listing: Listing, file: str) -> GgufContents:
    """Read a header: of the whole file where the cache has it, else as it was cached, or anew."""
    path = is_cached(listing, file)
    if path is not None:
        return replace(contents_of(FileWindow(path)), file=f"{listing.repository}/{file}")
    key = f"{listing.commit}-{quote(file, safe='')}"
    known = cached_answer(listing.repository, key)
    if known is not None:
        return contents_of(CachedWindow(f"{listing.repository}/{file}", known))
    window = HubWindow(listing, file)
    contents = contents_of(window)
    cache_answer(listing.repository, key, bytes(window.content[: contents.end]))
    return contents


def nothing_there(listing: Listing, name: HubName) -> TemplateNotFoundError:
    """Say that there is no template, and where it was looked for."""
    asked = name.file or name.tag
    if asked is not None and not name.in_gguf:
        return TemplateNotFoundError(
            f"the file {asked!r} of this repository is not there at commit {listing.commit}, or"
            " holds no chat template",
            file=listing.repository,
            hint=f"give the repository alone; templates are looked for in {LOOKED_IN}",
        )
    ggufs = sorted(each for each in listing.files if each.endswith(".gguf"))
    if asked is not None:
        some = f"there are {', '.join(ggufs[:5])}" if ggufs else "there is none at all"
        more = f" and {len(ggufs) - 5} more" if len(ggufs) > 5 else ""  # noqa: PLR2004
        return TemplateNotFoundError(
            f"this repository has no GGUF file {asked!r} at commit {listing.commit}",
            file=listing.repository,
            hint=some + more,
        )
    return TemplateNotFoundError(
        f"this repository holds no chat template at commit {listing.commit}",
        file=listing.repository,
        hint=f"it was looked for in {LOOKED_IN}, and in GGUF files: give another --revision, or a"
        " template file",
    )
