"""Find the templates and special tokens of a directory, a JSON or GGUF file, or a model on the Hub.

A model on the Hub has them in its files, or in the header of one of its GGUF files. For example

    {"chat_template": [{"name": "default", "template": "A"}, {"name": "tool_use", "template": "B"}]}

in a `tokenizer_config.json` gives the templates `{"default": "A", "tool_use": "B"}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.core.error_words import (
    is_list,
    is_mapping,
    spelling_hint,
    value_kind,
)
from autoparser.analysis.core.errors import (
    TemplateNotFoundError,
    TemplateReadError,
)
from autoparser.analysis.core.provenance import Provenance, SourceKind

from .gguf_files import GgufContents, cached_window, file_window, gguf_contents
from .hub_listing import (
    HubListing,
    answer_file,
    fetch_files,
    hub_window,
    is_cached,
    list_repository,
)
from .hub_requests import HubName
from .local_files import cached_file, model_file, read_json_object, read_text
from .written_files import cache_file

if TYPE_CHECKING:
    from autoparser.analysis.templates.chat_template import ChatTemplate


DEFAULT_NAME = "default"
"""The name of a template that is given none, as transformers calls it."""


class FoundTemplate(Struct, frozen=True):
    """One template as it was found."""

    text: str
    """The Jinja source, e.g. `"{% for m in messages %}…"`, not yet read as Jinja."""

    file: str
    """The file that holds it, as errors name it, e.g. `"model/chat_template.jinja"`."""

    part: str | None = None
    """The same file within its directory or repository, e.g. `"chat_template.jinja"`, or None if
    the source is the file."""


class FoundTemplates(Struct, frozen=True):
    """All templates of one source; there is at least one."""

    by_name: Mapping[str, FoundTemplate]
    """E.g. `{"default": …, "tool_use": …}`."""
    special_tokens: Mapping[str, str]
    """Variables of their renders, e.g. `{"bos_token": "<s>"}`."""
    source: Provenance | None
    """Where they come from, e.g. the directory `"model"`; `choose` adds the file of the chosen
    template. None if a program holds them."""

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
        # Imported here: callers that only need a tokenizer do not need Jinja.
        from autoparser.analysis.templates.chat_template import ChatTemplate  # noqa: PLC0415

        provenance = self.source and replace(self.source, file=found.part)
        return ChatTemplate(found.text, self.special_tokens, name, found.file, provenance)

    def _no_such_name(self, name: str, source: str) -> TemplateNotFoundError:
        names = sorted(self.by_name)
        return TemplateNotFoundError(
            f"no template named {name!r}",
            file=source,
            hint=spelling_hint(name, names, f"choose by name one of {', '.join(map(repr, names))}"),
        )


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
        return {
            name: _text_at(text, f"{TEMPLATE_KEY}.{name}", path) for name, text in value.items()
        }
    raise _wrong_type(value, TEMPLATE_KEY, path)


def _named_text(entry: object, place: str, path: Path) -> tuple[str, str]:
    if not is_mapping(entry):
        raise _wrong_type(entry, place, path)
    name = _text_at(entry.get("name"), f"{place}.name", path)
    return name, _text_at(entry.get("template"), f"{place}.template", path)


def _text_at(value: object, place: str, path: Path) -> str:
    if isinstance(value, str):
        return value
    raise _wrong_type(value, place, path)


def _wrong_type(value: object, place: str, path: Path) -> TemplateReadError:
    return TemplateReadError(
        f"cannot be {value_kind(value)}",
        file=str(path),
        place=place,
        hint="give one text, or a list of objects with the texts name and template",
    )


# The special tokens that a model's files name, as transformers 5.23.0 passes them to a template.
#
# Facts from the wheel, ``tokenization_utils_base.py``: the named tokens are the seven standard
# ones, every other key that ends in ``_token`` and holds a token, and the entries of
# ``extra_special_tokens`` if it is an object. ``special_tokens_map.json`` is read, and takes
# precedence, only if ``tokenizer_config.json`` has no ``added_tokens_decoder``. Tokens that are
# only defaults of a tokenizer's class are not known here.


CONFIG_FILE = "tokenizer_config.json"
MAP_FILE = "special_tokens_map.json"


def model_special_tokens(directory: Path) -> dict[str, str]:
    """Return the named special tokens of a model directory, or empty if no file names any.

    Raises TemplateReadError for files that cannot be read.
    """
    config = _read_object(directory, CONFIG_FILE)
    tokens = _tokens_by_name(config)
    if "added_tokens_decoder" not in config:
        tokens.update(_tokens_by_name(_read_object(directory, MAP_FILE)))
    return tokens


def _read_object(directory: Path, name: str) -> Mapping[str, object]:
    path = model_file(directory, name)
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


# Facts from transformers 5.23.0. Only the first existing source of these is used:
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
            "no chat template in this directory",
            file=str(directory),
            hint=f"it was looked for in {LOOKED_IN}: add one of them or pass a file",
        )
    source = source or Provenance(SourceKind.DIRECTORY, str(directory))
    return FoundTemplates(by_name, model_special_tokens(directory), source)


def _in_json(directory: Path, name: str) -> dict[str, FoundTemplate]:
    path = model_file(directory, name)
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
    paths = {name: (part, model_file(directory, part)) for name, part in files.items()}
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


# A model has several GGUF files, one for each quantization, with the same templates. By default the
# first by name is read, or its first part; reports name it.


GGUF = ".gguf"

_LATER_PART = re.compile(r"-(?!0*1-)\d+-of-\d+\.gguf$", re.IGNORECASE)
"""A part of a split file that is not its first one: the first alone has the header's values."""
_OF_IMAGES = re.compile(r"(?:^|/)mmproj|-mmproj", re.IGNORECASE)
"""A projector of images, which has no tokens."""


def chosen_gguf(names: Iterable[str], tag: str | None = None) -> str | None:
    """Return the first GGUF file, with `tag` in its name if given, or None."""
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
    return templates_of_gguf(gguf_contents(file_window(path)), source, part)


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
    """Fetch and read the templates of a model. Raises TemplateNotFoundError, TemplateReadError."""
    listing = list_repository(name.repository, revision)
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
        file for file in sorted(listing.files) if file in READ_FILES or _ADDITIONAL.fullmatch(file)
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
    # Errors name the repository: a path in the cache would be unreadable.
    by_name = {
        key: replace(template, file=f"{listing.repository}/{template.part}")
        for key, template in found.by_name.items()
    }
    return replace(found, by_name=by_name)


def _in_file(listing: HubListing, name: str, source: Provenance) -> FoundTemplates | None:
    """Fetch and read one file, with the model's special tokens; return None if it is not there."""
    if name not in listing.files:
        return None
    # Without duplicates; the named file comes last, since it marks the revision as fetched.
    names = [file for file in template_files(listing) if file != name]
    directory = fetch_files(listing, [*names, name], source.revision)
    path = None if directory is None else model_file(directory, name)
    if directory is None or path is None:
        return None
    if path.suffix == ".json":
        by_name = templates_in_json(path)
    else:
        by_name = {DEFAULT_NAME: FoundTemplate(read_text(path), name)}
    file = f"{listing.repository}/{name}"
    by_name = {key: replace(template, file=file, part=name) for key, template in by_name.items()}
    return FoundTemplates(by_name, model_special_tokens(directory), source) if by_name else None


def _in_gguf(listing: HubListing, name: HubName, source: Provenance) -> FoundTemplates | None:
    contents = gguf_on_hub(listing, name)
    if contents is None:
        return None
    file = contents.file.removeprefix(f"{listing.repository}/")
    return templates_of_gguf(contents, source, file)


def gguf_on_hub(listing: HubListing, name: HubName) -> GgufContents | None:
    """Read the header of the requested GGUF file; return None without one."""
    file = name.file or chosen_gguf(listing.files, name.tag)
    return None if file is None or file not in listing.files else _contents(listing, file)


def _contents(listing: HubListing, file: str) -> GgufContents:
    """Read a header from the cached file, the cached header, or the Hub."""
    path = is_cached(listing, file)
    if path is not None:
        return replace(gguf_contents(file_window(path)), file=f"{listing.repository}/{file}")
    answer = answer_file(listing.repository, f"{listing.commit}-{quote(file, safe='')}")
    known = cached_file(answer)
    if known is not None:
        return gguf_contents(cached_window(f"{listing.repository}/{file}", known))
    window = hub_window(listing, file)
    contents = gguf_contents(window)
    # Leave out the rest of the last part, which may be megabytes.
    cache_file(answer, bytes(window.content[: contents.end]))
    return contents


def nothing_there(listing: HubListing, name: HubName) -> TemplateNotFoundError:
    """Return the error that a repository has no template, with the places searched."""
    asked = name.file or name.tag
    if asked is not None and not name.in_gguf:
        return TemplateNotFoundError(
            f"this repository has no file {asked!r} with a chat template at commit"
            f" {listing.commit}",
            file=listing.repository,
            hint=f"pass the repository alone; templates are looked for in {LOOKED_IN}",
        )
    ggufs = sorted(file for file in listing.files if file.endswith(".gguf"))
    if asked is not None:
        some = f"it has {', '.join(ggufs[:5])}" if ggufs else "it has no GGUF files"
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
