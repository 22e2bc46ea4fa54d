"""How a call's arguments are written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from autoparser.analysis.conversation import Json
from autoparser.analysis.format import Arguments, json_notation
from autoparser.analysis.probing import Sentinels

from .entries import Place, learn_entries
from .notations import known_notations, learn_container, rich_object

Show: TypeAlias = Callable[[Mapping[str, Json]], "str | None"]
"""The text of a turn that is one call with these arguments; None where the template raises."""


def learn_arguments(show: Show, sentinels: Sentinels, *, as_string: bool) -> Arguments | None:
    """Learn the arguments' notation; None where the arguments cannot be made out."""
    sample: dict[str, Json] = {sentinels.keys[0]: sentinels.values[0]}
    text = show(sample)
    if text is None:
        return None
    usual = json_notation()
    if as_string and json.dumps(sample) in text:
        return Arguments(usual.object, usual, verbatim=True)
    whole = _whole_notation(show, sentinels) or _encoded_notation(show, sentinels)
    return whole or _learnt_notation(show, sentinels)


def _whole_notation(show: Show, sentinels: Sentinels) -> Arguments | None:
    """Recognise arguments that are one value in a notation that Python itself writes."""
    keys, values = sentinels.keys, sentinels.values
    pair: dict[str, Json] = {keys[0]: values[0], keys[1]: {keys[2]: values[1]}}
    text = show(pair)
    rich: dict[str, Json] = {**rich_object(sentinels)}
    rich_text = show(rich)
    if text is None or rich_text is None:
        return None
    first = re.search(rf'(\n[ \t]*)?"{keys[0]}"(:\s*)', text)
    colons = [first.group(2)] if first else [": "]
    indented = bool(first and first.group(1))
    for colon in colons:
        for comma in (",",) if indented else (", ", ","):
            for indent, margin in _indents(text, keys) if indented else [("", "")]:
                for notation in known_notations(comma=comma, colon=colon, indent=indent):
                    if notation.write(rich, margin) in rich_text:
                        return Arguments(notation.object, notation, margin)
    return None


def _encoded_notation(show: Show, sentinels: Sentinels) -> Arguments | None:
    """Recognise arguments that are JSON text inside a JSON string."""
    rich: dict[str, Json] = {**rich_object(sentinels)}
    text = show(rich)
    if text is None:
        return None
    for notation in known_notations():
        arguments = Arguments(notation.object, notation, encoded=True)
        if arguments.write(rich) in text:
            return arguments
    return None


def _indents(text: str, keys: tuple[str, ...]) -> list[tuple[str, str]]:
    """Read off one level's indentation and the margin of the whole."""
    outer = re.search(rf'\n([ \t]*)"{keys[0]}"', text) or re.search(rf'\n([ \t]*)"{keys[1]}"', text)
    inner = re.search(rf'\n([ \t]*)"{keys[2]}"', text)
    if outer is None or inner is None:
        return []
    indent = inner.group(1)[len(outer.group(1)) :]
    margin = outer.group(1)[: len(outer.group(1)) - len(indent)]
    return [(indent, margin)] if indent else []


def _learnt_notation(show: Show, sentinels: Sentinels) -> Arguments | None:
    """Learn arguments that are written entry by entry."""

    def site(value: Json) -> str | None:
        return show(value) if isinstance(value, dict) else None

    place = Place(site, sentinels, keyed=True)
    entries = learn_entries(place)
    if entries is None:
        return None
    container = learn_container(place, entries)
    values = container.values or json_notation()
    # What encloses the entries is a part of the call.
    members = replace(container, open="", close="", empty="", values=None)
    return Arguments(members, values, refused=frozenset(entries.refused))
