"""Load the chat templates that a person names or a program holds.

A source is standard input, a directory or a file that is there, or else a model on the Hub.

For example, a directory with a `tokenizer_config.json` of `{"chat_template": "A", "bos_token":
"<s>"}` and a `chat_template.jinja` of `B`:

    load_template("model")
    ->  text "B", special_tokens {"bos_token": "<s>"}, origin "model/chat_template.jinja"
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from autoparser.analysis.core.documents import SAVED_FORMATS, Count, JsonDocument
from autoparser.analysis.core.error_words import is_mapping
from autoparser.analysis.core.errors import (
    AutoparserError,
    TemplateNeededError,
    TemplateNotFoundError,
    TokenizerError,
)
from autoparser.analysis.core.provenance import Provenance, SourceKind

from .gguf_files import GgufContents
from .hub_listing import HubListing, fetch_files, list_repository
from .hub_requests import hub_name
from .local_files import (
    decode_text,
    model_file,
    path_exists,
    read_json_object,
    read_path,
    read_standard_input,
    read_text,
)
from .template_sources import (
    ADDITIONAL_TEMPLATES,
    CONFIG_FILE,
    DEFAULT_NAME,
    GGUF,
    TEMPLATE_FILE,
    TEMPLATE_KEY,
    FoundTemplate,
    FoundTemplates,
    chosen_gguf,
    gguf_on_hub,
    model_special_tokens,
    nothing_there,
    template_files,
    templates_in_directory,
    templates_in_files,
    templates_in_gguf,
    templates_in_json,
    templates_on_hub,
)
from .tokenizer_loading import TOKENIZER_FILE, tokenizer_files, tokenizer_of_gguf
from .written_files import write_whole

if TYPE_CHECKING:
    from autoparser.analysis.templates.chat_template import ChatTemplate


STANDARD_INPUT = "-"


def load_template(
    source: str | os.PathLike[str],
    *,
    name: str | None = None,
    revision: str | None = None,
    special_tokens: Mapping[str, str] | None = None,
) -> ChatTemplate:
    """Load the chat template of a source.

        load_template("org/model", revision="main", special_tokens={"bos_token": "<s>"})

    `source` is a text file, a model directory, a `tokenizer_config.json` or another JSON file with
    a `chat_template`, a GGUF file, `-` for standard input, or a model on the Hub: `org/name`,
    `org/name/file.gguf`, `org/name:Q4_K_M`, or the URL of the model or of one of its files. An
    existing file or directory is never looked up on the Hub. `name` selects one of several named
    templates; None takes the default. `revision` is a branch, tag or commit on the Hub.
    `special_tokens` extend and override those next to the template. Raises TemplateNotFoundError,
    TemplateReadError. Jinja checks the text only when the template is first used.
    """
    named = os.fspath(source)
    found = _templates_at(named, revision).choose(name, named)
    if not special_tokens:
        return found
    # Imported here: callers that only look for a tokenizer do without it.
    from dataclasses import replace  # noqa: PLC0415

    return replace(found, special_tokens={**found.special_tokens, **special_tokens})


def load_templates(
    source: str | os.PathLike[str], *, revision: str | None = None
) -> tuple[ChatTemplate, ...]:
    """Load all templates that ``source`` names, by their names, as `load_template` loads one.

    Raises TemplateNotFoundError, TemplateReadError.
    """
    named = os.fspath(source)
    found = _templates_at(named, revision)
    return tuple(found.choose(name, named) for name in sorted(found.by_name))


def _templates_at(source_name: str, revision: str | None) -> FoundTemplates:
    if source_name == STANDARD_INPUT or (source_name and path_exists(Path(source_name))):
        # An empty name would be the current directory.
        if revision is not None:
            raise AutoparserError(
                f"a local source has no revisions, but {revision!r} was asked for",
                file=source_name,
                hint="leave the revision out",
            )
        return _found_here(source_name)
    name = hub_name(source_name)
    if name is not None:
        return templates_on_hub(name, name.at(revision))
    raise TemplateNotFoundError(
        "no such file or directory" if source_name else "the name of the template is empty",
        file=source_name or None,
        hint="pass a template file, a model directory, a tokenizer_config.json, a GGUF file, a"
        " model on the Hub such as org/name, or - to read standard input",
    )


def _found_here(source: str) -> FoundTemplates:
    """Read the templates of standard input, a directory or a file."""
    path = Path(source)
    if source == STANDARD_INPUT:
        text = decode_text(read_standard_input(), "standard input")
        return _one_text(text, "standard input", Provenance(SourceKind.STANDARD_INPUT, source))
    if path.is_dir():
        return _in_directory(source)
    if path.suffix.lower() == GGUF:
        return templates_in_gguf(path, Provenance(SourceKind.GGUF, source))
    if path.suffix.lower() == ".json":
        return _in_json_file(source)
    # A file of this name is part of a model directory, whose other files belong to it.
    of_model = path.name == TEMPLATE_FILE
    special_tokens = model_special_tokens(path.parent) if of_model else {}
    return _one_text(read_text(path), source, Provenance(SourceKind.FILE, source), special_tokens)


def _in_directory(source: str) -> FoundTemplates:
    directory = Path(source)
    try:
        return templates_in_directory(directory)
    except TemplateNotFoundError:
        # As for a model on the Hub, the model's own files go before the header of a GGUF file.
        file = chosen_gguf(path.name for path in directory.glob(f"*{GGUF}"))
        path = None if file is None else model_file(directory, file)
        if path is None:
            raise
    return templates_in_gguf(path, Provenance(SourceKind.DIRECTORY, source), file)


def _in_json_file(source: str) -> FoundTemplates:
    path = Path(source)
    by_name = templates_in_json(path)
    if not by_name:
        # A saved format is a JSON file, too, so report what it is.
        if str(read_json_object(path).get("schema")).startswith(SAVED_FORMATS):
            raise TemplateNeededError(
                "this is a saved format, which has no template",
                file=source,
                hint="pass the template that it was learned from, or read it with load_format",
            )
        raise TemplateNotFoundError(
            f"this file has no {TEMPLATE_KEY}",
            file=source,
            hint="pass its directory or a template file",
        )
    provenance = Provenance(SourceKind.FILE, source)
    return FoundTemplates(by_name, model_special_tokens(path.parent), provenance)


def _one_text(
    text: str, file: str, source: Provenance, special_tokens: dict[str, str] | None = None
) -> FoundTemplates:
    found = FoundTemplate(text, file)
    return FoundTemplates({DEFAULT_NAME: found}, special_tokens or {}, source)


# Contract of templates from objects: only `chat_template` and `special_tokens_map` are read, which
# tokenizers and processors of transformers have. The class does not matter, and transformers is
# never imported.


class HoldsTemplate(Protocol):
    """A tokenizer or a processor of transformers, as far as it is asked."""

    @property
    def chat_template(self) -> object:
        """A template, templates by name, or None."""
        ...


TemplateGiven: TypeAlias = "ChatTemplate | str | os.PathLike[str] | HoldsTemplate"
"""A template, what `load_template` takes, the text of a template, or what holds one."""


def given_template(source: TemplateGiven, *, name: str | None = None) -> ChatTemplate:
    """Return the template that a program holds, or names.

    A text with a brace or a newline in it that no file is called by is the template itself; any
    other names one, as for `load_template`. `name` chooses among named templates; None takes the
    default one. Raises TemplateNotFoundError, TemplateReadError.
    """
    # Imported here: callers that only read saved formats do not need jinja2.
    from autoparser.analysis.templates.chat_template import ChatTemplate  # noqa: PLC0415

    if isinstance(source, ChatTemplate):
        return source
    if isinstance(source, str) and is_template_text(source):
        return ChatTemplate(source)
    if isinstance(source, (str, os.PathLike)):
        return load_template(source, name=name)
    kind = f"{type(source).__module__}.{type(source).__qualname__}".removeprefix("builtins.")
    texts = _held_texts(source)
    if not texts:
        raise TemplateNotFoundError(
            f"{kind} holds no chat template",
            hint="pass a template file, a model directory, a template's text, or a tokenizer of"
            " transformers that has a chat_template",
        )
    label = str(getattr(source, "name_or_path", "") or kind)
    found = {text_name: FoundTemplate(text, label) for text_name, text in texts.items()}
    held = FoundTemplates(found, held_special_tokens(source), None)
    return held.choose(name, label)


def is_template_text(text: str) -> bool:
    """Return whether a text is a template, not the name of one."""
    if "{" not in text and "\n" not in text:
        return False
    try:
        return "\n" in text or not Path(text).exists()
    except (OSError, ValueError):  # too long for a name
        return True


def held_special_tokens(holder: object) -> dict[str, str]:
    """Return the special tokens of a tokenizer, or of a processor's tokenizer, by name."""
    held: object = getattr(holder, "special_tokens_map", None)
    if held is None:
        held = getattr(getattr(holder, "tokenizer", None), "special_tokens_map", None)
    if not is_mapping(held):
        return {}
    return {name: text for name, text in held.items() if isinstance(text, str)}


def _held_texts(holder: object) -> Mapping[str, str]:
    held: object = getattr(holder, "chat_template", None)
    if isinstance(held, str):
        held = {DEFAULT_NAME: held}
    if not is_mapping(held):
        return {}
    return {name: text for name, text in held.items() if isinstance(text, str) and text}


# `fetch` makes a directory that every command takes. For a model of GGUF files, its content comes
# from their headers: the templates, the special tokens, and the tokenizer if the header has all of
# it.


_PLAIN_NAME = re.compile(r"\w[\w.\- ]{0,99}")


class FetchedFiles(JsonDocument, frozen=True):
    """The fetched files."""

    source: Provenance
    """The repository and the commit, e.g. `"Qwen/Qwen3-8B"` and `"4f1c2d9…"`."""
    files: Mapping[str, Count]
    """Size in bytes by name, e.g. `{"chat_template.jinja": 4116}`."""


def fetch(source: str, *, revision: str | None = None, to: Path | None = None) -> FetchedFiles:
    """Download the templates and the tokenizer of a model into the Hub's cache.

        fetch("Qwen/Qwen3-8B", to=Path("qwen3"))

    `to` is a new directory to write them to as well, whole or not at all. Raises
    TemplateNotFoundError, TemplateReadError, and AutoparserError if it cannot be written.
    """
    name = hub_name(source)
    if name is None or Path(source).exists():
        raise AutoparserError(
            "not a model on the Hub",
            file=source,
            hint="give org/name, or org/name/file.gguf; a local path needs no fetching",
        )
    revision = name.at(revision)
    listing = list_repository(name.repository, revision)
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
        # Name the GGUF file, which the repository alone does not identify.
        provenance = Provenance(SourceKind.HUB, name.repository, file, revision, listing.commit)
        contents = _from_header(header)
    if to is not None:
        _write(contents, to)
    sizes = {file_name: len(content) for file_name, content in sorted(contents.items())}
    return FetchedFiles(provenance, sizes)


def _files(listing: HubListing, source: Provenance) -> dict[str, bytes] | None:
    """Fetch a model's own files; return None if they hold no template."""
    if templates_in_files(listing, source) is None:
        return None
    # Without duplicates; the tokenizer last, since the last file marks the revision as fetched.
    names = list(dict.fromkeys((*template_files(listing), *tokenizer_files(listing))))
    directory = fetch_files(listing, names, source.revision)
    if directory is None:
        return None
    return {name: read_path(directory / name) for name in names}


def _from_header(header: GgufContents) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name, text in header.templates.items():
        # The name comes from an untrusted file, and becomes a file name here.
        if name is not None and not _PLAIN_NAME.fullmatch(name):
            raise AutoparserError(
                f"the template name {name!r} is not a valid file name",
                file=header.file,
                hint="read the template with --name, without writing it",
            )
        file = TEMPLATE_FILE if name is None else f"{ADDITIONAL_TEMPLATES}/{name}.jinja"
        found[file] = text.encode()
    config = json.dumps(dict(header.special_tokens), indent=2, ensure_ascii=False)
    found[CONFIG_FILE] = f"{config}\n".encode()
    # Leave out an inexact tokenizer, which would be mistaken for the model's own.
    with suppress(TokenizerError):
        found[TOKENIZER_FILE] = tokenizer_of_gguf(header, segmenting=True).to_str().encode()
    return found


def _write(contents: Mapping[str, bytes], to: Path) -> None:
    """Write files to a new directory, built beside it and then moved into place."""
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise AutoparserError(
            "the path exists and is not an empty directory",
            file=str(to),
            hint="name a new or an empty directory",
        )
    made: Path | None = None
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{to.name}-", dir=to.parent))
        for name, content in contents.items():
            path = made / name
            path.parent.mkdir(exist_ok=True)
            write_whole(path, content)
        # `mkdtemp` makes a directory that only its owner may read.
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
