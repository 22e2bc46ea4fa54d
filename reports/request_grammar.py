"""Grammars: a request's grammar as JSON, a text checked by it, and the rules that read outputs.

The expression of a turn is written as PEG: `a b` is a then b, `a / b` is a or else b, `?` makes
optional, `*` repeats. Literals are in backquotes, as the template writes them; the reader tolerates
whitespace at their edges. For example, from the rules of the template of `autoparser demo`:

    turn       reasoning? (content / calls)* end
    header     `::assistant↵`
    reasoning  `::why␣` text `␣::/why↵`
    calls      call (`↵` call)*
      call     `::do␣` name `␣with␣` arguments `␣done::`
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Literal, TypeVar

from msgspec import UNSET, Meta, UnsetType
from rich.cells import cell_len
from rich.text import Text

from autoparser.analysis.core.call_format import ArgumentFormat, CallLimit
from autoparser.analysis.core.call_notation import (
    ContainerNotation,
    Row as FormatRow,
    RowSlot,
    ValueNotation,
)
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.documents import (
    Count,
    JsonDocument,
    Positive,
    copy_fields,
    document_json,
)
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.provenance import NamedTemplate, TemplateDocument, named_template
from autoparser.analysis.core.string_notation import StringText
from autoparser.analysis.core.text_alignment import MarkerBlock, TemplateLiteral
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.grammar.acceptance import TextAcceptance
from autoparser.analysis.grammar.request_grammar import Grammar
from autoparser.analysis.grammar.schema_loosening import GrammarForm
from autoparser.analysis.parsing.parsed_message import ParsedMessage
from autoparser.analysis.parsing.text_tape import SpanKind
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_nodes import (
    ArgumentList,
    CallSection,
    FreeText,
    FunctionName,
    JsonCall,
    RowCall,
    RowItem,
    TurnTree,
)
from autoparser.analysis.parsing.turn_request import read_request
from autoparser.analysis.sources.token_bytes import OpaqueTokens

from .blocks import (
    Blocks,
    Row,
    Words,
    as_text,
    excerpt,
    heading,
    join_texts,
    prose,
    rows,
    sentence,
)
from .explanation import line_and_column
from .message import message_report
from .message_document import ParsedDocument, parsed_document
from .terminal import report_text
from .visible import LEGEND, literal, marker_text, quote_marker, visible

_AROUND = 48
"""Characters of the line shown before a place, and after it."""

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
    acceptance: TextAcceptance, message: ParsedMessage | None, text: str, unit: str, width: int
) -> Text:
    """Show whether a text was accepted; `unit` is the unit of its pieces."""
    # An accepted text is shown as parsed, since the grammar alone does not say what it means.
    if message is not None:
        words = f"{acceptance.tokens} {unit}{'' if acceptance.tokens == 1 else 's'}"
        return sentence(("accepted", "green"), f": {words}\n", message_report(message, text, width))
    refused = acceptance.refused is not None
    line, column = line_and_column(text, acceptance.place)
    head = sentence(
        ("refused", "red"),
        f": line {line}, column {column}, ",
        f"{unit} {acceptance.taken + 1} of {acceptance.tokens}"
        if refused
        else "where the text ends",
    )
    shown_place = excerpt([head, *_place_lines(text, acceptance)], broken=False)
    return report_text([*shown_place, *rows(_acceptance_rows(acceptance, unit))], width)


def _acceptance_rows(acceptance: TextAcceptance, unit: str) -> Iterator[Row]:
    # The most precise place that is known: argument, call, part.
    where = Text("at the beginning" if acceptance.part is None else _PARTS[acceptance.part])
    if acceptance.argument:
        where = sentence("in the argument ", quote_marker(acceptance.argument))
    if acceptance.call:
        where = sentence(where, " of ", quote_marker(acceptance.call))
    yield ("Where", where)
    if acceptance.refused is not None:
        refused = quote_marker(acceptance.refused)
        if acceptance.completes:
            refused = sentence(refused, ", which completes ", quote_marker(acceptance.completes))
        yield ("Refused", refused)
    ways = [_way(*range_) for range_ in _ranges(acceptance.allowed)]
    # Too many choices to list, such as any letter.
    if acceptance.choices and not ways:
        ways.append(Text(f"{acceptance.choices} {unit}s"))
    if acceptance.may_end:
        ways.append(Text("the end"))
    yield ("Allowed", join_texts(ways, " or ") if ways else Text("nothing"))


def _ranges(ways: Sequence[str]) -> list[tuple[str, str]]:
    """Join consecutive characters into ranges of a first and a last one."""
    found: list[tuple[str, str]] = []
    for way in ways:
        last = found[-1][1] if found else ""
        # Ten allowed digits are shown as one range, `0` to `9`.
        if len(way) == len(last) == 1 and ord(way) == ord(last) + 1:
            found[-1] = found[-1][0], way
        else:
            found.append((way, way))
    return found


def _way(first: str, last: str) -> Text:
    return (
        quote_marker(first)
        if first == last
        else sentence(quote_marker(first), " to ", quote_marker(last))
    )


def _place_lines(text: str, acceptance: TextAcceptance) -> list[Text]:
    """Draw the line of the place, with a caret for each refused cell."""
    # A call in JSON may be one line of thousands of characters.
    start = max(text.rfind("\n", 0, acceptance.place) + 1, acceptance.place - _AROUND)
    end = text.find("\n", acceptance.place)
    end = min(len(text) if end < 0 else end + 1, acceptance.place + _AROUND)
    before = literal(text[start : acceptance.place], "")
    within = text[acceptance.place : end][: len(acceptance.refused or "")]
    # Measured in cells, and at least one: if the text ends too early, no text is refused.
    carets = "^" * max(cell_len(marker_text(within)), 1)
    whole = sentence(
        "  ",
        before,
        literal(within, "red"),
        literal(text[acceptance.place :][len(within) : end - acceptance.place], ""),
    )
    return [whole, Text(" " * (2 + cell_len(before.plain)) + carets, style="red")]


Written = TypeVar("Written")


class LooseningDocument(JsonDocument, frozen=True):
    """A schema keyword that a grammar does not enforce."""

    tool: str | None
    """The tool with these parameters, e.g. `"get_weather"`; null for the schema of content."""
    pointer: str
    """JSON pointer of the keyword in that schema, e.g. `"#/properties/n/multipleOf"`."""
    reason: str
    """Why the grammar cannot enforce it, e.g. `"multipleOf cannot be written as a grammar: without
    bounds there are infinitely many"`."""


class TriggerDocument(JsonDocument, frozen=True):
    """A member of `grammar_triggers` in a request to llama-server."""

    type: Count
    """The kind of trigger in llama.cpp, e.g. `1` for a word."""
    value: str
    """The text or pattern that activates the grammar, e.g. `"<tool_call>"`."""


class GrammarDocument(JsonDocument, frozen=True):
    """A grammar in every available form."""

    template: TemplateDocument
    """The template of the grammar, e.g. from `"chat_template.jinja"`."""
    gbnf: str | None
    """The grammar as GBNF, e.g. `"root ::= …"`; null if it cannot be written."""
    lark: str | None
    """The grammar as llguidance's Lark; null without a tokenizer, as `not_written` says."""
    structural_tag: Annotated[Json, Meta(description="As xgrammar reads it, or null.")]
    """As xgrammar reads it, e.g. `{"type": "structural_tag", …}`, or null."""
    loosened: dict[GrammarForm, tuple[LooseningDocument, ...]]
    """The keywords that each available form does not enforce, e.g. `{"gbnf": []}`."""
    lazy: bool
    """Whether it is off until a trigger occurs, as with `--lazy`."""
    triggers: tuple[str, ...]
    """The texts that activate a lazy grammar, e.g. `["<tool_call>"]`."""
    grammar_triggers: tuple[TriggerDocument, ...]
    """The same for a request to llama-server, e.g. `[{"type": 1, "value": "<tool_call>"}]`."""
    preserved_tokens: tuple[str, ...]
    """Markers that have to be single tokens, e.g. `["<think>", "</think>"]`."""
    stop_strings: tuple[str, ...]
    """The texts at which generation stops, e.g. `["<|im_end|>"]`."""
    not_written: dict[str, str]
    """Why the other forms are not available, e.g. `{"lark": "Lark needs the tokenizer; name one
    with --tokenizer"}`."""


class PlaceDocument(JsonDocument, frozen=True):
    """A place in a text."""

    character: Count
    """Offset in characters, from 0, e.g. `74`."""
    line: Positive
    """The line, from 1, e.g. `2`."""
    column: Positive
    """The column, from 1, e.g. `63`."""


class AcceptanceDocument(JsonDocument, frozen=True):
    """A text checked by a grammar: the message in it, or the place and reason of its refusal."""

    accepted: bool
    """Whether the grammar accepts the whole text, e.g. `false` if an integer is `"x"`."""
    unit: Literal["byte", "token"]
    """The unit of the counts, `"token"` with a tokenizer."""
    count: Count
    """Number of units in the text, e.g. `92`."""
    taken: Count
    """Number of units accepted before the refused one, e.g. `74`."""
    message: ParsedDocument | UnsetType = UNSET
    """The message in an accepted text, e.g. with a call of `get_weather`."""
    place: PlaceDocument | UnsetType = UNSET
    """The place of a refusal, e.g. line 2, column 63."""
    refused: str | UnsetType | None = UNSET
    """The refused unit's text, e.g. a quote before `x` where an integer begins; null if the text
    only ends too early."""
    part: SpanKind | UnsetType | None = UNSET
    """The kind of the last part before that place, e.g. `"arguments"`."""
    call: str | UnsetType | None = UNSET
    """The function of the unfinished call there, e.g. `"get_weather"`."""
    argument: str | UnsetType | None = UNSET
    """The argument with an unfinished value there, e.g. `"days"`."""
    completes: str | UnsetType | None = UNSET
    """The format's marker that the refused text completes, e.g. `"</think>"`."""
    allowed: tuple[str, ...] | UnsetType = UNSET
    """The allowed continuations, e.g. `["-", "0", "1", …]`; empty if there are too many."""
    choices: Count | UnsetType = UNSET
    """Number of allowed units, e.g. `11`."""
    may_end: bool | UnsetType = UNSET
    """Whether the text may end there, e.g. `false` within a call."""


def grammar_document(
    grammar: Grammar, tokenizer: OpaqueTokens | None, template: NamedTemplate
) -> dict[str, Json]:
    """Return a grammar in every available form, and why the others are not available.

    Lark is written for `tokenizer`; without one it is not available.
    """
    refused: dict[str, str] = {}

    # A request that one form cannot express may be expressible in the others.
    def attempt(form: str, write: Callable[[], Written]) -> Written | None:
        try:
            return write()
        except AutoparserError as error:
            refused[form] = str(error)
            return None

    gbnf = attempt("gbnf", grammar.gbnf)
    # Lark names special tokens by their ids, which only the tokenizer has.
    lark = None if tokenizer is None else attempt("lark", lambda: grammar.lark(tokenizer))
    tag = attempt("structural_tag", grammar.structural_tag)
    if tokenizer is None:
        refused["lark"] = "Lark needs the tokenizer; name one with --tokenizer"
    forms: dict[GrammarForm, object] = {"gbnf": gbnf, "lark": lark, "structural_tag": tag}
    # Each form can express other keywords, so each has a list of its own.
    loosened: dict[GrammarForm, tuple[LooseningDocument, ...]] = {
        form: tuple(_loosening_documents(grammar, form))
        for form, text in forms.items()
        if text is not None
    }
    return document_json(
        GrammarDocument(
            named_template(template),
            gbnf,
            lark,
            tag,
            loosened,
            grammar.lazy,
            tuple(grammar.triggers),
            tuple(
                TriggerDocument(int(trigger.kind), trigger.value)
                for trigger in grammar.server_triggers
            ),
            tuple(grammar.preserved_tokens),
            tuple(grammar.stop_strings),
            refused,
        )
    )


def _loosening_documents(grammar: Grammar, form: GrammarForm) -> Iterator[LooseningDocument]:
    for loosening in grammar.loosened(form):
        yield LooseningDocument(loosening.tool or None, loosening.pointer, loosening.reason)


def acceptance_document(
    acceptance: TextAcceptance,
    message: ParsedMessage | None,
    text: str,
    unit: Literal["byte", "token"],
) -> dict[str, Json]:
    """Return whether a text was accepted; `unit` is the unit of its pieces."""
    if message is not None:
        read = parsed_document(message, text)
        return document_json(
            AcceptanceDocument(True, unit, acceptance.tokens, acceptance.taken, message=read)
        )
    document = copy_fields(
        AcceptanceDocument,
        acceptance,
        unit=unit,
        count=acceptance.tokens,
        message=UNSET,
        place=PlaceDocument(acceptance.place, *line_and_column(text, acceptance.place)),
        # Null for unknown, as in the other fields of a place.
        call=acceptance.call or None,
        argument=acceptance.argument or None,
        completes=acceptance.completes or None,
    )
    return document_json(document)


NOTE_STYLE = "dim"


def turn_expression(analysis: LearnedFormat) -> TurnTree:
    """Build the expression for any request: every function may be called."""
    return build_expression(analysis.formats, read_request(None))


def grammar_report(analysis: LearnedFormat, width: int) -> Text:
    """Show only the grammar."""
    return turn_report(turn_expression(analysis), width)


def turn_report(turn: TurnTree, width: int) -> Text:
    """Show the grammar of a turn for one request."""
    return report_text(grammar_section(turn), width, first_gap=False)


def grammar_section(turn: TurnTree) -> Blocks:
    """Draw a turn's grammar, one rule per line, inner ones indented."""
    return [
        *heading("The parser, as a grammar"),
        *prose(Text(LEGEND, style=NOTE_STYLE)),
        *rows(list(grammar_rows(turn))),
    ]


def grammar_rows(turn: TurnTree) -> Iterator[Row]:
    """Return each rule with its text; inner rules have indented names."""
    # The same text means something else after a prompt that opens reasoning.
    yield "prompt", _note(f"the text begins {turn.start.value}")
    reasoning = "reasoning? " if turn.reasoning is not None else ""
    body = "(content / calls)*" if turn.calls is not None else "content"
    # In such a format, an end may occur inside of a turn, with another header after it.
    if turn.goes_on:
        body = f"({reasoning}{body} end)*"
    else:
        body = f"{reasoning}{body}{' end' if turn.ends else ''}"
    yield "turn", Text(body)
    if turn.header.core:
        yield "header", quote_marker(turn.header.text)
    if turn.reasoning is not None:
        yield "reasoning", _block(turn.reasoning)
    yield "content", _block(turn.content)
    if turn.calls is not None:
        yield from _section(turn.calls, (*turn.schemas,))
    if turn.ends:
        yield "end", _choice(end.text for end in turn.ends)


def _block(block: MarkerBlock) -> Text:
    # A part may open otherwise beside other parts, and the parser takes either.
    opens = [literal.text for literal in (block.open, *block.others) if literal.text]
    if len(opens) > 1:
        return sentence("(", _choice(opens), ") ", _between("", "text", block.close.text))
    return _between("".join(opens), "text", block.close.text)


def _choice(texts: Iterable[str]) -> Text:
    return join_texts([quote_marker(text) for text in texts], " / ")


def _between(before: str, inside: Words, after: str) -> Text:
    """Return a rule with the markers around it, each of which may be empty."""
    pieces = [quote_marker(before)] if before else []
    pieces.append(as_text(inside))
    pieces += [quote_marker(after)] if after else []
    return join_texts(pieces, " ")


def _section(section: CallSection, offered: Sequence[str]) -> Iterator[Row]:
    """Yield the rows on calls: the section around them, one call, its name and arguments."""
    calls = Text("call")
    # For all other limits the template writes one call.
    if section.limit is CallLimit.MANY:
        later = _between(section.separator.text, "call", section.later_close.text)
        calls = sentence(calls, " (", later, ")*")
    yield "calls", _between(section.open.text, calls, section.close.text)
    call = section.call
    if isinstance(call, RowCall):
        # Use the parser's row: in a loose one, some words may differ from the template's.
        row = call.loose_row or call.row
        ways = (row,) if call.empty_row is None else (row, call.empty_row)
        items = [join_texts([_item(item) for item in way], " ") for way in ways]
        yield "  call", join_texts(items, " / ")
        found = [item for item in row if isinstance(item, ArgumentList)]
        named = any(isinstance(item, FunctionName) for item in row)
    else:
        yield "  call", _json(call)
        found, named = [call.arguments], True
    if named:
        yield "    name", _choice(offered) if offered else Text("any word")
    for item in found:
        yield from _arguments(item.arguments)


def _item(item: RowItem) -> Text:
    match item:
        case TemplateLiteral():
            return quote_marker(item.text)
        case FreeText(default):
            return Text(f"any word, as {default!r}")
        case FunctionName():
            return Text("name")
        case ArgumentList():
            return Text("arguments")
        case _:
            return Text(item.slot.value)


def _json(call: JsonCall) -> Text:
    fields = [(call.id_field, "id")] if call.id_field else []
    if not call.name_is_key:
        fields += [(call.name_field, "name"), (call.arguments_field, "arguments")]
    members = [sentence(quote_marker(key), f": {value}") for key, value in fields]
    if call.name_is_key:
        members.append(Text("name: arguments"))
    inside = sentence("{", join_texts(members, ", "), "}")
    if call.function_field:
        inside = sentence("{", quote_marker(call.function_field), ": ", inside, "}")
    whole = _between(call.before.text, inside, call.after.text)
    # Models write members in another order than the template, so the parser takes any.
    return sentence(whole, _note("  (JSON, members in any order)"))


def _arguments(arguments: ArgumentFormat) -> Iterator[Row]:
    members = arguments.members
    values = members.values or arguments.values
    # Rules of JSON would say nothing about this template.
    if arguments.verbatim or (members.values is None and values.is_json):
        words = "JSON text inside a JSON string" if arguments.encoded else "a JSON object"
        yield "    arguments", Text(words)
        return
    yield "    arguments", _container(members, "pair")
    yield "      pair", _entry_pattern(members.entry)
    for kind, row in members.typed.items():
        shown = _note("not written") if row is None else _entry_pattern(row)
        yield f"      {kind.value} pair", shown
    yield "      key", _describe_string(members.key)
    yield from _values(values)


def _container(container: ContainerNotation, entry: str) -> Text:
    inside = Text(f"{entry}*")
    if container.separator:
        inside = sentence(f"({entry} (", quote_marker(container.separator), f" {entry})*)?")
    return _between(container.open, inside, container.close)


def _entry_pattern(row: FormatRow) -> Text:
    return join_texts(
        [Text(piece.value) if isinstance(piece, RowSlot) else quote_marker(piece) for piece in row],
        " ",
    )


def _values(values: ValueNotation) -> Iterator[Row]:
    if values.is_json:
        yield "      value", Text("any JSON value")
        return
    yield "      value", Text("string / number / boolean / null / array / object")
    yield "      string", _describe_string(values.string)
    yield "      number", _between(values.number.open, "digits", values.number.close)
    yield "      boolean", sentence(quote_marker(values.true), " / ", quote_marker(values.false))
    yield "      null", quote_marker(values.null)
    yield "      array", _container(values.array, "value")
    member = sentence(_note("where member is "), _entry_pattern(values.object.entry))
    yield "      object", sentence(_container(values.object, "member"), " ", member)


def _describe_string(text: StringText) -> Text:
    return _between(text.open, f"characters {text.escape.words}", text.close)


def _note(words: str) -> Text:
    return Text(visible(words), style=NOTE_STYLE)
