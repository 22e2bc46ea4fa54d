"""A model's files from the Hub, as a directory that every command takes.

From a model of GGUF files it is made of what their headers hold: the templates, the special
tokens, and the tokenizer where it can be told in full.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from autoparser.analysis.core.errors import AutoparserError, TokenizerError
from autoparser.analysis.loading.sources.directory import ADDITIONAL_TEMPLATES, TEMPLATE_FILE
from autoparser.analysis.loading.sources.gguf import GgufContents
from autoparser.analysis.loading.sources.hub import Listing, fetched, hub_name, listing_of
from autoparser.analysis.loading.sources.hub_source import (
    gguf_on_hub,
    nothing_there,
    template_files,
    templates_in_files,
)
from autoparser.analysis.loading.sources.special_tokens import CONFIG_FILE
from autoparser.analysis.loading.template import Provenance, SourceKind
from autoparser.analysis.loading.tokens import TOKENIZER_FILE, tokenizer_files, tokenizer_of_gguf

__all__ = ["Fetched", "fetch"]

_PLAIN_NAME = re.compile(r"\w[\w.\- ]{0,99}")


@dataclass(frozen=True, slots=True)
class Fetched:
    """What was fetched."""

    source: Provenance
    files: Mapping[str, int]
    """Sizes in bytes by names."""


def fetch(source: str, *, revision: str | None = None, to: Path | None = None) -> Fetched:
    """Fetch what a model on the Hub has of templates and tokenizers, into the Hub's cache.

    ``to`` is a new directory to write it to, too, whole or not at all. Raises
    TemplateNotFoundError, TemplateReadError, and AutoparserError where it cannot be written.
    """
    name = hub_name(source)
    if name is None or Path(source).exists():
        raise AutoparserError(
            "this is not a model on the Hub",
            file=source,
            hint="give org/name, or org/name/file.gguf; a local path needs no fetching",
        )
    revision = name.at(revision)
    listing = listing_of(name.repository, revision)
    provenance = Provenance(
        SourceKind.HUB, name.repository, revision=revision, commit=listing.commit
    )
    contents: dict[str, bytes] | None = None
    if not name.in_gguf:
        contents = _files(listing, provenance)
    if contents is None:
        header = gguf_on_hub(listing, name)
        if header is None:
            raise nothing_there(listing, name)
        file = header.file.removeprefix(f"{name.repository}/")
        provenance = Provenance(SourceKind.HUB, name.repository, file, revision, listing.commit)
        contents = _from_header(header)
    if to is not None:
        _write(contents, to)
    sizes = {each: len(content) for each, content in sorted(contents.items())}
    return Fetched(provenance, sizes)


def _files(listing: Listing, source: Provenance) -> dict[str, bytes] | None:
    """Fetch a model's own files; None where they hold no template."""
    if templates_in_files(listing, source) is None:
        return None
    # Each once; the tokenizer's last, since what is fetched last marks the revision as fetched.
    names = list(dict.fromkeys((*template_files(listing), *tokenizer_files(listing))))
    directory = fetched(listing, names, source.revision)
    if directory is None:
        return None
    return {each: (directory / each).read_bytes() for each in names}


def _from_header(header: GgufContents) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name, text in header.templates.items():
        if name is not None and not _PLAIN_NAME.fullmatch(name):
            raise AutoparserError(
                f"the template's name {name!r} cannot be that of a file",
                file=header.file,
                hint="read the template with --name, without writing it",
            )
        file = TEMPLATE_FILE if name is None else f"{ADDITIONAL_TEMPLATES}/{name}.jinja"
        found[file] = text.encode()
    config = json.dumps(dict(header.special_tokens), indent=2, ensure_ascii=False)
    found[CONFIG_FILE] = f"{config}\n".encode()
    # A tokenizer that cuts text otherwise than the model's would be taken for the model's.
    with suppress(TokenizerError):
        found[TOKENIZER_FILE] = tokenizer_of_gguf(header, segmenting=True).to_str().encode()
    return found


def _write(contents: Mapping[str, bytes], to: Path) -> None:
    """Write files to a new directory: beside it first, and then into its place."""
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise AutoparserError(
            "there is something already", file=str(to), hint="name a new or an empty directory"
        )
    made: Path | None = None
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{to.name}-", dir=to.parent))
        for name, content in contents.items():
            path = made / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
        made.chmod(0o755)
        made.replace(to)
    except OSError as error:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
        reason = error.strerror or type(error).__name__
    else:
        return
    raise AutoparserError(
        f"cannot be written ({reason})",
        file=str(to),
        hint="name a directory with --output where there is room and you may write",
    )
