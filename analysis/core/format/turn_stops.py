"""The texts at which a turn ends, by what stands before them: content, or calls.

What ends one turn may stand inside another. Where a template writes ``<|end|>`` after reasoning
and after content, an output does not end at the first one, and does at the second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autoparser.analysis.core.alignment import edge_units, is_unit

from .call import CallFormat, CallLimit
from .layout import Layout, Part
from .literal import Literal
from .notation import Slot
from .turn import TurnFormat


@dataclass(frozen=True, slots=True)
class StopText:
    """A text that ends a turn."""

    text: str
    last: str
    """Its last marker, at which it is complete; all of it where it is one marker, or none."""
    inside: bool = False
    """It also stands inside turns: only after content, or after a call, an output ends there."""


@dataclass(frozen=True, slots=True)
class StopTexts:
    """What ends turns, that which the template writes first."""

    after_content: tuple[StopText, ...]
    after_calls: tuple[StopText, ...]


def stop_texts_of(formats: Sequence[TurnFormat], eos: str = "") -> StopTexts:
    """Return what ends the turns of a template under any of its settings.

    `eos` is the token that ends an output whatever the template writes; empty where none does.
    """
    inside = [text for format_ in formats for text in _inside(format_)]

    def after(part: Part) -> tuple[StopText, ...]:
        # Under one setting a turn may be left open that others end.
        ended = [format_ for format_ in formats if _written(format_, part)] or formats
        ends = [end for format_ in ended for end in _ends(format_, part)]
        found = [_stop(end, inside) for end in (*ends, eos) if end]
        return tuple({stop.text: stop for stop in reversed(found)}.values())[::-1]

    calling = any(format_.calls is not None for format_ in formats)
    return StopTexts(after(Part.CONTENT), after(Part.CALLS) if calling else ())


def whole_stops(format_: TurnFormat) -> dict[str, str]:
    """Return each stop string, and it with all that a model goes on to write there.

    Where ``<close>`` also closes what stands inside a turn, an output goes on after
    ``<close>msg`` to the ``<fin>`` behind it, which alone is not seen before.
    """
    texts = stop_texts_of([format_])
    ends = [stop.text for stop in (*texts.after_content, *texts.after_calls)]
    return {
        stop: max((end for end in ends if end.startswith(stop)), key=len, default=stop)
        for stop in format_.stop_strings
        if stop
    }


def _ends(format_: TurnFormat, part: Part) -> tuple[str, ...]:
    """Return what stands after a part that is the last one of its turn."""
    calls = format_.calls if part is Part.CALLS else None
    if part is Part.CALLS and calls is None:
        return ()
    closer = () if calls is None else _closer(calls, format_.stop_strings)
    # What the next message begins with, or the template's text names, ends a turn, too.
    return _written(format_, part) or closer or format_.stop_strings


def _written(format_: TurnFormat, part: Part) -> tuple[str, ...]:
    """Return what the template itself writes after such a part, the last turn's end first."""
    ends = [
        Literal.of(end.text).core or Literal.of(end.historic or "").core
        for end in format_.ends
        if end.after is part
    ]
    # A single sign is too little to end a turn.
    return tuple(end for end in ends if end[1:])


def _closer(calls: CallFormat, stops: Sequence[str]) -> tuple[str, ...]:
    """Return the last marker of calls after which nothing ends the turn.

    What closes each of several calls ends none of them.
    """
    tail = calls.row[-1] if calls.row and not isinstance(calls.row[-1], Slot) else ""
    text = f"{tail}{calls.section_close}".rstrip()
    unit = edge_units(text)[-1] if text else ""
    alone = calls.section_close.strip() or calls.limit is not CallLimit.MANY
    return (unit,) if is_unit(unit) and (alone or unit in stops) else ()


def _stop(end: str, inside: Sequence[str]) -> StopText:
    """Cut an end after the first marker that stands inside no turn."""
    text = ""
    for unit in edge_units(end):
        text += unit
        if is_unit(unit) and not any(unit in other for other in inside):
            return StopText(text, unit)
    markers = [unit for unit in edge_units(end) if is_unit(unit)]
    first = end[: end.index(markers[0]) + len(markers[0])] if markers else end
    return StopText(first, markers[0] if markers else end, any(first in text for text in inside))


def _inside(format_: TurnFormat) -> Iterator[str]:
    """Return what the template writes in turns before what ends their last part."""
    calls = format_.calls
    for layout in format_.layouts.values():
        if layout.parts:
            yield from _between(format_, layout)
    if calls is not None:
        row = [piece for piece in calls.row if not isinstance(piece, Slot)]
        tail = row.pop().rstrip() if row else ""
        for closer in _ends(format_, Part.CALLS):
            tail = tail.removesuffix(closer)
        yield from (calls.section_open, calls.separator, *row, tail)
        if any(Part.CALLS in layout.parts[:-1] for layout in format_.layouts.values()):
            yield calls.section_close


def _between(format_: TurnFormat, layout: Layout) -> Iterator[str]:
    """Return the texts of a layout, without an end that stands where a turn may end.

    What stands last ends the turn, and may be the end of another part than the last: with calls
    before its content, a turn that waits for results may end as after calls.
    """
    yield layout.literals[0].removeprefix(format_.header)
    for part, literal in zip(layout.parts[:-1], layout.literals[1:], strict=False):
        text = literal.strip()
        for end in _ends(format_, part) if part is not Part.REASONING else ():
            text = text.removeprefix(edge_units(end)[0])
        yield text
    if layout.parts[-1] is not Part.REASONING:
        text = layout.literals[-1].strip()
        for part in layout.parts:
            for end in _ends(format_, part) if part is not Part.REASONING else ():
                text = text.removesuffix(end)
        yield text
