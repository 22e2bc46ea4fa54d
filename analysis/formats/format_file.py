"""Saved formats as files: their classes, their versions, their text.

Contract: what is read is what was written: a format that is equal, verdicts in full, and of each
phase its conclusion without its renders. Nothing of it is run, and Jinja is not imported. A file is
known by its `schema`, whatever its name. `docs/format.schema.json` is made of the classes here; a
change that is more than an addition counts `SCHEMA` up. For example

    {"schema": "autoparser.format/1", "template": {…}, "renders": 200, "formats": [{…}],
     "fullest": 0, "base": {}, "untried_settings": 0, "requires_nonnull_content": false, …}
"""

# Annotations are values here: as texts, msgspec would compile each at the first read.
import json
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from autoparser.analysis.core.documents import (
    Count,
    Digest,
    JsonDocument,
    SettingValues,
    document_json,
    read_value,
)
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.message_shape import MessageShape, StringArguments
from autoparser.analysis.core.provenance import TemplateDocument
from autoparser.analysis.core.switches import Switch, UnmovedVariable
from autoparser.analysis.core.verdicts import EvidenceKind, Gate

from .format_document import CheckDocument, TurnDocument

SCHEMA: Final = "autoparser.format/1"
"""Name and version of the file's schema."""
AGAIN = "make it again: autoparser analyze TEMPLATE --format file -o FILE"


class SavedTemplate(TemplateDocument, frozen=True):
    """The template that it was learned from; its text is not here."""

    sha256: Digest
    """Of the template's text in UTF-8: another text may write other turns."""
    characters: Count
    """Characters of the template's text, such as `4116`."""
    special_tokens: dict[str, str]
    """The special tokens of its renders, such as `{"bos_token": "<s>"}`."""


class PhaseConclusion(JsonDocument, frozen=True):
    """The conclusion of a phase, and its kind of evidence."""

    phase: Annotated[str, Meta(pattern="^[A-Z][0-9]$")]
    """The code of the phase, such as `"T1"`."""
    title: str
    """The subject of the phase, such as `"tool calls"`."""
    conclusion: str
    """One line for a person, such as `"the name is written once after '<use '"`."""
    kind: EvidenceKind
    """The source of the conclusion, such as `"render"`: renders, examples, outputs, or the prompt's
    words alone."""


class SavedPhase(PhaseConclusion, frozen=True):
    """A phase's conclusion, without its renders."""

    markers: tuple[str, ...]
    """The markers that this phase found, by name, such as `["per_call_start", "per_call_end"]`."""

    @property
    def confirmed(self) -> bool:
        """Whether more than the prompt's words says so."""
        return self.kind is not EvidenceKind.WORDS


class FormatFile(JsonDocument, frozen=True):
    """All that parsing, writing, constraining and reporting need of a template."""

    schema: Literal["autoparser.format/1"]
    """Name and version of the file's schema: `"autoparser.format/1"`."""
    template: SavedTemplate
    """The template, such as the one with the origin `"fixtures/learning/chat-only.jinja"`."""
    renders: Count
    """How many renders of it were looked at, such as `109`."""
    formats: Annotated[tuple[TurnDocument, ...], Meta(min_length=1)]
    """One format for every setting of the switches that changes a turn or its generation prompt,
    the default's first; the openings of each name its settings, such as
    `{"enable_thinking": false}`."""
    fullest: Count
    """Which of the formats shows most of a message, counted from 0, such as `1`."""
    base: SettingValues
    """The default setting, such as `{}`: empty unless the template cannot be rendered without some
    value."""
    untried_settings: Count
    """Combinations of values that were not looked at, such as `28`."""
    requires_nonnull_content: bool
    """Content that is null, as in `{"role": "assistant", "content": null}`, raises, or is printed
    as a word."""
    switches: tuple[Switch, ...]
    """The switches with an effect, such as `enable_thinking`."""
    checks: Annotated[tuple[CheckDocument, ...], Meta(min_length=1)]
    """The self-check of each of the formats, such as 47 of 47 messages passed."""
    gate: Gate
    """The verdict on the texts that the template writes after its generation prompts, such as 14 of
    14 passed."""
    shape: MessageShape
    """The form of messages that the template expects, such as `"arguments_as_string": true`."""
    string_arguments: StringArguments | None
    """How the template renders arguments given as JSON text, such as `"encoded a second time"`;
    null if it writes no calls."""
    stand_ins: dict[str, str]
    """Special tokens that are not known, and what stood for them, such as
    `{"bos_token": "<bos_token>"}`."""
    phases: tuple[SavedPhase, ...]
    """The conclusions of all phases, such as the one of `R1`, on reasoning, with their kinds of
    evidence."""
    unmoved: tuple[UnmovedVariable, ...] = ()
    """Variables that the template reads, such as `skip_think`, of which no effect was found."""
    also: tuple[TurnDocument, ...] = ()
    """The same formats with calls as outputs showed them, such as `[do look(city='Oslo', days=3)]`,
    which parsers accept, too; empty if only the template's own calls are parsed."""


def file_text(file: FormatFile) -> str:
    """Return the text of a file: ASCII, indented, the same for the same values."""
    # JSON has no NaN: raise instead of writing a file that cannot be read back.
    return f"{json.dumps(document_json(file), indent=2, allow_nan=False)}\n"


def file_read(content: bytes, name: str) -> FormatFile:
    """Read the content of a file called `name`.

    Raises AutoparserError with the place of what is wrong, and the way out.
    """
    try:
        file = msgspec.json.decode(content, type=FormatFile)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # msgspec's error has no hint and no line, so the file is read once more for a better one.
        return _explain_fault(content, name)
    problem = _contradiction(file)
    if problem:
        raise AutoparserError(problem, file=name, hint=AGAIN)
    return file


def _explain_fault(content: bytes, name: str) -> FormatFile:
    """Read the file once more, slowly, for a message about its fault."""
    try:
        value: Any = json.loads(content)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise AutoparserError(
            f"invalid JSON: {error.msg}", file=name, place=place, hint=AGAIN
        ) from None
    except (RecursionError, ValueError) as error:
        raise AutoparserError(f"cannot read this JSON ({error})", file=name, hint=AGAIN) from None
    # As in `load_format`: an analysis of a text reads no files.
    from autoparser.analysis.sources.local_files import is_format_file  # noqa: PLC0415

    if not is_format_file(value):
        raise AutoparserError(
            "not a saved format", file=name, hint=f"pass a file whose schema is {SCHEMA}"
        )
    if value["schema"] != SCHEMA:
        raise AutoparserError(
            f"the schema is {value['schema']}, but this version reads {SCHEMA}",
            file=name,
            place="schema",
            hint=f"{AGAIN}; or use the version of autoparser that wrote it",
        )
    return read_value(value, FormatFile, file=name, hint=AGAIN)


def _contradiction(file: FormatFile) -> str:
    """Describe a fault that no single field shows; empty if there is none."""
    if file.fullest >= len(file.formats):
        return f"fullest is {file.fullest}, and there are {len(file.formats)} formats"
    # Each format is reported with the check of the same index.
    if len(file.checks) != len(file.formats):
        return f"there are {len(file.formats)} formats, and {len(file.checks)} checks"
    # A setting's learned calls are found by the index of its own format.
    if file.also and len(file.also) != len(file.formats):
        return f"there are {len(file.formats)} formats, and {len(file.also)} beside them"
    for at, format_ in enumerate(file.formats):
        for layout in format_.layouts:
            # Writing alternates literals and parts; it would fail far from the file.
            if len(layout.literals) != len(layout.parts) + 1:
                return f"a layout of formats[{at}] has not one literal more than parts"
    return ""
