"""Build short conversations that stand for the real one after a prompt, and cache attributions.

A bridge is given ids, not messages. So `Skeletons` places the turn that the model wrote after a
user message that stands for all before it: reasoning and content as sentinels, calls with their
names and ids, since tool results refer to them. The text that the template writes after that turn
is the text that it would write in the real conversation, as far as it depends on the turn and on
the messages after it.

An attribution costs renders of its own, so `RenderPattern` keeps the text that stood around the
contents, names and ids of new messages. For messages of the same roles the pattern is filled with
their words; if that equals the render, the attribution is reused. For example

    <tool id=call_1>sunny</tool>   of {tool_call_id: call_1, content: sunny}

is `<tool id=`, the id, `>`, the content, `</tool>`, and fits another call's result as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from msgspec import structs

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    Message as Turn,
    Presence,
    ToolCall,
    ToolResult,
    UserMessage,
)
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.turn_format import RefusedMessageError, TurnFormat
from autoparser.analysis.learning.prober import Sentinels, choose_sentinels
from autoparser.analysis.parsing.parsed_message import ParsedMessage
from autoparser.analysis.parsing.turn_request import read_request
from autoparser.analysis.templates.chat_template import prepared_messages

from .bridge_refusals import (
    RefusalReason,
    RefusedBridge,
)
from .history_renders import (
    HistoryRenders,
    Message,
    Messages,
)
from .message_attribution import Segment, common_length
from .request_arguments import tools_key

MOST_PATTERNS = 8
"""The most patterns cached for the same roles after the same kind of turn."""

Word: TypeAlias = tuple[str, int, str]
"""Where a word comes from: a new message or a call of the turn, its number, the field."""
Words: TypeAlias = Mapping[Word, str]

_SPELLINGS: tuple[Callable[[str], str], ...] = (
    str,
    str.strip,
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    lambda text: json.dumps(text)[1:-1],
)
"""The spellings of content in templates: verbatim, stripped, inside a JSON string."""


@dataclass(frozen=True, slots=True)
class RenderPiece:
    """A part of the text that is all of one kind."""

    message: int
    """The index of its message among the new ones, or -1 for the template's own text."""
    content: bool
    """Whether it is the content of the message, such as `(("message", 0, "content"),)`."""
    parts: tuple[str | Word, ...]
    r"""The template's own text, and the words of the conversation in it, such as
    `("<|im_start|>user\n<tool_response>\n",)` or `(("message", 0, "content"),)`."""
    spelling: int = 0
    """The index in `_SPELLINGS` of the way in which the content is written."""

    def text(self, words: Words) -> str:
        """Return the text of this piece with other words; a missing word is empty."""
        text = "".join(
            part if isinstance(part, str) else words.get(part, "") for part in self.parts
        )
        return _SPELLINGS[self.spelling](text) if self.content else text


@dataclass(frozen=True, slots=True)
class RenderPattern:
    """The text that the template wrote around the words of messages."""

    pieces: tuple[RenderPiece, ...]
    """The pieces, in the order of the text, such as `(RenderPiece(0, False, ("<｜User｜>",)),
    RenderPiece(0, True, (("message", 0, "content"),)), …)`."""

    def segments(self, words: Words, text: str) -> tuple[Segment, ...] | None:
        """Return the segments of a text, or None if it does not fit this pattern."""
        found: list[Segment] = []
        at = 0
        for piece in self.pieces:
            piece_text = piece.text(words)
            # If the content is blank, the pieces around it could not be distinguished.
            if not text.startswith(piece_text, at) or (piece.content and not piece_text.strip()):
                return None
            found.append(
                Segment(at, at + len(piece_text), piece.message, piece.content, False, False)
            )
            at += len(piece_text)
        return tuple(found) if at == len(text) else None


def varying_words(calls: Sequence[ToolCall], new: Messages) -> dict[Word, str]:
    """Return the words that vary: of new messages, and of the turn's calls."""
    found: dict[Word, str] = {}
    for at, message in enumerate(new):
        for field in ("content", "tool_call_id", "name"):
            value = message.get(field)
            if isinstance(value, str) and value.strip():
                found["message", at, field] = value
    for at, call in enumerate(calls):
        found |= {("call", at, "name"): call.name, ("call", at, "id"): call.id}
    return {word: text for word, text in found.items() if text}


def render_pattern(segments: Sequence[Segment], words: Words, text: str) -> RenderPattern | None:
    """Return the pattern of an attributed text, or None if a content has another spelling."""
    pieces: list[RenderPiece] = []
    for segment in segments:
        segment_text = text[segment.start : segment.end]
        if not segment.content:
            pieces.append(
                RenderPiece(segment.message, False, tuple(_split_words(segment_text, words)))
            )
            continue
        word: Word = ("message", segment.message, "content")
        whole = words.get(word, "")
        spelling = next(
            (at for at, way in enumerate(_SPELLINGS) if way(whole) == segment_text), None
        )
        # The template changes the content in another way, e.g. escapes it as HTML.
        if spelling is None:
            return None
        pieces.append(RenderPiece(segment.message, True, (word,), spelling))
    return RenderPattern(tuple(pieces))


def _split_words(markup: str, words: Words) -> Iterator[str | Word]:
    """Split the template's text at the names and ids in it."""
    sources = {text: word for word, text in words.items() if word[2] != "content"}
    if not sources:
        yield markup
        return
    # A name may begin with another, e.g. get_weather and get.
    longest_first = sorted(sources, key=len, reverse=True)
    pieces = re.split(f"({'|'.join(map(re.escape, longest_first))})", markup)
    yield from (sources.get(piece, piece) for piece in pieces if piece)


@dataclass(frozen=True, slots=True)
class Base:
    """The conversation before the turn: its messages and their render."""

    renders: HistoryRenders
    """The template with the tools and switches of the request, such as
    `HistoryRenders(<ChatTemplate of Qwen-Qwen3-0.6B.jinja: 85 lines>)`."""
    messages: Messages
    """Its messages, as the template takes them, such as
    `[{"role": "user", "content": "pkvrbnwj"}]`, with sentinels for texts."""
    before: str
    r"""The text before the turn that is the same with and without a generation prompt, such as
    `"<|im_start|>user\npkvrbnwj<|im_end|>\n"`."""
    prompt: str
    r"""The render with the generation prompt, such as
    `"<|im_start|>user\npkvrbnwj<|im_end|>\n<|im_start|>assistant\n"`."""
    last: str
    """The last message's text, such as `"pkvrbnwj"`."""
    tail: str
    r"""The prompt's text after it, such as `"<|im_end|>\n<|im_start|>assistant\n"`."""
    unthought: str
    r"""The prompt up to that text, without the reasoning of earlier turns, such as
    `"…<tool_call>{…}</tool_call><|im_end|>\n<|im_start|>t\nxzvmcjnz"`."""
    ends_with_result: bool
    """Whether it ends with the result of a call, such as `"xzvmcjnz"`."""
    call_count: int
    """How many calls it has, such as `1`."""
    has_answer: bool
    """Whether it has a turn without calls, such as one with the content `"wpzqqmqw"`."""

    @property
    def head(self) -> str:
        """The prompt up to the last message's text, which is in it."""
        return self.prompt[: len(self.prompt) - len(self.tail)]


@dataclass(frozen=True, slots=True)
class LastText:
    """The last text of a turn, as it is written."""

    before: str
    r"""The text of the turn before it, such as
    `"<|im_start|>assistant\n<think>\ndxdpspvg\n</think>\n\n"`."""
    text: str
    """The text, with a closer that follows it, e.g. that of calls."""
    ends: bool
    """Whether the turn's end follows directly, as `<|im_end|>` follows content. If the end of such
    a turn is not known, markup of its last part may come first."""


class Skeletons:
    """Builds such conversations for one template."""

    def __init__(self, analysis: Analysis, format_: TurnFormat) -> None:
        """Choose the sentinels; turns are written in this format."""
        self._analysis = analysis
        self._format = format_
        self.marks: Sentinels = choose_sentinels(analysis.template.text)
        self._template = analysis.rendering
        self._bases: list[Base] = []
        self._numbered: dict[tuple[bool, int], Base | None] = {}
        """By whether a tool result is last, and the number of calls before the turn."""
        self._tools = b""
        self.first_number = 0 if format_.calls is None else format_.calls.index_base
        self._number = _number_pattern(format_)

    def bases(
        self, tools: Sequence[object] | None, switches: Mapping[str, object], prompt: str
    ) -> list[Base]:
        """Render the possible bases: a user message, or a call and its result.

        The text after the last message's text shows which of them a prompt ends with; if it does
        not, all are returned. Raises TemplateRenderError if the template refuses a user message.
        """
        known, key = self._bases, tools_key(tools)
        # A template may render the date, so yesterday's base may differ from today's prompt.
        if not known or key != self._tools or not known[0].renders.clock.still():
            renders = HistoryRenders.of(self._template, tools, switches)
            answered = self._attempt_base(self._result_base, renders) if self.calls else ()
            known = self._bases = [self._user_base(renders), *answered]
            self._tools = key
            self._numbered.clear()
        # A tail of whitespace alone would fit the end of nearly any prompt.
        fitting = [base for base in known if base.tail.strip() and prompt.endswith(base.tail)]
        longest = max((len(base.tail) for base in fitting), default=0)
        # The longest tail fits by more text than an accidental suffix.
        return [base for base in fitting if len(base.tail) == longest] or known

    def shorter(self, base: Base, tool_names: Collection[str]) -> Iterator[Base]:
        """Yield shorter bases than this one, the shortest first.

        They have a user message instead of a call and its result, and no tools, or only those with
        these names.
        """
        asked = partial(
            self._user_base,
            calls=base.call_count - base.ends_with_result,
            has_answer=base.has_answer,
        )
        answered = partial(self._result_base, calls=base.call_count, has_answer=base.has_answer)
        make = [asked, answered] if base.ends_with_result else [asked]
        for tools in self._fewer_tools(base.renders.tools, tool_names):
            renders = replace(base.renders, tools=tools)
            shorter = make if tools != base.renders.tools else make[:-1]
            for candidate in shorter:
                yield from self._attempt_base(candidate, renders)

    def _fewer_tools(
        self, tools: list[object] | None, tool_names: Collection[str]
    ) -> Iterator[list[object] | None]:
        if not tools:
            yield tools
            return
        # Most turns are bridged alike without tools, and renders cost less with fewer tools.
        yield None
        offered = tuple(read_request(tools).tools or ())
        # Only tools that each have a name of their own can be chosen by name.
        if len(offered) == len(tools):
            kept = [tool for name, tool in zip(offered, tools, strict=True) if name in tool_names]
            if 0 < len(kept) < len(tools):
                yield kept
        yield tools

    def with_calls(self, base: Base, calls: int) -> Base | None:
        """Return a base with the same end and so many calls, or None if it is refused."""
        if calls == base.call_count:
            return base
        key = base.ends_with_result, calls
        if key not in self._numbered:
            make = self._result_base if base.ends_with_result else self._user_base
            made = self._attempt_base(partial(make, calls=calls), base.renders)
            self._numbered[key] = next(made, None) if calls >= base.ends_with_result else None
        return self._numbered[key]

    def behind_answer(self, base: Base) -> Base | None:
        """Return a base with the same end and an answer in it, or None if it is refused."""
        if base.has_answer:
            return base
        make = self._result_base if base.ends_with_result else self._user_base
        return next(
            self._attempt_base(partial(make, calls=base.call_count, has_answer=True), base.renders),
            None,
        )

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of the calls in a text, if the template counts them."""
        return [int(number) for number in self._number.findall(text)] if self._number else []

    def _attempt_base(
        self, make: Callable[[HistoryRenders], Base], renders: HistoryRenders
    ) -> Iterator[Base]:
        with suppress(TemplateRenderError):
            yield make(renders)

    def _user_base(
        self, renders: HistoryRenders, calls: int = 0, *, has_answer: bool = False
    ) -> Base:
        user = UserMessage(self.marks.user)
        answer = Turn(self.marks.content)
        before = (user, *self._call_cycles(renders, calls), answer) if calls or has_answer else ()
        return self._make_base(renders, (*before, user), self.marks.user, call_count=calls)

    def _result_base(
        self, renders: HistoryRenders, calls: int = 1, *, has_answer: bool = False
    ) -> Base:
        marks = self.marks
        user = UserMessage(marks.user)
        first = (user, Turn(marks.content)) if has_answer else ()
        before = (*first, user, *self._call_cycles(renders, calls - 1))
        called, answer = self._call_cycles(renders, 1)
        thought = Turn(reasoning=marks.reasoning, calls=(self.call(renders),))
        # Rendered without reasoning, too: a template may drop it once the result is there.
        plain = renders.attempt(self.dialogue((*before, called, answer)), generation=True)
        entries = (*before, thought, answer)
        return self._make_base(renders, entries, marks.answer, plain or "", call_count=calls)

    def _call_cycles(self, renders: HistoryRenders, count: int) -> Dialogue:
        call = self.call(renders)
        return (Turn(calls=(call,)), ToolResult(self.marks.answer, call.name, call.id)) * count

    def _make_base(
        self,
        renders: HistoryRenders,
        entries: Dialogue,
        last: str,
        unthought: str = "",
        *,
        call_count: int,
    ) -> Base:
        """Render a conversation with sentinels; `last` is the last known text in its prompt.

        Raises TemplateRenderError for a template that rejects it.
        """
        messages = self.dialogue(entries)
        # Raises for a template that refuses this conversation; the render without a prompt may be
        # refused alone.
        prompt = renders.text(messages, generation=True)
        ended = renders.attempt(messages)
        before = prompt if ended is None else prompt[: common_length(ended, prompt)]
        unthought = unthought[: unthought.rfind(last) + len(last)]
        tail = prompt.rpartition(last)[2]
        answered = isinstance(entries[-1], ToolResult)
        has_answer = any(isinstance(entry, Turn) and not entry.calls for entry in entries)
        return Base(
            renders,
            messages,
            before,
            prompt,
            last,
            tail,
            unthought,
            answered,
            call_count,
            has_answer,
        )

    def call(self, renders: HistoryRenders) -> ToolCall:
        """Return a call of the first tool offered, or of a sentinel name."""
        marks = self.marks
        # A template may look the called function up in the offered tools.
        name = next(iter(read_request(renders.tools).tools or ()), marks.names[0])
        return ToolCall(name, {marks.keys[0]: marks.values[0]}, marks.ids[0])

    def dialogue(self, entries: Dialogue) -> Messages:
        """Return a conversation in the shape that the template takes."""
        shape = self._analysis.shape
        return prepared_messages(shape.messages(entries, self.marks.system))

    def message(self, turn: Turn) -> Message:
        """Return one turn in that shape."""
        return prepared_messages([self._analysis.shape.message(turn)])[0]

    def turn(self, parsed: ParsedMessage, new: Messages) -> Turn:
        """Return the turn with sentinels in place of its content and reasoning."""
        answered = [str(id_) for message in new if (id_ := message.get("tool_call_id"))]
        # A call without an id gets the id of its result, by which templates may look up the call.
        spare = [*answered, *self.marks.ids[len(answered) :]]
        spare += (f"call{at:05d}" for at in range(len(spare), len(parsed.tool_calls)))
        calls = tuple(
            ToolCall(call.name, _call_arguments(call.arguments), call.id or id_)
            for call, id_ in zip(parsed.tool_calls, spare, strict=False)
        )
        # Sentinels, since findings are cached by the kind of turn, not by its text.
        content = self.marks.content if (parsed.content or "").strip() or not calls else ""
        reasoning = self.marks.reasoning if (parsed.reasoning_content or "").strip() else ""
        return Turn(content, reasoning, calls)

    def last_text(self, turn: Turn, number: int | None = None) -> LastText:
        """Return the last text of a turn as it is written. Raises RefusedBridge.

        `number` is that of its first call, if the template counts them.
        """
        format_ = self._format_from(number)
        layout = format_.layouts[turn.presence]
        if not layout.parts:
            raise RefusedBridge(RefusalReason.END_UNKNOWN, str(turn.presence))
        try:
            *before, last, end = format_.pieces(turn)
        except RefusedMessageError as error:
            raise RefusedBridge(RefusalReason.REFUSED, str(error)) from error
        # A turn may end differently after content and after calls.
        ends = [known.text for known in format_.ends if known.after is layout.parts[-1]]
        known = any(end.endswith(text) for text in ends)
        close = end.removesuffix(ends[0]) if known else ""
        return LastText("".join(before), last + close, known)

    def turn_text(self, turn: Turn, number: int | None = None) -> str:
        """Return a turn in the format, or ""; `number` is the number of its first call."""
        try:
            return self._format_from(number).write(turn)
        except RefusedMessageError:
            return ""

    def _format_from(self, number: int | None) -> TurnFormat:
        calls = self._format.calls
        if number is None or calls is None:
            return self._format
        return structs.replace(self._format, calls=structs.replace(calls, index_base=number))

    def earlier(self, *, reasoning: bool, call: ToolCall | None, answered: bool = True) -> Dialogue:
        """Return a history of a finished exchange and one under way, with this call.

        It ends with the call's result if `answered`, else with a user message.
        """
        marks = self.marks
        thought = marks.reasoning if reasoning else ""
        answer_turn = Turn(marks.content, thought)
        user, next_user = UserMessage(marks.user), UserMessage(marks.next_user)
        if call is None:
            return (user, answer_turn, next_user, answer_turn, user)
        answer = ToolResult(marks.answer, call.name, call.id)
        cycle: Dialogue = (Turn(reasoning=thought, calls=(call,)), answer)
        return (user, *cycle, answer_turn, next_user, *(cycle if answered else ()))

    @property
    def numbered(self) -> bool:
        """Whether calls are numbered through the conversation and the number is written."""
        return self._number is not None

    @property
    def calls(self) -> bool:
        """Whether the template writes calls in a turn."""
        layout = self._format.layouts.get(Presence(calls=True))
        return self._format.calls is not None and layout is not None and not layout.refusal


def _number_pattern(format_: TurnFormat) -> re.Pattern[str] | None:
    """Return a pattern that finds each call's number, or None if numbers do not go on."""
    calls = format_.calls
    if calls is None or not calls.index_goes_on or not calls.has(RowSlot.INDEX):
        return None
    # Up to the literal after the number: later slots may hold any text.
    until = calls.row.index(RowSlot.INDEX) + 2
    pieces = {RowSlot.INDEX: r"(\d{1,9})"}
    row = (
        pieces.get(piece, ".*?") if isinstance(piece, RowSlot) else re.escape(piece)
        for piece in calls.row[:until]
    )
    return re.compile("".join(row), re.DOTALL | re.ASCII)


def _call_arguments(text: str) -> dict[str, Json]:
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
