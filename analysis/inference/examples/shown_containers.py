"""Arrays and objects inside arguments in a notation of their own, concluded from a few of them.

What strings, numbers and words look like is known. Their texts are found in order, and each literal
between two of them is a row of unknowns: what opens, separates and closes arrays and objects, and
what stands between a key and its value. A literal of one unknown says what it is, which leaves
fewer in the others:

    {a: (x; y)}        OPEN = '{'    MIDDLE OPEN' = ': ('    NEXT' = '; '    CLOSE' CLOSE = ')}'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import islice

from autoparser.analysis.core.alignment import common_prefix, decompose
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Container, Escape, JsonType, Notation, Row, Slot, Text
from autoparser.analysis.inference.learning.learnt_rows import cut_at

from .own_words import KEY_MARK, with_key_mark

__all__ = ["own_containers"]


class _Sign(Enum):
    """What is written of containers."""

    OPEN_ARRAY = auto()
    NEXT_ITEM = auto()
    CLOSE_ARRAY = auto()
    OPEN_OBJECT = auto()
    NEXT_MEMBER = auto()
    CLOSE_OBJECT = auto()
    MIDDLE = auto()
    """Between a key and its value."""


@dataclass(frozen=True, slots=True)
class _Equation:
    """The signs that a literal is made of, in order."""

    signs: tuple[_Sign, ...]
    text: str

    def rest(self, known: Mapping[_Sign, str]) -> _Equation | None:
        """Leave out what is known at either end; None where it is not there."""
        signs, text = list(self.signs), self.text
        while signs and signs[0] in known:
            if not text.startswith(known[signs[0]]):
                return None
            text = text.removeprefix(known[signs.pop(0)])
        while signs and signs[-1] in known:
            if not text.endswith(known[signs[-1]]):
                return None
            text = text.removesuffix(known[signs.pop()])
        return _Equation(tuple(signs), text)


def own_containers(
    seen: Sequence[tuple[Json, str]], outer: Notation, members: Container
) -> tuple[Mapping[JsonType, Container], int]:
    """Return how arrays and objects are written inside arguments, and how many are written so.

    `outer` is how values of other types are written there, `members` how the arguments are.
    """
    best, right = outer, 0
    for string in _strings(outer.string):
        inner = replace(outer, string=string)
        found = [each for value, text in seen if (each := _equations(value, text, inner))]
        equations = [equation for each in found for equation in each]
        for known in islice(_solved(equations, {}), _MOST_CUTS):
            tried = _notation(inner, known, members)
            count = sum(tried.write(value) == text for value, text in seen)
            if count > right:
                best, right = tried, count
        if right == len(seen):
            break
    values = None if best.string == outer.string else best
    containers = {
        JsonType.ARRAY: replace(best.array, values=values),
        JsonType.OBJECT: replace(best.object, values=values),
    }
    return containers, right


def _strings(known: Text) -> Iterator[Text]:
    """Return how strings inside may be written, first as outside."""
    yield known
    for escape, outer in ((Escape.JSON, Escape.VERBATIM), (Escape.JSON_HTML, Escape.HTML)):
        sign = Text(escape=outer).write('"')
        yield Text(sign, sign, escape)


def _key_text(inner: Notation) -> Text:
    return Text(escape=inner.string.escape)


def _equations(value: Json, text: str, inner: Notation) -> list[_Equation] | None:
    """Return the literals of a container; None where a text of it is missing."""
    found: list[_Equation] = []
    signs: list[_Sign] = []
    keys: list[str] = []
    at = 0
    for part in _parts(value, inner):
        if isinstance(part, _Sign):
            signs.append(part)
            continue
        start = text.find(part.text, at)
        if start < 0 or not part.text:
            return None
        found.append(_Equation(tuple(signs), _marked(text[at:start], keys)))
        at, signs = start + len(part.text), []
        if part.key:
            keys.append(part.text)
    found.append(_Equation(tuple(signs), _marked(text[at:], keys)))
    return [each for each in found if each.signs]


def _marked(literal: str, keys: Sequence[str]) -> str:
    for key in keys:
        literal = with_key_mark(literal, key)
    return literal


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A text of a container: a key, or a value that holds no others."""

    text: str
    key: bool = False


def _parts(value: Json, inner: Notation) -> Iterator[_Leaf | _Sign]:
    if isinstance(value, dict) and value:
        for at, (key, held) in enumerate(value.items()):
            yield _Sign.NEXT_MEMBER if at else _Sign.OPEN_OBJECT
            yield _Leaf(_key_text(inner).write(key), key=True)
            yield _Sign.MIDDLE
            yield from _parts(held, inner)
        yield _Sign.CLOSE_OBJECT
    elif isinstance(value, list) and value:
        for at, held in enumerate(value):
            yield _Sign.NEXT_ITEM if at else _Sign.OPEN_ARRAY
            yield from _parts(held, inner)
        yield _Sign.CLOSE_ARRAY
    elif isinstance(value, (dict, list)):
        yield _Sign.OPEN_OBJECT if isinstance(value, dict) else _Sign.OPEN_ARRAY
        yield _Sign.CLOSE_OBJECT if isinstance(value, dict) else _Sign.CLOSE_ARRAY
    else:
        yield _Leaf(inner.write(value))


_MOST_CUTS = 64
"""So many ways to cut literals of two unknowns are tried."""


def _solved(
    equations: Sequence[_Equation], known: Mapping[_Sign, str]
) -> Iterator[Mapping[_Sign, str]]:
    """Solve them one by one; where each has two unknowns, try every cut of one."""
    known = dict(known)
    while True:
        open_ = [rest for each in equations if (rest := each.rest(known)) and rest.signs]
        single = next((each for each in open_ if len(set(each.signs)) == 1), None)
        if single is None:
            break
        size = len(single.text) // len(single.signs)
        known[single.signs[0]] = single.text[:size]
    if not open_:
        yield known
        return
    first = min(open_, key=lambda each: len(each.text))
    for size in _cuts(first, known):
        yield from _solved(equations, {**known, first.signs[0]: first.text[:size]})


_OPENING = {_Sign.CLOSE_ARRAY: _Sign.OPEN_ARRAY, _Sign.CLOSE_OBJECT: _Sign.OPEN_OBJECT}


def _cuts(equation: _Equation, known: Mapping[_Sign, str]) -> Sequence[int]:
    """Return where the first sign may end: first where no unit is cut, then as long as its open."""
    text = equation.text
    like = known.get(_OPENING.get(equation.signs[0], equation.signs[0]), "")

    def unlikely(size: int) -> tuple[bool, int]:
        return len(common_prefix(text, text[:size])) != size, abs(size - len(like))

    return sorted(range(min(len(text), _MOST_CUTS) + 1), key=unlikely)


def _notation(inner: Notation, known: Mapping[_Sign, str], members: Container) -> Notation:
    """Put the signs together; what separates members is taken from arguments where unseen."""
    array, object_ = inner.array, inner.object
    if _Sign.OPEN_ARRAY in known and _Sign.CLOSE_ARRAY in known:
        separator = known.get(_Sign.NEXT_ITEM, known.get(_Sign.NEXT_MEMBER, members.separator))
        array = _container(known[_Sign.OPEN_ARRAY], separator, known[_Sign.CLOSE_ARRAY])
    if _Sign.OPEN_OBJECT in known and _Sign.CLOSE_OBJECT in known:
        separator = known.get(_Sign.NEXT_MEMBER, known.get(_Sign.NEXT_ITEM, members.separator))
        seen = _Sign.MIDDLE in known
        row = (Slot.KEY, known[_Sign.MIDDLE], Slot.VALUE) if seen else members.entry
        object_ = _container(known[_Sign.OPEN_OBJECT], separator, known[_Sign.CLOSE_OBJECT], row)
        object_ = replace(object_, key=_key_text(inner))
    return replace(inner, array=array, object=object_)


def _container(before: str, between: str, after: str, slots: Row = (Slot.VALUE,)) -> Container:
    parts = decompose(before, between, after)
    return Container(
        parts.prefix,
        parts.suffix,
        parts.separator,
        parts.prefix + parts.suffix,
        entry=cut_at((parts.open, *slots, parts.close), KEY_MARK, Slot.KEY),
    )
