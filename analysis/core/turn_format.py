r"""The format of an assistant turn: the value that parsers, grammars and reports read.

`TurnFormat` adds to the observed `TurnShape` the markers that follow from it, and `write`, which
writes a turn as the template would. From formats follow the literals between the parts of a turn
(`joints_of`), and the texts at which it ends:

    >>> from autoparser import analyze, load_template
    >>> formats = analyze(load_template("fixtures/templates/a1-function-parameter.jinja")).formats
    >>> stop_texts_of(tuple(formats)).after_calls
    (StopText(text='<|im_end|>', last='<|im_end|>', inside=False),)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from .call_format import CallFormat, CallLimit
from .call_notation import RowSlot
from .conversation import Message, Presence
from .text_alignment import MarkerBlock, TemplateLiteral, edge_units, is_unit
from .text_format import TurnLayout, TurnPart
from .turn_shape import (
    PromptProgress,
    TurnShape,
    content_of,
    end_literals_of,
    reasoning_of,
)
from .verdicts import EvidenceKind


class RefusedMessageError(ValueError):
    """The template raises on such a message."""


class TurnFormat(TurnShape, frozen=True):
    r"""The format of an assistant turn: the markers of its parts and its ends.

        format_.write(Message("Hello."))  # '<|im_start|>assistant\nHello.<|im_end|>\n'

    `repr` shows its parts and stop strings.
    """

    def __repr__(self) -> str:
        """Return the parts of turns and the stop strings in one line."""
        parts = ", ".join(part.value for part in TurnPart if part in self.shown_parts)
        stops = ", ".join(map(repr, self.stop_strings))
        ends = f" until {stops}" if stops else ""
        return f"<{type(self).__name__}: {self.header!r} {parts or 'nothing'}{ends}>"

    @cached_property
    def reasoning(self) -> MarkerBlock | None:
        """The markers around reasoning, or None if the format has none."""
        return reasoning_of(self)

    @cached_property
    def content(self) -> MarkerBlock:
        """The markers around content, which may be empty."""
        return content_of(self, self.reasoning)

    @cached_property
    def end_literals(self) -> tuple[TemplateLiteral, ...]:
        """The ends of turns, each with the whitespace between content and it."""
        return end_literals_of(self)

    @property
    def evidence(self) -> dict[TurnPart, EvidenceKind]:
        """The evidence for each part that is parsed, in the order of the parts."""
        reasoning = {TurnPart.REASONING} if self.reasoning is not None else set[TurnPart]()
        read = self.shown_parts | self.elsewhere | self.not_rendered.keys() | reasoning
        return {
            part: self.not_rendered.get(part, EvidenceKind.RENDER)
            for part in TurnPart
            if part in read
        }

    @cached_property
    def prompted_header(self) -> str:
        """The header if a generation prompt writes it; empty if the model writes it.

        One prompt may omit it, as some do after the result of a call; only if all prompts omit it
        does the model write it.
        """
        written = any(opening.written is not PromptProgress.NOTHING for opening in self.openings)
        return self.header if written else ""

    @cached_property
    def whole(self) -> TurnFormat:
        """The format with the whole header of the default prompt.

        If a switch varies the header, `header` is only the common part of all settings.
        """
        default = next(iter(self.openings), None)
        layouts = [layout for layout in self.layouts.values() if not layout.refusal]
        if (
            default is None
            or default.written is not PromptProgress.OTHER
            or not layouts
            or not default.text.startswith(self.header)
            or not all(layout.literals[0].startswith(default.text) for layout in layouts)
        ):
            return self
        return replace(self, header=default.text)

    def with_naming_ids(self, message: Message) -> Message:
        """Return the message with ids that contain the names, if names are not written apart."""
        calls = self.calls
        if calls is None or calls.naming is None:
            return message
        named = (
            replace(call, id=calls.naming.write(call.name, calls.index_base + at))
            for at, call in enumerate(message.calls)
        )
        return replace(message, calls=tuple(named))

    def write(self, message: Message) -> str:
        """Write the turn as the template would, from the format alone.

        Raises RefusedMessageError if the template raises on such a message.
        """
        return "".join(self.pieces(message))

    def pieces(self, message: Message) -> list[str]:
        """Write the turn as `write` does, in pieces: literal, part, literal, and so on."""
        layout = self.layouts[message.presence]
        if layout.refusal:
            raise RefusedMessageError(layout.refusal)
        pieces = [layout.literals[0]]
        for part, literal in zip(layout.parts, layout.literals[1:], strict=True):
            pieces.append(self._write_part(part, layout, message))
            pieces.append(literal)
        return pieces

    def _write_part(self, part: TurnPart, layout: TurnLayout, message: Message) -> str:
        match part:
            case TurnPart.REASONING:
                return layout.reasoning.apply(message.reasoning)
            case TurnPart.CONTENT:
                return layout.content.apply(self.without_cut(message.content))
            case TurnPart.CALLS:
                if self.calls is None:
                    return ""
                if self.calls.limit is CallLimit.REFUSED and len(message.calls) > 1:
                    raise RefusedMessageError(CallLimit.REFUSED.value)
                refused = self.calls.refused_type(message.calls)
                if refused is not None:
                    raise RefusedMessageError(f"raises on an argument of type {refused}")
                return self.calls.write(message.calls)

    def without_cut(self, content: str) -> str:
        """Return the content without reasoning that the template cuts from it."""
        cut = self.reasoning_cut
        return content.rpartition(cut)[2] if cut else content


# The literals between two neighbors of a turn, over all layouts in which they are neighbors.


START = "start"
END = "end"


def joints_of(format_: TurnFormat) -> Mapping[tuple[str, str], Mapping[str, Sequence[Presence]]]:
    """Return the literals between two neighbors, each with the layouts that have it there.

    A neighbor is the name of a part, `start` or `end`.
    """
    seen: dict[tuple[str, str], dict[str, list[Presence]]] = {}
    for presence, layout in sorted(format_.layouts.items()):
        if layout.refusal:
            continue
        stations = [START, *(part.value for part in layout.parts), END]
        for index, literal in enumerate(layout.literals):
            texts = seen.setdefault((stations[index], stations[index + 1]), {})
            texts.setdefault(literal, []).append(presence)
    return seen


# The texts at which a turn ends, after content or after calls.
#
# The end of one turn may occur inside another. If a template writes ``<|end|>`` both after
# reasoning and after content, an output ends only at the second one.


class StopText(Struct, frozen=True):
    """A text that ends a turn."""

    text: str
    """The whole text, such as `"<|close|><|end|>"`."""
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


def stop_texts_of(formats: Sequence[TurnFormat], eos: str = "") -> StopTexts:
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
    texts = stop_texts_of([format_])
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
