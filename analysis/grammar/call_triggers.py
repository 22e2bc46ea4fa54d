r"""Triggers of lazy grammars: texts that begin the calls of an answer, and are in no other answer.

A server that waits for a trigger passes on text until one is written, and constrains the text
from there by the grammar, including the trigger. So a trigger is a prefix of a text that the lazy
grammar accepts, and none occurs in the template's render of an answer without calls, or before
them. It is as short as that allows: of ``<|open|>tools<|sep|><|call|>``, ``<|open|>`` will do
only if nothing else is opened with it, and ``<|open|>tools<|sep|>`` otherwise. Without a marker
or a word before it, the function's name distinguishes a call from other text: ``{"name":
"get_weather"``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum

from msgspec import Struct

from autoparser.analysis.core.call_format import CallFormat
from autoparser.analysis.core.call_notation import Row, RowSlot
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.text_alignment import edge_units, is_unit
from autoparser.analysis.core.turn_parts import TurnPart
from autoparser.analysis.parsing.turn_nodes import PartBody, StrictRow, StrictTurn

from .call_writer import GrammarError, id_pattern, literal_at


class TriggerKind(IntEnum):
    """How a server looks for a trigger; the numbers are llama.cpp's."""

    WORD = 1
    """A text, wherever it stands."""
    PATTERN = 2
    """A regular expression, wherever it matches; the grammar holds from its first group on."""
    PATTERN_FULL = 3
    """A regular expression for the whole text written so far."""


class GrammarTrigger(Struct, frozen=True):
    """A text or pattern that a lazy grammar waits for."""

    kind: TriggerKind
    """How a server looks for it, e.g. `TriggerKind.WORD`."""
    value: str
    """The text or the regular expression, e.g. "<tool_call>"."""
    text: str = ""
    """The text to look for, e.g. "to=functions."; empty if it differs from call to call."""

    @property
    def is_word(self) -> bool:
        """Whether it is a text that may stand anywhere."""
        return self.kind is TriggerKind.WORD

    def to_llama_server(self) -> dict[str, Json]:
        """Return it as a member of ``grammar_triggers`` in a request to llama-server."""
        return {"type": int(self.kind), "value": self.value}


class _CallHead(Struct, frozen=True):
    """The beginning of a call of one function."""

    before: str
    r"""The text up to its first slot, e.g. "<tool_call>\n<function="."""
    section: int
    """The length of the part that opens the section of calls, e.g. 0 if no section does."""
    through_name: str = ""
    r"""All up to the name and the mark that ends it, e.g. "<tool_call>\n<function=get_weather>";
    empty if the name comes too late."""
    pattern: str = ""
    r"""A regular expression for that, e.g. `\[\n \{"tool_call_id": "[0-9]+", "tool_name": "book"`,
    if an id or a number precedes the name."""


def call_triggers(strict: StrictTurn, names: Sequence[str]) -> tuple[GrammarTrigger, ...]:
    """Return the beginnings of these functions' calls and of nothing else; empty without calls.

    Raises GrammarError if nothing tells the calls from other text.
    """
    calls = strict.calls
    if calls is None or not any(row.has(TurnPart.CALLS) for row in strict.rows):
        return ()
    # Rows share most of their texts, and each trigger is compared with all.
    others = list(dict.fromkeys(text for row in strict.rows for text in _around(row)))
    found: dict[GrammarTrigger, None] = {}
    for begun in dict.fromkeys(
        begun_before_lazy(row, calls) for row in strict.rows if row.has(TurnPart.CALLS)
    ):
        for name in names:
            # A call without arguments may be written in another row, with a trigger of its own.
            for row in filter(None, (calls.row, calls.empty_row)):
                head = _head(calls, row, name, begun)
                found.setdefault(_trigger(head, calls, others, first=bool(begun.strip())))
    return tuple(found)


def begun_before_lazy(row: StrictRow, calls: CallFormat) -> str:
    """Return the beginning of calls before a lazy grammar: the prompt's part, then whitespace."""
    begun = next(
        item.written_start
        for item in row.items
        if isinstance(item, PartBody) and item.part is TurnPart.CALLS
    )
    text = f"{calls.section_open}{literal_at(calls.row, 0)}".removeprefix(begun)
    return begun + text[: len(text) - len(text.lstrip())]


def _around(row: StrictRow) -> Iterator[str]:
    """Return the texts that a row has without calls, or before them."""
    for item in row.items:
        if isinstance(item, str):
            yield item
        elif item.part is TurnPart.CALLS:
            return
    yield row.end.text


def _head(calls: CallFormat, row: Row, name: str, section_begun: str) -> _CallHead:
    before = f"{calls.section_open}{literal_at(row, 0)}".removeprefix(section_begun)
    section = len(calls.section_open) - len(section_begun)
    text = pattern = ""
    pieces = (before, *(row[1:] if literal_at(row, 0) else row))
    for at, piece in enumerate(pieces):
        match piece:
            case RowSlot.NAME:
                ending = _ending(literal_at(pieces, at + 1))
                pattern += _escaped(name + ending)
                named = f"{text}{name}{ending}"
                # With an id before the name, no text is the same in every call.
                plain = _escaped(named) == pattern
                return _CallHead(before, section, named if plain else "", "" if plain else pattern)
            case RowSlot.ID:
                pattern += id_pattern(calls.naming, name, literal_at(pieces, at + 1)).regex
            case RowSlot.INDEX:
                pattern += "[0-9]+"
            case RowSlot():
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
    """Choose the shortest text that begins the calls and occurs in no other text.

    `first`: the prompt has written the mark of the calls, so that they come first.
    """
    # Prefer a marker to a name, since calls of tools that are not offered begin with it, too.
    named = [head.through_name] if head.through_name else []
    for at_start, texts in ((False, _marked(head, calls)), (first, named)):
        for text in texts:
            if any(text in other for other in others):
                continue
            if at_start:
                # The prompt has written the mark, so the name alone would also be found later in
                # the text.
                value = f"({_escaped(text)})[\\s\\S]*"
                return GrammarTrigger(TriggerKind.PATTERN_FULL, value, text)
            return GrammarTrigger(TriggerKind.WORD, text, text)
    if head.pattern:
        return GrammarTrigger(TriggerKind.PATTERN, head.pattern)
    raise GrammarError(
        f"calls are indistinguishable from other text: they begin with {head.before!r}",
        place="triggers",
        hint="constrain the whole answer, without lazy",
    )


def _marked(head: _CallHead, calls: CallFormat) -> Iterator[str]:
    """Return the beginnings of a call that end with a marker, or with a word before JSON."""
    end = 0
    # The shortest first: it also finds calls of a model that leaves out what follows.
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
