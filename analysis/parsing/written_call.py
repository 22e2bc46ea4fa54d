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
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.string_notation import StringEscape, StringText
from autoparser.analysis.core.text_alignment import TemplateLiteral

from .call_ends import CallSurroundings
from .message_collector import MessageCollector
from .raw_text import LONGEST_WORD, ArgumentTexts, raw_value_json, value_ends
from .text_tape import Part, SpanKind, TextHold, TextTape
from .turn_nodes import (
    ArgumentList,
    CallSection,
    FreeText,
    FunctionName,
    JsonCall,
    RowItem,
    SingleWord,
)
from .turn_request import CallSchemas
from .value_decoding import (
    ANY_KIND,
    JSON_DECODER,
    STRING_ONLY,
    EntryRow,
    entry_rows,
    repeats_key,
)

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
        follows: _NextCall | None,
    ) -> None:
        """Store the `row` up to its arguments, the search for these, and the closer.

        `opening` matches where arguments begin that are sure to be read as such. A closer that is
        no marker counts only before what `follows` it.
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
        self._naming, self._follows = naming, follows
        self.enclosed = follows is not None
        """Whether it reads calls only in the list that a marker has opened."""
        self._named: dict[str, str] = {}
        """Names by the ids that hold them; models count their calls, so that few ids differ."""

    @classmethod
    def of(cls, section: CallSection, around: CallSurroundings) -> WrittenCall | None:
        """Return the reader of a format's calls, or None if no marker closes them or their list."""
        call = section.call
        # As the readers take it: where models may change words, its literals are cut there.
        row = _json_row(call) if isinstance(call, JsonCall) else call.loose_row or call.row
        at = next((at for at, item in enumerate(row) if isinstance(item, ArgumentList)), -1)
        # A call is taken at once only if its closer is the one literal after the arguments.
        if around.tentative or not around.offered or at < 0 or at != len(row) - 2:
            return None
        item, close = row[at], row[-1]
        if not isinstance(item, ArgumentList) or not isinstance(close, TemplateLiteral):
            return None
        follows: _NextCall | None = None
        if not close.markers:
            if not isinstance(row[0], FunctionName) or (at, len(close.text)) != (2, 1):
                return None
            if not (section.open.is_marked and section.close.markers and section.separator.text):
                return None
            follows = _NextCall(close.core, section, row)
        elif not isinstance(row[0], TemplateLiteral):
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
            entry = entry_rows(item.arguments)[0]
            # Without a text before keys, only a whole one shows that an entry begins.
            key = "" if entry.before.strip() else f"{_KEY}{re.escape(entry.middle)}"
            opening = rf"\s*{re.escape(TemplateLiteral.of(entry.before).core)}{key}"
        return cls(row[:at], close, finder, re.compile(opening), around.offered, naming, follows)

    def holds(self, tape: TextTape) -> bool:
        """Return whether the closer may still come, and hold the text until then."""
        core, at, text = self._core, tape.at, tape.text
        if tape.closed or len(text) - at >= _HELD or text.find(core, at) >= 0:
            return False
        tape.hold_for(core, _HELD)
        return True

    def holds_next(self, tape: TextTape) -> bool:
        """Return whether the text after the closer is incomplete, and wait until it is complete."""
        follows = self._follows
        if follows is None or tape.closed or not follows.begun.fullmatch(tape.text, tape.at):
            return False
        tape.waits_within(follows.begun)
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
        if self._follows is not None:
            behind = self._follows.match(text, start)
            if behind is None or (behind[1] or name) not in self._offered:
                return False
        tape.take_parts(parts, start + len(core))
        collector.whole_call(name, arguments, call_id)
        return True


_HELD = 192
"""Characters of a call within which its closer has to come: a client waits no longer for the
beginning of a call."""
_MOST_NAMED = 64
_KEY = "[\\w.-]+"
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
        return _scalar_finder(arguments, close, texts, may_be_empty=may_be_empty)
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


def _scalar_finder(
    arguments: ArgumentFormat, close: TemplateLiteral, texts: ArgumentTexts, *, may_be_empty: bool
) -> _Finder | None:
    """Return the search for entries whose values are scalars, by the row of each type.

        city:<q>Oslo<q>,days:3   ->  {"city": "Oslo", "days": 3}
        city='Oslo', days=3      ->  the same

    A container, and a string with the sign of a marker in it, is left to the readers.
    """
    key, values, separator = arguments.members.key, arguments.values, texts.separator.text
    if key.escape is not StringEscape.VERBATIM or key.open or key.guard or not separator:
        return None
    rows = [_scalar_row(row, arguments, texts) for row in texts.rows]
    signed = texts.separator.core or all(row.before.strip() for row in texts.rows)
    if len(rows) > _FLAGGED or not (signed and all(rows)):
        return None
    closed = re.escape(close.before + close.core)
    entry = re.compile(f"(?:{'|'.join(rows)})(?:(?={closed})|({re.escape(separator)}))").match
    middles = [row.middle for row in texts.rows]
    sizes = [len(_string_end(row, values.string).core) for row in texts.rows]
    flags = [frozenset(map(str, row.kinds)) if len(rows) > 1 else None for row in texts.rows]
    is_json = values.string.escape is StringEscape.JSON
    # The quotes of JSON are part of the arguments, others are markup.
    quote = len(values.string.open) if is_json else 0
    words = {values.true: "true", values.false: "false", values.null: "null"}

    def find(
        text: str, at: int, schemas: CallSchemas, name: str, parts: list[Part]
    ) -> tuple[str, int] | None:
        schema = schemas.of(name)
        found: dict[str, str] = {}
        more = True
        while more and (match := entry(text, at)) is not None:
            (_, at), *groups, (more_at, _) = match.regs
            row = 0 if groups[0][0] >= 0 else 1
            (key_at, key_end), (begin, _), bare = groups[3 * row : 3 * row + 3]
            member, more, middle = text[key_at:key_end], more_at >= 0, middles[row]
            # A key may hold the text that ends keys, and a string what looks like an entry.
            if member not in schema.names or member in found or middle in "".join(schema.names):
                return None
            if begin >= 0:
                stop = (more_at if more else at) - sizes[row]
                value = text[begin:stop]
                if separator in value and middle in value:
                    return None
                written = encode_basestring(value)
                begin, stop = begin - quote, stop + quote
            else:
                begin, stop = bare
                value = text[begin:stop]
                if is_json:
                    written = words.get(value, value)
                else:
                    part = schema.member(member)
                    kinds = flags[row] or (part.kinds or ANY_KIND) - STRING_ONLY
                    read = raw_value_json(value, part, kinds, values, quoted=False)
                    if not read.own:
                        return None
                    written = read.json
            found[member] = f'"{member}": {written}'
            parts += ((key_at, key_end, _ARGUMENTS), (begin, stop, _ARGUMENTS))
        whole = not more if found else may_be_empty
        return ("{" + ", ".join(found.values()) + "}", at) if whole else None

    return find


_FLAGGED = 2
"""Rows of a format with a flag in each entry: one of strings, one of other values."""


def _string_end(row: EntryRow, string: StringText) -> TemplateLiteral:
    return TemplateLiteral.of(string.close + row.after)


def _scalar_row(row: EntryRow, arguments: ArgumentFormat, texts: ArgumentTexts) -> str:
    """Return the pattern of an entry: its key, where a string begins, and another scalar.

    Empty if only a reader can find its end.
    """
    values, string = arguments.values, arguments.values.string
    end = _string_end(row, string)
    flagged = len(texts.rows) > 1
    quoted = not flagged and bool(string.open)
    if row.keyed_close or row.quote or string.guard or not (row.middle.strip() and end.core):
        return ""
    # Whitespace at an edge may be a model's, and another quote may stand in a string.
    edges = TemplateLiteral.of(row.before).after + TemplateLiteral.of(row.middle).before
    if edges or end.before or end.after or not (end.is_marked or string.close in ("'", '"')):
        return ""
    if not quoted and (not flagged or (JsonType.STRING in row.kinds and len(row.kinds) > 1)):
        return ""
    words = "|".join(map(re.escape, (values.true, values.false, values.null)))
    scalar = rf"(-?(?:0|[1-9]\d*)(?:\.\d+)?|{words}){re.escape(row.after)}"
    if string.escape is StringEscape.JSON:
        text = rf'()[^"\\\x00-\x1f]*+{re.escape(end.core)}'
    elif string.escape is StringEscape.VERBATIM:
        backslashed = string.close in ("'", '"')
        stops = texts.of_value("", end, "", (), backslashed=backslashed, entries=False).stops
        text = f"(){stops.up_to(end.core).pattern}"
    else:
        return ""
    text = re.escape(string.open) + text
    if flagged:
        # Both groups, whichever of them the row's types need.
        text, scalar = (text, "((?!))") if JsonType.STRING in row.kinds else ("((?!))", scalar)
    return f"{re.escape(row.before)}({_KEY}){re.escape(row.middle)}(?:{text}|{scalar})"


class _NextCall:
    """The text behind a call that no marker closes: the next call of a list, or the list's end."""

    def __init__(self, close: str, section: CallSection, row: Sequence[RowItem]) -> None:
        """Compile the patterns: of that text, and of a call whose next text is not whole yet."""
        separator, end = section.separator.text, section.close.before + section.close.core
        opening = next(item.text for item in row[1:] if isinstance(item, TemplateLiteral))
        named = f"{re.escape(separator)}({_KEY}){re.escape(opening)}"
        self.match = re.compile(f"{re.escape(close)}(?:{named}|{re.escape(end)})").match
        fronts = {text[:size] for text in (separator, end) for size in range(len(text))}
        begun = "|".join(map(re.escape, sorted(fronts)))
        begun += rf"|{re.escape(separator)}[\w.-]{{0,{LONGEST_WORD}}}"
        self.begun = re.compile(rf"[^{re.escape(close)}]*+{re.escape(close)}(?:{begun})")
