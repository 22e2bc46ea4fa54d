"""The texts at which a turn ends, after content or after calls.

The end of one turn may occur inside another. If a template writes ``<|end|>`` both after
reasoning and after content, an output ends only at the second one.

    >>> from autoparser import analyze, load_template
    >>> formats = analyze(load_template("fixtures/templates/a1-function-parameter.jinja")).formats
    >>> template_stop_texts(tuple(formats)).after_calls
    (StopText(text='<|im_end|>', last='<|im_end|>', inside=False),)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from .call_format import CallFormat, CallLimit
from .call_notation import RowSlot
from .text_alignment import TemplateLiteral, edge_units, is_unit
from .turn_format import TurnFormat
from .turn_parts import TurnLayout, TurnPart


class StopText(Struct, frozen=True):
    """A text that ends a turn."""

    text: str
    """The whole text, such as `"<|eom|><|eot|>"`."""
    last: str
    """The last marker of the text, which completes it, such as `"<|end|>"`."""
    inside: bool = False
    """Whether the text also occurs inside turns, as a marker `<|close|>` does that closes each
    part, too; an output then ends at it only after content or after a call."""


class StopTexts(Struct, frozen=True):
    """The ends of turns, those that the template itself writes first."""

    after_content: tuple[StopText, ...]
    """The ends after content, such as those with the texts `"<|end|>"` and `"</s>"`."""
    after_calls: tuple[StopText, ...]
    """The ends after calls, such as the one with the text `"<|im_end|>"`; empty if the format has
    none."""


def template_stop_texts(formats: Sequence[TurnFormat], eos: str = "") -> StopTexts:
    """Return the ends of a template's turns under all of its settings.

    `eos` is the token that ends an output in any case, or an empty text.
    """
    inside = [text for format_ in formats for text in _texts_inside_turns(format_)]

    def after(part: TurnPart) -> tuple[StopText, ...]:
        # Under one setting a turn may have no end, while the others end it.
        ended = [format_ for format_ in formats if _written_ends(format_, part)] or formats
        ends = [end for format_ in ended for end in _possible_ends(format_, part)]
        found: dict[str, StopText] = {}
        for stop in (_stop_text(end, inside) for end in (*ends, eos) if end):
            found.setdefault(stop.text, stop)
        return tuple(found.values())

    calling = any(format_.calls is not None for format_ in formats)
    return StopTexts(after(TurnPart.CONTENT), after(TurnPart.CALLS) if calling else ())


def whole_stops(format_: TurnFormat) -> dict[str, str]:
    """Return each stop string with the whole text that a model writes at that end.

    If ``<close>`` also occurs inside turns, a model writes ``<close>msg<fin>`` at the end, and
    only ``<fin>`` is unambiguous.
    """
    texts = template_stop_texts([format_])
    ends = [stop.text for stop in (*texts.after_content, *texts.after_calls)]
    return {
        stop: max((end for end in ends if end.startswith(stop)), key=len, default=stop)
        for stop in format_.stop_strings
        if stop
    }


def _possible_ends(format_: TurnFormat, part: TurnPart) -> tuple[str, ...]:
    """Return the possible ends of a turn whose last part this is."""
    calls = format_.calls if part is TurnPart.CALLS else None
    if part is TurnPart.CALLS and calls is None:
        return ()
    closer = () if calls is None else _last_call_marker(calls, format_.stop_strings)
    # Stop strings end a turn, too: the next message's beginning, or a token in the source.
    return _written_ends(format_, part) or closer or format_.stop_strings


def _written_ends(format_: TurnFormat, part: TurnPart) -> tuple[str, ...]:
    """Return the ends that the template writes after this part, the ends of last turns first."""
    ends = [
        TemplateLiteral.of(end.text).core or TemplateLiteral.of(end.historic or "").core
        for end in format_.ends
        if end.after is part
    ]
    # A single character occurs too often inside turns to end one.
    return tuple(end for end in ends if end[1:])


def _last_call_marker(calls: CallFormat, stops: Sequence[str]) -> tuple[str, ...]:
    """Return the last marker of calls, for a format that writes no end after them.

    A marker that closes each of several calls does not end the turn.
    """
    tail = calls.row[-1] if calls.row and not isinstance(calls.row[-1], RowSlot) else ""
    text = f"{tail}{calls.section_close}".rstrip()
    unit = edge_units(text)[-1] if text else ""
    alone = calls.section_close.strip() or calls.limit is not CallLimit.MANY
    return (unit,) if is_unit(unit) and (alone or unit in stops) else ()


def _stop_text(end: str, inside: Sequence[str]) -> StopText:
    """Cut an end after its first marker that does not occur inside turns."""
    text = ""
    for unit in edge_units(end):
        text += unit
        if is_unit(unit) and not any(unit in other for other in inside):
            return StopText(text, unit)
    markers = [unit for unit in edge_units(end) if is_unit(unit)]
    first = end[: end.index(markers[0]) + len(markers[0])] if markers else end
    return StopText(first, markers[0] if markers else end, any(first in text for text in inside))


def _texts_inside_turns(format_: TurnFormat) -> Iterator[str]:
    """Yield the literals of turns that come before the end of their last part."""
    calls = format_.calls
    for layout in format_.layouts.values():
        if layout.parts:
            yield from _texts_inside_layout(format_, layout)
    if calls is not None:
        row = [piece for piece in calls.row if not isinstance(piece, RowSlot)]
        tail = row.pop().rstrip() if row else ""
        # The marker that closes a call may be the end of the turn, which is not inside it.
        for closer in _possible_ends(format_, TurnPart.CALLS):
            tail = tail.removesuffix(closer)
        yield from (calls.section_open, calls.separator, *row, tail)
        # After the last part, the close of the section belongs to the end of the turn.
        if any(TurnPart.CALLS in layout.parts[:-1] for layout in format_.layouts.values()):
            yield calls.section_close


def _texts_inside_layout(format_: TurnFormat, layout: TurnLayout) -> Iterator[str]:
    """Yield the literals of a layout, without the ends of turns where a turn may end.

    The last literal may be the end after another part than the last one: a turn with calls before
    its content that waits for results may end as after calls.
    """
    yield layout.literals[0].removeprefix(format_.header)
    for part, literal in zip(layout.parts[:-1], layout.literals[1:], strict=False):
        text = literal.strip()
        for end in _possible_ends(format_, part) if part is not TurnPart.REASONING else ():
            text = text.removeprefix(edge_units(end)[0])
        yield text
    if layout.parts[-1] is not TurnPart.REASONING:
        text = layout.literals[-1].strip()
        for part in layout.parts:
            for end in _possible_ends(format_, part) if part is not TurnPart.REASONING else ():
                text = text.removesuffix(end)
        yield text
