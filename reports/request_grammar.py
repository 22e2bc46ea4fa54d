"""The grammar of a request: as JSON in every form, and what it makes of a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Literal, TypeVar

from msgspec import UNSET, Meta, UnsetType
from rich.cells import cell_len
from rich.text import Text

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import Count, JsonDocument, Positive, copy_fields, json_of
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.provenance import NamedTemplate, TemplateDocument, named_template
from autoparser.analysis.grammar.acceptance import TextAcceptance
from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.grammar.schema_loosening import GrammarForm
from autoparser.analysis.parsing.parsed_message import ParsedMessage
from autoparser.analysis.parsing.text_tape import SpanKind
from autoparser.analysis.sources.token_bytes import OpaqueTokens

from .blocks import Row, excerpt, joined, rows, sentence
from .explanation import line_and_column
from .message import message_report
from .parsed_json import ParsedDocument, parsed_document
from .terminal import report_text
from .visible import literal, quoted, shown

_AROUND = 48
"""Characters of the line that are shown before a place, and as many after it."""

_PARTS = {
    SpanKind.MARKUP: "in the markup",
    SpanKind.REASONING: "in the reasoning",
    SpanKind.CONTENT: "in the content",
    SpanKind.NAME: "in the name of a call",
    SpanKind.ID: "in the id of a call",
    SpanKind.ARGUMENTS: "in the arguments",
    SpanKind.JUNK: "in text that belongs to nothing",
}


def acceptance_report(
    found: TextAcceptance, message: ParsedMessage | None, text: str, unit: str, width: int
) -> Text:
    """Show whether a text was accepted; `unit` names what it was cut into."""
    if message is not None:
        words = f"{found.tokens} {unit}{'' if found.tokens == 1 else 's'}"
        return sentence(("accepted", "green"), f": {words}\n", message_report(message, text, width))
    refused = found.refused is not None
    line, column = line_and_column(text, found.place)
    head = sentence(
        ("refused", "red"),
        f": line {line}, column {column}, ",
        f"{unit} {found.taken + 1} of {found.tokens}" if refused else "where the text ends",
    )
    shown_place = excerpt([head, *_place_lines(text, found)], broken=False)
    return report_text([*shown_place, *rows(_facts(found, unit))], width)


def _facts(found: TextAcceptance, unit: str) -> list[Row]:
    where = Text("at the beginning" if found.part is None else _PARTS[found.part])
    if found.argument:
        where = sentence("in the argument ", quoted(found.argument))
    if found.call:
        where = sentence(where, " of ", quoted(found.call))
    facts: list[Row] = [("Where", where)]
    if found.refused is not None:
        refused = quoted(found.refused)
        if found.completes:
            refused = sentence(refused, ", which completes ", quoted(found.completes))
        facts.append(("Refused", refused))
    ways = [_way(*each) for each in _ranges(found.allowed)]
    if found.choices and not ways:
        ways.append(Text(f"{found.choices} {unit}s"))
    if found.may_end:
        ways.append(Text("the end"))
    facts.append(("Allowed", joined(ways, " or ") if ways else Text("nothing")))
    return facts


def _ranges(ways: Sequence[str]) -> list[tuple[str, str]]:
    """Put single characters that follow each other together: the first and the last of each row."""
    found: list[tuple[str, str]] = []
    for way in ways:
        last = found[-1][1] if found else ""
        if len(way) == len(last) == 1 and ord(way) == ord(last) + 1:
            found[-1] = found[-1][0], way
        else:
            found.append((way, way))
    return found


def _way(first: str, last: str) -> Text:
    return quoted(first) if first == last else sentence(quoted(first), " to ", quoted(last))


def _place_lines(text: str, found: TextAcceptance) -> list[Text]:
    """Draw the line of the place, and a caret for each cell of what was refused."""
    start = max(text.rfind("\n", 0, found.place) + 1, found.place - _AROUND)
    end = text.find("\n", found.place)
    end = min(len(text) if end < 0 else end + 1, found.place + _AROUND)
    before = literal(text[start : found.place], "")
    within = text[found.place : end][: len(found.refused or "")]
    carets = "^" * max(cell_len(shown(within)), 1)
    whole = sentence(
        "  ",
        before,
        literal(within, "red"),
        literal(text[found.place :][len(within) : end - found.place], ""),
    )
    return [whole, Text(" " * (2 + cell_len(before.plain)) + carets, style="red")]


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
    structural_tag: Annotated[Json, Meta(description="As xgrammar reads it, or null.")]
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
    document = copy_fields(
        AcceptanceDocument,
        found,
        unit=unit,
        count=found.tokens,
        message=UNSET,
        place=PlaceDocument(found.place, *line_and_column(text, found.place)),
        call=found.call or None,
        argument=found.argument or None,
        completes=found.completes or None,
    )
    return json_of(document)
