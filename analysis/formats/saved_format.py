"""A format that was saved to a file: an analysis without renders.

For example

    analyze(load_template("model.jinja")).save("model.format.json")
    load_format("model.format.json")            <SavedFormat of model.jinja: self-check 47/47, …>
    load_format("model.format.json").prober()   raises TemplateNeededError: prober needs renders
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from msgspec import structs

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import document_json, text_digest
from autoparser.analysis.core.errors import AutoparserError, TemplateNeededError
from autoparser.analysis.core.format_choice import (
    Formats,
    PromptFormat,
)
from autoparser.analysis.core.provenance import SourceKind
from autoparser.analysis.core.verdicts import Gate

from .format_document import check_read, format_read
from .format_file import (
    FormatFile,
    SavedPhase,
    SavedTemplate,
    file_read,
)
from .learned_format import LearnedFormat

if TYPE_CHECKING:
    from autoparser.analysis.templates.chat_template import ChatTemplate


@dataclass(frozen=True, repr=False)
class SavedFormat(LearnedFormat):
    """An analysis without its template, read from a file by `load_format`.

    Features that need renders raise TemplateNeededError, with the way out.
    """

    template: SavedTemplate
    """The description of the template, such as the one of `"fixtures/learning/chat-only.jinja"`."""
    phases: tuple[SavedPhase, ...]
    """The conclusions of all phases, such as `"no message field is rendered as reasoning"`, without
    renders."""
    file: str
    """The file's name in messages, such as `"model.format.json"`."""
    saved_gate: Gate
    """The gate's verdict at the time of saving, such as 14 of 14 texts passed."""

    @property
    def gate(self) -> Gate:
        """The verdict on the texts that the template wrote after its prompts."""
        return self.saved_gate

    def to_dict(self) -> dict[str, Json]:
        """Return the file's content as JSON values."""
        return document_json(self.to_file())

    @property
    def _saved_template(self) -> SavedTemplate:
        return self.template

    def _learn(self, setting: Mapping[str, Json], *, tools: bool) -> PromptFormat:
        del tools
        words = ", ".join(f"{name}={json.dumps(value)}" for name, value in setting.items())
        self._refuse(f"the format of turns with {words} was not learned")

    def __getattr__(self, name: str) -> NoReturn:
        """Raise TemplateNeededError for a feature that a saved format lacks."""
        # Protocols such as `copy` look up private names and expect an AttributeError.
        if name.startswith("_") or name not in _OF_ANALYSIS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._refuse(f"{name} needs renders")

    def _refuse(self, words: str) -> NoReturn:
        command = f"autoparser analyze {self.template.origin or 'TEMPLATE'} --format file"
        raise TemplateNeededError(
            f"{words}, and a saved format has no template",
            file=self.file,
            hint=f"pass the template in its place; {command} -o {self.file} makes the file anew",
        )


_OF_ANALYSIS = frozenset({"continuations", "prober", "rendering", "trials", "turns"})
"""Features of an analysis that need renders, and that a saved format lacks."""


def load_format(path: str | os.PathLike[str]) -> SavedFormat:
    """Read a saved format; no template is needed or run.

        load_format("model.format.json").parser(tools).parse(text)

    Raises AutoparserError if the file cannot be read, is not a saved format, or is of an unknown
    version.
    """
    name = os.fspath(path)
    hint = "pass a file that autoparser analyze --format file wrote"
    # Imported here: analyses of texts share these methods but read no files.
    from autoparser.analysis.sources.local_files import read_path  # noqa: PLC0415

    try:
        content = read_path(Path(path), hint)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise AutoparserError(f"cannot read the file ({reason})", file=name, hint=hint) from None
    return saved_format(file_read(content, name), name)


def saved_format(file: FormatFile, name: str) -> SavedFormat:
    """Return the format of a file; messages call the file `name`."""
    # Read once: settings and the fullest format refer to these very objects.
    own = tuple(map(format_read, file.formats))
    formats = Formats(own, file.base, fullest=own[file.fullest], untried=file.untried_settings)
    beside, also = tuple(map(format_read, file.also)), None
    if beside:
        also = structs.replace(formats, distinct=beside, fullest=beside[file.fullest])
    return SavedFormat(
        template=file.template,
        formats=formats,
        requires_nonnull_content=file.requires_nonnull_content,
        phases=file.phases,
        checks=tuple(map(check_read, file.checks)),
        switches=file.switches,
        unmoved=file.unmoved,
        shape=file.shape,
        string_arguments=file.string_arguments,
        stand_ins=file.stand_ins,
        renders=file.renders,
        file=name,
        saved_gate=file.gate,
        also=also,
    )


# The template that a saved format was learned from, if it still exists unchanged.
#
# Only a text with the digest in the file counts, so that renders belong to the learned format; the
# saved path is just a hint. Nothing is fetched, and no encoder is run.


_HERE = (SourceKind.DIRECTORY, SourceKind.FILE, SourceKind.GGUF)
"""Sources that are read again without a word; others are named by whoever asks."""


def template_of_format(saved: SavedFormat, template_place: str | None = None) -> ChatTemplate:
    """Load the template that a saved format was learned from, with the special tokens of then.

    `template_place` says where it is; else it is looked for where it was, from here and from the
    file's folder, and by its name beside the file. Raises TemplateNeededError where it is not
    there, or is another text by now.
    """
    places = [template_place] if template_place is not None else list(_places(saved))
    for place in places:
        found = _find_unchanged_template(saved, place, wanted=template_place is not None)
        if found is not None:
            # With other special tokens it would render other texts than the learned ones.
            return replace(found, special_tokens=dict(saved.template.special_tokens))
    if places:
        raise TemplateNeededError(
            f"this needs renders, but {places[0]} has changed since the format was learned from it",
            file=saved.file,
            hint=f"pass the template itself, or make the file again: autoparser analyze {places[0]}"
            f" --format file -o {saved.file}",
        )
    origin = saved.template.origin
    raise TemplateNeededError(
        "this needs renders, but the template that the format was learned from"
        f"{f', {origin},' if origin else ''} is not here",
        file=saved.file,
        hint="pass its path with --template PATH",
    )


def _places(saved: SavedFormat) -> Iterator[str]:
    """Return where it may be: files and directories that are there."""
    source = saved.template.source
    if source is None or source.kind not in _HERE:
        return
    beside = Path(saved.file).parent
    candidates = (Path(source.id), beside / source.id, beside / Path(source.id).name)
    yield from dict.fromkeys(str(candidate) for candidate in candidates if candidate.exists())


def _find_unchanged_template(
    saved: SavedFormat, place: str, *, wanted: bool
) -> ChatTemplate | None:
    """Return the template of a place if it is the very text; a `wanted` one has to be readable."""
    from autoparser.analysis.sources.template_loading import load_templates  # noqa: PLC0415 - jinja2

    try:
        loaded = load_templates(place)
    except AutoparserError:
        if wanted:
            raise
        return None
    return next(
        (template for template in loaded if text_digest(template.text) == saved.sha256), None
    )
