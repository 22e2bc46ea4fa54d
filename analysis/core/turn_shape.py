"""What was seen of an assistant turn: its layouts, its prompts, its ends, and how it is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from .call_format import ArgumentForm, CallFormat
from .conversation import Json, Presence
from .documents import JsonDocument, SettingValues
from .text_alignment import MarkerBlock, TemplateLiteral, common_prefix, common_suffix, first_marker
from .text_format import TurnLayout, TurnPart
from .verdicts import EvidenceKind


class PromptProgress(StrEnum):
    """How much of the turn a generation prompt has already written."""

    NOTHING = "nothing"
    """Not even the header: the template has no generation prompt here."""
    HEADER = "the header"
    PART_OF_HEADER = "a part of the header"
    REASONING_OPEN = "the reasoning's opening"
    REASONING_CLOSED = "an empty reasoning block"
    OTHER = "text that the turn in the history does not have"


class TurnOpening(JsonDocument, frozen=True):
    """The generation prompt under one setting of the switches."""

    setting: SettingValues
    text: str
    """The generation prompt."""
    written: PromptProgress
    """How much of the turn it has written."""
    tools: bool
    """False: so it is only where no tools are offered."""
    signs: tuple[str, ...] = ()
    """Texts further up in the prompt, each of which prompts of some other format do not have."""
    stands_for: str | None = None
    """The beginning of a turn that the text amounts to, where a turn begins otherwise behind
    earlier turns: behind the result of a call some templates write no header."""

    @property
    def turn_begun(self) -> str:
        """How much of a turn, as it is behind a user's message, has been written."""
        return self.text if self.stands_for is None else self.stands_for


class TurnEnd(Struct, frozen=True):
    """What closes a turn."""

    after: TurnPart
    text: str
    """After the last turn of a conversation."""
    historic: str | None
    """After an earlier turn, as far as it can be told from the next message; None: unknown."""


class ReasoningRetention(Struct, frozen=True):
    """When the reasoning of an earlier turn is still in the prompt."""

    tool_loop: bool | None = None
    """After the call was answered; None: could not be observed."""
    next_user: bool | None = None
    """After the next user message, where tools are offered."""
    answered_loop: bool | None = None
    """In a tool loop, once a later user message came."""
    next_user_without_tools: bool | None = None
    """After the next user message, where no tools are offered."""

    @property
    def differs(self) -> bool:
        """Whether the next user message takes it with tools and not without, or the reverse."""
        return {self.next_user, self.next_user_without_tools} == {True, False}


class TurnShape(Struct, frozen=True, dict=True):
    """An assistant turn as it was seen, from where the text before it ends to the text's end."""

    header: str
    """What begins every turn."""
    layouts: Mapping[Presence, TurnLayout]
    calls: CallFormat | None = None
    openings: tuple[TurnOpening, ...] = ()
    """The generation prompts of the settings under which turns look so."""
    later_openings: tuple[TurnOpening, ...] = ()
    """Those behind a call's result, or behind more turns, where they end as no other does."""
    ends: tuple[TurnEnd, ...] = ()
    stop_strings: tuple[str, ...] = ()
    argument_form: ArgumentForm = ArgumentForm.OBJECT
    setting: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The switches under which the layouts were seen, the first of the openings' settings."""
    reasoning_cut: str | None = None
    """Where reasoning is only cut out of the content: the text up to and with this is lost."""
    reasoning_open: str = ""
    """What opens reasoning, where no turn shows it but a generation prompt or its words do."""
    reasoning_close: str = ""
    """What closes it there."""
    not_rendered: Mapping[TurnPart, EvidenceKind] = field(
        default_factory=dict[TurnPart, EvidenceKind]
    )
    """Parts that no turn was rendered with, and what their evidence is instead."""
    elsewhere: frozenset[TurnPart] = frozenset()
    """Parts that turns under these settings never have, but those under others do: what a model
    writes of them is read, and it is not asked to write them."""
    retention: ReasoningRetention = field(default_factory=ReasoningRetention)

    @property
    def shown_parts(self) -> frozenset[TurnPart]:
        """The parts that some turn is written with."""
        return frozenset(part for layout in self.layouts.values() for part in layout.parts)

    @property
    def unconfirmed(self) -> frozenset[TurnPart]:
        """Parts whose markers only the prompt's words spell out."""
        kinds = self.not_rendered.items()
        return frozenset(part for part, kind in kinds if kind is EvidenceKind.WORDS)

    @cached_property
    def header_mark(self) -> str:
        """The text by which a header is noticed; empty where it is only punctuation."""
        return TemplateLiteral.of(self.header).mark

    def without_end(self, text: str) -> str:
        """Cut off the end of a text what ends a turn."""
        for end in self.ends:
            text = text.removesuffix(end.text)
        return text


# What opens and closes content: alone, beside reasoning, beside calls.


ALONE = Presence(content=True)
REASONED = Presence(reasoning=True, content=True)


def content_of(format_: TurnShape, reasoning: MarkerBlock | None) -> MarkerBlock:
    """Find what opens and closes content; what an empty reasoning block leaves is not it.

    It opens as where content stands alone, else as after reasoning; what opens it beside other
    parts alone is among `others`. What ends the turn closes content where a part may follow it.
    """
    opens: dict[Presence, TemplateLiteral] = {}
    closes: list[str] = []
    goes_on = False
    for presence, layout in format_.layouts.items():
        if TurnPart.CONTENT not in layout.parts:
            continue
        at = layout.parts.index(TurnPart.CONTENT)
        opens[presence] = TemplateLiteral.of(_opening(format_, reasoning, layout, at))
        if opens[presence].core:
            closes.append(layout.literals[at + 1])
            goes_on = goes_on or at + 1 < len(layout.parts)
    close = common_prefix(*closes) if closes else _close_of_opened(format_)
    if closes and not goes_on:
        close = format_.without_end(close)
    usual = [opens[each] for each in (ALONE, REASONED) if each in opens and opens[each].core]
    opening = usual[0] if usual else TemplateLiteral()
    others = {each.core: each for each in opens.values() if each.core}
    others.pop(opening.core, None)
    return MarkerBlock(opening, TemplateLiteral.of(close), tuple(others.values()))


def _close_of_opened(format_: TurnShape) -> str:
    """Return what closes content that the header has opened: it stands there whatever comes next.

    What ends the turn is not it, so content has to be seen both last and before another part.
    """
    behind = {
        (at + 1 < len(layout.parts)): layout.literals[at + 1]
        for layout in format_.layouts.values()
        for at, part in enumerate(layout.parts)
        if part is TurnPart.CONTENT
    }
    if len(behind) == 1 or not behind:
        return ""
    shared = format_.without_end(common_prefix(*behind.values()))
    core = shared.strip()
    ends = (*(end.text for end in format_.ends), *format_.stop_strings)
    return shared if core and not any(end.strip().startswith(core) for end in ends) else ""


def _opening(format_: TurnShape, reasoning: MarkerBlock | None, layout: TurnLayout, at: int) -> str:
    """Return what stands before content, without header and reasoning."""
    text, mark = layout.literals[at], format_.header_mark
    text = text.removeprefix(format_.header) if at == 0 else text
    if reasoning is not None and reasoning.close.core and reasoning.close.core in text:
        text = text.rpartition(reasoning.close.core)[2]
    return text.rpartition(mark)[2] if mark and mark in text else text


# What opens and closes reasoning, in every turn and every generation prompt that has it.


def reasoning_of(format_: TurnShape) -> MarkerBlock | None:
    """Find what opens and closes reasoning, or None if nothing of the format does."""
    befores, afters = _neighbors(format_)
    if not befores:
        close = TemplateLiteral.of(format_.reasoning_close or format_.reasoning_cut or "")
        if not close.core:
            return None
        emptied = _emptied(format_, close)
        named = TemplateLiteral.of(format_.reasoning_open)
        return MarkerBlock(named, replace(close, after=emptied or close.after), empty=emptied)
    opening = common_suffix(*befores) or format_.reasoning_open
    shared = common_prefix(*afters)
    mark = format_.header_mark
    # A header that is written again opens the next part.
    shared = first_marker(shared.partition(mark)[0] if mark else shared)
    close = _before_content(format_, TemplateLiteral.of(shared))
    return MarkerBlock(
        TemplateLiteral.of(opening),
        close,
        leads=not opening.strip() and bool(shared.strip()),
        empty=_emptied(format_, close),
    )


def _emptied(format_: TurnShape, close: TemplateLiteral) -> str | None:
    """Return the whitespace between an empty block and content, or None if none is written."""
    layout = format_.layouts.get(Presence(content=True))
    if layout is None or layout.parts[:1] != (TurnPart.CONTENT,) or not close.core:
        return None
    _, closed, behind = layout.literals[0].partition(close.core)
    return behind[: len(behind) - len(behind.lstrip())] if closed else None


def _before_content(format_: TurnShape, close: TemplateLiteral) -> TemplateLiteral:
    """Return the close with the whitespace that it has before content."""
    layout = format_.layouts.get(Presence(reasoning=True, content=True))
    if (
        layout is None
        or layout.parts[:2] != (TurnPart.REASONING, TurnPart.CONTENT)
        or not close.core
    ):
        return close
    behind = layout.literals[1].partition(close.core)[2]
    return replace(close, after=behind[: len(behind) - len(behind.lstrip())])


def _neighbors(format_: TurnShape) -> tuple[list[str], list[str]]:
    """Collect the literals before and after reasoning; the header is left out."""
    befores: list[str] = []
    afters: list[str] = []
    for layout in format_.layouts.values():
        for at, part in enumerate(layout.parts):
            if part is TurnPart.REASONING:
                before = layout.literals[at]
                befores.append(before.removeprefix(format_.header) if at == 0 else before)
                afters.append(_behind(format_, layout, at))
    return befores, afters


def _behind(format_: TurnShape, layout: TurnLayout, at: int) -> str:
    """Return what is written after a part, up to the next text."""
    text = layout.literals[at + 1]
    calls = format_.calls
    if calls is not None and layout.parts[at + 1 : at + 2] == (TurnPart.CALLS,):
        text += calls.opening
    return text


# What ends a turn, with the whitespace that stands before it.


def end_literals_of(format_: TurnShape) -> tuple[TemplateLiteral, ...]:
    """Return the texts that end a turn, each with the whitespace between it and content."""
    found: dict[str, TemplateLiteral] = {}
    for end in format_.ends:
        for text in (end.text, end.historic or ""):
            literal = TemplateLiteral.of(text)
            if literal.core:
                found[literal.core] = literal
    for stop in format_.stop_strings:
        found.setdefault(stop, TemplateLiteral.of(stop))
    behind = [
        layout.literals[-1]
        for layout in format_.layouts.values()
        if layout.parts[-1:] == (TurnPart.CONTENT,)
    ]
    return tuple(replace(end, before=_space_before(end, behind)) for end in found.values())


def _space_before(end: TemplateLiteral, texts: Sequence[str]) -> str:
    """Return the whitespace before the end of a turn, in the texts after its content."""
    befores = [text.partition(end.core)[0] for text in texts if end.core in text]
    if not befores:
        return ""
    shared = common_suffix(*befores)
    return shared[len(shared.rstrip()) :]
