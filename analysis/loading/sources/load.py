"""From what a person names to a chat template.

The resolvers are asked in order, and the first that knows the source answers. A new kind of
source is one more resolver in `RESOLVERS`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import (
    AutoparserError,
    TemplateNeededError,
    TemplateNotFoundError,
)
from autoparser.analysis.core.json_document import SAVED_FORMATS
from autoparser.analysis.core.provenance import Provenance, SourceKind
from autoparser.analysis.loading.bounded_reading import read_bounded
from autoparser.analysis.loading.sources.hub import hub_name

from .config_value import TEMPLATE_KEY, templates_in_json
from .directory import TEMPLATE_FILE, templates_in_directory
from .files import decoded, part_of, read_json_object, read_text
from .found_templates import DEFAULT_NAME, FoundTemplate, FoundTemplates
from .gguf_source import GGUF, chosen_gguf, templates_in_gguf
from .hub_source import templates_on_hub
from .special_tokens import special_tokens_of

if TYPE_CHECKING:
    from autoparser.analysis.loading.template import ChatTemplate

__all__ = ["load_template", "load_templates"]

STANDARD_INPUT = "-"

Resolver = Callable[[str, str | None], FoundTemplates | None]
"""Source and revision to its templates; None where the source is not of this kind."""


def load_template(
    source: str | os.PathLike[str], *, name: str | None = None, revision: str | None = None
) -> ChatTemplate:
    """Load the chat template that ``source`` names.

    ``source`` is a text file, a model directory, a ``tokenizer_config.json`` or another JSON
    file with a ``chat_template``, a GGUF file, ``-`` for standard input, or a model on the Hub:
    ``org/name``, ``org/name/file.gguf``, ``org/name:Q4_K_M``, or the URL of the model or of one
    of its files. What is there as a file or a directory is never looked for on the Hub. ``name``
    chooses among named templates; None takes the default one. ``revision`` is a branch, a tag or a
    commit of a model on the Hub. Raises TemplateNotFoundError, TemplateReadError. Whether the text
    is sound Jinja shows on the first use of the template.
    """
    named = os.fspath(source)
    return _found(named, revision).choose(name, named)


def load_templates(
    source: str | os.PathLike[str], *, revision: str | None = None
) -> tuple[ChatTemplate, ...]:
    """Load all templates that ``source`` names, by their names, as `load_template` loads one.

    Raises TemplateNotFoundError, TemplateReadError.
    """
    named = os.fspath(source)
    found = _found(named, revision)
    return tuple(found.choose(name, named) for name in sorted(found.by_name))


def _found(named: str, revision: str | None) -> FoundTemplates:
    for resolver in RESOLVERS:
        found = resolver(named, revision)
        if found is not None:
            return found
    raise TemplateNotFoundError(
        "there is no file or directory of this name",
        file=named,
        hint="pass a template file, a model directory, a tokenizer_config.json, a GGUF file, a"
        " model on the Hub such as org/name, or - to read standard input",
    )


def _from_standard_input(source: str, revision: str | None) -> FoundTemplates | None:
    if source != STANDARD_INPUT:
        return None
    _refuse_revision(source, revision)
    text = decoded(read_bounded(sys.stdin.buffer, "standard input"), "standard input")
    return _one_text(text, "standard input", Provenance(SourceKind.STANDARD_INPUT, source))


def _from_directory(source: str, revision: str | None) -> FoundTemplates | None:
    if not _exists(source) or not Path(source).is_dir():
        return None
    _refuse_revision(source, revision)
    directory = Path(source)
    try:
        return templates_in_directory(directory)
    except TemplateNotFoundError:
        file = chosen_gguf(path.name for path in directory.glob(f"*{GGUF}"))
        path = None if file is None else part_of(directory, file)
        if path is None:
            raise
    return templates_in_gguf(path, Provenance(SourceKind.DIRECTORY, source), file)


def _from_gguf(source: str, revision: str | None) -> FoundTemplates | None:
    path = Path(source)
    if path.suffix.lower() != GGUF or not _exists(source):
        return None
    _refuse_revision(source, revision)
    return templates_in_gguf(path, Provenance(SourceKind.GGUF, source))


def _from_json_file(source: str, revision: str | None) -> FoundTemplates | None:
    path = Path(source)
    if path.suffix.lower() != ".json" or not _exists(source):
        return None
    _refuse_revision(source, revision)
    by_name = templates_in_json(path)
    if not by_name:
        if str(read_json_object(path).get("schema")).startswith(SAVED_FORMATS):
            raise TemplateNeededError(
                "this is a saved format, which has no template",
                file=source,
                hint="pass the template that it was learnt from, or read it with load_format",
            )
        raise TemplateNotFoundError(
            f"this file has no {TEMPLATE_KEY}",
            file=source,
            hint="pass its directory or a template file",
        )
    provenance = Provenance(SourceKind.FILE, source)
    return FoundTemplates(by_name, special_tokens_of(path.parent), provenance)


def _from_text_file(source: str, revision: str | None) -> FoundTemplates | None:
    if not _exists(source):
        return None
    _refuse_revision(source, revision)
    path = Path(source)
    # By this name the file is part of a model directory, and its neighbours are its own.
    of_model = path.name == TEMPLATE_FILE
    special_tokens = special_tokens_of(path.parent) if of_model else {}
    return _one_text(read_text(path), source, Provenance(SourceKind.FILE, source), special_tokens)


def _from_hub(source: str, revision: str | None) -> FoundTemplates | None:
    name = hub_name(source)
    return None if name is None else templates_on_hub(name, name.at(revision))


def _one_text(
    text: str, file: str, source: Provenance, special_tokens: dict[str, str] | None = None
) -> FoundTemplates:
    found = FoundTemplate(text, file)
    return FoundTemplates({DEFAULT_NAME: found}, special_tokens or {}, source)


def _exists(source: str) -> bool:
    try:
        # An empty name would be the current directory.
        return bool(source) and Path(source).exists()
    except (OSError, ValueError):  # a name too long for a file, a parent that may not be read
        return False


def _refuse_revision(source: str, revision: str | None) -> None:
    if revision is not None:
        raise AutoparserError(
            f"a local source has no revisions, but {revision!r} was asked for",
            file=source,
            hint="leave the revision out",
        )


RESOLVERS: tuple[Resolver, ...] = (
    _from_standard_input,
    _from_directory,
    _from_gguf,
    _from_json_file,
    _from_text_file,
    _from_hub,
)
