"""Find out whether the template leaves the history unchanged when new messages follow.

For a template that drops reasoning from all but the last three messages, the prompt

    <u>Hi</s><a><t>Hm.</t>Yes.</s><u>So?</s><a>

shows the reasoning of its first turn. An answer and a user message after it drop that block, so the
fate of earlier turns is `NOT_REASONING`, and `dropped_words` returns "of an earlier turn".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import StrEnum
from itertools import product

from autoparser.analysis.core.call_notation import RowSlot
from autoparser.analysis.core.conversation import (
    Dialogue,
    Message as Turn,
    Presence,
    ToolResult,
    UserMessage,
)
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.sources.tokenizer import TokenText

from .cached_prompts import PromptPast
from .history_renders import Message, Messages
from .message_attribution import common_length
from .text_skeleton import Base, Skeletons
from .turn_kinds import FateKind


def dropped_block(whose: str, *, is_empty: bool) -> str:
    """Name the dropped block that stood at `whose`, such as ``of an earlier turn``."""
    return f"an empty block {whose}" if is_empty else whose


_EARLIER = "of an earlier turn"


class EarlierTurns(StrEnum):
    """The template's treatment of the turns before the last one."""

    ALL = "everything stays"
    NOT_REASONING = "reasoning is dropped"
    NOT_BLOCKS = "reasoning and empty reasoning blocks are dropped"
    NOT_BLANKS = "empty reasoning blocks are dropped, and reasoning stays"
    NOT_AT_FIRST = "reasoning is dropped, unless the model has answered before"
    CHANGED = "other text changes, too"
    DEPENDS = "the past stays, but new messages render differently after a longer history"


class History:
    """Finds out by renders, once for each kind of turn and each row of roles that follows."""

    def __init__(self, format_: TurnFormat, skeletons: Skeletons, tokens: TokenText) -> None:
        """Store the arguments; rendering is lazy."""
        self._skeletons = skeletons
        self._text = tokens
        self._known_fates: dict[FateKind, EarlierTurns] = {}
        block = format_.reasoning
        self._open, self._close = ("", "") if block is None else (block.open.core, block.close.core)
        self._header = format_.header.strip()
        first = "" if format_.calls is None else format_.calls.row[0]
        self._call = "" if isinstance(first, RowSlot) else first.strip()
        """The text that begins each call, or empty if a slot begins it."""
        self._ends = tuple(end.text for end in format_.ends)
        self._headed: dict[bool, bool] = {}

    def fate_of_turns(
        self,
        base: Base,
        presence: Presence,
        turn: Message,
        new: Messages,
        roles: tuple[str, ...],
        rest: Callable[[int], str],
    ) -> EarlierTurns:
        """Return the treatment of earlier turns when `new` follows `turn`.

        `rest` returns the template's text after the turn if only the given number of calls
        precedes it.
        """
        key = FateKind(presence, roles, bool(base.renders.tools), base.ends_with_result)
        known = self._known_fates.get(key)
        if known is None:
            known = self._examine_history(base, turn, new, rest)
            # The histories of `_examine_history` contain an answer, after which a template may
            # already have dropped the reasoning of calls.
            if known is EarlierTurns.ALL and self._drops_at_first(base, turn, new):
                known = EarlierTurns.NOT_AT_FIRST
            self._known_fates[key] = known
        return known

    def _drops_at_first(self, base: Base, turn: Message, new: Messages) -> bool:
        """Whether the reasoning of calls is dropped in a first turn, without an earlier answer.

        Every other probed history contains an answer.
        """
        if not base.ends_with_result:
            return False
        marks, call = self._skeletons.marks, self._skeletons.call(base.renders)
        answer = ToolResult(marks.answer, call.name, call.id)
        called = Turn(reasoning=marks.reasoning, calls=(call,))
        after = self._render_pair(base, (UserMessage(marks.user), called, answer), turn, new)
        return after is not None and not after[1].startswith(after[0])

    def keeps_later(self, base: Base, later: Base | None, turn: Message, new: Messages) -> bool:
        """Whether a turn's reasoning is dropped after a base, and stays after a `later` one."""
        return (
            later is not None
            and not self._keeps_reasoning(base, turn, new)
            and self._keeps_reasoning(later, turn, new)
        )

    def _keeps_reasoning(self, base: Base, turn: Message, new: Messages) -> bool:
        text = base.renders.attempt([*base.messages, turn, *new], generation=True) or ""
        return self._skeletons.marks.reasoning in text.rpartition(base.last)[2]

    def is_first_turn(self, base: Base, past: PromptPast, opening: str) -> bool:
        """Whether a prompt has no turn before its `opening`, as far as headers show."""
        # Without its own header, a turn cannot be distinguished from the text around it.
        header = self._header
        if not header or not self._is_headed(base):
            return False
        if header not in past.contents:
            before = past.text.removesuffix(opening).removesuffix(header)
            if header in before:
                past.contents.add(header)
        return header not in past.contents

    def has_answer(self, past: PromptPast, opening: str) -> bool:
        """Whether a prompt has more turns before its `opening` than calls, by their opening texts.

        False if unknown: a turn may have several calls, and tool descriptions may show calls.
        """
        if not self._header or not self._call:
            return False
        before = past.text.removesuffix(opening).removesuffix(self._header)
        return before.count(self._header) > before.count(self._call)

    def _is_headed(self, base: Base) -> bool:
        """Whether every turn after a user message has a header in the history."""
        tools = bool(base.renders.tools)
        if tools not in self._headed:
            call = self._skeletons.call(base.renders) if self._skeletons.calls else None
            self._headed[tools] = all(
                self._has_headers(base, self._skeletons.earlier(reasoning=reasoning, call=shown))
                for shown, reasoning in product((call, None), (True, False))
            )
        return self._headed[tools]

    def _has_headers(self, base: Base, entries: Dialogue) -> bool:
        text = base.renders.attempt(self._skeletons.dialogue(entries))
        marks = self._skeletons.marks
        if text is None:
            return False
        _, _, first = text.partition(marks.user)
        first, _, second = first.partition(marks.next_user)
        return self._header in first and self._header in second

    def _examine_history(
        self, base: Base, turn: Message, new: Messages, rest: Callable[[int], str]
    ) -> EarlierTurns:
        plain = self._render_longer(base, turn, new, reasoning=False)
        thought = self._render_longer(base, turn, new, reasoning=True)
        dropped = thought is not None and not thought[1].startswith(thought[0])
        # First without reasoning: a change there is an empty block or other text, not reasoning.
        if plain is not None and not plain[1].startswith(plain[0]):
            before, after = plain
            if not self.without_marks(after).startswith(self.without_marks(before)):
                return EarlierTurns.CHANGED
            stays = thought is not None and not dropped
            return EarlierTurns.NOT_BLANKS if stays else EarlierTurns.NOT_BLOCKS
        if dropped:
            return EarlierTurns.NOT_REASONING
        # The longer history has one call, or two if it ends with a result.
        after = rest(1 + base.ends_with_result)
        if all(pair is None or pair[1].endswith(after) for pair in (plain, thought)):
            return EarlierTurns.ALL
        return EarlierTurns.DEPENDS

    def _render_longer(
        self, base: Base, turn: Message, new: Messages, *, reasoning: bool
    ) -> tuple[str, str] | None:
        """Render a history, and with more after it, or None if the template refuses them all."""
        call = self._skeletons.call(base.renders) if self._skeletons.calls else None
        # A template may refuse calls in the history, so also try plain turns in their place.
        for shown in (call, None):
            entries = self._skeletons.earlier(
                reasoning=reasoning, call=shown, answered=base.ends_with_result
            )
            if self._skeletons.numbered:
                # Keep the number of calls that `rest` uses, and add a turn before them.
                marks = self._skeletons.marks
                entries = (UserMessage(marks.user), Turn(marks.content), *entries)
            after = self._render_pair(base, entries, turn, new)
            if after is not None:
                return after
        return None

    def _render_pair(
        self, base: Base, entries: Dialogue, turn: Message, new: Messages
    ) -> tuple[str, str] | None:
        messages = self._skeletons.dialogue(entries)
        prompt = base.renders.attempt(messages, generation=True)
        after = base.renders.attempt([*messages, turn, *new], generation=True)
        if prompt is None or after is None:
            return None
        # Leave out the prompt's part of the turn, which is checked elsewhere.
        ended = base.renders.attempt(messages)
        return prompt if ended is None else prompt[: common_length(ended, prompt)], after

    def without_marks(self, text: str) -> str:
        """Return a text without whitespace and without the marks of reasoning."""
        for mark in (self._open, self._close):
            text = text.replace(mark, "") if mark else text
        return "".join(text.split())

    def _is_opened(self, base: Base) -> bool:
        """Whether a block needs an opener because its closer also ends other texts."""
        after = base.before.rpartition(base.last)[2]
        ends = (*self._ends, after) if self._header and self._header not in after else self._ends
        # A closer that also ends turns would otherwise count as a block in every turn.
        return bool(self._open) and any(self._close in end for end in ends)

    def dropped_words(self, fate: EarlierTurns, base: Base, past: PromptPast, opening: str) -> str:
        """Name the block of a prompt before its `opening` that is dropped; return "" if none is.

        `fate` selects the blocks with reasoning, the empty ones, or both.
        """
        if not self._close:
            return _EARLIER
        known = past.dropped.get(fate)
        if known is not None:
            return known
        # A prompt whose ids lack the closer has no block, and need not be decoded to see that.
        close = self._text.single(self._close)
        if close is not None and not past.holds(close):
            return ""
        text = past.text.removesuffix(opening)
        opened = self._is_opened(base)
        for end, blank in self._reasoning_blocks(text, past.looked.get(fate, 0), opened=opened):
            if fate is EarlierTurns.NOT_BLOCKS or blank is (fate is EarlierTurns.NOT_BLANKS):
                past.dropped[fate] = dropped_block(_EARLIER, is_empty=blank)
                return past.dropped[fate]
            # Later prompts that begin with this one are searched from here.
            past.looked[fate] = end
        return ""

    def _reasoning_blocks(
        self, text: str, start: int, *, opened: bool
    ) -> Iterator[tuple[int, bool]]:
        """Yield for each block of reasoning in a text its end, and whether it is empty.

        `opened` says that a block needs an opener.
        """
        marks = (self._open,) if opened else (self._open, self._header)
        at = text.find(self._close, start)
        while at >= 0:
            begins = [
                found + len(mark)
                for mark in marks
                if mark and (found := text.rfind(mark, start if opened else 0, at)) >= 0
            ]
            start = at + len(self._close)
            if begins or not opened:
                yield start, not text[max(begins, default=0) : at].strip()
            at = text.find(self._close, start)
