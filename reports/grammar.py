"""The expression of a turn as a grammar that a person can read.

The notation is PEG's: `a b` is a then b, `a / b` is a or else b, `?` makes optional, `*` repeats.
Literals stand between backquotes as the template writes them; the reader forgives whitespace at
their edges.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text as Styled

from autoparser.analysis.core.call_format import ArgumentFormat, CallLimit
from autoparser.analysis.core.call_notation import (
    ContainerNotation,
    Row as FormatRow,
    RowSlot,
    ValueNotation,
)
from autoparser.analysis.core.literals import MarkerBlock, TemplateLiteral
from autoparser.analysis.core.text_format import StringText
from autoparser.analysis.formats.learned_format import LearnedFormat
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_request import (
    ArgumentList,
    CallSection,
    FreeText,
    FunctionName,
    JsonCall,
    RowCall,
    RowItem,
    TurnTree,
    request_of,
)

from .blocks import Blocks, Row, heading, joined, prose, rows, sentence
from .terminal import report_text
from .visible import LEGEND, quoted, visible

NOTE_STYLE = "dim"


def turn_expression(analysis: LearnedFormat) -> TurnTree:
    """Build the expression that stands for any request: every function may be called."""
    return build_expression(analysis.formats, request_of(None))


def grammar_report(analysis: LearnedFormat, width: int) -> Styled:
    """Show the grammar alone."""
    return turn_report(turn_expression(analysis), width)


def turn_report(turn: TurnTree, width: int) -> Styled:
    """Show the grammar of a turn for one request."""
    return report_text(grammar_section(turn), width, first_gap=False)


def grammar_section(turn: TurnTree) -> Blocks:
    """Draw a turn's grammar, one rule below the other, the inner ones indented."""
    return [
        *heading("The parser, as a grammar"),
        *prose(Styled(LEGEND, style=NOTE_STYLE)),
        *rows(list(grammar_rows(turn))),
    ]


def grammar_rows(turn: TurnTree) -> Iterator[Row]:
    """Return each rule and its text; the inner ones' names are indented."""
    yield "prompt", _note(f"the text begins {turn.start.value}")
    reasoning = "reasoning? " if turn.reasoning is not None else ""
    body = "(content / calls)*" if turn.calls is not None else "content"
    if turn.goes_on:
        body = f"({reasoning}{body} end)*"
        yield "turn", Styled(body)
    else:
        yield "turn", Styled(f"{reasoning}{body}{' end' if turn.ends else ''}")
    if turn.header.core:
        yield "header", _literal(turn.header)
    if turn.reasoning is not None:
        yield "reasoning", _block(turn.reasoning)
    yield "content", _block(turn.content)
    if turn.calls is not None:
        yield from _section(turn.calls)
    if turn.ends:
        yield "end", joined([_literal(end) for end in turn.ends], " / ")


def _block(block: MarkerBlock) -> Styled:
    opens = [literal for literal in (block.open, *block.others) if literal.text]
    pieces = [_choice(opens)] if opens else []
    pieces.append(Styled("text"))
    if block.close.text:
        pieces.append(_literal(block.close))
    return joined(pieces, " ")


def _choice(literals: Sequence[TemplateLiteral]) -> Styled:
    found = joined([_literal(literal) for literal in literals], " / ")
    return sentence("(", found, ")") if len(literals) > 1 else found


def _section(section: CallSection) -> Iterator[Row]:
    pieces = [_literal(section.open)] if section.open.text else []
    pieces.append(Styled("call"))
    if section.limit is CallLimit.MANY:
        later = [_literal(section.separator)] if section.separator.text else []
        later.append(Styled("call"))
        if section.later_close.text:
            later.append(_literal(section.later_close))
        pieces.append(sentence("(", joined(later, " "), ")*"))
    if section.close.text:
        pieces.append(_literal(section.close))
    yield "calls", joined(pieces, " ")
    call = section.call
    if isinstance(call, RowCall):
        yield "  call", _row(call)
        found = [item for item in call.loose_row or call.row if isinstance(item, ArgumentList)]
        name = next(
            (item for item in call.loose_row or call.row if isinstance(item, FunctionName)), None
        )
    else:
        yield "  call", _json(call)
        found, name = [call.arguments], call.name
    if name is not None:
        yield "    name", _name(name)
    for item in found:
        yield from _arguments(item.arguments)


def _row(call: RowCall) -> Styled:
    found = joined([_item(item) for item in call.loose_row or call.row], " ")
    if call.empty_row is None:
        return found
    return sentence(found, " / ", joined([_item(item) for item in call.empty_row], " "))


def _item(item: RowItem) -> Styled:
    match item:
        case TemplateLiteral():
            return _literal(item)
        case FreeText(default):
            return Styled(f"any word, as {default!r}")
        case FunctionName():
            return Styled("name")
        case ArgumentList():
            return Styled("arguments")
        case _:
            return Styled(item.slot.value)


def _json(call: JsonCall) -> Styled:
    members: list[Styled] = []
    if call.id_field:
        members.append(_member(call.id_field, "id"))
    if call.name_is_key:
        members.append(Styled("name: arguments"))
    else:
        members.append(_member(call.name_field, "name"))
        members.append(_member(call.arguments_field, "arguments"))
    inside = sentence("{", joined(members, ", "), "}")
    if call.function_field:
        inside = sentence("{", quoted(call.function_field), ": ", inside, "}")
    pieces = [_literal(call.before)] if call.before.text else []
    pieces.append(inside)
    if call.after.text:
        pieces.append(_literal(call.after))
    return sentence(joined(pieces, " "), _note("  (JSON, members in any order)"))


def _member(key: str, value: str) -> Styled:
    return sentence(quoted(key), f": {value}")


def _name(name: FunctionName) -> Styled:
    if not name.offered:
        return Styled("any word")
    return joined([quoted(each) for each in name.offered], " / ")


def _arguments(arguments: ArgumentFormat) -> Iterator[Row]:
    members = arguments.members
    values = members.values or arguments.values
    if arguments.verbatim or (members.values is None and values.is_json):
        words = "JSON text inside a JSON string" if arguments.encoded else "a JSON object"
        yield "    arguments", Styled(words)
        return
    yield "    arguments", _container(members, "pair")
    yield "      pair", _entry(members.entry)
    for kind, row in members.typed.items():
        shown = _note("not written") if row is None else _entry(row)
        yield f"      {kind.value} pair", shown
    yield "      key", _text(members.key)
    yield from _values(values)


def _container(container: ContainerNotation, entry: str) -> Styled:
    pieces = [quoted(container.open)] if container.open else []
    repetition = sentence(quoted(container.separator), " ") if container.separator else Styled()
    pieces.append(
        sentence(f"({entry} (", repetition, f"{entry})*)?") if repetition else Styled(f"{entry}*")
    )
    if container.close:
        pieces.append(quoted(container.close))
    return joined(pieces, " ")


def _entry(row: FormatRow) -> Styled:
    return joined(
        [Styled(piece.value) if isinstance(piece, RowSlot) else quoted(piece) for piece in row], " "
    )


def _values(values: ValueNotation) -> Iterator[Row]:
    if values.is_json:
        yield "      value", Styled("any JSON value")
        return
    yield "      value", Styled("string / number / boolean / null / array / object")
    yield "      string", _text(values.string)
    yield "      number", _around(values.number, "digits")
    yield "      boolean", sentence(quoted(values.true), " / ", quoted(values.false))
    yield "      null", quoted(values.null)
    yield "      array", _container(values.array, "value")
    yield "      object", sentence(_container(values.object, "member"), " ", _pair(values.object))


def _pair(container: ContainerNotation) -> Styled:
    return sentence(_note("where member is "), _entry(container.entry))


def _text(text: StringText) -> Styled:
    return _around(text, f"characters {text.escape.words}")


def _around(text: StringText, inside: str) -> Styled:
    pieces = [quoted(text.open)] if text.open else []
    pieces.append(Styled(inside))
    if text.close:
        pieces.append(quoted(text.close))
    return joined(pieces, " ")


def _literal(literal: TemplateLiteral) -> Styled:
    return quoted(literal.text)


def _note(words: str) -> Styled:
    return Styled(visible(words), style=NOTE_STYLE)
