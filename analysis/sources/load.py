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

from autoparser.analysis.errors import AutoparserError, TemplateNotFoundError, TemplateReadError

from .config_value import TEMPLATE_KEY, templates_in_json
from .directory import TEMPLATE_FILE, templates_in_directory
from .files import decoded, read_text
from .found import DEFAULT_NAME, FoundTemplate, FoundTemplates
from .special_tokens import special_tokens_of

if TYPE_CHECKING:
    from autoparser.analysis.template import ChatTemplate

__all__ = ["load_template", "load_templates"]

STANDARD_INPUT = "-"

Resolver = Callable[[str, str | None], FoundTemplates | None]
"""Source and revision to its templates; None where the source is not of this kind."""


def load_template(
    source: str | os.PathLike[str], *, name: str | None = None, revision: str | None = None
) -> ChatTemplate:
    """Load the chat template that ``source`` names.

    ``source`` is a text file, a model directory, a ``tokenizer_config.json`` or another JSON
    file with a ``chat_template``, or ``-`` for standard input. ``name`` chooses among named
    templates; None takes the default one. ``revision`` is for sources that have revisions.
    Raises TemplateNotFoundError, TemplateReadError. Whether the text is sound Jinja shows on
    the first use of the template.
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
        hint="pass a template file, a model directory, a tokenizer_config.json, or - to read"
        " standard input",
    )


def _from_standard_input(source: str, revision: str | None) -> FoundTemplates | None:
    if source != STANDARD_INPUT:
        return None
    _refuse_revision(source, revision)
    return _one_text(decoded(sys.stdin.buffer.read(), "standard input"), "standard input")


def _from_directory(source: str, revision: str | None) -> FoundTemplates | None:
    if not _exists(source) or not Path(source).is_dir():
        return None
    _refuse_revision(source, revision)
    return templates_in_directory(Path(source))


def _from_gguf(source: str, revision: str | None) -> FoundTemplates | None:
    path = Path(source)
    if path.suffix.lower() != ".gguf" or not _exists(source):
        return None
    _refuse_revision(source, revision)
    raise TemplateReadError(
        "GGUF files are not supported yet",
        file=source,
        hint=f"pass the model's {TEMPLATE_FILE} or its directory",
    )


def _from_json_file(source: str, revision: str | None) -> FoundTemplates | None:
    path = Path(source)
    if path.suffix.lower() != ".json" or not _exists(source):
        return None
    _refuse_revision(source, revision)
    by_name = templates_in_json(path)
    if not by_name:
        raise TemplateNotFoundError(
            f"this file has no {TEMPLATE_KEY}",
            file=source,
            hint="pass its directory or a template file",
        )
    return FoundTemplates(by_name, special_tokens_of(path.parent))


def _from_text_file(source: str, revision: str | None) -> FoundTemplates | None:
    if not _exists(source):
        return None
    _refuse_revision(source, revision)
    path = Path(source)
    # By this name the file is part of a model directory, and its neighbours are its own.
    of_model = path.name == TEMPLATE_FILE
    return _one_text(read_text(path), source, special_tokens_of(path.parent) if of_model else {})


def _one_text(text: str, file: str, special_tokens: dict[str, str] | None = None) -> FoundTemplates:
    return FoundTemplates({DEFAULT_NAME: FoundTemplate(text, file)}, special_tokens or {})


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
)
