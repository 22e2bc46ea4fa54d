"""Hold the templates of a source by name, with their special tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.core.errors import (
    TemplateNotFoundError,
    TemplateReadError,
    is_list,
    is_mapping,
    spelling_hint,
)
from autoparser.analysis.core.provenance import Provenance

from .local_files import json_kind, part_of, read_json_object

if TYPE_CHECKING:
    from pathlib import Path

    from autoparser.analysis.templates.chat_template import ChatTemplate


DEFAULT_NAME = "default"
"""The name of a template that is given none, as transformers calls it."""


class FoundTemplate(Struct, frozen=True):
    """One template as it was found."""

    text: str
    """The Jinja source, not yet read as Jinja."""

    file: str
    """The file that holds it, as errors name it."""

    part: str | None = None
    """The same file within its directory or repository, or None if the source is the file."""


class FoundTemplates(Struct, frozen=True):
    """All templates of one source; there is at least one."""

    by_name: Mapping[str, FoundTemplate]
    special_tokens: Mapping[str, str]
    """Variables such as ``bos_token`` that each of them is rendered with."""
    source: Provenance | None
    """Where they are from; its file is that of the template that is chosen. None: a program holds
    them."""

    def choose(self, name: str | None, source: str) -> ChatTemplate:
        """Return the template called ``name``; for None the default one, or the only one.

        Raises TemplateNotFoundError with the names there are, TemplateReadError if the
        template is empty.
        """
        if name is None:
            name = next(iter(self.by_name)) if len(self.by_name) == 1 else DEFAULT_NAME
        found = self.by_name.get(name)
        if found is None:
            raise self._no_such_name(name, source)
        if not found.text.strip():
            raise TemplateReadError(
                f"the template {name!r} is empty", file=found.file, hint="pass another template"
            )
        # Whoever looks for a tokenizer alone has no need of Jinja.
        from autoparser.analysis.templates.chat_template import ChatTemplate  # noqa: PLC0415

        provenance = self.source and replace(self.source, file=found.part)
        return ChatTemplate(found.text, self.special_tokens, name, found.file, provenance)

    def _no_such_name(self, name: str, source: str) -> TemplateNotFoundError:
        names = sorted(self.by_name)
        return TemplateNotFoundError(
            f"there is no template named {name!r} here",
            file=source,
            hint=spelling_hint(name, names, f"choose by name one of {', '.join(map(repr, names))}"),
        )


# The ``chat_template`` value of a JSON file: one text, or several by name.


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
        name: FoundTemplate(text, str(path)) for name, text in _texts_by_name(value, path).items()
    }


def _texts_by_name(value: object, path: Path) -> dict[str, str]:
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


# The special tokens that a model's files name, as transformers 5.23.0 gives to a template.
#
# Facts from the wheel, ``tokenization_utils_base.py``: the named tokens are the seven standard
# ones, every other key that ends in ``_token`` and holds a token, and the entries of
# ``extra_special_tokens`` where it is an object. ``special_tokens_map.json`` is read, and wins,
# only where ``tokenizer_config.json`` has no ``added_tokens_decoder``. Tokens that are only
# defaults of a tokenizer's class are not known here.


CONFIG_FILE = "tokenizer_config.json"
MAP_FILE = "special_tokens_map.json"


def special_tokens_of(directory: Path) -> dict[str, str]:
    """Return the named special tokens of a model directory, or empty if no file names any.

    Raises TemplateReadError for files that cannot be read.
    """
    config = _object_of(directory, CONFIG_FILE)
    tokens = _tokens_by_name(config)
    if "added_tokens_decoder" not in config:
        tokens.update(_tokens_by_name(_object_of(directory, MAP_FILE)))
    return tokens


def _object_of(directory: Path, name: str) -> Mapping[str, object]:
    path = part_of(directory, name)
    return {} if path is None else read_json_object(path)


def _tokens_by_name(values: Mapping[str, object]) -> dict[str, str]:
    named = {key: value for key, value in values.items() if key.endswith("_token")}
    for key in ("extra_special_tokens", "model_specific_special_tokens"):
        extra = values.get(key)
        if is_mapping(extra):
            named.update(extra)
    texts = {name: _token_text(value) for name, value in named.items()}
    return {name: text for name, text in texts.items() if text is not None}


def _token_text(value: object) -> str | None:
    """Return a token's text: itself, or the content of an added token written as an object."""
    if is_mapping(value):
        value = value.get("content")
    return value if isinstance(value, str) else None
