"""Named variations of a model's text from the format's own.

A variation works for any format: it changes the spelling of values before the turn is written
(`respelled_by`), or the written pieces (`rewritten_by`). If it changes nothing, it does not apply.

Of the call `<call>{"name": "note", "arguments": {"text": "Zoë", "done": true}}</call>`:

    compact-json      <call>{"name":"note","arguments":{"text":"Zoë","done":true}}</call>
    python-literals   <call>{"name": "note", "arguments": {"text": "Zoë", "done": True}}</call>
    malformed-call    <call>{"name": "note", "arguments": {"text": "Z}</call>
    cut-call          <call>{"name": "note", "arguments": {"text": "Zoë", "do
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, structs
from msgspec.structs import replace

from autoparser.analysis.core.call_notation import (
    ContainerNotation,
    Row,
    RowSlot,
    ValueNotation,
    json_notation,
)
from autoparser.analysis.core.conversation import Message
from autoparser.analysis.core.string_notation import StringEscape, StringText
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_parts import StrippedEdges

from .sampled_turns import NotWrittenError, Pieces, Sample, SampledKind, SampledPiece

_LITERALS = {"json": ("true", "false", "null"), "python": ("True", "False", "None")}


class Spelling(Struct, frozen=True):
    """A spelling of values; None keeps the format's own."""

    comma: str | None = None
    """The text between two members, e.g. `","`."""
    colon: str | None = None
    """The text between a key and its value, e.g. `": "`."""
    ascii_only: bool = False
    r"""Whether other letters are written as escapes, such as `\u00f8` for ø."""
    literals: str | None = None
    """The literals of true, false and null: `json` or `python`."""
    whole: bool = False
    """Whether strings keep the characters that the template strips, such as the spaces of
    `" Oslo "`."""


def respell_calls(format_: TurnFormat, spelling: Spelling) -> TurnFormat:
    """Return the format with its calls' values spelled so.

    Raises NotWrittenError for a format without calls.
    """
    calls = format_.calls
    if calls is None:
        raise NotWrittenError("the template renders no calls")
    arguments = calls.arguments
    # A template that inserts the caller's JSON text has no spelling of its own, so the usual JSON
    # is varied.
    if arguments.verbatim:
        usual = json_notation()
        arguments = structs.replace(arguments, members=usual.object, values=usual, verbatim=False)
    arguments = structs.replace(
        arguments,
        members=_respell_container(arguments.members, spelling),
        values=_respell_notation(arguments.values, spelling),
    )
    empty_row = None if calls.empty_row is None else _respell_call_row(calls.empty_row, spelling)
    calls = structs.replace(
        calls, row=_respell_call_row(calls.row, spelling), empty_row=empty_row, arguments=arguments
    )
    return structs.replace(format_, calls=calls)


_COLON = re.compile(r'": *(?=["{\[]|$)')
_COMMA = re.compile(r'(?<=["}\]]), *(?=")')


def _respell_call_row(row: Row, spelling: Spelling) -> Row:
    """Space the literals of a call that is JSON itself as its arguments are spaced."""
    colon, comma = spelling.colon, spelling.comma
    if colon is None or comma is None:
        return row
    return tuple(
        item if isinstance(item, RowSlot) else _COMMA.sub(comma, _COLON.sub(f'"{colon}', item))
        for item in row
    )


def _respell_notation(notation: ValueNotation, spelling: Spelling) -> ValueNotation:
    true, false, null = _LITERALS.get(
        spelling.literals or "", (notation.true, notation.false, notation.null)
    )
    return structs.replace(
        notation,
        string=_respell_text(notation.string, spelling),
        array=_respell_container(notation.array, spelling),
        object=_respell_container(notation.object, spelling),
        true=true,
        false=false,
        null=null,
    )


def _respell_container(container: ContainerNotation, spelling: Spelling) -> ContainerNotation:
    separator = container.separator
    # Other separators, e.g. between tags, are markup, which is not respelled.
    if separator.strip() == "," and spelling.comma is not None:
        separator = spelling.comma
    return structs.replace(
        container,
        separator=separator,
        entry=_respell_row(container.entry, spelling),
        typed={
            kind: None if row is None else _respell_row(row, spelling)
            for kind, row in container.typed.items()
        },
        key=_respell_text(container.key, spelling),
        # With an indent, JSON is spread over lines, where its spacing would not show.
        indent="" if spelling.comma is not None else container.indent,
        values=None if container.values is None else _respell_notation(container.values, spelling),
    )


def _respell_row(row: Row, spelling: Spelling) -> Row:
    colon = spelling.colon
    if colon is None:
        return row
    return tuple(colon if item.strip() == ":" else item for item in row)


def _respell_text(text: StringText, spelling: Spelling) -> StringText:
    if spelling.whole:
        text = structs.replace(text, edges=StrippedEdges())
    if spelling.ascii_only and text.escape is StringEscape.JSON:
        return structs.replace(text, escape=StringEscape.JSON_ASCII)
    return text


Rewrite = Callable[[Pieces, TurnFormat, Message], Pieces]


class Variation(Struct, frozen=True):
    """One way to depart from the format's text."""

    spelling: Spelling | None = None
    """Its spelling of argument values, such as `Spelling(comma=",", colon=":")`, or None if
    unchanged."""
    rewrite: Rewrite | None = None
    """Its change of the written pieces, such as a newline more after the `CONTENT`, or None."""
    cut: bool = False
    """Whether the text is cut there, with nothing after it, as by `"cut-content"`."""
    breaks_call: bool = False
    """Whether it makes a call malformed, as `"malformed-call"` does; it does not apply if a parser
    reads the call anyway."""
    single_newlines: bool = False
    """Whether each newline is a separate token, as in `"single-newlines"`."""


def _piece_index(pieces: Pieces, kind: SampledKind) -> int:
    for at, piece in enumerate(pieces):
        if piece.kind is kind:
            return at
    raise NotWrittenError(f"the text has no {kind}")


def _with_text(pieces: Pieces, at: int, text: str) -> Pieces:
    return (*pieces[:at], replace(pieces[at], text=text), *pieces[at + 1 :])


def _by_change(kind: SampledKind, change: Callable[[str], str], *, beside: int = 0) -> Rewrite:
    """Return the rewrite that changes the text of a part, or of an adjacent piece."""

    def rewrite(pieces: Pieces, format_: TurnFormat, message: Message) -> Pieces:
        del format_, message
        at = _piece_index(pieces, kind) + beside
        # A blank or last piece has no marker beside which whitespace could be varied.
        if beside > 0 and (at + 1 >= len(pieces) or not pieces[at].text.strip()):
            raise NotWrittenError(f"nothing follows the {kind}")
        return pieces if at < 0 else _with_text(pieces, at, change(pieces[at].text))

    return rewrite


def _by_cut(kind: SampledKind) -> Rewrite:
    """Cut the text within a part, at a word's end if possible."""

    def rewrite(pieces: Pieces, format_: TurnFormat, message: Message) -> Pieces:
        del format_, message
        at = _piece_index(pieces, kind)
        text = pieces[at].text
        # Models stop between tokens, most of which begin with a space.
        half = text.rfind(" ", 0, len(text) * 2 // 3)
        kept = text[: half if half > 0 else len(text) // 2]
        return (*pieces[:at], replace(pieces[at], text=kept))

    return rewrite


def _cut_call(pieces: Pieces, format_: TurnFormat, message: Message) -> Pieces:
    at = _piece_index(pieces, SampledKind.CALLS)
    start, end = _last_arguments(pieces[at], format_, message)
    kept = pieces[at].text[: start + (end - start) * 2 // 3]
    return (*pieces[:at], replace(pieces[at], text=kept))


def _break_call(pieces: Pieces, format_: TurnFormat, message: Message) -> Pieces:
    """Remove the arguments from the middle of a value on, so that the value is not closed."""
    at = _piece_index(pieces, SampledKind.CALLS)
    text = pieces[at].text
    start, end = _last_arguments(pieces[at], format_, message)
    words = [value for value in message.calls[-1].arguments.values() if isinstance(value, str)]
    word = next((word for word in words if len(word) > 1 and word in text[start:end]), None)
    cut = start + (end - start) * 2 // 3
    if word is not None:
        cut = text.index(word, start) + len(word) // 2
    return _with_text(pieces, at, text[:cut] + text[end:])


def _leave_call_open(pieces: Pieces, format_: TurnFormat, message: Message) -> Pieces:
    at = _piece_index(pieces, SampledKind.CALLS)
    _, end = _last_arguments(pieces[at], format_, message)
    if not pieces[at].text[end:].strip():
        raise NotWrittenError("calls have no closing marker")
    return _with_text(pieces, at, pieces[at].text[:end])


def _last_arguments(piece: SampledPiece, format_: TurnFormat, message: Message) -> tuple[int, int]:
    """Find the range of the last call's arguments."""
    calls = format_.calls
    arguments = "" if calls is None else calls.arguments.write(message.calls[-1].arguments)
    start = piece.text.rfind(arguments)
    if not arguments or start < 0:
        raise NotWrittenError("the arguments were not found")
    return start, start + len(arguments)


def _newline_before_calls(pieces: Pieces, format_: TurnFormat, message: Message) -> Pieces:
    del format_, message
    at = _piece_index(pieces, SampledKind.CALLS)
    return (*pieces[:at], SampledPiece(SampledKind.MARKUP, "\n"), *pieces[at:])


VARIATIONS: Mapping[str, Variation] = {
    "compact-json": Variation(spelling=Spelling(comma=",", colon=":")),
    "spaced-json": Variation(spelling=Spelling(comma=", ", colon=": ")),
    "escaped-json": Variation(spelling=Spelling(ascii_only=True)),
    "json-literals": Variation(spelling=Spelling(literals="json")),
    "python-literals": Variation(spelling=Spelling(literals="python")),
    "newline-after-reasoning": Variation(
        rewrite=_by_change(SampledKind.REASONING, lambda text: f"{text}\n", beside=1)
    ),
    "no-space-after-reasoning": Variation(
        rewrite=_by_change(SampledKind.REASONING, str.rstrip, beside=1)
    ),
    "newline-ends-reasoning": Variation(
        rewrite=_by_change(SampledKind.REASONING, lambda text: f"{text}\n")
    ),
    "space-ends-reasoning": Variation(
        rewrite=_by_change(SampledKind.REASONING, lambda text: f"{text} ")
    ),
    "newline-begins-content": Variation(
        rewrite=_by_change(SampledKind.CONTENT, lambda text: f"\n{text}")
    ),
    "newline-ends-content": Variation(
        rewrite=_by_change(SampledKind.CONTENT, lambda text: f"{text}\n")
    ),
    "newline-before-calls": Variation(rewrite=_newline_before_calls),
    "no-space-before-calls": Variation(
        rewrite=_by_change(SampledKind.CALLS, str.rstrip, beside=-1)
    ),
    "cut-reasoning": Variation(rewrite=_by_cut(SampledKind.REASONING), cut=True),
    "cut-content": Variation(rewrite=_by_cut(SampledKind.CONTENT), cut=True),
    "cut-call": Variation(rewrite=_cut_call, cut=True, breaks_call=True),
    "malformed-call": Variation(rewrite=_break_call, breaks_call=True),
    "unclosed-call": Variation(rewrite=_leave_call_open, breaks_call=True),
    "single-newlines": Variation(single_newlines=True),
}
"""The variations by name, which scenarios refer to."""


def respelled_by(format_: TurnFormat, names: Sequence[str]) -> TurnFormat:
    """Return the format with the spelling of these variations.

    Raises NotWrittenError if one of them changes nothing.
    """
    for name in names:
        spelling = VARIATIONS[name].spelling
        if spelling is not None:
            format_ = respell_calls(format_, spelling)
    return format_


def rewritten_by(
    sample: Sample, format_: TurnFormat, message: Message, names: Sequence[str]
) -> Sample:
    """Return the sample rewritten by these variations. Raises NotWrittenError if unchanged."""
    pieces, cut, single = sample.pieces, sample.cut, sample.single_newlines
    for name in names:
        variation = VARIATIONS[name]
        if variation.rewrite is not None:
            pieces = variation.rewrite(pieces, format_, message)
        cut = cut or variation.cut
        single = single or variation.single_newlines
    return Sample(pieces, cut, single)
