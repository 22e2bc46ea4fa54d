"""What an assistant turn looks like: the one value that everything after the analysis reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from .call_format import CallFormat, CallLimit
from .call_notation import RowSlot
from .conversation import Json, Message, Presence
from .text_alignment import MarkerBlock, TemplateLiteral, edge_units, is_unit
from .text_format import TurnLayout, TurnPart
from .turn_shape import (
    PromptProgress,
    TurnOpening,
    TurnShape,
    content_of,
    end_literals_of,
    reasoning_of,
)
from .verdicts import EvidenceKind


class RefusedMessageError(ValueError):
    """The template does not write such a message: it raises."""


class TurnFormat(TurnShape, frozen=True):
    """An assistant turn, and what follows from how it was seen.

    It is answered once: what opens and closes a part, what ends a turn.
    """

    def __repr__(self) -> str:
        """Return the parts that a turn has, and its stop strings, in one line."""
        parts = ", ".join(part.value for part in TurnPart if part in self.shown_parts)
        stops = ", ".join(map(repr, self.stop_strings))
        ends = f" until {stops}" if stops else ""
        return f"<{type(self).__name__}: {self.header!r} {parts or 'nothing'}{ends}>"

    @cached_property
    def reasoning(self) -> MarkerBlock | None:
        """What opens and closes reasoning; None where nothing does."""
        return reasoning_of(self)

    @cached_property
    def content(self) -> MarkerBlock:
        """What opens and closes content."""
        return content_of(self, self.reasoning)

    @cached_property
    def end_literals(self) -> tuple[TemplateLiteral, ...]:
        """The texts that end a turn, each with the whitespace between it and content."""
        return end_literals_of(self)

    @property
    def evidence(self) -> dict[TurnPart, EvidenceKind]:
        """What is the evidence for each part that is read, in the order of the parts."""
        reasoning = {TurnPart.REASONING} if self.reasoning is not None else set[TurnPart]()
        read = self.shown_parts | self.elsewhere | self.not_rendered.keys() | reasoning
        return {
            part: self.not_rendered.get(part, EvidenceKind.RENDER)
            for part in TurnPart
            if part in read
        }

    @cached_property
    def prompted_header(self) -> str:
        """The header, where a generation prompt writes it; empty where the model writes it.

        One prompt may leave it out, as some do after the result of a call; where all do, nobody
        but the model is left to write it.
        """
        written = any(opening.written is not PromptProgress.NOTHING for opening in self.openings)
        return self.header if written else ""

    @cached_property
    def whole(self) -> TurnFormat:
        """The format with its whole header.

        Where a switch varies the header's front, that is what the default prompt writes of it.
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
        """Return the message with ids that carry the names, where nothing else of a call does."""
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

        Raises RefusedMessageError where the template raises on such a message.
        """
        return "".join(self.pieces(message))

    def pieces(self, message: Message) -> list[str]:
        """Write the turn as `write` does, in pieces: a literal, a part, a literal, and so on."""
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
        """Return what is left of a content out of which the template cuts reasoning."""
        cut = self.reasoning_cut
        return content.rpartition(cut)[2] if cut else content


# What stands between two neighbors of a turn, over all layouts in which they are neighbors.


START = "start"
END = "end"


def joints_of(format_: TurnFormat) -> Mapping[tuple[str, str], Mapping[str, Sequence[Presence]]]:
    """Return the literals between two neighbors, each with the turns that have it there.

    A neighbor is a part's name, `start`, or `end`.
    """
    seen: dict[tuple[str, str], dict[str, list[Presence]]] = {}
    for presence, layout in sorted(format_.layouts.items()):
        if layout.refusal:
            continue
        stations = [START, *(part.value for part in layout.parts), END]
        for at, literal in enumerate(layout.literals):
            texts = seen.setdefault((stations[at], stations[at + 1]), {})
            texts.setdefault(literal, []).append(presence)
    return seen


# The texts at which a turn ends, by what stands before them: content, or calls.
#
# What ends one turn may stand inside another. Where a template writes ``<|end|>`` after reasoning
# and after content, an output does not end at the first one, and does at the second.


class StopText(Struct, frozen=True):
    """A text that ends a turn."""

    text: str
    last: str
    """Its last marker, at which it is complete; all of it where it is one marker, or none."""
    inside: bool = False
    """It also stands inside turns: only after content, or after a call, an output ends there."""


class StopTexts(Struct, frozen=True):
    """What ends turns, that which the template writes first."""

    after_content: tuple[StopText, ...]
    after_calls: tuple[StopText, ...]


def stop_texts_of(formats: Sequence[TurnFormat], eos: str = "") -> StopTexts:
    """Return what ends the turns of a template under any of its settings.

    `eos` is the token that ends an output whatever the template writes; empty where none does.
    """
    inside = [text for format_ in formats for text in _inside(format_)]

    def after(part: TurnPart) -> tuple[StopText, ...]:
        # Under one setting a turn may be left open that others end.
        ended = [format_ for format_ in formats if _ends_after(format_, part)] or formats
        ends = [end for format_ in ended for end in _ends(format_, part)]
        found = [_stop(end, inside) for end in (*ends, eos) if end]
        return tuple({stop.text: stop for stop in reversed(found)}.values())[::-1]

    calling = any(format_.calls is not None for format_ in formats)
    return StopTexts(after(TurnPart.CONTENT), after(TurnPart.CALLS) if calling else ())


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


def _ends(format_: TurnFormat, part: TurnPart) -> tuple[str, ...]:
    """Return what stands after a part that is the last one of its turn."""
    calls = format_.calls if part is TurnPart.CALLS else None
    if part is TurnPart.CALLS and calls is None:
        return ()
    closer = () if calls is None else _closer(calls, format_.stop_strings)
    # What the next message begins with, or the template's text names, ends a turn, too.
    return _ends_after(format_, part) or closer or format_.stop_strings


def _ends_after(format_: TurnFormat, part: TurnPart) -> tuple[str, ...]:
    """Return what the template itself writes after such a part, the last turn's end first."""
    ends = [
        TemplateLiteral.of(end.text).core or TemplateLiteral.of(end.historic or "").core
        for end in format_.ends
        if end.after is part
    ]
    # A single sign is too little to end a turn.
    return tuple(end for end in ends if end[1:])


def _closer(calls: CallFormat, stops: Sequence[str]) -> tuple[str, ...]:
    """Return the last marker of calls after which nothing ends the turn.

    What closes each of several calls ends none of them.
    """
    tail = calls.row[-1] if calls.row and not isinstance(calls.row[-1], RowSlot) else ""
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
        row = [piece for piece in calls.row if not isinstance(piece, RowSlot)]
        tail = row.pop().rstrip() if row else ""
        for closer in _ends(format_, TurnPart.CALLS):
            tail = tail.removesuffix(closer)
        yield from (calls.section_open, calls.separator, *row, tail)
        if any(TurnPart.CALLS in layout.parts[:-1] for layout in format_.layouts.values()):
            yield calls.section_close


def _between(format_: TurnFormat, layout: TurnLayout) -> Iterator[str]:
    """Return the texts of a layout, without an end that stands where a turn may end.

    What stands last ends the turn, and may be the end of another part than the last: with calls
    before its content, a turn that waits for results may end as after calls.
    """
    yield layout.literals[0].removeprefix(format_.header)
    for part, literal in zip(layout.parts[:-1], layout.literals[1:], strict=False):
        text = literal.strip()
        for end in _ends(format_, part) if part is not TurnPart.REASONING else ():
            text = text.removeprefix(edge_units(end)[0])
        yield text
    if layout.parts[-1] is not TurnPart.REASONING:
        text = layout.literals[-1].strip()
        for part in layout.parts:
            for end in _ends(format_, part) if part is not TurnPart.REASONING else ():
                text = text.removesuffix(end)
        yield text


# All formats of a template: which of them a prompt or a setting belongs to is answered here.


class PromptFormat(Struct, frozen=True):
    """A format, and the generation prompt that begins its turns."""

    format: TurnFormat
    opening: TurnOpening | None
    """None: no generation prompt is known, as where the template raises on being asked for one."""


class Formats(Struct, frozen=True):
    """One format for every setting of the switches that changes a turn, equal ones shared.

    Each format holds the openings of its settings; none is in two formats.
    """

    each: tuple[TurnFormat, ...]
    """The default's first."""
    base: Mapping[str, Json]
    """What is set by default: nothing, but where the template cannot be rendered without it."""
    fullest: TurnFormat
    """The format that shows most of a message: the default's, unless that keeps reasoning out."""
    untried: int = 0
    """Settings beyond the number that is tried."""

    @classmethod
    def of(cls, format_: TurnFormat) -> Formats:
        """Return the formats of a template whose switches change nothing."""
        return cls((format_,), format_.setting, fullest=format_)

    def __repr__(self) -> str:
        """Return how many there are, and the default one, in one line."""
        return f"<{type(self).__name__}: {len(self)}, by default {self.default.format!r}>"

    def __iter__(self) -> Iterator[TurnFormat]:
        """Go through the formats, the default's first."""
        return iter(self.each)

    def __len__(self) -> int:
        """Count the formats."""
        return len(self.each)

    @property
    def default(self) -> PromptFormat:
        """What a prompt belongs to for which nothing was set, tools being offered."""
        return self.under(self.base) or PromptFormat(self.each[0], None)

    @property
    def openings(self) -> tuple[TurnOpening, ...]:
        """Every setting's generation prompt, the default's first."""
        return tuple(opening for each in self.each for opening in each.openings)

    @property
    def united(self) -> TurnFormat:
        """The fullest format with every setting's openings, to be looked at as a whole."""
        return replace(self.fullest, openings=self.openings)

    def under(self, setting: Mapping[str, Json], *, tools: bool = True) -> PromptFormat | None:
        """Find what belongs to exactly this setting, or None if it was not learned.

        Switches that change neither a turn nor its beginning make no difference.

        `tools` says whether tools are offered, where that changes the generation prompt.
        """
        switch_names = {name for opening in self.openings for name in opening.setting}
        wanted = _key(
            {**self.base, **{name: setting[name] for name in setting if name in switch_names}}
        )
        found = [
            PromptFormat(each, opening)
            for each in self.each
            for opening in each.openings
            if _key(opening.setting) == wanted
        ]
        return next(
            (begun for begun in found if begun.opening and begun.opening.tools is tools),
            found[0] if found else None,
        )

    def prompt_under(self, setting: Mapping[str, Json]) -> str | None:
        """Return the generation prompt of exactly this setting, or None if it was not rendered."""
        begun = self.under(setting)
        if begun is None or begun.opening is None or setting.keys() - begun.opening.setting.keys():
            return None
        return begun.opening.text

    def behind(self, prompt: str) -> tuple[PromptFormat, ...]:
        """Find what a rendered prompt, or any tail of it, may belong to, by how it ends.

        Of the openings that it ends with, the longest one counts; formats whose openings are
        alike are all given, the default's first, unless what stands before tells them apart.
        None where it ends with no opening.
        """
        found: list[PromptFormat] = []
        longest = 0
        for each in self.each:
            best = opening_at_end(each, prompt)
            if best is None:
                continue
            size = len(best.text.rstrip())
            if size > longest:
                found, longest = [], size
            if size == longest:
                found.append(PromptFormat(each, best))
        signed = [each for each in found if each.opening and _signed(each.opening, prompt)]
        return tuple(signed if len(found) > 1 and signed else found)

    def within(self, prompt: str) -> tuple[PromptFormat, ...]:
        """Find what a prompt may belong to that has gone on after a generation prompt.

        The opening counts that begins last in it, of several the longest one.
        """
        found: list[tuple[int, int, PromptFormat]] = []
        for each in self.each:
            for opening in each.openings:
                core = opening.text.strip()
                at = prompt.rfind(core) if any(map(str.isalnum, core)) else -1
                if at >= 0:
                    found.append((at, len(core), PromptFormat(each, opening)))
        last = max((place[:2] for place in found), default=None)
        latest: dict[int, PromptFormat] = {}
        for at, size, begun in found:
            if (at, size) == last:
                latest.setdefault(id(begun.format), begun)
        return tuple(latest.values())

    @property
    def alike(self) -> tuple[tuple[PromptFormat, ...], ...]:
        """Return the groups of formats that a generation prompt's text does not tell apart."""
        texts = dict.fromkeys(opening.text for opening in self.openings if opening.text.strip())
        groups = (self.behind(text) for text in texts)
        return tuple(group for group in groups if len(group) > 1)


def opening_at_end(format_: TurnFormat, prompt: str) -> TurnOpening | None:
    """Find the longest of a format's openings that a prompt ends with, or None if there is none."""
    end = prompt.rstrip()
    fitting = [
        opening
        for opening in (*format_.openings, *format_.later_openings)
        if (core := opening.text.rstrip()) and end.endswith(core)
    ]
    return max(fitting, key=lambda opening: len(opening.text.rstrip()), default=None)


def _signed(opening: TurnOpening, prompt: str) -> bool:
    return bool(opening.signs) and all(sign in prompt for sign in opening.signs)


def _key(setting: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    """Return a key that differs for true and 1, which are equal to Python."""
    return tuple(sorted((name, repr(value)) for name, value in setting.items()))


def written_alike(one: TurnFormat, other: TurnFormat) -> bool:
    """Whether two formats differ in their settings and openings alone."""
    return replace(one, openings=(), setting={}) == replace(other, openings=(), setting={})


def share_settings(formats: list[TurnFormat]) -> list[TurnFormat]:
    """Put formats together that differ in their settings and openings alone."""
    shared: list[TurnFormat] = []
    for each in formats:
        for at, other in enumerate(shared):
            if written_alike(other, each):
                shared[at] = replace(other, openings=(*other.openings, *each.openings))
                break
        else:
            shared.append(each)
    return shared
