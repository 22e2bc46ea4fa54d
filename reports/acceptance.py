"""What a grammar makes of a text: accepted, with the message in it, or where and why refused."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from autoparser.analysis.grammar.acceptance import TextAcceptance
from autoparser.analysis.parsing.parsed_message import ParsedMessage
from autoparser.analysis.parsing.text_tape import SpanKind

from .blocks import Row, excerpt, joined, rows, sentence
from .explanation import place
from .message import message_report
from .terminal import report_text
from .visible import literal, quoted, shown

__all__ = ["acceptance_report"]

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
    line, column = place(text, found.place)
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
