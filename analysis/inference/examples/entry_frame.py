"""What opens, separates and closes entries, and what opens or closes those of one type alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from autoparser.analysis.core.alignment import (
    Repetition,
    common_prefix,
    common_suffix,
    decompose,
    edge_units,
    is_unit,
)
from autoparser.analysis.core.format import Escape, JsonType, Row, Slot
from autoparser.analysis.inference.learning.learnt_rows import cut_at

from .own_words import KEY_MARK, filled
from .shown_calls import usual
from .shown_entries import ShownEntries

__all__ = ["EntryFrame", "conclude_entry_frame"]

_OPEN_MARK = "\ue005"
"""Stands for what opens an entry of a type, where that is another text for each type."""


@dataclass(frozen=True, slots=True)
class EntryFrame:
    """What stands around entries."""

    repetition: Repetition = field(default_factory=lambda: Repetition("", "", "", "", ""))
    opens: Mapping[JsonType, str] = field(default_factory=dict[JsonType, str])
    """What opens an entry because of its value's type, such as a tag that is named after it."""
    closes: Mapping[JsonType, str] = field(default_factory=dict[JsonType, str])
    """What closes a value of a type before the entry is closed, such as its quote."""
    guessed: bool = False
    """No call has two arguments: what separates them is a guess."""

    def row(self, kind: JsonType, middle: str) -> Row:
        """Return how an entry with a value of this type is written."""
        opening = self.repetition.open.replace(_OPEN_MARK, self.opens.get(kind, ""))
        close = self.closes.get(kind, "") + self.repetition.close
        return cut_at((opening, Slot.KEY, middle, Slot.VALUE, close), KEY_MARK, Slot.KEY)

    def before(self, literal: str) -> str:
        """Cut what opens the first entry off the literal before it."""
        opening = self.repetition.open
        for each in dict.fromkeys(self.opens.values()) or [""]:
            whole = opening.replace(_OPEN_MARK, each)
            if literal.endswith(whole):
                return literal.removesuffix(whole)
        return literal

    def after(self, literal: str, kind: JsonType, key: str, guard: str) -> str:
        """Cut what closes the last entry off the literal after it.

        `key` is written as its own, `guard` closes some strings before all else.
        """
        close = self.closes.get(kind, "")
        if guard and literal.startswith(guard + close):
            literal = literal.removeprefix(guard)
        own = filled(self.repetition.close, {KEY_MARK: key})
        return literal.removeprefix(close).removeprefix(own)


def conclude_entry_frame(shown: ShownEntries, escape: Escape) -> EntryFrame:
    """Conclude what stands around entries from the literals that were seen there."""
    tags = _tags_by_type(shown)
    opens = {kind: opening for kind, (opening, _) in tags.items()}
    closes = {kind: close for kind, (_, close) in tags.items()} or _closes(shown, escape)
    tail = common_prefix(
        *(
            text.removeprefix(closes.get(kind, ""))
            for kind, texts in shown.tails.items()
            for text in texts
        )
    )
    lead = common_suffix(*(_unopened(text, kind, opens) for kind, text in shown.leads))
    between = usual(
        _unopened(text.removeprefix(closes.get(kind, "")), following, opens)
        for kind, following, text in shown.pairs
    )
    if between is None:
        return EntryFrame(_guessed(lead, tail), opens, closes, guessed=True)
    return EntryFrame(decompose(lead, between, tail), opens, closes)


def _unopened(text: str, kind: JsonType, opens: Mapping[JsonType, str]) -> str:
    """Put a mark in the place of what opens an entry because of its type."""
    return text.removesuffix(opens[kind]) + _OPEN_MARK if kind in opens else text


def _tags_by_type(shown: ShownEntries) -> dict[JsonType, tuple[str, str]]:
    """Tell units that open and close entries by type, as `<text a>` and `</text>` do.

    What closes the entry repeats a word of what opens it, and the word is another one by type.
    """
    befores = [*shown.leads, *((kind, text) for _, kind, text in shown.pairs)]
    afters = [(kind, text) for kind, _, text in shown.pairs]
    afters += [(kind, text) for kind, texts in shown.tails.items() for text in texts]
    tags: dict[JsonType, tuple[str, str]] = {}
    words: dict[JsonType, frozenset[str]] = {}
    for kind in shown.middles:
        opening = usual(edge_units(text)[-1] for each, text in befores if each is kind and text)
        close = usual(_first_unit(text) for each, text in afters if each is kind)
        tags[kind] = opening or "", close or ""
        words[kind] = _words(opening or "") & _words(close or "")
    shared = frozenset[str].intersection(*words.values())
    named = all(is_unit(opening) and words[kind] - shared for kind, (opening, _) in tags.items())
    return tags if named and len(set(tags.values())) > 1 else {}


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))


def _first_unit(text: str) -> str:
    """Return the first unit of a text, and the whitespace before it."""
    space = text[: len(text) - len(text.lstrip())]
    return space + next(iter(edge_units(text[len(space) :])), "")


def _closes(shown: ShownEntries, escape: Escape) -> dict[JsonType, str]:
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


def _closes_by_type(shown: ShownEntries) -> dict[JsonType, str]:
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
