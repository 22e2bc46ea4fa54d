"""Where a lazy grammar begins: texts that begin the calls of an answer, and stand in no other one.

A server that waits for a trigger lets text pass until one is written, and holds what follows to the
grammar, the trigger included. So a trigger begins what the lazy grammar accepts, and none stands in
what the template writes of an answer without calls, or before them. It is as short as that allows:
after ``<|open|>tools<|sep|><|call|>`` the text ``<|open|>`` will do only where nothing else is
opened with it, and ``<|open|>tools<|sep|>`` where something is. Without a marker or a word before
it, a call is told from other text by its function's name: ``{"name": "get_weather"``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

from autoparser.analysis.core.alignment import edge_units, is_unit
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import CallFormat, Part, Row, Slot
from autoparser.analysis.reading.expression import Body, Strict, StrictRow

from .call_writer import GrammarError, id_pattern, literal_at


class TriggerKind(IntEnum):
    """How a server looks for a trigger; the numbers are those of llama.cpp."""

    WORD = 1
    """A text, wherever it stands."""
    PATTERN = 2
    """A regular expression, wherever it matches; from its first group on the grammar holds."""
    PATTERN_FULL = 3
    """A regular expression for all that was written so far."""


@dataclass(frozen=True, slots=True)
class GrammarTrigger:
    """What a lazy grammar waits for."""

    kind: TriggerKind
    value: str
    text: str = ""
    """The text that it looks for; empty where that differs from call to call."""

    @property
    def is_word(self) -> bool:
        """Whether it is a text that may stand anywhere."""
        return self.kind is TriggerKind.WORD

    def to_llama_server(self) -> dict[str, Json]:
        """Return it as a member of ``grammar_triggers`` in a request to llama-server."""
        return {"type": int(self.kind), "value": self.value}


@dataclass(frozen=True, slots=True)
class _CallHead:
    """What a call of one function begins with."""

    before: str
    """The text up to its first slot."""
    section: int
    """How much of that opens the section of calls."""
    named: str = ""
    """All up to the name and the mark that ends it; empty where the name comes too late."""
    pattern: str = ""
    """A regular expression for that, where an id or a number stands before the name."""


def triggers_of(strict: Strict, names: Sequence[str]) -> tuple[GrammarTrigger, ...]:
    """Return what begins the calls of these functions and nothing else; none: there are no calls.

    Raises GrammarError where nothing tells the calls from other text.
    """
    calls = strict.calls
    if calls is None or not any(row.has(Part.CALLS) for row in strict.rows):
        return ()
    others = list(dict.fromkeys(text for row in strict.rows for text in _around(row)))
    found: dict[GrammarTrigger, None] = {}
    for begun in dict.fromkeys(begun_of(row, calls) for row in strict.rows if row.has(Part.CALLS)):
        for name in names:
            for row in filter(None, (calls.row, calls.empty_row)):
                head = _head(calls, row, name, begun)
                found.setdefault(_trigger(head, calls, others, first=bool(begun.strip())))
    return tuple(found)


def begun_of(row: StrictRow, calls: CallFormat) -> str:
    """Return what stands of the calls before a lazy grammar: whitespace, what the prompt wrote."""
    begun = next(
        item.begun for item in row.items if isinstance(item, Body) and item.part is Part.CALLS
    )
    text = f"{calls.section_open}{literal_at(calls.row, 0)}".removeprefix(begun)
    return begun + text[: len(text) - len(text.lstrip())]


def _around(row: StrictRow) -> Iterator[str]:
    """Return the texts that a row has without calls, or before them."""
    for item in row.items:
        if isinstance(item, str):
            yield item
        elif item.part is Part.CALLS:
            return
    yield row.end.text


def _head(calls: CallFormat, row: Row, name: str, begun: str) -> _CallHead:
    before = f"{calls.section_open}{literal_at(row, 0)}".removeprefix(begun)
    section = len(calls.section_open) - len(begun)
    text = pattern = ""
    pieces = (before, *(row[1:] if literal_at(row, 0) else row))
    for at, piece in enumerate(pieces):
        match piece:
            case Slot.NAME:
                ending = _ending(literal_at(pieces, at + 1))
                pattern += _escaped(name + ending)
                named = f"{text}{name}{ending}"
                plain = _escaped(named) == pattern
                return _CallHead(before, section, named if plain else "", "" if plain else pattern)
            case Slot.ID:
                pattern += id_pattern(calls.naming, name, literal_at(pieces, at + 1)).regex
            case Slot.INDEX:
                pattern += "[0-9]+"
            case Slot():
                break
            case _:
                pattern += _escaped(piece)
                text += piece
    return _CallHead(before, section)


def _ending(literal: str) -> str:
    """Return the mark after a name that tells it from a longer one."""
    bare = literal.lstrip()
    if not bare:
        return literal
    unit = edge_units(bare)[0]
    return literal[: len(literal) - len(bare)] + (unit if is_unit(unit) else bare[0])


def _trigger(
    head: _CallHead, calls: CallFormat, others: Sequence[str], *, first: bool
) -> GrammarTrigger:
    """Choose the shortest text that begins the calls and stands in no other text.

    `first`: the prompt has written the mark of the calls, so that they are the first thing.
    """
    for text in _texts(head, calls, first=first):
        if not any(text in other for other in others):
            if first:
                value = f"({_escaped(text)})[\\s\\S]*"
                return GrammarTrigger(TriggerKind.PATTERN_FULL, value, text)
            return GrammarTrigger(TriggerKind.WORD, text, text)
    if head.pattern:
        return GrammarTrigger(TriggerKind.PATTERN, head.pattern)
    raise GrammarError(
        f"nothing tells calls from other text: they begin with {head.before!r}",
        place="triggers",
        hint="hold the whole answer to the grammar, and leave lazy out",
    )


def _texts(head: _CallHead, calls: CallFormat, *, first: bool) -> Iterator[str]:
    """Return the texts that may begin calls, the shorter ones first."""
    if not first:
        yield from _marked(head, calls)
    if head.named:
        yield head.named


def _marked(head: _CallHead, calls: CallFormat) -> Iterator[str]:
    """Return the beginnings of a call that end with a marker, or with a word before JSON."""
    end = 0
    for unit in edge_units(head.before):
        end += len(unit)
        if is_unit(unit):
            yield head.before[:end].rstrip()
    section, row = head.before[: max(0, head.section)], head.before[max(0, head.section) :]
    if any(map(str.isalnum, section)):
        yield section.rstrip()
    if calls.json_fields is None and any(map(str.isalnum, row)):
        yield head.before.rstrip()


_SPECIAL = re.compile(r"([\\^$.*+?()\[\]{}|])")


def _escaped(text: str) -> str:
    """Escape a text for the regular expressions of ECMAScript, as servers read them."""
    return _SPECIAL.sub(r"\\\1", text)
