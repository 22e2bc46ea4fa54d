"""Where a call's arguments can be seen, and whether they are one value."""

from __future__ import annotations

import json
from dataclasses import dataclass

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.format import Notation

from .containers import known_object
from .entries import EntryOrder, Place, Site, learn_entries
from .observer import Observer
from .string_notation import hostile_string
from .typed_rows import TypedRows


@dataclass(frozen=True, slots=True)
class LearntArguments:
    """How the arguments of a call follow one another."""

    entries: EntryOrder
    verbatim: bool = False
    """The caller's own JSON text is pasted."""
    quoted: tuple[str, str] | None = None
    """What stands around a JSON string that holds the arguments; None: there is none."""

    def place(self, observer: Observer) -> Place:
        """Return the place where arguments are chosen, and seen without the string around them."""
        return _place(observer, self.quoted)


def learn_argument_list(observer: Observer) -> LearntArguments | None:
    """Learn how arguments follow one another; None where they cannot be made out."""
    place = _place(observer, None)
    one = place.strings(1)
    text = place.site(one) or ""
    as_string = observer.prober.shape.arguments_as_string
    verbatim = as_string and json.dumps(one) in text
    quoted = None if verbatim else _quotes(one, text)
    entries = learn_entries(_place(observer, quoted))
    return None if entries is None else LearntArguments(entries, verbatim, quoted)


def _quotes(one: Json, text: str) -> tuple[str, str] | None:
    """Find what stands around JSON text that is the content of a JSON string."""
    for colon in (": ", ":"):
        held = json.dumps(one, separators=(",", colon))
        before, found, after = text.partition(json.dumps(held))
        if found:
            return before, after
    return None


def _place(observer: Observer, quoted: tuple[str, str] | None) -> Place:
    def site(value: Json) -> str | None:
        return observer.text_of_arguments(value) if isinstance(value, dict) else None

    shown = site if quoted is None else _unquoted(site, *quoted)
    return Place(shown, observer.prober.sentinels, keyed=True)


def _unquoted(site: Site, before: str, after: str) -> Site:
    """Show what a JSON string holds in place of the string."""

    def shown(value: Json) -> str | None:
        text = site(value)
        if text is None or not text.startswith(before) or not text.endswith(after):
            return None
        try:
            held = json.loads(text[len(before) : len(text) - len(after)])
        except ValueError:
            return None
        return f"{before}{held}{after}"

    return shown


@dataclass(frozen=True, slots=True)
class Enclosure:
    """What encloses a call's arguments."""

    notation: Notation | None
    """The notation whose brackets enclose them, which objects in them have too; None: nothing."""
    without: str | None = None
    """The turn of a call without arguments, where more is missing from it than arguments."""


def learn_enclosure(observer: Observer, listed: LearntArguments, types: TypedRows) -> Enclosure:
    """Learn what of a call stays without arguments."""
    place, cut = listed.place(observer), listed.entries.repetition
    one, text = place.strings(1), place.site(place.strings(1)) or ""
    known, rest = known_object(types), cut.prefix + cut.suffix
    if known is not None:
        before, found, after = text.partition(known.write(one, listed.entries.margin))
        rest = f"{before}{known.object.empty}{after}" if found else rest
        known = known if found and _names_too(place, known, listed.entries.margin) else None
    differs = place.site({}) != rest
    return Enclosure(known, observer.text_of_arguments({}) if differs else None)


def _names_too(place: Place, known: Notation, margin: str) -> bool:
    """Whether the arguments' names are written as the keys of a known notation are."""
    strange: dict[str, Json] = {hostile_string(place.sentinels.keys[1]): place.sentinels.values[0]}
    text = place.site(strange)
    return text is None or known.write(strange, margin) in text
