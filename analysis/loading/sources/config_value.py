"""The ``chat_template`` value of a JSON file: one text, or several by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoparser.analysis.core.errors import TemplateReadError
from autoparser.analysis.core.value_kind import is_list, is_mapping

from .files import json_kind, read_json_object
from .found_templates import DEFAULT_NAME, FoundTemplate

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["TEMPLATE_KEY", "templates_in_json"]

TEMPLATE_KEY = "chat_template"


def templates_in_json(path: Path) -> dict[str, FoundTemplate]:
    """Return the templates by name under the file's ``chat_template``; none if it has no such key.

    The value is a text, a list of objects with ``name`` and ``template``, or an object from
    names to texts. Raises TemplateReadError for any other, and for a file that is not JSON.
    """
    value = read_json_object(path).get(TEMPLATE_KEY)
    if value is None:
        return {}
    return {
        name: FoundTemplate(text, str(path)) for name, text in _named_texts(value, path).items()
    }


def _named_texts(value: object, path: Path) -> dict[str, str]:
    if isinstance(value, str):
        return {DEFAULT_NAME: value}
    if is_list(value):
        entries = enumerate(value)
        return dict(
            _named_text(entry, f"{TEMPLATE_KEY}[{index}]", path) for index, entry in entries
        )
    if is_mapping(value):
        return {name: _text(text, f"{TEMPLATE_KEY}.{name}", path) for name, text in value.items()}
    raise _wrong_type(value, TEMPLATE_KEY, path)


def _named_text(entry: object, place: str, path: Path) -> tuple[str, str]:
    if not is_mapping(entry):
        raise _wrong_type(entry, place, path)
    name = _text(entry.get("name"), f"{place}.name", path)
    return name, _text(entry.get("template"), f"{place}.template", path)


def _text(value: object, place: str, path: Path) -> str:
    if isinstance(value, str):
        return value
    raise _wrong_type(value, place, path)


def _wrong_type(value: object, place: str, path: Path) -> TemplateReadError:
    return TemplateReadError(
        f"this cannot be {json_kind(value)}",
        file=str(path),
        place=place,
        hint="give one text, or a list of objects with the texts name and template",
    )
