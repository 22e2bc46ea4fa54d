"""Read a call that is as the template writes it: at once, when its closer has come.

    <call>{"name": "f", "arguments": {"a": 1}}</call>  ->  one match, one JSON text, one match

Nearly all calls are written so, and most are short. A call that departs from the template, or that
is longer than `_HELD`, is left to the readers that know what models do: nothing of it is taken.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from json.encoder import encode_basestring
from typing import TypeAlias

from autoparser.analysis.core.call_format import ArgumentFormat
from autoparser.analysis.core.call_notation import NamingId, RowSlot
from autoparser.analysis.core.text_alignment import TemplateLiteral

from .call_ends import CallSurroundings
from .message_collector import MessageCollector
from .raw_text import ArgumentTexts, value_ends
from .text_tape import Part, SpanKind, TextHold, TextTape
from .turn_nodes import ArgumentList, FreeText, FunctionName, JsonCall, RowCall, RowItem, SingleWord
from .turn_request import CallSchemas
from .value_decoding import JSON_DECODER, STRING_ONLY, entry_rows, repeats_key

_Finder: TypeAlias = Callable[[str, int, CallSchemas, str, list[Part]], "tuple[str, int] | None"]
"""Finds the arguments at an offset of a text, by the schema of the tool of a name; returns them as
JSON text, such as `'{"city": "Oslo"}'`, with the offset of their end, and adds their parts."""

# Python 3.11 looks up a member of an Enum ten times slower than a global name.
_ARGUMENTS = SpanKind.ARGUMENTS


class WrittenCall:
    """Reads calls of a format that are as its template writes them."""

    def __init__(
        self,
        row: Sequence[RowItem],
        close: TemplateLiteral,
        arguments: _Finder,
        opening: re.Pattern[str],
        offered: frozenset[str],
        naming: NamingId | None,
    ) -> None:
        """Store the `row` up to its arguments, the search for these, and the closer.

        `opening` matches where arguments begin that are sure to be read as such.
        """
        self._head = re.compile("".join(_patterns(row)))
        # Some rows hold several words, such as an index, and no id.
        self._has_id = "id" in self._head.groupindex
        words = [item for item in row if isinstance(item, FunctionName | SingleWord)]
        kinds = (SpanKind.NAME if isinstance(word, FunctionName) else SpanKind.ID for word in words)
        self._kinds = [*enumerate(kinds, 1)]
        self._core, self.space = close.core, close.after
        """The closer, and the whitespace that the template writes behind it."""
        self._arguments, self._offered = arguments, offered
        self._opening = opening
        self._naming = naming
        self._named: dict[str, str] = {}
        """Names by the ids that hold them; models count their calls, so that few ids differ."""

    @classmethod
    def of(cls, call: RowCall | JsonCall, around: CallSurroundings) -> WrittenCall | None:
        """Return the reader of a format's calls, or None if no marker closes them."""
        # As the readers take it: where models may change words, its literals are cut there.
        row = _json_row(call) if isinstance(call, JsonCall) else call.loose_row or call.row
        at = next((at for at, item in enumerate(row) if isinstance(item, ArgumentList)), -1)
        # A call is taken at once only if its closer is the one literal after the arguments.
        if around.tentative or not around.offered or at < 0 or at != len(row) - 2:
            return None
        item, close = row[at], row[-1]
        if not isinstance(item, ArgumentList) or not isinstance(close, TemplateLiteral):
            return None
        if not close.markers or not isinstance(row[0], TemplateLiteral):
            return None
        naming = None if isinstance(call, JsonCall) else call.naming
        may_be_empty = isinstance(call, JsonCall) or call.empty_row in (None, call.row)
        finder = _finder(item.arguments, close, around, may_be_empty=may_be_empty)
        names = sum(isinstance(item, FunctionName) for item in row)
        # A name that is written twice would have to be compared; the id may be the only one to hold
        # it.
        if finder is None or names != (naming is None):
            return None
        # A single brace may begin a repeated marker.
        opening = r"\{\s*[\"'}]"
        if not item.arguments.is_object:
            before = TemplateLiteral.of(entry_rows(item.arguments)[0].before)
            opening = rf"\s*{re.escape(before.core)}"
        return cls(row[:at], close, finder, re.compile(opening), around.offered, naming)

    def holds(self, tape: TextTape) -> bool:
        """Hold the text unless the closer, or all that it may be waited for, is there already."""
        core, at, text = self._core, tape.at, tape.text
        if tape.closed or len(text) - at >= _HELD or text.find(core, at) >= 0:
            return False
        tape.hold_for(core, _HELD)
        return True

    def hold(self, opening: str) -> TextHold | None:
        """Return the wait for the closer of a call behind whitespace, or None for other openings.

        `holds` waits the same way; here the reader already knows that a call comes.
        """
        core, bare = self._core, opening.lstrip()
        if not bare or core in opening:
            return None
        return TextHold(core, len(opening) - len(bare) + _HELD)

    def begin(self, tape: TextTape) -> tuple[str, str] | None:
        """Take a call up to its arguments; return its name and its id, or None if it departs."""
        begun = self._match_head(tape)
        if begun is None or self._opening.match(tape.text, begun[0].end()) is None:
            return None
        match, *words = begun
        tape.take_parts(self._parts(match), match.end())
        return words[0], words[1]

    def _match_head(self, tape: TextTape) -> tuple[re.Match[str], str, str] | None:
        """Return the match of a call up to its arguments, its name and its id."""
        match = self._head.match(tape.text, tape.at)
        if match is None:
            return None
        call_id = match["id"] if self._has_id else ""
        name = match["name"] if self._naming is None else self._name_in(self._naming, call_id)
        return (match, name, call_id) if name in self._offered else None

    def _name_in(self, naming: NamingId, call_id: str) -> str:
        """Return the name in an id."""
        name = self._named.get(call_id)
        if name is None:
            name = naming.name_in(call_id, self._offered)
            if len(self._named) < _MOST_NAMED:
                self._named[call_id] = name
        return name

    def _parts(self, match: re.Match[str]) -> list[Part]:
        """Return the words of a call up to its arguments."""
        parts: list[Part] = []
        for number, kind in self._kinds:
            parts += ((*match.span(number), kind),)
        return parts

    def take(self, tape: TextTape, collector: MessageCollector) -> bool:
        """Take a call that has closed; return False, with nothing taken, if it departs."""
        core, text = self._core, tape.text
        begun = None if text.find(core, tape.at) < 0 else self._match_head(tape)
        if begun is None:
            return False
        match, name, call_id = begun
        parts = self._parts(match)
        found = self._arguments(text, match.end(), collector.schemas, name, parts)
        if found is None:
            return False
        arguments, end = found
        start = text.find(core, end)
        # Other text before the closer is a departure, which the readers that forgive decide about.
        if start < 0 or text[end:start].strip():
            return False
        tape.take_parts(parts, start + len(core))
        collector.whole_call(name, arguments, call_id)
        return True


_HELD = 192
"""Characters of a call within which its closer has to come: a client waits no longer for the
beginning of a call."""
_MOST_NAMED = 64
_WORD = "[^\\s{}\\[\\]<>\"']{1,256}?"


def _patterns(row: Sequence[RowItem]) -> Iterator[str]:
    """Return the pattern of each item up to the arguments, the words in groups."""
    for at, item in enumerate(row):
        if isinstance(item, TemplateLiteral):
            yield re.escape(item.text if at else item.core + item.after)
        elif isinstance(item, FreeText):
            yield re.escape(item.default)
        elif isinstance(item, FunctionName):
            yield f"(?P<name>{_WORD})"
        elif isinstance(item, SingleWord) and item.slot is RowSlot.ID:
            yield f"(?P<id>{_WORD})"
        else:
            yield f"({_WORD})"


def _json_row(call: JsonCall) -> tuple[RowItem, ...]:
    """Return the row of a JSON object whose members come in the template's order, or none."""
    # In other forms, the order of the members or an id can differ from call to call.
    if call.function_field or call.name_is_key or call.id_field or not call.before.core:
        return ()
    before = f'{call.before.core}{call.before.after}{{"{call.name_field}": "'
    between = TemplateLiteral.of(f'", "{call.arguments_field}": ')
    after = TemplateLiteral.of("}" + call.after.text)
    return TemplateLiteral(core=before), call.name, between, call.arguments, after


def _finder(
    arguments: ArgumentFormat,
    close: TemplateLiteral,
    around: CallSurroundings,
    *,
    may_be_empty: bool,
) -> _Finder | None:
    """Return the search for arguments in a notation, or None if only a reader can find them."""
    if arguments.encoded:
        return None
    if arguments.is_object:
        return _json_finder(around) if arguments.verbatim or arguments.is_json else None
    return _entry_finder(arguments, close, around, may_be_empty=may_be_empty)


def _json_finder(around: CallSurroundings) -> _Finder:
    """Return the search for one JSON object."""
    foreign = re.compile("|".join(map(re.escape, filter(None, around.stops))) or "(?!)")

    def find(
        text: str, at: int, schemas: CallSchemas, name: str, parts: list[Part]
    ) -> tuple[str, int] | None:
        del schemas, name
        if not text.startswith("{", at):
            return None
        try:
            value, end = JSON_DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        # A marker in a string may also be the next call, if this one lacks its closer.
        if foreign.search(text, at, end):
            return None
        # Every key has a colon: with as few as the members are, no key stands twice.
        if text.count(":", at, end) != len(value) and repeats_key(text, at):
            return None
        parts.append((at, end, _ARGUMENTS))
        return text[at:end], end

    return find


def _entry_finder(
    arguments: ArgumentFormat,
    close: TemplateLiteral,
    around: CallSurroundings,
    *,
    may_be_empty: bool,
) -> _Finder | None:
    """Return the search for entries of one form whose raw values stand between markers."""
    texts = ArgumentTexts.of(arguments, around.argument_stops([close.first]), close.before)
    values = texts.written
    if values is None or texts.entry_head is None:
        return None
    after, entry = values.after, texts.entry_head.pattern
    ends, space, size = value_ends(texts, after), after.before, len(after.core)
    # The empty group is where the value begins.
    head = re.compile(f"{entry}()").match
    plain = re.compile(f"{entry}(){values.up_to}").match

    def find(
        text: str, at: int, schemas: CallSchemas, name: str, parts: list[Part]
    ) -> tuple[str, int] | None:
        schema = schemas.of(name)
        names = schema.names
        found: dict[str, str] = {}
        while (match := plain(text, at) or head(text, at)) is not None:
            (_, at), key_span, (begin, _) = match.regs
            key, end = match[1], at - size
            # An unknown or a repeated key may be a text that looks like an entry.
            if key not in names or key in found:
                return None
            if at > begin and text.endswith(space, begin, end):
                end -= len(space)
            elif (stop := ends(text, begin)) is None:
                return None
            else:
                end, at = stop
            part = schema.member(key)
            value = text[begin:end]
            if part.kinds == STRING_ONLY:
                written: str | None = encode_basestring(value)
            else:
                written = values.json(value, part)
            if written is None:
                return None
            # A key has no sign that JSON escapes.
            found[key] = f'"{key}": {written}'
            parts += ((*key_span, _ARGUMENTS), (begin, end, _ARGUMENTS))
        return ("{" + ", ".join(found.values()) + "}", at) if found or may_be_empty else None

    return find
