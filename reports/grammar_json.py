"""A grammar as JSON; ``docs/grammar.schema.json`` is made of the classes here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, Literal, TypeVar

from msgspec import UNSET, Meta, UnsetType

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import AnyJson, Count, JsonDocument, Positive, json_of
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.provenance import (
    NamedTemplate,
    TemplateDocument,
    named_template,
)
from autoparser.analysis.grammar.acceptance import TextAcceptance
from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.grammar.schema_loosening import GrammarForm
from autoparser.analysis.parsing.parsed_message import ParsedMessage
from autoparser.analysis.parsing.text_tape import SpanKind
from autoparser.analysis.sources.token_bytes import OpaqueTokens

from .explanation import place
from .parsed_json import ParsedDocument, parsed_document

__all__ = ["AcceptanceDocument", "GrammarDocument", "acceptance_document", "grammar_document"]

Written = TypeVar("Written")


class LooseningDocument(JsonDocument, frozen=True):
    """A keyword of a schema that a grammar is not held to."""

    tool: str | None
    """The tool whose parameters are meant; None: the schema of content."""
    pointer: str
    """JSON pointer of the keyword in that schema."""
    reason: str


class TriggerDocument(JsonDocument, frozen=True):
    """A member of `grammar_triggers` in a request to llama-server."""

    type: Count
    value: str


class GrammarDocument(JsonDocument, frozen=True):
    """A grammar in every form that can be written."""

    template: TemplateDocument
    gbnf: str | None
    lark: str | None
    structural_tag: Annotated[AnyJson, Meta(description="As xgrammar reads it, or null.")]
    loosened: dict[GrammarForm, tuple[LooseningDocument, ...]]
    """What each form that is written is not held to."""
    lazy: bool
    triggers: tuple[str, ...]
    """What a lazy grammar waits for."""
    grammar_triggers: tuple[TriggerDocument, ...]
    preserved_tokens: tuple[str, ...]
    """Markers that have to be tokens of their own."""
    stop_strings: tuple[str, ...]
    not_written: dict[str, str]
    """Why the other forms cannot be written."""


class PlaceDocument(JsonDocument, frozen=True):
    """A place in a text."""

    character: Count
    line: Positive
    column: Positive


class AcceptanceDocument(JsonDocument, frozen=True):
    """What a grammar makes of a text: the message in it, or where and why it is refused."""

    accepted: bool
    unit: Literal["byte", "token"]
    count: Count
    """Units of the text."""
    taken: Count
    """How many of them were taken before one was refused."""
    message: ParsedDocument | UnsetType = UNSET
    place: PlaceDocument | UnsetType = UNSET
    refused: str | UnsetType | None = UNSET
    """The text of the unit that was refused; None: none was, but the text ends too early."""
    part: SpanKind | UnsetType | None = UNSET
    """What the text before that place is, in its last part."""
    call: str | UnsetType | None = UNSET
    """The function that was being called there."""
    argument: str | UnsetType | None = UNSET
    """The argument of it whose value was being written there."""
    completes: str | UnsetType | None = UNSET
    """The marker of the format that was complete with what was refused."""
    allowed: tuple[str, ...] | UnsetType = UNSET
    """What may come there instead; empty where too many may."""
    choices: Count | UnsetType = UNSET
    """How many units may come there."""
    may_end: bool | UnsetType = UNSET


def grammar_document(
    made: Grammar, known: OpaqueTokens | None, template: NamedTemplate
) -> dict[str, Json]:
    """Return a grammar in every form that can be written, and why the others cannot.

    Lark is made for `known`; without a tokenizer it is not written.
    """
    refused: dict[str, str] = {}

    def attempt(form: str, write: Callable[[], Written]) -> Written | None:
        try:
            return write()
        except AutoparserError as error:
            refused[form] = str(error)
            return None

    gbnf = attempt("gbnf", made.gbnf)
    lark = None if known is None else attempt("lark", lambda: made.lark(known))
    tag = attempt("structural_tag", made.structural_tag)
    if known is None:
        refused["lark"] = "Lark is made for a tokenizer; name one with --tokenizer"
    forms: dict[GrammarForm, object] = {"gbnf": gbnf, "lark": lark, "structural_tag": tag}
    loosened: dict[GrammarForm, tuple[LooseningDocument, ...]] = {
        form: tuple(_loosened(made, form)) for form, text in forms.items() if text is not None
    }
    return json_of(
        GrammarDocument(
            named_template(template),
            gbnf,
            lark,
            tag,
            loosened,
            made.lazy,
            tuple(made.triggers),
            tuple(TriggerDocument(int(each.kind), each.value) for each in made.server_triggers),
            tuple(made.preserved_tokens),
            tuple(made.stop_strings),
            refused,
        )
    )


def _loosened(made: Grammar, form: GrammarForm) -> Iterator[LooseningDocument]:
    for each in made.loosened(form):
        yield LooseningDocument(each.tool or None, each.pointer, each.reason)


def acceptance_document(
    found: TextAcceptance, message: ParsedMessage | None, text: str, unit: Literal["byte", "token"]
) -> dict[str, Json]:
    """Return whether a text was accepted; `unit` names what it was cut into."""
    if message is not None:
        read = parsed_document(message, text)
        return json_of(AcceptanceDocument(True, unit, found.tokens, found.taken, message=read))
    return json_of(
        AcceptanceDocument(
            found.accepted,
            unit,
            found.tokens,
            found.taken,
            place=PlaceDocument(found.place, *place(text, found.place)),
            refused=found.refused,
            part=found.part,
            call=found.call or None,
            argument=found.argument or None,
            completes=found.completes or None,
            allowed=found.allowed,
            choices=found.choices,
            may_end=found.may_end,
        )
    )
