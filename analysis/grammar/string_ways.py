r"""Write a string or a key of a notation, as ways through a grammar.

`string_ways` returns the ways to write the strings that a schema allows, `key_path` those of a
made-up key; `spelled_shape` translates a regular expression of a text into one of its spelling, and
`json_style` finds values whose notation is JSON, which a writer of JSON can take.

`bare_values` separates texts without quotes from the values of other types that they look like.

A text in quotes is matched as it is spelled, quotes included:

    >>> from autoparser.analysis.core.call_notation import json_notation
    >>> from autoparser.analysis.grammar.regex_nodes import rust_regex
    >>> shape = string_shape({"pattern": "^[a-c]+$"}, "#")
    >>> spelled = spelled_shape(shape, json_notation().string, '"')
    >>> [rust_regex(regex) for regex in spelled.patterns]
    ['\\x{22}(?:[a-c]){1,}\\x{22}']
    >>> json_style(json_notation()).item_separator
    ', '
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from json.encoder import encode_basestring

from msgspec import structs

from autoparser.analysis.core.call_notation import ContainerNotation, RowSlot, ValueNotation
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.schema_document import ROOT
from autoparser.analysis.core.schema_errors import UnheldKeywordError
from autoparser.analysis.core.schema_keywords import Schema
from autoparser.analysis.core.string_notation import StringEscape, StringText

from .code_points import CodePoints
from .grammar_rules import FreeProse, JsonStyle, JsonValue, PatternNode
from .regex_nodes import (
    Regex,
    RegexChoice,
    RegexRepeat,
    RegexSequence,
    SetCharacter,
    TextAnchor,
    choice_of_regexes,
    rust_regex,
)
from .rule_paths import Path, join_path
from .schema_guidance import has_text
from .string_shape import StringShape, is_filled, string_shape

# Regular expressions of a text, as expressions of its spelling in a notation.


_CONTROLS = CodePoints.of((0, 0x1F))
HTML = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "'": "&#39;", '"': "&#34;"}
_SHORT = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_JSON = {**_SHORT, "\b": "\\b", "\f": "\\f"}


def spelled_shape(
    shape: StringShape, text: StringText, quote: str = "", closes: Sequence[str] = ()
) -> StringShape | None:
    """Return the shape of the spelling of a shape's strings in a notation, quotes and all.

    In HTML, ``^[<a]$`` becomes ``(a|&lt;)``. `quote` is the one that Python has chosen. Return None
    if the notation writes no such string without one of the `closes` within it.
    """
    table, never = _spelling(text, quote)
    # A character whose spelling would close the string cannot be written in it at all.
    lost = lost_spellings(table, closes)
    table = {char: to for char, to in table.items() if char not in lost}
    never |= CodePoints.among(lost)
    opened, closed = (quote, quote) if quote else (text.open, text.close)
    if not table and not never and not opened and not closed:
        return shape
    found: list[Regex] = []
    for regex in _as_one(shape):
        inner = _map_characters(regex, table, never)
        if inner is None:
            return None
        found.append(RegexSequence((_literal(opened), inner, _literal(closed))))
    # The length counts characters of the text, not of its spelling: the patterns hold it.
    return structs.replace(shape, patterns=tuple(found), least=0, most=None, text=shape)


def lost_spellings(table: Mapping[str, str], closes: Sequence[str]) -> str:
    """Return the characters whose spelling is read as the close of the string.

    If HTML's ``&#34;`` closes, a quote in the string would.
    """
    ends = tuple(close for close in closes if close)
    return "".join(char for char, to in table.items() if to.startswith(ends))


def _as_one(shape: StringShape) -> tuple[Regex, ...]:
    """Return a shape as one expression if possible, or else as several."""
    try:
        single = shape.single()
    except UnheldKeywordError:
        return shape.regexes
    return shape.regexes if single is None else (single,)


def _spelling(text: StringText, quote: str) -> tuple[Mapping[str, str], CodePoints]:
    """Return the spelling of some characters, and the characters that are never written."""
    match text.escape:
        case StringEscape.PYTHON:
            never = _CONTROLS | CodePoints.among("\x7f")
            if quote == '"':
                # Python chooses these quotes only for a text without them.
                return _SHORT, never | CodePoints.among(quote)
            return {**_SHORT, quote: f"\\{quote}"}, never
        case StringEscape.HTML:
            return HTML, CodePoints()
        case StringEscape.JSON_HTML:
            return {**HTML, **_JSON, '"': "\\&#34;"}, _CONTROLS
        case StringEscape.TABLE:
            return text.table, CodePoints()
        case _:
            return {}, CodePoints()


def _map_characters(regex: Regex, table: Mapping[str, str], never: CodePoints) -> Regex | None:
    """Replace each character by its spelling in the table, or return None if no text is left."""
    match regex:
        case SetCharacter(points):
            return _character(points, table, never)
        case RegexSequence(parts):
            found = [_map_characters(part, table, never) for part in parts]
            kept = [part for part in found if part is not None]
            return RegexSequence(tuple(kept)) if len(kept) == len(found) else None
        case RegexChoice(options):
            return _choice_of([_map_characters(option, table, never) for option in options])
        case RegexRepeat(item, least, most):
            mapped_item = _map_characters(item, table, never)
            if mapped_item is None:
                # Zero repetitions need no spelling.
                return None if least else RegexSequence()
            return RegexRepeat(mapped_item, least, most)
        case TextAnchor():
            raise ValueError("anchors must be resolved before")


def _character(points: CodePoints, table: Mapping[str, str], never: CodePoints) -> Regex | None:
    plain = points - never - CodePoints.among("".join(table))
    return _choice_of(
        [
            SetCharacter(plain) if plain else None,
            *(_literal(to) for char, to in table.items() if points & CodePoints.of(char)),
        ]
    )


def _choice_of(options: Sequence[Regex | None]) -> Regex | None:
    kept = [option for option in options if option is not None]
    return choice_of_regexes(kept) if kept else None


def _literal(text: str) -> Regex:
    return RegexSequence(tuple(SetCharacter(CodePoints.of(char)) for char in text))


# The parts of a notation that are JSON, so that a value can be left to a writer of JSON.


_QUOTED = frozenset({StringEscape.JSON, StringEscape.JSON_ASCII})


def json_style(notation: ValueNotation) -> JsonStyle | None:
    """Return the spacing of a notation's JSON, or None if not every value in it is JSON."""
    # Some notations are JSON but for quotes around numbers, or none around strings.
    if not notation.is_json or notation.string.close != '"' or notation.number != StringText():
        return None
    members = object_style(notation.object, notation)
    items = notation.array
    if members is None or not _is_array(items) or items.values is not None:
        return None
    if items.separator != members.item_separator or items.indent != members.indent:
        return None
    return members


def object_style(container: ContainerNotation, outer: ValueNotation) -> JsonStyle | None:
    """Return the spacing of an object, if it is JSON and its contents are spaced alike."""
    entry = container.entry
    if (
        (container.open, container.close, container.empty) != ("{", "}", "{}")
        or (container.key.open, container.key.close) != ('"', '"')
        or container.key.escape not in _QUOTED
        or container.typed
        or len(entry) != 3  # noqa: PLR2004 - key, colon, value
        or (entry[0], entry[2]) != (RowSlot.KEY, RowSlot.VALUE)
    ):
        return None
    style = JsonStyle(
        container.separator,
        str(entry[1]),
        ascii_only=outer.string.escape is StringEscape.JSON_ASCII,
        indent=container.indent,
    )
    values = container.values
    if values is not None and json_style(values) != style:
        return None
    if values is None and outer.object is not container and json_style(outer) != style:
        return None
    return style


def _is_array(container: ContainerNotation) -> bool:
    return (
        (container.open, container.close, container.empty) == ("[", "]", "[]")
        and container.entry == (RowSlot.VALUE,)
        and not container.typed
    )


def kind_style(notation: ValueNotation, kind: JsonType) -> JsonStyle | None:
    """Return the spacing of values of one type, if they are written as JSON."""
    plain = JsonStyle(ascii_only=notation.string.escape is StringEscape.JSON_ASCII)
    match kind:
        case JsonType.STRING:
            text = notation.string
            quoted = (text.open, text.close) == ('"', '"') and text.escape in _QUOTED
            return plain if quoted and text.guard is None else None
        case JsonType.BOOLEAN:
            return plain if (notation.true, notation.false) == ("true", "false") else None
        case JsonType.NULL:
            return plain if notation.null == "null" else None
        case JsonType.INTEGER | JsonType.NUMBER:
            return plain if notation.number == StringText() else None
        case JsonType.ARRAY:
            inner = notation.array.values or notation
            return json_style(inner) if _is_array(notation.array) else None
        case JsonType.OBJECT:
            return object_style(notation.object, notation)


_JSON_HTML = r"(?:[^<>&'\x22\\\x00-\x1f]|&lt;|&gt;|&amp;|&#39;|\\(?:[\\nrtbf]|&#34;))*"
_CODE = (
    r"\\x(?:[01][0-9a-f]|7f|[89][0-9a-f]|a[0d])"
    r"|\\u(?:[0-9abcef][0-9a-f]{3}|d[0-7][0-9a-f]{2})"
    r"|\\U00(?:0[1-9a-f]|10)[0-9a-f]{4}"
)
"""The spelling by Python of a character that cannot be printed."""
_PYTHON = {
    "'": rf"'(?:[^'\\\x00-\x1f\x7f]|\\[\\'nrt]|{_CODE})*'",
    # Python uses these quotes if the text holds a quote of the other kind.
    '"': rf'"(?:[^"\'\\\x00-\x1f\x7f]|\\[\\nrt]|{_CODE})*'
    rf'\'(?:[^"\\\x00-\x1f\x7f]|\\[\\nrt]|{_CODE})*"',
}
_KEY_MARKS = "<>{}[]()\"'`=:,;|&\\"
"""Characters that a notation writes around keys: one of them in a key may be taken for its end."""
_RARE_IN_KEYS = "!#$%*+/?@^~"
"""Signs that are rare in made-up keys. Free text may end its stretches at one of them; slices of
keys with that sign would then overlap with slices of the text, without containing them, and
llguidance would check every token of one of the two."""


def string_ways(
    text: StringText, schema: Schema, exclude: Sequence[str], others: Sequence[str] = ()
) -> list[Path]:
    """Return the ways to write a string; `exclude` are texts that would end it too early.

    Where nothing guards the characters of values that begin as `others`, nothing guards those of a
    text that begins so: it may be such a value.
    """
    if text.escape in (StringEscape.JSON, StringEscape.JSON_ASCII):
        style = JsonStyle(ascii_only=text.escape is StringEscape.JSON_ASCII)
        value = JsonValue({**schema, "type": "string"}, style)
        if (text.open, text.close) == ('"', '"'):
            return [(value,)]
    shape = string_shape(schema, ROOT)
    if not has_text(shape):
        return []
    has_keywords = bool(shape.keywords)
    # With escapes, a string is one pattern; without, it is free text up to its close.
    enclosed = _enclosed_strings(text, exclude)
    if enclosed:
        shapes = [spelled_shape(shape, text, quote, exclude) for _, _, quote in enclosed]
        escapes = () if text.close else _escapes(text)
        nodes = [
            PatternNode(regex, close=close, escapes=escapes, slices=_string_slices(text, quote))
            for regex, close, quote in enclosed
        ]
        return [
            (_shaped(node, spelled) if has_keywords else node,)
            for node, spelled in zip(nodes, shapes, strict=True)
            if spelled is not None
        ]
    inner = spelled_shape(shape, structs.replace(text, open="", close=""))
    if inner is None:
        return []
    # Non-emptiness alone needs no shape.
    filled = is_filled(shape)
    prose = FreeProse(
        tuple(dict.fromkeys(filter(None, exclude))),
        left=text.edges.left,
        right=text.edges.right,
        may_be_empty=not filled,
        shape=inner if has_keywords and not filled else None,
        part="argument",
        pointer=shape.pointer,
        quote=text.close if text.guard is None else "",
    )
    if text.escape is StringEscape.TABLE:
        prose = replace(prose, exclude=tuple(set(prose.exclude) | _unwritten(text)))
    guard = text.guard
    if guard is None:
        return [join_path(text.open, prose, text.close)]
    # The template guards a text only if it holds one of these characters.
    plain = replace(prose, exclude=(*prose.exclude, *guard.characters))
    guarded = replace(prose, exclude=(guard.close,))
    return [
        join_path(text.open, plain, text.close),
        *(join_path(text.open, other, prose, text.close) for other in others),
        join_path(text.open, guard.open, guarded, guard.close, text.close),
    ]


def _enclosed_strings(text: StringText, exclude: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return the strings that only their escapes tell from the text after them.

    For each way to quote them: the regular expression, what closes it, and Python's quote. What an
    escape writes is left out where it would be read as one of the texts that end the string.
    """
    if text.escape is StringEscape.PYTHON:
        return [(regex, quote, quote) for quote, regex in _PYTHON.items()]
    if text.escape is StringEscape.JSON_HTML:
        return [
            (f"{regex_escape(text.open)}{_JSON_HTML}{regex_escape(text.close)}", text.close, "")
        ]
    if text.escape is StringEscape.HTML:
        return [(_by_table(text, HTML, exclude), text.close, "")]
    return [(_by_table(text, text.table, exclude), text.close, "")] if text.escapes else []


def _shaped(node: PatternNode, spelled: StringShape) -> PatternNode:
    """Return the pattern of the strings of a shape.

    llguidance finds no slice for two expressions that must both match, so a dead end that begins
    like them carries the slices.
    """
    node = replace(node, shape=spelled)
    begun = _begun_string(spelled, node.close)
    if begun is None:
        return node
    return replace(node, begun=tuple((begun, slice_) for slice_ in node.slices), slices=())


def _begun_string(spelled: StringShape, close: str) -> str | None:
    """Return an expression of texts that all begin a string of a shape, or None if unknown."""
    if len(spelled.regexes) != 1 or not isinstance(spelled.regexes[0], RegexSequence):
        return None
    opened, inner, _ = spelled.regexes[0].parts
    if close == '"' and spelled.text is not None:
        # Python chooses these quotes for a text with an apostrophe, for which one place is kept.
        if not isinstance(inner, RegexRepeat) or spelled.text.patterns:
            return None
        inner = RegexRepeat(inner.item, 0, inner.most and inner.most - 1)
    return rust_regex(RegexSequence((opened, inner)))


def _string_slices(text: StringText, quote: str) -> tuple[str, ...]:
    """Return JSON's slices without the characters that only this notation escapes.

    llguidance checks every token of a slice that matches only in part, so JSON's own do not help.
    """
    table, _ = _spelling(text, quote)
    special = {*table, *(quote or text.close)[:1]} - {*_JSON, '"'}
    return json_slices("".join(sorted(special)))


def json_slices(without: str = "") -> tuple[str, ...]:
    """Return llguidance's own slices of a vocabulary for JSON strings, less some characters."""
    plain = rf'[^{regex_escape(without)}"\\\x00-\x1F\x7F]'
    return tuple(f"{plain}{count}" for count in ("{1,10}", "{1,30}", "+"))


def _escapes(text: StringText) -> tuple[str, ...]:
    """Return the spellings of characters that do not stand for themselves."""
    if text.escape is StringEscape.PYTHON:
        return ()
    table = HTML if text.escape in (StringEscape.HTML, StringEscape.JSON_HTML) else text.table
    return tuple(filter(None, table.values()))


def _by_table(text: StringText, table: Mapping[str, str], exclude: Sequence[str]) -> str:
    """Return the regular expression of the texts that a table writes, with their quotes."""
    kept = "".join(map(regex_escape, table))
    lost = lost_spellings(table, exclude)
    table_ways = [regex_escape(to) for char, to in table.items() if to and char not in lost]
    ways = "|".join([f"[^{kept}]", *table_ways])
    return f"{regex_escape(text.open)}(?:{ways})*{regex_escape(text.close)}"


def _unwritten(text: StringText) -> set[str]:
    """Return the characters that a table replaces and that no replacement holds."""
    written = "".join(text.table.values())
    return {char for char in text.table if char not in written}


def key_path(text: StringText, declared: Sequence[str], ends: str) -> Path:
    """Return the way to write a made-up key: any name except the declared ones.

    It is any text of some words, such as ``X-Api-Key`` or ``first name``, without a character of
    `ends`, and without those that notations write around keys.
    """
    # The texts around a key, by a sample.
    opening, _, close = text.write("K").partition("K")
    marks = {*_KEY_MARKS, *ends.strip()}
    letter, common = (
        f"[^\\s\\x00-\\x20\\x7f-\\xa0{regex_escape(''.join(sorted(barred)))}]"
        for barred in (marks, {*marks, *_RARE_IN_KEYS})
    )
    if " " in ends:
        # Another letter that may precede one changes nothing but the slice, which JSON lacks.
        repeated = f"(?:\\x{{10ffff}}?{common})+"
        names = PatternNode(f"{letter}+", tuple(declared), begun=((repeated, repeated),))
    else:
        names = PatternNode(f"(?:{letter} ?)*{letter}", tuple(declared), begun=_words(common))
    return join_path(opening, names, close)


def _words(letter: str) -> tuple[tuple[str, str], ...]:
    """Write words in two ways, each with its slice: a letter with repetitions before or after it.

    llguidance finds a slice if one thing is repeated from the place of a mask on: at the beginning
    of the words, or after a letter. JSON strings and free text do not repeat a letter with a blank.
    In letters alone they would find a slice, too, and the rest of that around it be looked at.
    """
    return (
        (f"(?:{letter} ?)*{letter}", f"(?:{letter} ?)+"),
        (f"{letter}(?: ?{letter})*", f"(?: ?{letter})+"),
    )


@lru_cache(maxsize=1024)
def regex_escape(text: str) -> str:
    """Write a text as a regular expression that Python and Rust read alike."""
    if text.isprintable():
        return _SPECIAL.sub(lambda match: f"\\{match[0]}", text)
    return "".join(map(_escape, text))


_CONTROL = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$#&~/-]")


def _escape(char: str) -> str:
    if char in _CONTROL:
        return _CONTROL[char]
    if _SPECIAL.match(char):
        return f"\\{char}"
    return char if char.isprintable() else f"\\x{{{ord(char):x}}}"


def lark_string(text: str) -> str:
    """Write a text as a string that Lark reads."""
    return encode_basestring(text).replace("\x7f", "\\u007f")
