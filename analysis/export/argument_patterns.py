r"""Choose how the target reads a call's arguments: as JSON, as JSON with quirks, or pair by pair.

`arguments_reader` builds the parsers of the target that could read an `ArgumentFormat` and
returns the one with the least loss. Losses are found by trying: the battery's values are written
by the notation and read as transformers' parser reads them (`value_losses`).

For example `<parameter=days>3</parameter>` is read pair by pair:

    >>> from autoparser import analyze, load_template
    >>> template = load_template("fixtures/templates/a1-function-parameter.jinja")
    >>> reader = arguments_reader(analyze(template).format.calls.arguments)
    >>> reader.content
    'xml-inline'
    >>> print(reader.settings["tag_pattern"])
    <parameter=(?P<key>[^\n]+?)>\n?(?P<value>.*?)\n?</parameter>

The target's content parsers are few: text, JSON, JSON or else text. A text is then typed by the
schema of its parameter, if the tools are given (`_coerce` in transformers' `response_parser.py`).

For example, where all but arrays come back unchanged:

    >>> value_losses(lambda value: not isinstance(value, list), unwritten=[]).types
    frozenset({<JsonType.ARRAY: 'array'>})
    >>> type_text("3", JsonType.INTEGER), type_text("three", JsonType.INTEGER)
    (3, 'three')
"""

from __future__ import annotations

import json
import string
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from autoparser.analysis.core.call_format import ArgumentFormat
from autoparser.analysis.core.call_notation import ContainerNotation, Row, RowSlot, ValueNotation
from autoparser.analysis.core.conversation import Json, ToolCall
from autoparser.analysis.core.json_types import JsonType, json_type
from autoparser.analysis.core.message_battery import battery_messages
from autoparser.analysis.core.string_notation import StringEscape, StringText
from autoparser.analysis.core.text_alignment import TemplateLiteral

from .export_limits import ExportLimit, MessagePiece
from .field_patterns import WORD, any_pattern, at_most, exact_pattern, loose_pattern

_CHARACTERS = f"{string.punctuation}\n\t\ré日🚀"
"""Characters that a notation may escape: each is tried inside a string."""
_PLAIN = "plain words"
_CONTAINERS = (JsonType.ARRAY, JsonType.OBJECT)

Reads = Callable[[Json], bool]
"""Returns whether a value comes back as it was written."""


def load_json(text: str) -> Json:
    """Read JSON. Raises ValueError."""
    value: Json = json.loads(text)
    return value


def type_text(value: Json, kind: JsonType) -> Json:
    """Convert a text by its parameter's schema; a value that is not text is unchanged."""
    if not isinstance(value, str):
        return value
    try:
        match kind:
            case JsonType.INTEGER:
                return int(value)
            case JsonType.NUMBER:
                return float(value)
            case JsonType.BOOLEAN if value.strip().lower() in ("true", "1", "false", "0"):
                return value.strip().lower() in ("true", "1")
            case JsonType.NULL if value.strip() in ("null", "None"):
                return None
            case JsonType.ARRAY | JsonType.OBJECT:
                return load_json(value)
            case _:
                return value
    except ValueError:
        return value


class ValueLosses(Struct, frozen=True):
    """The values that do not come back."""

    types: frozenset[JsonType] = frozenset()
    """The types whose values are lost, e.g. null where the target reads "null"."""
    characters: str = ""
    """Characters whose presence in a string loses it, e.g. `"&'<>` where strings are written as
    HTML."""
    odd_strings: bool = False
    """Whether some strings are lost for which no single character is to blame, e.g. "007" where a
    text is read as JSON."""

    @property
    def weight(self) -> int:
        """The amount of loss, to choose the better of two ways to read."""
        # Losing all strings weighs most, then losing another type, then losing some strings.
        strings = bool(self.characters) + 2 * self.odd_strings
        return 4 * len(self.types) + strings + 8 * (JsonType.STRING in self.types)

    def limits(self, why: str) -> Iterator[ExportLimit]:
        """Describe the losses, and why they occur."""
        if self.types:
            words = ", ".join(sorted(self.types))
            yield ExportLimit(MessagePiece.TYPES, f"{words}: {why}", self.types)
        if self.odd_strings:
            yield ExportLimit(MessagePiece.STRINGS, f"texts that look like other values: {why}")
        elif self.characters:
            yield ExportLimit(MessagePiece.STRINGS, why, characters=self.characters)


def value_losses(reads: Reads, unwritten: Collection[JsonType]) -> ValueLosses:
    """Try the battery's values; types that the template does not write cannot be lost."""
    # Tried rather than derived: the result depends on both the notation and the target program.
    calls = (call for case in battery_messages() for call in case.message.calls)
    battery = (value for call in calls for value in call.arguments.values())
    values = [value for value in battery if json_type(value) not in unwritten]
    scalars = [value for value in values if json_type(value) not in _CONTAINERS]
    lost = {
        json_type(value) for value in scalars if not isinstance(value, str) and not reads(value)
    }
    # If plain words are lost, no single character is to blame.
    if not reads(_PLAIN):
        lost.add(JsonType.STRING)
        return ValueLosses(frozenset(lost))
    # Inside a word, since the edges of a text may be stripped.
    characters = "".join(char for char in _CHARACTERS if not reads(f"a{char}b"))
    strings = [value for value in scalars if isinstance(value, str)]
    odd = any(not reads(text) and not _holds(text, characters) for text in strings)
    for value in values:
        kind = json_type(value)
        # A container is only to blame if all that it holds comes back by itself.
        if kind in _CONTAINERS and not reads(value) and not _holds_lost(value, lost, characters):
            lost.add(kind)
    return ValueLosses(frozenset(lost), characters, odd)


def _holds(text: str, characters: str) -> bool:
    return any(char in text for char in characters)


def _holds_lost(value: Json, lost: set[JsonType], characters: str) -> bool:
    """Return whether a value inside is lost by itself."""
    items = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return any(
        (json_type(item) in lost and json_type(item) not in _CONTAINERS)
        or (isinstance(item, str) and _holds(item, characters))
        or _holds_lost(item, lost, characters)
        for item in items
    )


_KEY = r"""[^\s{}()\[\]<>"'=,]+?"""
"""A name that nothing announces: it ends before brackets, quotes, `=` and commas."""


class ContentParser(Struct, frozen=True):
    """A content parser of the target with its settings."""

    content: str
    """The parser's name in the document, e.g. "json"."""
    settings: Mapping[str, Json] = {}
    """Its arguments in the document, e.g.
    `{"tag_pattern": "<k>(?P<key>…", "value_parser": {…}}`."""
    limits: tuple[ExportLimit, ...] = ()
    """The parts that it cannot express, e.g. the types array and object."""
    needs_tools: bool = False
    """Whether it reads types from the tools that were offered, e.g. of `3` in `<v>3</v>`."""
    empty: bool = True
    """Whether it reads an empty text as no arguments; "json" does not."""
    any_names: bool = False
    """Whether it reads argument names that are not plain words, e.g. "a b"."""

    @property
    def weight(self) -> int:
        """The amount that it does not read, to choose the better of two."""
        return sum(
            _ALL if limit.piece is MessagePiece.ARGUMENTS else 4 * len(limit.types) + 1
            for limit in self.limits
        )


_ALL = 100
"""More than any other loss weighs, since then no argument is read."""


def arguments_reader(arguments: ArgumentFormat) -> ContentParser:
    """Choose the parser that reads these arguments with the least loss."""
    if arguments.encoded:
        why = "they are JSON inside a JSON string, and remain a string"
        return ContentParser(
            "json", limits=(ExportLimit(MessagePiece.ARGUMENTS, why),), empty=False
        )
    if arguments.verbatim:
        return ContentParser("json", empty=False)
    found = [_whole_parser(arguments), _dialect(arguments), _pairs(arguments)]
    # In this order, so that the plainest of equals wins: `min` returns the first one.
    able = [way for way in found if way is not None]
    if able:
        return min(able, key=lambda way: way.weight)
    why = "neither JSON nor separable pairs; they remain text"
    return ContentParser(
        "json", {"allow_non_json": True}, (ExportLimit(MessagePiece.ARGUMENTS, why),), empty=False
    )


def _whole_parser(arguments: ArgumentFormat) -> ContentParser | None:
    """Read all as JSON; return None if not even strings come back."""
    lost = value_losses(lambda value: _reads_as_json(arguments, value), _unwritten(arguments))
    if not lost.weight:
        return ContentParser("json", empty=False)
    if JsonType.STRING in lost.types:
        return None
    limits = tuple(lost.limits(_SPOILS))
    return ContentParser("json", {"allow_non_json": True}, limits, empty=False)


_SPOILS = "not JSON; with it, all arguments of a call remain text"


def surviving_arguments(arguments: ArgumentFormat, call: ToolCall) -> dict[str, Json]:
    """Return the arguments that the template writes, as it writes them."""
    strip = (arguments.members.values or arguments.values).string.edges.apply
    return {
        key: strip(value) if isinstance(value, str) else value
        for key, value in call.arguments.items()
        if arguments.members.row(json_type(value)) is not None
    }


def _unwritten(arguments: ArgumentFormat) -> frozenset[JsonType]:
    return arguments.refused | {kind for kind in JsonType if arguments.members.row(kind) is None}


def _reads_as_json(arguments: ArgumentFormat, value: Json) -> bool:
    call = ToolCall("f", {"k": value})
    try:
        return load_json(arguments.write(call.arguments)) == surviving_arguments(arguments, call)
    except ValueError:
        return False


def _dialect(arguments: ArgumentFormat) -> ContentParser | None:
    """Read all as JSON with quirks: bare keys and special quotes."""
    values, members = arguments.members.values or arguments.values, arguments.members
    text, objects = values.string, (members, values.object)
    # The target tolerates other keys, quotes and commas, but only JSON's brackets.
    if (values.array.open, values.array.close) != ("[", "]") or members.typed:
        return None
    number = values.number
    if not all(_is_object(container) for container in objects) or number.open or number.close:
        return None
    settings: dict[str, Json] = {}
    bare = [container for container in objects if not container.key.open]
    if bare:
        # The target quotes a bare key only right after `{` or `,`: a space between is too much.
        if any(container.separator != "," for container in bare):
            return None
        settings["unquoted_keys"] = True
    if text.escape is StringEscape.VERBATIM and text.open and text.close and not text.guard:
        quotes: list[Json] = [text.open, text.close]
        settings["string_delims"] = [quotes]
    elif (text.open, text.escape) != ('"', StringEscape.JSON):
        return None
    known = {JsonType.BOOLEAN: (values.true, values.false), JsonType.NULL: (values.null,)}
    words = {JsonType.BOOLEAN: ("true", "false"), JsonType.NULL: ("null",)}
    lost = ValueLosses(frozenset(kind for kind in known if known[kind] != words[kind]))
    if lost.types:
        settings["allow_non_json"] = True
    return ContentParser("json", settings, tuple(lost.limits(_SPOILS)), empty=False)


def _is_object(container: ContainerNotation) -> bool:
    colon = container.entry[1] if len(container.entry) == 3 else ""  # noqa: PLR2004
    return (
        (container.open, container.close, container.separator.strip()) == ("{", "}", ",")
        and container.entry == (RowSlot.KEY, colon, RowSlot.VALUE)
        and colon.strip() == ":"
        and colon[0] == ":"
        and container.key.open in ("", '"')
    )


def _pairs(arguments: ArgumentFormat) -> ContentParser | None:
    """Read the pairs one by one, by a pattern that finds each."""
    members = arguments.members
    rows = [members.row(kind) for kind in JsonType]
    written = tuple(dict.fromkeys(row for row in rows if row is not None))
    if not written or any(RowSlot.KEY not in row or RowSlot.VALUE not in row for row in written):
        return None
    # Otherwise a value could extend into the next pair.
    if any(not _ends_recognizably(row, members) for row in written):
        return None
    values = members.values or arguments.values
    # Whether the text before the value is the same in all rows.
    alone = len({row[: row.index(RowSlot.VALUE)] for row in written}) == 1
    ways = (
        ("json", value_losses(_read_by(values, quoted=True, text=False), _unwritten(arguments))),
        ("text", value_losses(_read_by(values, quoted=False, text=True), _unwritten(arguments))),
        ("either", value_losses(_read_by(values, quoted=True, text=True), _unwritten(arguments))),
    )
    # If something is not JSON, strict parsing fails on the whole message.
    way, lost = min(
        (way for way in ways if way[0] != "json" or not way[1].weight),
        key=lambda way: way[1].weight,
    )
    settings: dict[str, Json] = {
        "tag_pattern": any_pattern(
            _pair_patterns(written, members, values, unquote=way == "text", alone=alone)
        ),
        "value_parser": _VALUE_PARSERS[way],
    }
    return ContentParser(
        "xml-inline",
        settings,
        tuple(lost.limits(_why(values, lost))),
        way != "json",
        any_names=all(
            _key_pattern(row, row.index(RowSlot.KEY), members, alone=alone) != _KEY
            for row in written
        ),
    )


def _is_announced(before: Row) -> bool:
    """Return whether a word precedes a name, so that no name is taken for the text of a value."""
    literal = before[-1] if before else ""
    return not isinstance(literal, RowSlot) and any(char.isalnum() for char in literal)


_VALUE_PARSERS: Mapping[str, Json] = {
    "json": {"name": "json"},
    "text": {"name": "text", "args": {"strip": False}},
    "either": {"name": "json", "args": {"allow_non_json": True}},
}


def _why(values: ValueNotation, lost: ValueLosses) -> str:
    if JsonType.STRING in lost.types or lost.characters or lost.odd_strings:
        return f"strings are written as {values.string.escape}, and nothing is unescaped"
    return "neither JSON nor a word that the target knows"


def _ends_recognizably(row: Row, members: ContainerNotation) -> bool:
    """Return whether the end of a value of a row is recognizable."""
    closer = row[-1]
    if not isinstance(closer, RowSlot) and closer.strip():
        return True
    head = row[0]
    return bool(members.separator) and (
        not isinstance(head, RowSlot) or "=" in row[1] or ":" in row[1]
    )


def _read_by(values: ValueNotation, *, quoted: bool, text: bool) -> Callable[[Json], bool]:
    """Read single values as JSON, as text that the tools type, or as either."""

    def reads(value: Json) -> bool:
        if isinstance(value, str) and not quoted:
            return _text_between_quotes(values.string, value) == values.string.edges.apply(value)
        written = values.write(value)
        read: Json = written
        if quoted:
            try:
                read = load_json(written)
            except ValueError:
                if not text:
                    return False
                read = written.strip()
        stripped = values.string.edges.apply(value) if isinstance(value, str) else value
        return (type_text(read, json_type(value)) if text else read) == stripped

    return reads


def _text_between_quotes(text: StringText, value: str) -> str:
    """Return the text between a string's quotes."""
    written = text.write(value)
    if text.escape is StringEscape.PYTHON:
        written = written[len(text.open) + 1 : len(written) - len(text.close) - 1]
    else:
        written = written[len(text.open) : len(written) - len(text.close)]
    guard = text.guard
    if guard is not None and any(char in value for char in guard.characters):
        written = written[len(guard.open) : len(written) - len(guard.close)]
    return written


def _pair_patterns(
    rows: Sequence[Row],
    members: ContainerNotation,
    values: ValueNotation,
    *,
    unquote: bool,
    alone: bool,
) -> Iterator[str]:
    """Return a pattern for the rows that begin alike, whatever closes them.

    It is `alone` if all of them do.
    """
    value = _value_pattern(values.string, unquote=unquote)
    closers: dict[str, list[str]] = {}
    for row in rows:
        at = row.index(RowSlot.VALUE)
        closer = _row_pattern(row[at + 1 :], row[:at], members, alone=alone)
        last = row[-1]
        if isinstance(last, RowSlot) or not TemplateLiteral.of(last).markers:
            # Nothing closes the value by itself.
            closer += _end_of_value(rows, members)
        head = _row_pattern(row[:at], (), members, alone=alone)
        closers.setdefault(head, []).append(closer)
    for head, ends in closers.items():
        yield f"{head}{value}{any_pattern(ends)}"


def _row_pattern(row: Row, before: Row, members: ContainerNotation, *, alone: bool) -> str:
    """Match the text of a row before its value, or after it.

    It is `alone` if all rows begin alike.
    """
    pieces: list[str] = []
    for at, piece in enumerate(row):
        if piece is RowSlot.KEY:
            # A closing tag that repeats the key has to repeat the same one.
            named = RowSlot.KEY in (*before, *row[:at])
            key = f"(?P<key>{_key_pattern(row, at, members, alone=alone)})"
            pieces.append("(?P=key)" if named else _with_quotes(members.key, key))
        elif not isinstance(piece, RowSlot):
            first = not at and not before
            last = bool(before) and at == len(row) - 1
            pieces.append(_pair_literal(piece.lstrip() if first else piece, last=last))
    return "".join(pieces)


def _key_pattern(row: Row, at: int, members: ContainerNotation, *, alone: bool) -> str:
    """Match any name after a word that announces one, since the text that follows ends it.

    If rows begin in several ways, one name could extend to the name of the next row of another
    kind: so it excludes the first character of the text that follows names.
    """
    if not _is_announced(row[:at]):
        return _KEY
    if alone:
        return r"[^\n]+?"
    following = row[at + 1] if at + 1 < len(row) else ""
    first = (members.key.close + ("" if isinstance(following, RowSlot) else following))[:1]
    return _KEY if not first or first.isalnum() else rf"[^\n{exact_pattern(first)}]+?"


def _with_quotes(key: StringText, pattern: str) -> str:
    """Put a key's quotes around a pattern."""
    # Python's repr chooses the quotes by the text.
    quote = "['\"]" if key.escape is StringEscape.PYTHON else ""
    return f"{exact_pattern(key.open)}{quote}{pattern}{quote}{exact_pattern(key.close)}"


def _pair_literal(text: str, *, last: bool) -> str:
    """Match a literal of a pair, the line breaks at a value's edges as far as they are written."""
    core = text.strip()
    if not core:
        return "" if last else at_most(text)
    start = text.index(core[0])
    after = "" if last else at_most(text[start + len(core) :])
    return f"{at_most(text[:start])}{loose_pattern(core)}{after}"


def _end_of_value(rows: Sequence[Row], members: ContainerNotation) -> str:
    """Look ahead to the next pair or the end of all, if nothing certain closes a value."""
    follows: list[str] = []
    for row in rows:
        head = "" if isinstance(row[0], RowSlot) else _pair_literal(row[0].lstrip(), last=False)
        after_key = row[row.index(RowSlot.KEY) + 1]
        after = "" if isinstance(after_key, RowSlot) else exact_pattern(after_key.rstrip())
        follows.append(f"{head}{_with_quotes(members.key, WORD)}{after}")
    closer = (
        rf"{exact_pattern(members.close)}\s*"
        if members.close.strip()
        else exact_pattern(members.close)
    )
    return rf"(?={exact_pattern(members.separator)}{any_pattern(follows)}|{closer}\Z)"


_ANY_VALUE = "(?P<value>.*?)"


def _value_pattern(text: StringText, *, unquote: bool) -> str:
    if not unquote:
        # The text that closes a value may occur inside a string.
        return r'(?P<value>(?:"(?:\\.|[^"\\])*"|[^"])*?)' if text.open == '"' else _ANY_VALUE
    return any_pattern(_value_patterns(text))


def _value_patterns(text: StringText) -> Iterator[str]:
    """Return patterns for a value, without the quotes of a string."""
    if text.guard is not None:
        yield f"{exact_pattern(text.guard.open)}(?P<value>.*?){exact_pattern(text.guard.close)}"
    if text.escape is StringEscape.PYTHON:
        for quote in "'\"":
            yield rf"{quote}(?P<value>(?:\\.|[^{quote}\\])*){quote}"
    elif text.open and text.close:
        yield f"{exact_pattern(text.open)}(?P<value>.*?){exact_pattern(text.close)}"
    yield _ANY_VALUE
