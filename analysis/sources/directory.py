"""A model directory: which of its files hold its chat templates.

Facts from transformers 5.23.0. The first of these that is there decides alone:
``chat_template`` in ``processor_config.json``; ``chat_template.json`` (the processors' legacy
file, refused beside ``additional_chat_templates``); ``chat_template.jinja`` with
``additional_chat_templates/*.jinja``; ``chat_template`` in ``tokenizer_config.json``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoparser.analysis.errors import TemplateNotFoundError, TemplateReadError

from .config_value import templates_in_json
from .files import read_text
from .found import DEFAULT_NAME, FoundTemplate, FoundTemplates
from .special_tokens import CONFIG_FILE, special_tokens_of

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["TEMPLATE_FILE", "templates_in_directory"]

TEMPLATE_FILE = "chat_template.jinja"
ADDITIONAL_TEMPLATES = "additional_chat_templates"
LEGACY_FILE = "chat_template.json"
PROCESSOR_FILE = "processor_config.json"


def templates_in_directory(directory: Path) -> FoundTemplates:
    """Give the templates and special tokens of a model directory.

    Raises TemplateNotFoundError if no file holds a template, TemplateReadError for files that
    cannot be read.
    """
    by_name = (
        _in_json(directory / PROCESSOR_FILE)
        or _in_legacy_file(directory)
        or _in_jinja_files(directory)
        or _in_json(directory / CONFIG_FILE)
    )
    if not by_name:
        raise TemplateNotFoundError(
            "this directory holds no chat template",
            file=str(directory),
            hint=(
                f"it was looked for in {TEMPLATE_FILE}, {ADDITIONAL_TEMPLATES}/*.jinja,"
                f" {CONFIG_FILE}, {LEGACY_FILE} and {PROCESSOR_FILE}: add one of them"
                " or pass a file"
            ),
        )
    return FoundTemplates(by_name, special_tokens_of(directory))


def _in_json(path: Path) -> dict[str, FoundTemplate]:
    return templates_in_json(path) if path.is_file() else {}


def _in_legacy_file(directory: Path) -> dict[str, FoundTemplate]:
    by_name = _in_json(directory / LEGACY_FILE)
    if by_name and _additional_files(directory):
        raise TemplateReadError(
            f"{LEGACY_FILE} and {ADDITIONAL_TEMPLATES} cannot be used together",
            file=str(directory),
            hint="keep one of them, or pass the file that you mean",
        )
    return by_name


def _in_jinja_files(directory: Path) -> dict[str, FoundTemplate]:
    files = {DEFAULT_NAME: directory / TEMPLATE_FILE} | _additional_files(directory)
    return {
        name: FoundTemplate(read_text(path), str(path))
        for name, path in files.items()
        if path.is_file()
    }


def _additional_files(directory: Path) -> dict[str, Path]:
    files = sorted((directory / ADDITIONAL_TEMPLATES).glob("*.jinja"))
    return {path.name.removesuffix(".jinja"): path for path in files}
