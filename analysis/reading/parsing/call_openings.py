"""What begins calls: the texts by which a reader notices them."""

from __future__ import annotations

from collections.abc import Iterator

from autoparser.analysis.core.format import Literal
from autoparser.analysis.reading.expression import JsonCall, Name, RowCall, RowItem, Section


def call_open(call: RowCall | JsonCall) -> Literal:
    """Return what opens one call."""
    if isinstance(call, JsonCall):
        return call.before
    first = call.row[0]
    return first if isinstance(first, Literal) else Literal()


def call_literals(section: Section) -> Iterator[Literal]:
    """Return the literals that one call is written with."""
    call = section.call
    if isinstance(call, JsonCall):
        yield from (call.before, call.after)
    else:
        yield from (item for item in call.row if isinstance(item, Literal))


def call_opens(section: Section) -> Iterator[Literal]:
    """Give the literals that may open calls: the section's, or one call's where that is missing."""
    for literal in (section.open, call_open(section.call)):
        if literal.is_marked or literal.mark:
            yield literal


def named_triggers(section: Section, offered: frozenset[str] | None) -> Iterator[str]:
    """Return what begins a call by its name: the name and what stands right around it.

    Where markers open a call, it is the rest of its opening whose first marker was forgotten.
    """
    call = section.call
    if isinstance(call, JsonCall):
        return
    at = next((at for at, item in enumerate(call.row[:2]) if isinstance(item, Name)), -1)
    if at < 0 or at + 1 >= len(call.row):
        return
    first = call.row[0] if isinstance(call.row[0], Literal) else Literal()
    befores = [f"{section.open.core}{first.core}"]
    if is_marked(section):
        befores = [*first.units[-1:]] if at and len(first.units) > 1 else []
        if not any(char.isalnum() for before in befores for char in before):
            return
    elif first.core:
        # As it is written, and without the whitespace.
        befores.append(f"{section.open.text.lstrip()}{first.before}{first.core}{first.after}")
    behind = [_begin(call.row[at + 1])]
    if call.empty_row is not None and isinstance(call.empty_row[-1], Literal):
        behind.append(_begin(call.empty_row[-1]))
    for name in sorted(offered or ()):
        for before in befores:
            yield from (f"{before}{name}{text}" for texts in behind for text in texts)


def named_openings(section: Section, offered: frozenset[str] | None) -> Iterator[str]:
    """Return what opens one call by markers, with the names behind it: all of it, or its end."""
    call = section.call
    first = call_open(call)
    if isinstance(call, JsonCall) or not first.markers or not isinstance(call.row[1], Name):
        return
    for name in sorted(offered or ()):
        yield f"{first.core}{name}"
    yield from named_triggers(section, offered)


def listed_calls(section: Section, offered: frozenset[str] | None) -> Iterator[str]:
    """Return what separates two calls of a list and begins the next one, of an offered tool.

    Nothing where a marker opens each call, or nothing separates two.
    """
    call, separator = section.call, section.separator
    if not separator.core or call_open(call).core:
        return
    for name in sorted(offered or ()):
        if isinstance(call, RowCall):
            texts = {f"{name}{text}" for text in _begin(call.row[1])}
        elif call.name_is_key:
            texts = {f'{{"{name}":'}
        else:
            texts = {f'{{"{call.name_field}":{space}"{name}"' for space in ("", " ")}
        for space in dict.fromkeys((separator.after, "", " ", "\n")):
            yield from (f"{separator.core}{space}{text}" for text in sorted(texts))


def _begin(item: RowItem) -> tuple[str, ...]:
    """Return what may stand right after a name: as it is written, and without the whitespace."""
    if not isinstance(item, Literal):
        return ("",)
    if not item.units:
        return (item.text,)
    return (item.units[0], f"{item.before}{item.units[0]}")


def is_marked(section: Section) -> bool:
    """Whether calls are opened by something that content does not hold."""
    return any(True for _ in call_opens(section))
