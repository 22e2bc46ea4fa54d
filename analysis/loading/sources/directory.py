"""A model directory: which of its files hold its chat templates.

Facts from transformers 5.23.0. The first of these that is there decides alone:
``chat_template`` in ``processor_config.json``; ``chat_template.json`` (the processors' legacy
file, refused beside ``additional_chat_templates``); ``chat_template.jinja`` with
``additional_chat_templates/*.jinja``; ``chat_template`` in ``tokenizer_config.json``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import TemplateNotFoundError, TemplateReadError
from autoparser.analysis.core.provenance import Provenance, SourceKind

from .config_value import templates_in_json
from .files import part_of, read_text
from .found_templates import DEFAULT_NAME, FoundTemplate, FoundTemplates
from .special_tokens import CONFIG_FILE, MAP_FILE, special_tokens_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "ADDITIONAL_TEMPLATES",
    "LOOKED_IN",
    "READ_FILES",
    "TEMPLATE_FILE",
    "templates_in_directory",
]

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
