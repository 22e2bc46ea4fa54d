"""How arguments are written, concluded from the calls of examples.

It is what A1–A3, T5 and T6 conclude from renders: one value in a notation that Python itself
writes, or entries, of which a decomposition tells what opens, separates and closes them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from autoparser.analysis.core.alignment import (
    Repetition,
    common_prefix,
    common_suffix,
    decompose,
    edge_units,
    is_unit,
)
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import (
    Arguments,
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
from .shown_calls import ShownCall, usual

__all__ = ["ShownArguments", "conclude_arguments"]


_NONE = Repetition("", "", "", "", "")


@dataclass(frozen=True, slots=True)
class ShownArguments:
    """How arguments are written, and what of the literals around them belongs to them."""

    arguments: Arguments
    entries: Repetition = _NONE
    """Open and close: what of the literals around them the first and last entry have."""
    closes: tuple[tuple[JsonType, str], ...] = ()
    """What closes a value of a type before that, such as its quote."""
    guesses: tuple[str, ...] = ()
    """What no example shows."""

    def before(self, literal: str) -> str:
        """Cut what opens the first entry off the literal before the arguments."""
        return literal.removesuffix(self.entries.open)

    def after(self, literal: str, marks: Sequence[Mark]) -> str:
        """Cut what closes the last entry off the literal after the arguments."""
        kind = marks[-1].kind if marks else None
        return literal.removeprefix(dict(self.closes).get(kind, "") if kind else "").removeprefix(
            self.entries.close
        )


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


@dataclass(frozen=True, slots=True)
class _Entries:
    """The literals in and around entries, by the type of the value that they belong to."""

    leads: tuple[str, ...]
    middles: dict[JsonType, str]
    betweens: dict[JsonType, str]
    tails: dict[JsonType, list[str]]
    texts: tuple[tuple[Json, str], ...]


def _entry_by_entry(calls: Sequence[ShownCall], escape: Escape) -> ShownArguments | None:
    shown = _literals(calls)
    if not shown.middles:
        return None
    guesses: list[str] = []
    closes = _closes(shown, escape)
    tail = common_prefix(
        *(
            text.removeprefix(closes.get(kind, ""))
            for kind, texts in shown.tails.items()
            for text in texts
        )
    )
    lead = common_suffix(*shown.leads)
    between = usual(
        text.removeprefix(closes.get(kind, "")) for kind, text in shown.betweens.items()
    )
    if between is None:
        guesses.append("no example has a call with two arguments: what separates them")
        entries = _guessed(lead, tail)
    else:
        entries = decompose(lead, between, tail)
    rows: dict[JsonType, Row | None] = {}
    for kind, middle in shown.middles.items():
        row = (entries.open, Slot.KEY, middle, Slot.VALUE, closes.get(kind, "") + entries.close)
        rows[kind] = tuple(piece for piece in row if piece != "")
    string = rows.get(JsonType.STRING) or next(iter(rows.values())) or (Slot.VALUE,)
    if JsonType.STRING not in rows:
        guesses.append("no example has an argument that is a string: its quotes and escapes")
        rows[JsonType.STRING] = string
    if rows.keys() == {JsonType.STRING}:
        guesses.append("no example has an argument of another type than string")
        rows[JsonType.INTEGER] = without_equal_quotes(string) or string
    strings = [value for value, _ in shown.texts if isinstance(value, str)]
    quoted = bool(closes.get(JsonType.STRING)) or escape is Escape.PYTHON
    if quoted and not any(set("\"'\\\n") & set(each) for each in strings):
        guesses.append("no example has a quote or a line break in a string: how they are escaped")
    known, words = _values(shown.texts)
    containers = {
        JsonType.ARRAY: replace(known.array, values=known),
        JsonType.OBJECT: replace(known.object, values=known),
    }
    types = TypedRows(rows, words, containers=containers)
    members = container_of(EntryOrder(entries), Strings(string, Text(escape=escape)), types, Text())
    values = members.values or json_notation()
    return ShownArguments(
        Arguments(replace(members, values=None), values),
        entries,
        tuple(closes.items()),
        tuple(guesses),
    )


def _literals(calls: Sequence[ShownCall]) -> _Entries:
    leads: list[str] = []
    middles: dict[JsonType, list[str]] = {}
    betweens: dict[JsonType, list[str]] = {}
    tails: dict[JsonType, list[str]] = {}
    texts: list[tuple[Json, str]] = []
    for call in calls:
        around = (call.before, *call.joints, call.after)
        for at, (slot, marks) in enumerate(call.fields):
            if slot is not Slot.ARGUMENTS or marks[0].what is not Slot.KEY:
                continue
            leads.append(around[at])
            kinds = [mark.kind for mark in marks if mark.kind is not None]
            tails.setdefault(kinds[-1], []).append(around[at + 1])
            for number, kind in enumerate(kinds):
                middles.setdefault(kind, []).append(call.inside[2 * number])
                texts.append((marks[2 * number + 1].value, call.texts[2 * number + 1]))
                if number + 1 < len(kinds):
                    betweens.setdefault(kind, []).append(call.inside[2 * number + 1])
    return _Entries(
        tuple(leads),
        {kind: usual(seen) or "" for kind, seen in middles.items()},
        {kind: usual(seen) or "" for kind, seen in betweens.items()},
        tails,
        tuple(texts),
    )


def _closes(shown: _Entries, escape: Escape) -> dict[JsonType, str]:
    """Tell what closes values of one type alone: by what others lack, else by equal signs."""
    closes: dict[JsonType, str] = _closes_by_type(shown)
    for kind, middle in shown.middles.items():
        if kind in closes:
            continue
        texts = [*shown.tails.get(kind, ())]
        texts += [shown.betweens[kind]] if kind in shown.betweens else []
        shorter = [
            each for each in shown.middles.values() if each != middle and middle.startswith(each)
        ]
        quote = middle[len(max(shorter, key=len)) :] if shorter else ""
        others = [text for other, text in shown.betweens.items() if other is not kind]
        rest = shown.betweens.get(kind, "")
        extra = [rest[: len(rest) - len(other)] for other in others if rest.endswith(other)]
        if any(extra):
            closes[kind] = max(extra, key=len)
        elif quote and texts and all(text.startswith(quote) for text in texts):
            closes[kind] = quote
        elif quote and texts:
            plain = [
                text for other, tails in shown.tails.items() if other is not kind for text in tails
            ]
            closes[kind] = _up_to(texts[-1], {text[:1] for text in [*others, *plain]})
        elif kind is JsonType.STRING and len(shown.middles) == 1 and escape is not Escape.PYTHON:
            sign = middle[-1:]
            word = not sign or sign.isalnum() or sign.isspace()
            if not word and all(text.startswith(sign) for text in texts):
                closes[kind] = sign
    return closes


def _closes_by_type(shown: _Entries) -> dict[JsonType, str]:
    """Tell closes that differ by type, as `</text>` and `</number>` do, where none ends another."""
    texts = set(shown.betweens.values())
    shared = common_suffix(*texts) if len(texts) > 1 else ""
    if not shared.strip() or shared in texts:
        return {}
    closes = {kind: text.removesuffix(shared) for kind, text in shown.betweens.items()}
    known = sorted(set(closes.values()), key=len, reverse=True)
    for kind, tails in shown.tails.items():
        fitting = (close for close in known if tails[0].startswith(close))
        closes.setdefault(kind, next(fitting, ""))
    return closes


def _up_to(text: str, firsts: set[str]) -> str:
    """Return what stands before that with which the texts after other values begin."""
    return next((text[:at] for at in range(len(text)) if text[at] in firsts), "")


def _guessed(lead: str, tail: str) -> Repetition:
    """Guess what opens and closes an only entry: the marker that is next to it on either side."""
    units = edge_units(lead)
    opening = units[-1] if units and (is_unit(units[-1]) or units[-1][:1] in "<[{(") else ""
    match = re.match(r"\s*", tail)
    space = match.group() if match else ""
    after = edge_units(tail[len(space) :])
    close = f"{space}{after[0]}" if opening and after and is_unit(after[0]) else ""
    if not close:
        return Repetition(lead, "", ", ", "", tail)
    prefix = lead[: len(lead) - len(opening)]
    separator = prefix[len(prefix.rstrip()) :]
    return Repetition(prefix, opening, separator, close, tail[len(close) :])


def _values(texts: Sequence[tuple[Json, str]]) -> tuple[Notation, dict[str, str]]:
    """Tell the notation of arrays and objects, and the words for true, false and null.

    A word that was not seen is taken from the notation that writes the others as they were seen.
    """
    held = [(value, text) for value, text in texts if isinstance(value, (list, dict))]
    words = {
        json.dumps(value): text for value, text in texts if value is None or isinstance(value, bool)
    }
    worded = _best([(json.loads(word), text) for word, text in words.items()])
    known = {"true": worded.true, "false": worded.false, "null": worded.null}
    return _best(held), {**known, **words}


def _best(seen: Sequence[tuple[Json, str]]) -> Notation:
    """Return the notation that writes most of these values so, of several the usual one."""
    notations = [notation for notation, _ in _notations(())]
    return max(notations, key=lambda each: sum(each.write(value) == text for value, text in seen))
