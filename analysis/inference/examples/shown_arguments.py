"""How arguments are written, concluded from the calls of examples.

It is what A1–A3, T5 and T6 conclude from renders: one value in a notation that Python itself
writes, or entries, of which a decomposition tells what opens, separates and closes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import (
    Arguments,
    Container,
    Escape,
    JsonType,
    Notation,
    Row,
    Slot,
    Text,
    json_notation,
)
from autoparser.analysis.inference.learning.containers import container_of
from autoparser.analysis.inference.learning.entries import EntryOrder
from autoparser.analysis.inference.learning.learnt_rows import without_equal_quotes
from autoparser.analysis.inference.learning.python_notations import known_notations
from autoparser.analysis.inference.learning.string_notation import Strings
from autoparser.analysis.inference.learning.typed_rows import TypedRows

from .alignment import ArgumentStyle, Mark
from .entry_frame import EntryFrame, conclude_entry_frame
from .shown_calls import ShownCall
from .shown_containers import own_containers
from .shown_entries import ShownEntries, shown_entries

__all__ = ["ShownArguments", "conclude_arguments"]


@dataclass(frozen=True, slots=True)
class ShownArguments:
    """How arguments are written, and what of the literals around them belongs to them."""

    arguments: Arguments
    entries: EntryFrame = field(default_factory=EntryFrame)
    """What of the literals around them the first and the last entry have."""
    guesses: tuple[str, ...] = ()
    """What no example shows."""

    def before(self, literal: str) -> str:
        """Cut what opens the first entry off the literal before the arguments."""
        return self.entries.before(literal)

    def after(self, literal: str, marks: Sequence[Mark]) -> str:
        """Cut what closes the last entry off the literal after the arguments."""
        if len(marks) < _PAIR:
            return literal
        guard = self.arguments.values.string.guard
        key = self.arguments.members.key.write(str(marks[-2].value))
        kind = marks[-1].kind or JsonType.NULL
        return self.entries.after(literal, kind, key, guard.close if guard else "")


_PAIR = 2
"""Marks of one argument: its key and its value."""


def conclude_arguments(calls: Sequence[ShownCall], style: ArgumentStyle) -> ShownArguments | None:
    """Conclude how arguments are written; None where no call shows any."""
    if style.whole or style.encoded:
        return _one_value(calls, encoded=style.encoded)
    return _entry_by_entry(calls, style.escape)


def _one_value(calls: Sequence[ShownCall], *, encoded: bool) -> ShownArguments | None:
    seen: list[tuple[Json, str]] = []
    for call in calls:
        for slot, marks in call.fields:
            if slot is Slot.ARGUMENTS:
                text = call.texts[0]
                seen.append((marks[0].value, json.loads(text) if encoded else text))
    if not seen:
        return None
    best, right, indented = json_notation(), -1, ""
    for notation, margin in _notations([text for _, text in seen]):
        count = sum(notation.write(value, margin) == text for value, text in seen)
        if count > right:
            best, right, indented = notation, count, margin
    guesses = () if any(value for value, _ in seen) else ("no example has an argument",)
    return ShownArguments(
        Arguments(best.object, best, indented if best.object.indent else "", encoded=encoded),
        guesses=guesses,
    )


def _notations(texts: Sequence[str]) -> Iterator[tuple[Notation, str]]:
    for comma, colon in product((", ", ","), (": ", ":")):
        yield from ((each, "") for each in known_notations(comma=comma, colon=colon))
    for lines in {(text.split("\n")[1], text.split("\n")[-1]) for text in texts if "\n" in text}:
        inner, margin = (line[: len(line) - len(line.lstrip())] for line in lines)
        indent = inner.removeprefix(margin)
        if indent:
            notations = known_notations(indent=indent)
            yield from ((each, margin) for each in notations)


def _entry_by_entry(calls: Sequence[ShownCall], escape: Escape) -> ShownArguments | None:
    shown = shown_entries(calls)
    if not shown.middles:
        return None
    frame = conclude_entry_frame(shown, escape)
    rows: dict[JsonType, Row | None] = {
        kind: frame.row(kind, middle) for kind, middle in shown.middles.items()
    }
    guesses = tuple(_guesses(calls, shown, frame, escape))
    string = rows.get(JsonType.STRING) or next(iter(rows.values())) or (Slot.VALUE,)
    rows.setdefault(JsonType.STRING, string)
    if rows.keys() == {JsonType.STRING}:
        rows[JsonType.INTEGER] = without_equal_quotes(string) or string
    held = _held(shown)
    containers, known = _containers(held)
    members = container_of(
        EntryOrder(frame.repetition),
        Strings(string, Text(escape=escape, guard=shown.guard)),
        TypedRows(rows, _words(shown.texts), containers=containers),
        _key(shown, escape),
    )
    values = members.values or json_notation()
    own, written = own_containers(held, values, members)
    if written > known:
        values = replace(values, array=own[JsonType.ARRAY], object=own[JsonType.OBJECT])
    return ShownArguments(Arguments(replace(members, values=None), values), frame, guesses)


def _held(shown: ShownEntries) -> list[tuple[Json, str]]:
    """Return the arrays and objects among the arguments."""
    return [(value, text) for value, text in shown.texts if isinstance(value, (list, dict))]


def _guesses(
    calls: Sequence[ShownCall], shown: ShownEntries, frame: EntryFrame, escape: Escape
) -> Iterator[str]:
    """Say what of arguments no example shows."""
    if frame.guessed:
        yield "no example has a call with two arguments: what separates them"
    if JsonType.STRING not in shown.middles:
        yield "no example has an argument that is a string: its quotes and escapes"
    if shown.middles.keys() == {JsonType.STRING}:
        yield "no example has an argument of another type than string"
    strings = [value for value, _ in shown.texts if isinstance(value, str)]
    quoted = bool(frame.closes.get(JsonType.STRING)) or escape is Escape.PYTHON
    if quoted and not any(set("\"'\\\n") & set(each) for each in strings):
        yield "no example has a quote or a line break in a string: how they are escaped"
    if shown.guard is not None:
        yield "no example has every sign for which a string gets a wrapper of its own"
    if not _held(shown):
        yield "no example has an array or an object as an argument: how it is written"
    if all(any(slot is Slot.ARGUMENTS for slot, _ in call.fields) for call in calls):
        yield "no example has a call without arguments"


def _key(shown: ShownEntries, escape: Escape) -> Text:
    """Say how keys are written: as they are, unless they or the signs around are escaped."""
    text = Text(escape=escape)
    around = [*shown.middles.values(), *shown.betweens.values()]
    html = escape in (Escape.HTML, Escape.JSON_HTML)
    escaped = html and any(text.read(each) != each for each in around)
    return text if escaped or any(key != seen for key, seen in shown.keys) else Text()


def _words(texts: Sequence[tuple[Json, str]]) -> dict[str, str]:
    """Tell the words for true, false and null.

    A word that was not seen is taken from the notation that writes the others as they were seen.
    """
    words = {
        json.dumps(value): text for value, text in texts if value is None or isinstance(value, bool)
    }
    worded = _best([(json.loads(word), text) for word, text in words.items()])
    return {"true": worded.true, "false": worded.false, "null": worded.null, **words}


def _containers(held: Sequence[tuple[Json, str]]) -> tuple[dict[JsonType, Container], int]:
    """Say in which known notations arrays and objects are written, and how many so."""
    arrays = [(value, text) for value, text in held if isinstance(value, list)]
    objects = [(value, text) for value, text in held if isinstance(value, dict)]
    array, object_ = _best(arrays or objects), _best(objects or arrays)
    right = sum(array.write(value) == text for value, text in arrays)
    right += sum(object_.write(value) == text for value, text in objects)
    containers = {
        JsonType.ARRAY: replace(array.array, values=array),
        JsonType.OBJECT: replace(object_.object, values=object_),
    }
    return containers, right


def _best(seen: Sequence[tuple[Json, str]]) -> Notation:
    """Return the notation that writes most of these values so, of several the usual one."""
    notations = [notation for notation, _ in _notations(())]
    return max(notations, key=lambda each: sum(each.write(value) == text for value, text in seen))
