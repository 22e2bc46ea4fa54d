"""Observe assistant turns: render a message and cut out the text of its turn.

The turn begins where the render of the conversation without it ends; text that the template writes
after every conversation, and an answer that it requires after calls, is cut off:

    <|user|>pkvrbnwj<|end|>                                  the conversation without the turn
    <|user|>pkvrbnwj<|end|><|assistant|>wpzqqmqw<|end|>      with it

The turn is `<|assistant|>wpzqqmqw<|end|>`; `pieces` cuts it at the sentinel into the literals
`<|assistant|>` and `<|end|>`, with the slot of content between.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct

from autoparser.analysis.core.conversation import Json, Message, Presence, ToolCall, UserMessage
from autoparser.analysis.core.text_alignment import (
    AlignedPieces,
    common_prefix,
    common_suffix,
    edge_units,
    find_slots,
    is_unit,
    prefix_length,
)

from .prober import Evidence, Probe, Prober
from .shape_negotiation import answered_conversation


class SlotKind(StrEnum):
    """The part of a message that a sentinel represents."""

    REASONING = "reasoning"
    CONTENT = "content"
    NAME = "name"
    ID = "id"
    KEY = "key"
    VALUE = "value"


class SlotMark(NamedTuple):
    """A slot in a turn: its kind, and its call."""

    kind: SlotKind
    """The part of the message, e.g. `SlotKind.NAME`."""
    at: int = 0
    """The number of its call, from 0; 0 for reasoning and content."""


class ObservedTurn(NamedTuple):
    """One assistant turn as rendered by the template."""

    message: Message
    """The message that was rendered, e.g. with the content `wpzqqmqw`."""
    probe: Probe
    r"""The render of its whole conversation, e.g. `"U:pkvrbnwj\nA:wpzqqmqw.\n"`."""
    text: str = ""
    r"""The turn, e.g. `"<|im_start|>assistant\nwpzqqmqw<|im_end|>\n"`: from the end of the text
    before it to the end of the render, or to the answer that the template requires; empty on a
    refusal."""
    rewrites: bool = False
    """Whether the text before the turn differs from the render without the turn, as by a template
    that numbers turns."""

    @property
    def refusal(self) -> str:
        """The template's message if it raised."""
        error = self.probe.error
        return "" if error is None else error.reason


class Observer(Struct, frozen=True, dict=True):
    """Observes turns through one prober."""

    prober: Prober
    """Renders the conversations, e.g. in the plain shape under `{}`; its shape and setting hold for
    all turns."""

    @cached_property
    def before(self) -> str:
        """The text before the turn."""
        marks = self.prober.sentinels
        alone = self.prober.probe((self.prober.user,))
        full = self.prober.probe((self.prober.user, Message(marks.content)))
        # Usually the conversation without the turn is a prefix of the one with it.
        kept = alone.text.removesuffix(self.behind)
        if alone.rendered and full.text.startswith(kept):
            return kept
        end = full.text.rfind(marks.user) + len(marks.user)
        after = kept.rpartition(marks.user)[2]
        if alone.rendered and after.strip() and full.text.startswith(after, end):
            # An answered message may differ, as when only the last one offers the tools.
            return full.text[:end] + after
        # The template may refuse an unanswered conversation, unless a prompt is requested.
        prompt = self.prober.probe((self.prober.user,), generation=True)
        shared = common_prefix(full.text, alone.text if alone.rendered else prompt.text)
        end = full.text.find(marks.user) + len(marks.user)
        return full.text[: max(len(shared), end)]

    @cached_property
    def behind(self) -> str:
        """The text that a template writes after every conversation.

        For example tools, or an unconditional generation prompt.
        """
        marks = self.prober.sentinels
        content = Message(marks.content)
        alone = self.prober.probe((self.prober.user,))
        full = self.prober.probe((self.prober.user, content))
        if not alone.rendered or not full.rendered:
            return ""
        if not full.text.startswith(alone.text):
            rest = alone.text[prefix_length(alone.text, full.text) :]
            # Tool definitions after the last message move behind the turn and stay the same.
            described = any(str(tool["name"]) in rest for tool in self.prober.tools)
            if described and full.text.endswith(rest):
                return rest
        # A common text after the question and after the turn may end both, or end the whole render.
        shared = common_suffix(
            alone.text.rpartition(marks.user)[2], full.text.rpartition(marks.content)[2]
        )
        if not shared.strip():
            return ""
        # An end follows every turn, but a text after the whole conversation occurs once.
        later = self.prober.probe((self.prober.user, content, self.next_user)).text
        between = later[later.find(marks.content) : later.find(marks.next_user)]
        between = between.removeprefix(marks.content)
        if shared in between or not later.endswith(shared):
            return ""
        return shared[len(_end_in_both(shared, between)) :]

    def turn(self, message: Message) -> ObservedTurn:
        """Observe a message as the last one of the conversation."""
        probe = self.prober.probe(answered_conversation(self.prober, message))
        if not probe.rendered:
            return ObservedTurn(message, probe)
        text = probe.text
        # The template requires an answer after calls, so the render goes on after the turn.
        if message.calls and self.prober.shape.answered:
            text = self._before_answer(text)
        before, behind = self.before, self.behind
        if text.startswith(before) and text.endswith(behind):
            return ObservedTurn(message, probe, text[len(before) : len(text) - len(behind)])
        # The text before the turn was rewritten, as by a template that numbers turns: compare from
        # the user on.
        user = self.prober.sentinels.user
        tail = before[before.rfind(user) + len(user) :]
        rest = text[text.rfind(user) + len(user) :]
        shared = common_prefix(rest, tail)
        return ObservedTurn(message, probe, rest[len(shared) :], rewrites=True)

    def _before_answer(self, text: str) -> str:
        """Cut a text at the end of the turn that an answer follows."""
        marks = self.prober.sentinels
        at = text.find(marks.answer)
        if at < 0:
            return text
        # The end of a plain turn, searched for before the answer, shows where this turn ends.
        plain = self.prober.probe((self.prober.user, Message(marks.content))).text
        end = plain.rpartition(marks.content)[2].rstrip()
        ended = text.rfind(end, 0, at) if end else -1
        first = max(text.rfind(word, 0, at) for word in (*marks.names, *marks.values, *marks.ids))
        # If the turn's end shows, the header of the answer belongs to the next message.
        return text[: ended + len(end)] if ended > first else text[:at]

    def pieces(self, text: str) -> AlignedPieces[SlotMark]:
        """Find the sentinels of messages in a text."""
        return find_slots(text, self._labels)

    @cached_property
    def _labels(self) -> dict[str, SlotMark]:
        marks = self.prober.sentinels
        labels = {
            marks.reasoning: SlotMark(SlotKind.REASONING),
            marks.content: SlotMark(SlotKind.CONTENT),
        }
        for at in range(len(marks.names)):
            labels[marks.names[at]] = SlotMark(SlotKind.NAME, at)
            labels[marks.ids[at]] = SlotMark(SlotKind.ID, at)
            labels[marks.keys[at]] = SlotMark(SlotKind.KEY, at)
            labels[marks.values[at]] = SlotMark(SlotKind.VALUE, at)
        return labels

    def call(self, at: int = 0, arguments: Mapping[str, Json] | None = None) -> ToolCall:
        """Return call number `at` of sentinels."""
        return self.prober.sentinels.call(at, arguments)

    def message(self, presence: Presence, calls: int = 1) -> Message:
        """Return a message of sentinels with these parts."""
        marks = self.prober.sentinels
        return Message(
            content=marks.content if presence.content else "",
            reasoning=marks.reasoning if presence.reasoning else "",
            calls=tuple(self.call(at) for at in range(calls)) if presence.calls else (),
        )

    def sample(self, presence: Presence, calls: int = 1) -> ObservedTurn:
        """Observe a message of sentinels with these parts."""
        return self.turn(self.message(presence, calls))

    def compare(self, difference: str, left: Presence, right: Presence) -> Evidence:
        """Return the renders of messages with different parts."""
        return Evidence(difference, self.sample(left).probe, self.sample(right).probe)

    def compare_arguments(
        self, difference: str, left: Mapping[str, Json], right: Mapping[str, Json]
    ) -> Evidence:
        """Return the renders of calls with different arguments."""
        one, other = self.with_arguments(left), self.with_arguments(right)
        return Evidence(difference, one.probe, other.probe)

    def with_arguments(self, arguments: Mapping[str, Json]) -> ObservedTurn:
        """Observe a message with one call with these arguments."""
        return self.turn(Message(calls=(self.call(0, arguments),)))

    def text_of_arguments(self, arguments: Mapping[str, Json]) -> str | None:
        """Return the text of such a turn, or None if the template raises."""
        turn = self.with_arguments(arguments)
        return None if turn.refusal else turn.text

    @property
    def next_user(self) -> UserMessage:
        """A second user message."""
        return UserMessage(self.prober.sentinels.next_user)


def _end_in_both(behind: str, between: str) -> str:
    """Return the turn's end that begins both texts, without the marker of the next header."""
    first = edge_units(behind)[0]
    starts = [at for at in range(len(between)) if between.startswith(first, at)] or [0]
    shared = max((common_prefix(behind, between[at:]) for at in starts), key=len)
    units = edge_units(shared)
    markers = [at for at, unit in enumerate(units) if is_unit(unit)]
    return "".join(units[: markers[-1]]) if len(markers) > 1 else shared
