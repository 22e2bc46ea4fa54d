"""Templates of a model on the Hub: from its files, or from the header of a GGUF file of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from msgspec.structs import replace

from autoparser.analysis.core.errors import TemplateNotFoundError, TemplateReadError
from autoparser.analysis.core.provenance import Provenance, SourceKind

from .found_templates import (
    CONFIG_FILE,
    DEFAULT_NAME,
    MAP_FILE,
    FoundTemplate,
    FoundTemplates,
    special_tokens_of,
    templates_in_json,
)
from .gguf_files import GgufContents, cached_window, contents_of, file_window
from .hub_listing import (
    HubListing,
    answer_file,
    fetch_files,
    hub_window,
    is_cached,
    listing_of,
)
from .hub_requests import HubName
from .local_files import cache_file, cached_file, part_of, read_text

# A model directory: which of its files hold its chat templates.
#
# Facts from transformers 5.23.0. The first of these that is there decides alone:
# ``chat_template`` in ``processor_config.json``; ``chat_template.json`` (the processors' legacy
# file, refused beside ``additional_chat_templates``); ``chat_template.jinja`` with
# ``additional_chat_templates/*.jinja``; ``chat_template`` in ``tokenizer_config.json``.


TEMPLATE_FILE = "chat_template.jinja"
ADDITIONAL_TEMPLATES = "additional_chat_templates"
LEGACY_FILE = "chat_template.json"
PROCESSOR_FILE = "processor_config.json"

READ_FILES = (TEMPLATE_FILE, CONFIG_FILE, MAP_FILE, LEGACY_FILE, PROCESSOR_FILE)
"""Every file that is read, beside ``additional_chat_templates/*.jinja``."""

LOOKED_IN = (
    f"{TEMPLATE_FILE}, {ADDITIONAL_TEMPLATES}/*.jinja, {CONFIG_FILE}, {LEGACY_FILE} and"
    f" {PROCESSOR_FILE}"
)
"""Where a template is looked for, in words."""


def templates_in_directory(directory: Path, source: Provenance | None = None) -> FoundTemplates:
    """Return the templates and special tokens of a model directory.

    ``source`` is what the directory stands for, if it is not what was asked for. Raises
    TemplateNotFoundError if no file holds a template, TemplateReadError for files that cannot
    be read.
    """
    by_name = (
        _in_json(directory, PROCESSOR_FILE)
        or _in_legacy_file(directory)
        or _in_jinja_files(directory)
        or _in_json(directory, CONFIG_FILE)
    )
    if not by_name:
        raise TemplateNotFoundError(
            "this directory holds no chat template",
            file=str(directory),
            hint=f"it was looked for in {LOOKED_IN}: add one of them or pass a file",
        )
    source = source or Provenance(SourceKind.DIRECTORY, str(directory))
    return FoundTemplates(by_name, special_tokens_of(directory), source)


def _in_json(directory: Path, name: str) -> dict[str, FoundTemplate]:
    path = part_of(directory, name)
    if path is None:
        return {}
    return {key: replace(found, part=name) for key, found in templates_in_json(path).items()}


def _in_legacy_file(directory: Path) -> dict[str, FoundTemplate]:
    by_name = _in_json(directory, LEGACY_FILE)
    if by_name and _additional_files(directory):
        raise TemplateReadError(
            f"{LEGACY_FILE} and {ADDITIONAL_TEMPLATES} cannot be used together",
            file=str(directory),
            hint="keep one of them, or pass the file that you mean",
        )
    return by_name


def _in_jinja_files(directory: Path) -> dict[str, FoundTemplate]:
    files = {DEFAULT_NAME: TEMPLATE_FILE} | _additional_files(directory)
    paths = {name: (part, part_of(directory, part)) for name, part in files.items()}
    return {
        name: FoundTemplate(read_text(path), str(path), part)
        for name, (part, path) in paths.items()
        if path is not None
    }


def _additional_files(directory: Path) -> dict[str, str]:
    """Return the files by the names of their templates, each with its folder."""
    files = sorted((directory / ADDITIONAL_TEMPLATES).glob("*.jinja"))
    return {
        path.name.removesuffix(".jinja"): f"{ADDITIONAL_TEMPLATES}/{path.name}" for path in files
    }


# Templates from GGUF files: one file, or one that represents all of a model's.
#
# A model has several GGUF files, one for each quantization, with the same templates. Without a
# choice, the first by name that is a model's first part is taken; reports name it.


GGUF = ".gguf"

_LATER_PART = re.compile(r"-(?!0*1-)\d+-of-\d+\.gguf$", re.IGNORECASE)
_OF_IMAGES = re.compile(r"(?:^|/)mmproj|-mmproj", re.IGNORECASE)
"""A projector of images, which has no tokens."""


def chosen_gguf(names: Iterable[str], tag: str | None = None) -> str | None:
    """Choose a file, by a part of its name where one is given; return None if there is none."""
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
    return templates_of_gguf(contents_of(file_window(path)), source, part)


def templates_of_gguf(
    contents: GgufContents, source: Provenance, part: str | None
) -> FoundTemplates:
    """Return the templates of a header that was read."""
    by_name = {
        name or DEFAULT_NAME: FoundTemplate(text, contents.file, part)
        for name, text in contents.templates.items()
    }
    return FoundTemplates(by_name, contents.special_tokens, source)


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


def template_files(listing: HubListing) -> list[str]:
    """Return the names of a listing that hold templates and their special tokens."""
    return [
        each for each in sorted(listing.files) if each in READ_FILES or _ADDITIONAL.fullmatch(each)
    ]


def templates_in_files(listing: HubListing, source: Provenance) -> FoundTemplates | None:
    """Fetch and read a model's own files; return None if they hold no template."""
    directory = fetch_files(listing, template_files(listing), source.revision)
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


def _in_file(listing: HubListing, name: str, source: Provenance) -> FoundTemplates | None:
    """Fetch and read one file, with the model's special tokens; return None if it is not there."""
    if name not in listing.files:
        return None
    # Once each; the file that was named is last, and marks the revision as fetched.
    names = [each for each in template_files(listing) if each != name]
    directory = fetch_files(listing, [*names, name], source.revision)
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


def _in_gguf(listing: HubListing, name: HubName, source: Provenance) -> FoundTemplates | None:
    file = _gguf_file(listing.files, name)
    if file is None:
        return None
    return templates_of_gguf(_contents(listing, file), source, file)


def gguf_on_hub(listing: HubListing, name: HubName) -> GgufContents | None:
    """Read the header of the GGUF file that is meant; return None if there is none."""
    file = _gguf_file(listing.files, name)
    return None if file is None else _contents(listing, file)


def _gguf_file(files: Mapping[str, object], name: HubName) -> str | None:
    if name.file is not None:
        return name.file if name.file in files else None
    return chosen_gguf(files, name.tag)


def _contents(listing: HubListing, file: str) -> GgufContents:
    """Read a header: of the whole file where the cache has it, else as it was cached, or anew."""
    path = is_cached(listing, file)
    if path is not None:
        return replace(contents_of(file_window(path)), file=f"{listing.repository}/{file}")
    answer = answer_file(listing.repository, f"{listing.commit}-{quote(file, safe='')}")
    known = cached_file(answer)
    if known is not None:
        return contents_of(cached_window(f"{listing.repository}/{file}", known))
    window = hub_window(listing, file)
    contents = contents_of(window)
    cache_file(answer, bytes(window.content[: contents.end]))
    return contents


def nothing_there(listing: HubListing, name: HubName) -> TemplateNotFoundError:
    """Return the error that there is no template, and where it was looked for."""
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
