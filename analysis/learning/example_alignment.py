"""Align an output with its message: find the message's texts in it; all other text is literals.

The names, ids, keys and values of a message play the role of sentinels in a render. They are
searched for in the order of a hypothesis; the first complete sequence of places counts. With a
name, then the arguments one by one, `<call>look(city="Oslo")</call>` is

    '<call>'  NAME  '('  KEY  '="'  VALUE  '")</call>'

A number, a word or a string is found by its text. An array, an object, or a word for true or null
may have a notation of the format's own; it is found by the literals around other values:

    days: 3 | tags: (a ; b) |        mid ': ', after ' | ' or ' |': so the array is '(a ; b)'
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, permutations
from types import NoneType
from typing import NamedTuple, TypeVar

from msgspec import Struct, field

from autoparser.analysis.core.call_notation import RowSlot, json_notation, python_notation
from autoparser.analysis.core.conversation import Json, Message, Presence, ToolCall
from autoparser.analysis.core.json_types import JsonType, json_type
from autoparser.analysis.core.reading_judge import same_json
from autoparser.analysis.core.string_notation import StringEscape, StringText
from autoparser.analysis.core.text_alignment import common_prefix
from autoparser.analysis.core.turn_parts import EdgeStrip, StrippedEdges, TurnPart

from .examples import ID_MARK, KEY_MARK, NAME_MARK, fill_marks, with_own_words

# The spellings that a value of a message may have in an output, and their places.


class WordSpan(Struct, frozen=True):
    """A span of an output."""

    start: int
    """The offset of the first character, e.g. 6 for `look` in `<call>look()`."""
    end: int
    """The offset after the last character, e.g. 10."""


MOST = 6
"""At most this many places of one text are tried."""


def find_text(text: str, word: str, start: int) -> Iterator[WordSpan]:
    """Find a text from an offset on: first where it stands as a whole word, then elsewhere."""
    places: list[WordSpan] = []
    at = text.find(word, start)
    # A short word may be anywhere; the nearest places are the likeliest.
    while word and at >= 0 and len(places) < MOST:
        places.append(WordSpan(at, at + len(word)))
        at = text.find(word, at + 1)
    yield from (place for place in places if whole_words(text, place))
    yield from (place for place in places if not whole_words(text, place))


def whole_words(text: str, place: WordSpan) -> bool:
    """Whether no word continues beyond either edge of a span."""
    # `3` in `13` is not a whole word.
    before, after = text[: place.start][-1:], text[place.end :][:1]
    return not (
        (is_wordly(before) and is_wordly(text[place.start]))
        or (is_wordly(after) and is_wordly(text[place.end - 1]))
    )


def leading_space(text: str) -> str:
    """Return the whitespace that a text begins with."""
    return text[: len(text) - len(text.lstrip())]


def is_wordly(char: str) -> bool:
    """Whether a character is one of a word."""
    return char.isalnum() or char == "_"


def value_texts(value: Json, escape: StringEscape) -> tuple[str, ...]:
    """Return the possible spellings of an argument's value, the usual one first."""
    # A string has one spelling under an escape; other values have spacings.
    if isinstance(value, str):
        return (StringText(escape=escape).write(value),)
    notations = (
        *(json_notation(comma=comma, colon=colon) for comma, colon in _SPACINGS),
        json_notation(ascii_only=True),
        python_notation(),
    )
    return tuple(dict.fromkeys(notation.write(value) for notation in notations))


def key_texts(key: str, escape: StringEscape) -> tuple[str, ...]:
    """Return the possible spellings of an argument's name: verbatim, or escaped as strings are."""
    if escape in (StringEscape.VERBATIM, StringEscape.PYTHON):
        return (key,)
    return tuple(dict.fromkeys((key, StringText(escape=escape).write(key))))


_SPACINGS = ((", ", ": "), (",", ":"))


def value_at(text: str, at: int, sign: str = "") -> tuple[Json, int] | None:
    """Read the JSON value, or else the Python list or dict, that begins at an offset.

    `sign` is part of every list or dict of Python.
    """
    try:
        return _DECODER.raw_decode(text, at)
    except (ValueError, RecursionError):
        close = _CLOSERS.get(text[at], "")
    # Try each bracket that may close the value; the first one that Python can parse wins.
    for end in _closer_offsets(close, text[at : at + _LONGEST_LITERAL]) if close else ():
        # Without single quotes it would be JSON, which failed above.
        if sign not in text[at : at + end]:
            continue
        try:
            return ast.literal_eval(text[at : at + end]), at + end
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
    return None


def escaped_value_at(text: str, at: int, escape: StringEscape) -> tuple[Json, int] | None:
    """Read JSON that is escaped as strings are, as `guest="{&#34;name&#34;: &#34;Bo&#34;}"`."""
    for end in _closer_offsets(_CLOSERS[text[at]], text[at:]):
        try:
            return json.loads(StringText(escape=escape).read(text[at : at + end])), at + end
        except (ValueError, RecursionError):
            continue
    return None


_DECODER = json.JSONDecoder()
_CLOSERS = {"[": "]", "{": "}"}
_LONGEST_LITERAL = 4000
"""The end of a Python literal is searched for in at most this many characters."""


def _closer_offsets(close: str, text: str) -> Iterator[int]:
    return (match.end() for match in re.finditer(re.escape(close), text))


class DecodedObject(NamedTuple):
    """A JSON object, or a Python dict, in a text."""

    start: int
    """The offset of its opening bracket, e.g. 6 in `<call>{"city": "Oslo"}</call>`, or of the quote
    of the string that holds it."""
    end: int
    """The offset after its end, here 22."""
    value: dict[str, Json]
    """E.g. `{"city": "Oslo"}`."""


def objects_in(text: str, start: int, *, encoded: bool) -> Iterator[DecodedObject]:
    """Yield the objects in a text, outer ones first; `encoded` ones are JSON in a JSON string."""
    opener = '"' if encoded else "{"
    at = text.find(opener, start)
    while at >= 0:
        # Python writes a dict in single quotes, so `{"ok": True}` is garbled JSON.
        found = value_at(text, at, "'")
        if found is not None:
            value, end = found
            if encoded and isinstance(value, str):
                value = _decoded_json(value)
            if isinstance(value, dict):
                yield DecodedObject(at, end, value)
        at = text.find(opener, at + 1)


def _decoded_json(text: str) -> Json:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


_LONGEST_WORD = 16
"""The maximum length of a word for true, false or null."""


class ValueFrames(Struct, frozen=True):
    """The literals before and after values, from examples whose values were all found."""

    middles: Mapping[str, int]
    """The literals between a key and its value, with their counts, e.g. `{": ": 7}`."""
    betweens: tuple[str, ...]
    """The literals from a value to the next key, e.g. `" | "`, with marks for the value's own key
    and the call's name."""
    tails: tuple[str, ...]
    """The literals after the last value, as far as most turns share them, e.g. `" |"`."""

    def likely(self, middle: str) -> int:
        """Return how often a literal stood between a key and its value."""
        return self.middles.get(middle, 0)

    def spans(
        self, text: str, start: int, value: Json, words: Mapping[str, str], following: str
    ) -> Iterator[WordSpan]:
        """Yield the places of a value in a notation of its own, after its key.

        `words` are the texts that fill the marks, `following` is the next key.
        """
        afters = self.betweens if following else self.tails
        # Every suffix counts, since the front of a literal may close other types of values.
        suffixes = (literal[at:] for literal in afters for at in range(len(literal)))
        ends = [fill_marks(suffix, words) + following for suffix in suffixes]
        # Find where the value may begin, then where it may end; literals of other examples decide.
        for begin in self._begins(text, start):
            for end in sorted(_end_offsets(text, begin, ends)):
                if _may_be_value(text[begin:end], value):
                    yield WordSpan(begin, end)

    def _begins(self, text: str, start: int) -> Iterator[int]:
        known = sorted(self.middles, key=len)
        # A literal may differ at its end, where the value's own quote begins.
        shared = common_prefix(*known) if len(known) > 1 else ""
        for middle in dict.fromkeys((*known, shared)):
            if middle.strip() and text.startswith(middle, start):
                yield start + len(middle)


def _end_offsets(text: str, begin: int, ends: Sequence[str]) -> set[int]:
    """Return the first offset of each of the ends."""
    found = {text.find(end, begin) for end in ends if end.strip()}
    return {at for at in found if at >= 0}


def _may_be_value(text: str, value: Json) -> bool:
    """Whether a text may be a value: a word, or a text that contains all members of the value."""
    if value is None or isinstance(value, bool):
        return 0 < len(text) <= _LONGEST_WORD and not re.search(r"\s", text)
    return isinstance(value, (list, dict)) and _end_of_held_texts(text, 0, value) is not None


def _end_of_held_texts(text: str, at: int, value: Json) -> int | None:
    """Return where the last text of a value ends, or None if one is missing."""
    if isinstance(value, dict):
        parts: list[Json] = [part for pair in value.items() for part in pair]
    elif isinstance(value, list):
        parts = value
    elif isinstance(value, str) and not value.isalnum():
        return at  # may be escaped
    else:
        word = "" if value is None or isinstance(value, bool) else str(value)
        found = text.find(word, at)
        return None if found < 0 else found + len(word)
    for part in parts:
        reached = _end_of_held_texts(text, at, part)
        if reached is None:
            return None
        at = reached
    return at


class ArgumentStyle(NamedTuple):
    """How the arguments of a call are searched for."""

    whole: bool = False
    """As one object, e.g. `{"city": "Oslo"}`."""
    encoded: bool = False
    r"""As one object inside a JSON string, e.g. `"{\"city\": \"Oslo\"}"`."""
    escape: StringEscape = StringEscape.VERBATIM
    """The escape of strings in arguments one by one, e.g. HTML for `a &lt; b`."""


_VERBATIM = ArgumentStyle()


class Hypothesis(Struct, frozen=True):
    """The fields to search for in a call, in their order."""

    fields: tuple[RowSlot, ...]
    """E.g. `(NAME, ARGUMENTS)`."""
    style: ArgumentStyle
    """How arguments are searched for, e.g. one by one, in strings as Python's `repr` writes
    them."""


class Mark(Struct, frozen=True):
    """A place in an output that is filled by the message."""

    what: TurnPart | RowSlot
    """E.g. `TurnPart.CONTENT`, or `RowSlot.KEY` in a call."""
    start: int
    """The offset of its text in the turn, e.g. 12 for `look` in
    `<|asst|>[do look(city='Oslo')]`."""
    end: int
    """The offset after its text, here 16."""
    call: int = 0
    """The number of its call, from 0; 0 for content and reasoning."""
    kind: JsonType | None = None
    """The type of a value, e.g. string; None for all else."""
    value: Json = None
    """The value itself, e.g. `"Oslo"`, the unescaped key, or the content or reasoning."""
    edges: StrippedEdges = field(default_factory=StrippedEdges)
    """The whitespace that content or reasoning loses at its edges, e.g. `EdgeStrip.NOTHING` on both
    sides."""


class AlignedExample(Struct, frozen=True):
    """A turn's text with all its marks."""

    text: str
    r"""The whole turn, e.g. `"<a><call>look(city=\"Oslo\")</call>"`, including what the prompt
    has written of it."""
    start: int
    """The offset of the output in the text, e.g. 3 after a prompt that ends with `<a>`."""
    message: Message
    """The meaning of the output, e.g. one call of `look`."""
    marks: tuple[Mark, ...]
    """The places of its texts, in order, e.g. of `look`, `city` and `Oslo`."""
    style: ArgumentStyle = _VERBATIM
    """How its arguments were found, e.g. one by one."""

    def between(self, at: int) -> str:
        """Return the literal before mark number `at`; after the last mark, the rest."""
        start = self.marks[at - 1].end if at else 0
        end = self.marks[at].start if at < len(self.marks) else len(self.text)
        return self.text[start:end]


class _Wanted(Struct, frozen=True):
    """A field to be found next, with every spelling that it may have."""

    what: TurnPart | RowSlot
    """The part of the turn or of a call, e.g. NAME."""
    text: str = ""
    """Its text as given, e.g. `look`; empty for values."""
    call: int = 0
    """The number of its call, from 0."""
    value: Json = None
    """The value, or all arguments as one object, e.g. `{"city": "Oslo", "days": 3}`."""
    style: ArgumentStyle = _VERBATIM
    """How the arguments are written, e.g. one by one."""
    own: Mapping[str, str] = field(default_factory=dict[str, str])
    """For a value: its key and the call's name and id, by mark; closing tags such as `</city>` may
    repeat them."""
    following: str = ""
    """For a value: the next key, e.g. `days`; empty after the last."""


def present_parts(presence: Presence) -> tuple[TurnPart, ...]:
    """Return the parts that a message has."""
    return tuple(part for part, there in zip(TurnPart, presence, strict=True) if there)


def align_message(
    text: str,
    start: int,
    message: Message,
    guess: Hypothesis,
    frames: ValueFrames | None = None,
    *,
    only_known: bool = False,
) -> AlignedExample | None:
    """Find all of a message in a turn's text from an offset on, or return None.

    A message with an empty text has no place for it, so the result is None, too. `frames` are the
    literals around values in other examples: of several places of a value the one with the most
    usual literals counts, and a value whose spelling is unknown is searched for there. With
    `only_known`, values that the text does not hold in a known notation are left out.
    """
    # Which part comes first is up to the format; the usual order is tried first.
    for parts in permutations(present_parts(message.presence)):
        wanted = [sought for part in parts for sought in _fields_of_part(part, message, guess)]
        if only_known:
            # Place all other values, so that they show the literals.
            wanted = [sought for sought in wanted if not _has_unknown_spelling(sought, text)]
        # A list, since all levels of the search share it.
        budget = [_STEPS]
        marks = _place_fields(text, start, wanted, budget, frames)
        if marks is not None:
            return AlignedExample(text, start, message, tuple(marks), guess.style)
    return None


def may_be_unknown(message: Message, text: str) -> bool:
    """Whether an argument is an array, object or word that the text lacks in known notations."""
    wanted = (
        _Wanted(RowSlot.VALUE, value=value)
        for call in message.calls
        for value in call.arguments.values()
    )
    return any(_has_unknown_spelling(sought, text) for sought in wanted)


def _has_unknown_spelling(wanted: _Wanted, text: str) -> bool:
    if wanted.what is not RowSlot.VALUE or not isinstance(
        wanted.value, (bool, list, dict, NoneType)
    ):
        return False
    return not any(written in text for written in value_texts(wanted.value, wanted.style.escape))


_STEPS = 4000
"""At most this many places are examined for one example."""


def _fields_of_part(part: TurnPart, message: Message, guess: Hypothesis) -> Iterator[_Wanted]:
    if part is TurnPart.REASONING:
        yield _Wanted(part, message.reasoning)
    elif part is TurnPart.CONTENT:
        yield _Wanted(part, message.content)
    else:
        for at, call in enumerate(message.calls):
            for field in guess.fields:
                yield from _fields_of_call(field, call, at, guess.style)


def _fields_of_call(
    field: RowSlot, call: ToolCall, at: int, style: ArgumentStyle
) -> Iterator[_Wanted]:
    if field is RowSlot.NAME:
        yield _Wanted(field, call.name, at)
    elif field is RowSlot.ID:
        yield _Wanted(field, call.id, at)
    elif style.whole or style.encoded:
        yield _Wanted(field, "", at, dict(call.arguments), style)
    else:
        # Each value is searched for before the next key.
        following = (*list(call.arguments)[1:], "")
        for (key, value), after in zip(call.arguments.items(), following, strict=False):
            own = {KEY_MARK: key, NAME_MARK: call.name, ID_MARK: call.id}
            yield _Wanted(RowSlot.KEY, key, at, key, style)
            yield _Wanted(RowSlot.VALUE, "", at, value, style, own, after)


def _place_fields(
    text: str,
    start: int,
    wanted: Sequence[_Wanted],
    budget: list[int],
    frames: ValueFrames | None,
) -> list[Mark] | None:
    """Place the first field, then the others after it; backtrack if they do not fit."""
    if not wanted:
        return []
    places = _possible_marks(text, start, wanted[0])
    # In `days: 3` beside `3 days`, the usual literal decides between the places of the number.
    if wanted[0].what is RowSlot.VALUE and frames is not None:
        value = wanted[0]
        framed = (
            _mark_at(RowSlot.VALUE, span, value.call, value.value)
            for span in frames.spans(text, start, value.value, value.own, value.following)
        )
        known = sorted(places, key=lambda mark: -frames.likely(text[start : mark.start]))
        places = chain(known, framed)
    for mark in places:
        budget[0] -= 1
        if budget[0] < 0:
            return None
        rest = _place_fields(text, mark.end, wanted[1:], budget, frames)
        if rest is not None:
            return [mark, *rest]
    return None


def _possible_marks(text: str, start: int, wanted: _Wanted) -> Iterator[Mark]:
    what, call = wanted.what, wanted.call
    if isinstance(what, TurnPart):
        yield from _text_marks(text, start, wanted)
    elif what is RowSlot.ARGUMENTS and isinstance(wanted.value, dict):
        for found in objects_in(text, start, encoded=wanted.style.encoded):
            if same_json(found.value, wanted.value):
                yield _mark_at(what, WordSpan(found.start, found.end), call, wanted.value)
    else:
        for written in _field_spellings(wanted):
            for span in find_text(text, written, start):
                yield _mark_at(what, span, call, wanted.value)


def _field_spellings(wanted: _Wanted) -> tuple[str, ...]:
    if wanted.what is RowSlot.VALUE:
        return value_texts(wanted.value, wanted.style.escape)
    if wanted.what is RowSlot.KEY:
        return key_texts(wanted.text, wanted.style.escape)
    return (wanted.text,)


def _mark_at(what: RowSlot, span: WordSpan, call: int, value: Json) -> Mark:
    kind = json_type(value) if what is RowSlot.VALUE else None
    return Mark(what, span.start, span.end, call, kind, value)


def _text_marks(text: str, start: int, wanted: _Wanted) -> Iterator[Mark]:
    """Place content or reasoning, whole or without whitespace at its edges."""
    for edges in _EDGES:
        written = edges.apply(wanted.text)
        for span in find_text(text, written, start):
            yield Mark(wanted.what, span.start, span.end, value=wanted.text, edges=edges)
        # If the text has no whitespace at its edges, every kind of stripping gives the same text.
        if written == wanted.text.strip():
            break


_EDGES = (
    StrippedEdges(),
    StrippedEdges(EdgeStrip.NOTHING, EdgeStrip.WHITESPACE),
    StrippedEdges(EdgeStrip.WHITESPACE, EdgeStrip.NOTHING),
    StrippedEdges(EdgeStrip.WHITESPACE, EdgeStrip.WHITESPACE),
)

# The calls of aligned examples, cut into the literals before, between and after their places.
#
# A literal's repetitions of the call's own name or id are replaced by `NAME_MARK` or `ID_MARK`,
# so that literals of different calls can be compared.


_ENTRIES = (RowSlot.KEY, RowSlot.VALUE)

_Kind = TypeVar("_Kind", bound=Hashable)


def most_frequent(candidates: Iterable[_Kind]) -> _Kind | None:
    """Return the most frequent item, the first of equals, which tolerates a few odd examples."""
    counted = Counter(candidates)
    return max(counted, key=lambda candidate: counted[candidate], default=None)


class ShownCall(Struct, frozen=True):
    """One call of an example."""

    at: int
    """The call's number in the turn, from 0."""
    before: str
    """The literal before its first place, from the end of the previous part, e.g. `"<call>"`."""
    fields: tuple[tuple[RowSlot, tuple[Mark, ...]], ...]
    """Its fields in order, e.g. NAME and ARGUMENTS, each with its marks; arguments one by one
    have many."""
    joints: tuple[str, ...]
    """The literals between the fields, e.g. `("(",)` in `look(city="Oslo")`."""
    after: str
    r"""The literal from its last place to the next part, call, or the end, e.g. `"\")</call>"`."""
    last: bool
    """Whether no call follows."""
    inside: tuple[str, ...]
    r"""The literals between the places of arguments that are written one by one, e.g. `("=\"",
    "\", ", "=")` in `city="Oslo", days=3`."""
    texts: tuple[str, ...]
    """The text at each place of the arguments, e.g. `("city", "Oslo", "days", "3")`."""


def shown_calls(aligned: AlignedExample) -> Iterator[ShownCall]:
    """Cut the calls of an example into fields and literals."""
    positions = [at for at, mark in enumerate(aligned.marks) if isinstance(mark.what, RowSlot)]
    number = len(aligned.message.calls)
    previous: ToolCall | None = None
    for call_at, group in groupby(positions, key=lambda at: aligned.marks[at].call):
        places = list(group)
        call = aligned.message.calls[call_at]
        before = aligned.between(places[0])
        yield _shown_call(
            aligned,
            call,
            places,
            # The literal between two calls may close the first one by its name, as `</look>` does.
            before if previous is None else with_own_words(before, previous),
            last=call_at == number - 1,
        )
        previous = call


def _shown_call(
    aligned: AlignedExample, call: ToolCall, places: Sequence[int], before: str, *, last: bool
) -> ShownCall:
    """Split a call of an aligned example into fields and the literals between them."""
    fields: list[tuple[RowSlot, tuple[Mark, ...]]] = []
    joints: list[str] = []
    inside: list[str] = []
    for at in places:
        mark = aligned.marks[at]
        # Keys and values one by one make up one field, like arguments in one object.
        slot = RowSlot.ARGUMENTS if mark.what in _ENTRIES else RowSlot(mark.what)
        literal = aligned.between(at)
        if fields and slot is RowSlot.ARGUMENTS and fields[-1][0] is slot:
            fields[-1] = (slot, (*fields[-1][1], mark))
            inside.append(literal)
            continue
        if fields:
            joints.append(with_own_words(literal, call))
        fields.append((slot, (mark,)))
    marks = next((marks for slot, marks in fields if slot is RowSlot.ARGUMENTS), ())
    return ShownCall(
        aligned.marks[places[0]].call,
        before,
        tuple(fields),
        tuple(joints),
        with_own_words(aligned.between(places[-1] + 1), call),
        last,
        tuple(inside),
        tuple(aligned.text[mark.start : mark.end] for mark in marks),
    )
