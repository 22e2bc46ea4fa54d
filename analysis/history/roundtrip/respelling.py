"""The same values spelled otherwise: JSON's spacing, escapes and literals, the edges of strings."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from autoparser.analysis.core.format import (
    Arguments,
    CallFormat,
    Container,
    Edges,
    Escape,
    Notation,
    Row,
    Slot,
    Text,
    TurnFormat,
    json_notation,
)

from .sampled import NotWrittenError

_LITERALS = {"json": ("true", "false", "null"), "python": ("True", "False", "None")}


@dataclass(frozen=True, slots=True)
class Spelling:
    """What is spelled otherwise; None leaves it as the format has it."""

    comma: str | None = None
    colon: str | None = None
    ascii_only: bool = False
    literals: str | None = None
    """`json` or `python`."""
    whole: bool = False
    """Strings keep what the template strips from them."""


def respelled(format_: TurnFormat, spelling: Spelling) -> TurnFormat:
    """Return the format with its calls' values spelled so.

    Raises NotWrittenError for a format without calls.
    """
    calls = format_.calls
    if calls is None:
        raise NotWrittenError("the template writes no calls")
    return replace(format_, calls=_calls(calls, spelling))


def _calls(calls: CallFormat, spelling: Spelling) -> CallFormat:
    arguments = calls.arguments
    if arguments.verbatim:
        usual = json_notation()
        arguments = replace(arguments, members=usual.object, values=usual, verbatim=False)
    return replace(
        calls,
        row=_call_row(calls.row, spelling),
        empty_row=None if calls.empty_row is None else _call_row(calls.empty_row, spelling),
        arguments=_arguments(arguments, spelling),
    )


_COLON = re.compile(r'": *(?=["{\[]|$)')
_COMMA = re.compile(r'(?<=["}\]]), *(?=")')


def _call_row(row: Row, spelling: Spelling) -> Row:
    """Space the literals of a call that is JSON itself as its arguments are spaced."""
    colon, comma = spelling.colon, spelling.comma
    if colon is None or comma is None:
        return row
    return tuple(
        item if isinstance(item, Slot) else _COMMA.sub(comma, _COLON.sub(f'"{colon}', item))
        for item in row
    )


def _arguments(arguments: Arguments, spelling: Spelling) -> Arguments:
    return replace(
        arguments,
        members=_container(arguments.members, spelling),
        values=_notation(arguments.values, spelling),
    )


def _notation(notation: Notation, spelling: Spelling) -> Notation:
    true, false, null = _LITERALS.get(
        spelling.literals or "", (notation.true, notation.false, notation.null)
    )
    return replace(
        notation,
        string=_text(notation.string, spelling),
        array=_container(notation.array, spelling),
        object=_container(notation.object, spelling),
        true=true,
        false=false,
        null=null,
    )


def _container(container: Container, spelling: Spelling) -> Container:
    separator = container.separator
    if separator.strip() == "," and spelling.comma is not None:
        separator = spelling.comma
    return replace(
        container,
        separator=separator,
        entry=_row(container.entry, spelling),
        typed={
            kind: None if row is None else _row(row, spelling)
            for kind, row in container.typed.items()
        },
        key=_text(container.key, spelling),
        indent="" if spelling.comma is not None else container.indent,
        values=None if container.values is None else _notation(container.values, spelling),
    )


def _row(row: Row, spelling: Spelling) -> Row:
    colon = spelling.colon
    if colon is None:
        return row
    return tuple(colon if item.strip() == ":" else item for item in row)


def _text(text: Text, spelling: Spelling) -> Text:
    if spelling.whole:
        text = replace(text, edges=Edges())
    if spelling.ascii_only and text.escape is Escape.JSON:
        return replace(text, escape=Escape.JSON_ASCII)
    return text
