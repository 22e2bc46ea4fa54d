r"""The observed parts of an assistant turn: layouts, prompts, ends, retention of reasoning.

A template that renders a message with reasoning and content as

    <|im_start|>assistant
    <think>
    REASONING
    </think>

    CONTENT<|im_end|>

gives the layout with the parts `(REASONING, CONTENT)` and the literals
`("<|im_start|>assistant\n<think>\n", "\n</think>\n\n", "<|im_end|>\n")`. There is one layout for
each combination of parts. The functions below find in all of them together what opens and closes
a part: of a literal between two parts, only comparison shows which of the two it belongs to.
"""

# Annotations are values here: as texts, msgspec would compile each at the first read.
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property

from msgspec import Struct, field
from msgspec.structs import replace

from .call_format import ArgumentForm, CallFormat
from .conversation import Json, Presence
from .documents import JsonDocument, SettingValues
from .text_alignment import MarkerBlock, TemplateLiteral, common_prefix, common_suffix, first_marker
from .turn_parts import TurnLayout, TurnPart
from .verdicts import EvidenceKind


class PromptProgress(StrEnum):
    """How much of the turn a generation prompt has already written."""

    NOTHING = "nothing"
    """Not even the header, since the template has no generation prompt."""
    HEADER = "the header"
    PART_OF_HEADER = "a part of the header"
    REASONING_OPEN = "the reasoning's opening"
    REASONING_CLOSED = "an empty reasoning block"
    OTHER = "text that the turn in the history does not have"


class TurnOpening(JsonDocument, frozen=True):
    """The generation prompt under one setting of the switches."""

    setting: SettingValues
    """Values of the template's switches, e.g. `{"enable_thinking": False}`."""
    text: str
    r"""The generation prompt, e.g. `"<|im_start|>assistant\n<think>\n"`."""
    written: PromptProgress
    """How much of the turn it has written, e.g. `"the header"`."""
    tools: bool
    """Whether this is the prompt when tools are offered; false if only without tools."""
    signs: tuple[str, ...] = ()
    """Texts earlier in the prompt that distinguish it from the prompts of another format, such as
    `("Tools: other",)`."""
    stands_for: str | None = None
    r"""The equivalent beginning of a turn after a user's message, such as `"<|turn>model\n"`; null
    if it is the text itself. After the result of a call, some templates write no header."""

    @property
    def turn_begun(self) -> str:
        """The part of a turn after a user's message that has already been written."""
        return self.text if self.stands_for is None else self.stands_for


class TurnEnd(Struct, frozen=True):
    """The text that closes a turn."""

    after: TurnPart
    """The last part of the turn, e.g. `CONTENT`."""
    text: str
    r"""After the last turn of a conversation, e.g. `"<|im_end|>\n"`."""
    historic: str | None
    r"""After an earlier turn, up to the next message, e.g. `"<|im_end|>\n"`; None if unknown."""


class ReasoningRetention(Struct, frozen=True):
    """Whether later prompts keep the reasoning of an earlier turn; None if not observed."""

    tool_loop: bool | None = None
    """After the call was answered."""
    next_user: bool | None = None
    """After the next user message if tools are offered."""
    answered_loop: bool | None = None
    """In a finished tool loop, after a later user message."""
    next_user_without_tools: bool | None = None
    """After the next user message if no tools are offered."""

    @property
    def differs(self) -> bool:
        """Whether retention after the next user message depends on offered tools."""
        return {self.next_user, self.next_user_without_tools} == {True, False}


class TurnShape(Struct, frozen=True, dict=True):
    """An assistant turn as it was rendered, from the end of the text before it to its own end."""

    header: str
    r"""The text before every turn, e.g. `"<|im_start|>assistant\n"`."""
    layouts: Mapping[Presence, TurnLayout]
    r"""One layout for each combination of parts, such as the layout with the literals
    `("<|im_start|>assistant\n", "<|im_end|>\n")` for content alone."""
    calls: CallFormat | None = None
    """The format of tool calls, as in
    `<tool>{"name": "get_forecast", "arguments": {"city": "Oslo", "days": 3}}</tool>`, or None if
    the template writes none."""
    openings: tuple[TurnOpening, ...] = ()
    r"""The generation prompts of all settings with these layouts, such as those with the texts
    `"<|im_start|>assistant\n"` and `"<|im_start|>assistant\n<think>\n"`."""
    later_openings: tuple[TurnOpening, ...] = ()
    """Further generation prompts, after a call's result or after several turns, such as the one
    with the text `"<tool_response|>"`."""
    ends: tuple[TurnEnd, ...] = ()
    r"""The text that closes a turn, for each part that may be the last one, such as
    `"<|im_end|>\n"` after `CONTENT` and after `CALLS`."""
    stop_strings: tuple[str, ...] = ()
    """The texts at which generation stops, e.g. `("<|im_end|>",)`."""
    argument_form: ArgumentForm = ArgumentForm.OBJECT
    """The form of `arguments` that the template expects, e.g. `ArgumentForm.STRING`."""
    setting: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The values of switches in the renders of the layouts, e.g. `{"preserve_thinking": True}`;
    the first of the openings' settings."""
    reasoning_cut: str | None = None
    """The text up to which content is cut if the template strips reasoning from it, e.g.
    `"</muse>"`."""
    reasoning_open: str = ""
    """The opening of reasoning if only a generation prompt or its words show it, e.g. `"<think>"`.
    """
    reasoning_close: str = ""
    """The closing of reasoning if only a generation prompt or its words show it, e.g.
    `"</think>"`."""
    not_rendered: Mapping[TurnPart, EvidenceKind] = field(
        default_factory=dict[TurnPart, EvidenceKind]
    )
    """Parts in no render, with their evidence, e.g. `{REASONING: EvidenceKind.WORDS}`."""
    elsewhere: frozenset[TurnPart] = frozenset()
    """Parts that turns have under other settings only, e.g. `frozenset({REASONING})`: they are
    parsed if a model writes them, and grammars do not ask for them."""
    retention: ReasoningRetention = field(default_factory=ReasoningRetention)
    """Whether later prompts keep reasoning, such as `ReasoningRetention(True, True, True, True)`.
    """

    @property
    def shown_parts(self) -> frozenset[TurnPart]:
        """The parts in any of the layouts."""
        return frozenset(part for layout in self.layouts.values() for part in layout.parts)

    @property
    def unconfirmed(self) -> frozenset[TurnPart]:
        """Parts whose markers appear only in the prompt's words."""
        kinds = self.not_rendered.items()
        return frozenset(part for part, kind in kinds if kind is EvidenceKind.WORDS)

    @cached_property
    def header_mark(self) -> str:
        """The text by which a header is recognized; empty if it is only punctuation."""
        return TemplateLiteral.of(self.header).mark

    def without_end(self, text: str) -> str:
        """Remove the end of a turn from the end of a text."""
        for end in self.ends:
            text = text.removesuffix(end.text)
        return text


# The markers around content: alone, beside reasoning, beside calls.


ALONE = Presence(content=True)
REASONED = Presence(reasoning=True, content=True)


def content_markers_beside(format_: TurnShape, reasoning: MarkerBlock | None) -> MarkerBlock:
    """Find the markers around content, without the markers of an empty reasoning block.

    The opening is that of content alone, or else that after reasoning; openings that occur only
    beside other parts are `others`. The end of the turn closes content only if a part may follow.
    """
    opens: dict[Presence, TemplateLiteral] = {}
    closes: list[str] = []
    goes_on = False
    for presence, layout in format_.layouts.items():
        if TurnPart.CONTENT not in layout.parts:
            continue
        index = layout.parts.index(TurnPart.CONTENT)
        opens[presence] = TemplateLiteral.of(_content_opening(format_, reasoning, layout, index))
        if opens[presence].core:
            closes.append(layout.literals[index + 1])
            goes_on = goes_on or index + 1 < len(layout.parts)
    close = common_prefix(*closes) if closes else _content_close_after_header(format_)
    if closes and not goes_on:
        close = format_.without_end(close)
    usual = [opens[parts] for parts in (ALONE, REASONED) if parts in opens and opens[parts].core]
    opening = usual[0] if usual else TemplateLiteral()
    others = {literal.core: literal for literal in opens.values() if literal.core}
    others.pop(opening.core, None)
    return MarkerBlock(opening, TemplateLiteral.of(close), tuple(others.values()))


def _content_close_after_header(format_: TurnShape) -> str:
    """Return the marker that closes content if the header opens it; empty if there is none.

    Such a marker follows content whatever comes next. The end of the turn does so only after the
    last part, so content must occur both as the last part and before another one.
    """
    behind = {
        (index + 1 < len(layout.parts)): layout.literals[index + 1]
        for layout in format_.layouts.values()
        for index, part in enumerate(layout.parts)
        if part is TurnPart.CONTENT
    }
    if len(behind) == 1 or not behind:
        return ""
    shared = format_.without_end(common_prefix(*behind.values()))
    core = shared.strip()
    ends = (*(end.text for end in format_.ends), *format_.stop_strings)
    return shared if core and not any(end.strip().startswith(core) for end in ends) else ""


def _content_opening(
    format_: TurnShape, reasoning: MarkerBlock | None, layout: TurnLayout, index: int
) -> str:
    """Return the text before content, without the header and the end of reasoning."""
    text, mark = layout.literals[index], format_.header_mark
    text = text.removeprefix(format_.header) if index == 0 else text
    if reasoning is not None and reasoning.close.core and reasoning.close.core in text:
        text = text.rpartition(reasoning.close.core)[2]
    # Some templates repeat the header before content; it does not belong to the opening.
    return text.rpartition(mark)[2] if mark and mark in text else text


# The markers around reasoning, in every turn and every generation prompt that has it.


def reasoning_block(format_: TurnShape) -> MarkerBlock | None:
    """Find the markers around reasoning, or return None if the format has none."""
    befores, afters = _literals_around_reasoning(format_)
    if not befores:
        close = TemplateLiteral.of(format_.reasoning_close or format_.reasoning_cut or "")
        if not close.core:
            return None
        emptied = _space_after_empty_block(format_, close)
        named = TemplateLiteral.of(format_.reasoning_open)
        return MarkerBlock(named, replace(close, after=emptied or close.after), empty=emptied)
    opening = common_suffix(*befores) or format_.reasoning_open
    shared = common_prefix(*afters)
    mark = format_.header_mark
    # A repeated header belongs to the next part, whose opening it is.
    # If all layouts go on alike after it, later markers of this text open the next part.
    shared = first_marker(shared.partition(mark)[0] if mark else shared)
    close = _close_before_content(format_, TemplateLiteral.of(shared))
    return MarkerBlock(
        TemplateLiteral.of(opening),
        close,
        leads=not opening.strip() and bool(shared.strip()),
        empty=_space_after_empty_block(format_, close),
    )


def _space_after_empty_block(format_: TurnShape, close: TemplateLiteral) -> str | None:
    """Return the whitespace between an empty block and content, or None if none is written."""
    layout = format_.layouts.get(Presence(content=True))
    if layout is None or layout.parts[:1] != (TurnPart.CONTENT,) or not close.core:
        return None
    _, closed, behind = layout.literals[0].partition(close.core)
    return behind[: len(behind) - len(behind.lstrip())] if closed else None


def _close_before_content(format_: TurnShape, close: TemplateLiteral) -> TemplateLiteral:
    """Return the closing marker with the whitespace that follows it before content."""
    layout = format_.layouts.get(Presence(reasoning=True, content=True))
    if (
        layout is None
        or layout.parts[:2] != (TurnPart.REASONING, TurnPart.CONTENT)
        or not close.core
    ):
        return close
    behind = layout.literals[1].partition(close.core)[2]
    return replace(close, after=behind[: len(behind) - len(behind.lstrip())])


def _literals_around_reasoning(format_: TurnShape) -> tuple[list[str], list[str]]:
    """Collect the literals before reasoning, without the header, and those after it."""
    befores: list[str] = []
    afters: list[str] = []
    for layout in format_.layouts.values():
        for index, part in enumerate(layout.parts):
            if part is TurnPart.REASONING:
                before = layout.literals[index]
                befores.append(before.removeprefix(format_.header) if index == 0 else before)
                afters.append(_literal_after(format_, layout, index))
    return befores, afters


def _literal_after(format_: TurnShape, layout: TurnLayout, index: int) -> str:
    """Return the literal after a part, up to the next variable text."""
    text = layout.literals[index + 1]
    calls = format_.calls
    if calls is not None and layout.parts[index + 1 : index + 2] == (TurnPart.CALLS,):
        text += calls.opening
    return text


# The ends of a turn, with the whitespace before them.


def turn_end_literals(format_: TurnShape) -> tuple[TemplateLiteral, ...]:
    """Return the ends of turns, each with the whitespace between content and it."""
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
