"""Conclude from the calls of examples how arguments are written.

`conclude_arguments` finds the facts that A1–A3, T5 and T6 conclude from renders: one value in a
notation that Python itself writes, or entries with an opening, a separator and a close.
`own_containers` finds the notation of arrays and objects inside arguments from a few of them: the
spellings of strings, numbers and words are known and found in order, and each literal between two
of them is a sequence of unknowns. A literal of one unknown determines it, which leaves fewer in the
others:

    {a: (x; y)}        OPEN = '{'    MIDDLE OPEN' = ': ('    NEXT' = '; '    CLOSE' CLOSE = ')}'
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum, auto
from itertools import islice, product

from msgspec import Struct, field
from msgspec.structs import replace

from autoparser.analysis.core.call_format import ArgumentFormat
from autoparser.analysis.core.call_notation import (
    ContainerNotation,
    Row,
    RowSlot,
    ValueNotation,
    json_notation,
)
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import JsonType
from autoparser.analysis.core.string_notation import StringEscape, StringText
from autoparser.analysis.core.text_alignment import common_prefix, split_repetition

from .argument_containers import container_notation
from .argument_notation import EntryOrder, Strings, TypedRows, known_notations
from .call_rows import cut_at, without_equal_quotes
from .example_alignment import ArgumentStyle, Mark, ShownCall, leading_space
from .example_entries import EntryFrame, ShownEntries, conclude_entry_frame, shown_entries
from .examples import KEY_MARK, with_key_mark


class _Sign(Enum):
    """A part of a container's notation."""

    OPEN_ARRAY = auto()
    NEXT_ITEM = auto()
    CLOSE_ARRAY = auto()
    OPEN_OBJECT = auto()
    NEXT_MEMBER = auto()
    CLOSE_OBJECT = auto()
    MIDDLE = auto()
    """Between a key and its value."""


class _Equation(Struct, frozen=True):
    """The signs that make up a literal, in order."""

    signs: tuple[_Sign, ...]
    """E.g. `(MIDDLE, OPEN_ARRAY)`."""
    text: str
    """The literal that they make up, e.g. `": ("`."""

    def rest(self, known_signs: Mapping[_Sign, str]) -> _Equation | None:
        """Strip the known signs from both ends, or return None if the literal lacks one."""
        signs, text = list(self.signs), self.text
        # Removing known signs at the edges leaves fewer unknown ones between them.
        while signs and signs[0] in known_signs:
            if not text.startswith(known_signs[signs[0]]):
                return None
            text = text.removeprefix(known_signs[signs.pop(0)])
        while signs and signs[-1] in known_signs:
            if not text.endswith(known_signs[signs[-1]]):
                return None
            text = text.removesuffix(known_signs[signs.pop()])
        return _Equation(tuple(signs), text)


def own_containers(
    samples: Sequence[tuple[Json, str]], outer: ValueNotation, members: ContainerNotation
) -> tuple[Mapping[JsonType, ContainerNotation], int]:
    """Return the notations of arrays and objects inside arguments, and how many have them.

    `outer` is the notation of values of other types there, `members` that of the arguments.
    """
    best, right = outer, 0
    # Strings in a container may have quotes even if strings outside have none.
    for string in _string_notations(outer.string):
        inner = replace(outer, string=string)
        found = [
            literals
            for value, text in samples
            if (literals := _equations_of_sample(value, text, inner))
        ]
        equations = [equation for literals in found for equation in literals]
        # Each solution is judged by writing all samples again.
        for known in islice(_solve_equations(equations, {}), _MOST_CUTS):
            tried = _notation_from_signs(inner, known, members)
            count = sum(tried.write(value) == text for value, text in samples)
            if count > right:
                best, right = tried, count
        if right == len(samples):
            break
    values = None if best.string == outer.string else best
    containers = {
        JsonType.ARRAY: replace(best.array, values=values),
        JsonType.OBJECT: replace(best.object, values=values),
    }
    return containers, right


def _string_notations(outer_string: StringText) -> Iterator[StringText]:
    """Yield the possible notations of strings inside, first the one outside."""
    yield outer_string
    for escape, outer in (
        (StringEscape.JSON, StringEscape.VERBATIM),
        (StringEscape.JSON_HTML, StringEscape.HTML),
    ):
        sign = StringText(escape=outer).write('"')
        yield StringText(sign, sign, escape)


def _equations_of_sample(value: Json, text: str, inner: ValueNotation) -> list[_Equation] | None:
    """Return the literals of a container, or None if a text of it is missing."""
    found: list[_Equation] = []
    signs: list[_Sign] = []
    keys: list[str] = []
    at = 0
    for part in _leaves_and_signs(value, inner):
        if isinstance(part, _Sign):
            signs.append(part)
            continue
        start = text.find(part.text, at)
        if start < 0 or not part.text:
            return None
        found.append(_Equation(tuple(signs), _with_marked_keys(text[at:start], keys)))
        at, signs = start + len(part.text), []
        # A literal may repeat any key before it, as a closing tag does.
        if part.key:
            keys.append(part.text)
    found.append(_Equation(tuple(signs), _with_marked_keys(text[at:], keys)))
    return [equation for equation in found if equation.signs]


def _with_marked_keys(literal: str, keys: Sequence[str]) -> str:
    for key in keys:
        literal = with_key_mark(literal, key)
    return literal


class _Leaf(Struct, frozen=True):
    """A text of a container: a key, or a value without members."""

    text: str
    """As written, e.g. `a` or `"x"` with its quotes."""
    key: bool = False
    """Whether it is a key, e.g. True for `a` in `{"a": "x"}`."""


def _leaves_and_signs(value: Json, inner: ValueNotation) -> Iterator[_Leaf | _Sign]:
    if isinstance(value, dict) and value:
        for at, (key, held) in enumerate(value.items()):
            yield _Sign.NEXT_MEMBER if at else _Sign.OPEN_OBJECT
            yield _Leaf(StringText(escape=inner.string.escape).write(key), key=True)
            yield _Sign.MIDDLE
            yield from _leaves_and_signs(held, inner)
        yield _Sign.CLOSE_OBJECT
    elif isinstance(value, list) and value:
        for at, held in enumerate(value):
            yield _Sign.NEXT_ITEM if at else _Sign.OPEN_ARRAY
            yield from _leaves_and_signs(held, inner)
        yield _Sign.CLOSE_ARRAY
    elif isinstance(value, (dict, list)):
        # An empty container is its two brackets, as one literal between other texts.
        yield _Sign.OPEN_OBJECT if isinstance(value, dict) else _Sign.OPEN_ARRAY
        yield _Sign.CLOSE_OBJECT if isinstance(value, dict) else _Sign.CLOSE_ARRAY
    else:
        yield _Leaf(inner.write(value))


_MOST_CUTS = 64
"""At most this many cuts of literals with two unknowns are tried."""


def _solve_equations(
    equations: Sequence[_Equation], known_signs: Mapping[_Sign, str]
) -> Iterator[Mapping[_Sign, str]]:
    """Solve the equations one by one; if each has two unknowns, try every cut of one."""
    known_signs = dict(known_signs)
    while True:
        # Equations whose signs are not all known yet.
        open_ = [
            rest for equation in equations if (rest := equation.rest(known_signs)) and rest.signs
        ]
        single = next((equation for equation in open_ if len(set(equation.signs)) == 1), None)
        if single is None:
            break
        # `}}` for two closers means one `}` each.
        size = len(single.text) // len(single.signs)
        # Equations with this sign have one unknown sign less now.
        known_signs[single.signs[0]] = single.text[:size]
    if not open_:
        yield known_signs
        return
    # The shortest literal has the fewest cuts.
    first = min(open_, key=lambda equation: len(equation.text))
    for size in _possible_sizes(first, known_signs):
        yield from _solve_equations(equations, {**known_signs, first.signs[0]: first.text[:size]})


_OPENING = {_Sign.CLOSE_ARRAY: _Sign.OPEN_ARRAY, _Sign.CLOSE_OBJECT: _Sign.OPEN_OBJECT}


def _possible_sizes(equation: _Equation, known_signs: Mapping[_Sign, str]) -> Sequence[int]:
    """Return where the first sign may end: without cutting a unit, then by its open's length."""
    text = equation.text
    like = known_signs.get(_OPENING.get(equation.signs[0], equation.signs[0]), "")

    def unlikely(size: int) -> tuple[bool, int]:
        return len(common_prefix(text, text[:size])) != size, abs(size - len(like))

    return sorted(range(min(len(text), _MOST_CUTS) + 1), key=unlikely)


def _notation_from_signs(
    inner: ValueNotation, known_signs: Mapping[_Sign, str], members: ContainerNotation
) -> ValueNotation:
    """Build the notation from signs; an unseen separator of members is taken from arguments."""
    array, object_ = inner.array, inner.object
    # An array that was never seen keeps JSON's notation.
    if _Sign.OPEN_ARRAY in known_signs and _Sign.CLOSE_ARRAY in known_signs:
        separator = known_signs.get(
            _Sign.NEXT_ITEM, known_signs.get(_Sign.NEXT_MEMBER, members.separator)
        )
        array = _container_from_signs(
            known_signs[_Sign.OPEN_ARRAY], separator, known_signs[_Sign.CLOSE_ARRAY]
        )
    if _Sign.OPEN_OBJECT in known_signs and _Sign.CLOSE_OBJECT in known_signs:
        separator = known_signs.get(
            _Sign.NEXT_MEMBER, known_signs.get(_Sign.NEXT_ITEM, members.separator)
        )
        seen = _Sign.MIDDLE in known_signs
        # An object whose keys were never seen is assumed to be written as arguments are.
        row = (RowSlot.KEY, known_signs[_Sign.MIDDLE], RowSlot.VALUE) if seen else members.entry
        object_ = _container_from_signs(
            known_signs[_Sign.OPEN_OBJECT], separator, known_signs[_Sign.CLOSE_OBJECT], row
        )
        object_ = replace(object_, key=StringText(escape=inner.string.escape))
    return replace(inner, array=array, object=object_)


def _container_from_signs(
    before: str, between: str, after: str, slots: Row = (RowSlot.VALUE,)
) -> ContainerNotation:
    parts = split_repetition(before, between, after)
    return ContainerNotation(
        parts.prefix,
        parts.suffix,
        parts.separator,
        parts.prefix + parts.suffix,
        entry=cut_at((parts.open, *slots, parts.close), KEY_MARK, RowSlot.KEY),
    )


class ShownArguments(Struct, frozen=True):
    """The notation of arguments, and the parts of the literals around them that belong to it."""

    arguments: ArgumentFormat
    """The notation, as A1 to A3 learn it from renders, e.g. of `city="Oslo", days=3`."""
    entries: EntryFrame = field(default_factory=EntryFrame)
    """The literals around arguments one by one, e.g. separated by `", "`."""
    guesses: tuple[str, ...] = ()
    """The conclusions that no example shows, e.g. `"calls without arguments"`."""

    def before(self, literal: str) -> str:
        """Cut the opening of the first entry off the literal before the arguments."""
        return self.entries.before(literal)

    def after(self, literal: str, marks: Sequence[Mark]) -> str:
        """Cut the close of the last entry off the literal after the arguments."""
        if len(marks) < _PAIR:
            return literal
        guard = self.arguments.values.string.guard
        key = self.arguments.members.key.write(str(marks[-2].value))
        kind = marks[-1].kind or JsonType.NULL
        return self.entries.after(literal, kind, key, guard.close if guard else "")


_PAIR = 2
"""The number of marks of one argument: its key and its value."""


def conclude_arguments(calls: Sequence[ShownCall], style: ArgumentStyle) -> ShownArguments | None:
    """Conclude how arguments are written, or return None if no call shows any."""
    if style.whole or style.encoded:
        return _one_value(calls, encoded=style.encoded)
    return _entry_by_entry(calls, style.escape)


def _one_value(calls: Sequence[ShownCall], *, encoded: bool) -> ShownArguments | None:
    """Choose the known notation that reproduces the most examples of whole argument objects."""
    seen: list[tuple[Json, str]] = []
    for call in calls:
        for slot, marks in call.fields:
            if slot is RowSlot.ARGUMENTS:
                text = call.texts[0]
                seen.append((marks[0].value, json.loads(text) if encoded else text))
    if not seen:
        return None
    # Choose the notation that most examples have, to tolerate a few malformed ones.
    best, indented = max(
        _candidate_notations([text for _, text in seen]),
        key=lambda pair: sum(pair[0].write(value, pair[1]) == text for value, text in seen),
    )
    # `{}` alone shows neither separators nor spacing.
    guesses = () if any(value for value, _ in seen) else ("calls with arguments",)
    return ShownArguments(
        ArgumentFormat(best.object, best, indented if best.object.indent else "", encoded=encoded),
        guesses=guesses,
    )


def _candidate_notations(texts: Sequence[str]) -> Iterator[tuple[ValueNotation, str]]:
    for comma, colon in product((", ", ","), (": ", ":")):
        yield from ((notation, "") for notation in known_notations(comma=comma, colon=colon))
    for lines in {(text.split("\n")[1], text.split("\n")[-1]) for text in texts if "\n" in text}:
        inner, margin = map(leading_space, lines)
        indent = inner.removeprefix(margin)
        if indent:
            notations = known_notations(indent=indent)
            yield from ((notation, margin) for notation in notations)


def _entry_by_entry(calls: Sequence[ShownCall], escape: StringEscape) -> ShownArguments | None:
    """Combine what examples show of keys, values and containers; types not shown are guessed."""
    shown = shown_entries(calls)
    if not shown.middles:
        return None
    frame = conclude_entry_frame(shown, escape)
    rows: dict[JsonType, Row | None] = {
        kind: frame.row(kind, middle) for kind, middle in shown.middles.items()
    }
    guesses = tuple(_guess_words(calls, shown, frame, escape))
    string = rows.get(JsonType.STRING) or next(iter(rows.values())) or (RowSlot.VALUE,)
    rows.setdefault(JsonType.STRING, string)
    # Only strings were seen: other types are guessed to be written without quotes.
    if rows.keys() == {JsonType.STRING}:
        rows[JsonType.INTEGER] = without_equal_quotes(string) or string
    held = _nested_values(shown)
    containers, known = _known_containers(held)
    members = container_notation(
        EntryOrder(frame.repetition),
        Strings(string, StringText(escape=escape, guard=shown.guard)),
        TypedRows(rows, _literal_words(shown.texts), containers=containers),
        _key_notation(shown, escape),
    )
    values = members.values or json_notation()
    # Python's notations are tried before the format's own: they need no example of each part.
    own, written = own_containers(held, values, members)
    if written > known:
        # The format's own notation explains more values than any of Python's.
        values = replace(values, array=own[JsonType.ARRAY], object=own[JsonType.OBJECT])
    return ShownArguments(ArgumentFormat(replace(members, values=None), values), frame, guesses)


def _nested_values(entries: ShownEntries) -> list[tuple[Json, str]]:
    """Return the arrays and objects among the arguments."""
    return [(value, text) for value, text in entries.texts if isinstance(value, (list, dict))]


def _guess_words(
    calls: Sequence[ShownCall], entries: ShownEntries, frame: EntryFrame, escape: StringEscape
) -> Iterator[str]:
    """Yield, in words, the facts about arguments that the examples do not show."""
    # Name the facts that no example shows, so that the user can add an example of each.
    if frame.guessed:
        yield "the separator of two arguments"
    if JsonType.STRING not in entries.middles:
        yield "the quotes and escapes of string arguments"
    if entries.middles.keys() == {JsonType.STRING}:
        yield "arguments that are not strings"
    strings = [value for value, _ in entries.texts if isinstance(value, str)]
    quoted = bool(frame.closes.get(JsonType.STRING)) or escape is StringEscape.PYTHON
    if quoted and not any(set("\"'\\\n") & set(string) for string in strings):
        yield "escapes of quotes and line breaks in strings"
    if entries.guard is not None:
        yield "all characters that give a string its own wrapper"
    if not _nested_values(entries):
        yield "arrays and objects as arguments"
    if all(any(slot is RowSlot.ARGUMENTS for slot, _ in call.fields) for call in calls):
        yield GUESSED_EMPTY


GUESSED_EMPTY = "calls without arguments"


def _key_notation(entries: ShownEntries, escape: StringEscape) -> StringText:
    """Return how keys are written: verbatim, unless they or the signs around are escaped."""
    text = StringText(escape=escape)
    around = [*entries.middles.values(), *entries.betweens.values()]
    html = escape in (StringEscape.HTML, StringEscape.JSON_HTML)
    escaped = html and any(text.read(literal) != literal for literal in around)
    return text if escaped or any(key != seen for key, seen in entries.keys) else StringText()


def _literal_words(texts: Sequence[tuple[Json, str]]) -> dict[str, str]:
    """Return the words for true, false and null.

    An unseen word is taken from the known notation that fits the others.
    """
    words = {
        json.dumps(value): text for value, text in texts if value is None or isinstance(value, bool)
    }
    worded = _best_notation([(json.loads(word), text) for word, text in words.items()])
    return {"true": worded.true, "false": worded.false, "null": worded.null, **words}


def _known_containers(
    samples: Sequence[tuple[Json, str]],
) -> tuple[dict[JsonType, ContainerNotation], int]:
    """Return the known notations of arrays and objects, and how many values have them."""
    arrays = [(value, text) for value, text in samples if isinstance(value, list)]
    objects = [(value, text) for value, text in samples if isinstance(value, dict)]
    array, object_ = _best_notation(arrays or objects), _best_notation(objects or arrays)
    right = sum(array.write(value) == text for value, text in arrays)
    right += sum(object_.write(value) == text for value, text in objects)
    containers = {
        JsonType.ARRAY: replace(array.array, values=array),
        JsonType.OBJECT: replace(object_.object, values=object_),
    }
    return containers, right


def _best_notation(samples: Sequence[tuple[Json, str]]) -> ValueNotation:
    """Return the known notation that fits most of these values, the usual one of equals."""
    notations = [notation for notation, _ in _candidate_notations(())]
    return max(
        notations,
        key=lambda notation: sum(notation.write(value) == text for value, text in samples),
    )
