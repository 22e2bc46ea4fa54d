"""The reasons for refusing a bridge between two prompts, and departures kept on purpose.

`Bridge` keeps the ids of the previous prompt only while the template would write the same
text there. If a new user message makes the template drop earlier reasoning, the bridge is refused
with `RefusalReason.REASONING_DROPPED`, unless the caller asks for `Retention.ALL`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Retention(StrEnum):
    """The reasoning that stays in the prompt although the template's rules would drop it."""

    NONE = "none"
    TOOL_CYCLE = "tool_cycle"
    """Reasoning is kept while only tool results follow."""
    ALL = "all"

    def keeps(self, roles: Sequence[str]) -> bool:
        """Whether reasoning is kept when messages of these roles follow."""
        if self is Retention.TOOL_CYCLE:
            # A user's message begins a new cycle.
            return all(role == "tool" for role in roles)
        return self is Retention.ALL


class RefusalReason(StrEnum):
    """The reasons to refuse a bridge."""

    NOTHING_NEW = "there is no new message"
    ASSISTANT = "an assistant message is among the new ones; pass the model's output as ids"
    REASONING_DROPPED = "the template drops reasoning from the history"
    PROMPT_REWRITTEN = "the template drops text of its own prompt from the history"
    HISTORY_REWRITTEN = "the template changes the text of earlier messages"
    END_DIFFERS = "the template ends the turn differently in the history"
    END_UNKNOWN = "it is unknown how the template ends such a turn"
    BEHIND_STOP = "the output has text after the stop token that the template does not write"
    DEPENDS = "the render of new messages depends on the whole conversation"
    OTHER_TOOLS = "the prompt lacks a tool that is offered now"
    NO_CALL = "a tool result follows, but no call could be read from the output"
    REFUSED = "the template raises on the conversation"
    NOT_ENCODED = "the tokenizer does not reproduce the text of the new messages"


@dataclass(frozen=True, slots=True)
class BridgeRefusal:
    """A refused bridge with its reason: render the whole conversation instead. It is falsy."""

    reason: RefusalReason
    """Why the bridge is refused, e.g. `RefusalReason.REASONING_DROPPED`."""
    detail: str = ""
    """The affected part of the conversation, such as `"of an earlier turn"`, or the template's
    error message."""

    def __bool__(self) -> bool:
        """Return False: a refusal is not a prompt."""
        return False

    def __str__(self) -> str:
        """Return the reason and the detail as one line."""
        return f"{self.reason.value}: {self.detail}" if self.detail else self.reason.value


class RefusedBridge(Exception):
    """Carries a refusal out of the steps of a bridge."""

    def __init__(self, reason: RefusalReason, detail: str = "") -> None:
        """Refuse."""
        super().__init__(reason.value)
        self.refusal = BridgeRefusal(reason, detail)


@dataclass(slots=True)
class Purpose:
    """The text that one bridge keeps although the template would rewrite it, listed in notes."""

    retention: Retention
    """The reasoning to keep although the template would drop it, such as `Retention.ALL`."""
    roles: tuple[str, ...]
    """The roles of the messages that follow, such as `("user",)`."""
    force: bool
    """Whether everything is kept that can be, not only reasoning, as with
    `bridge_to_next_turn(…, force=True)`."""
    notes: list[str]
    """The text that is kept, e.g. `["kept, although the template drops reasoning …"]`."""

    def keep_reasoning(self, reason: RefusalReason, detail: str) -> None:
        """Note that reasoning is kept. Raises RefusedBridge unless the caller requested it."""
        self._keep(reason, detail, on_purpose=self.force or self.retention.keeps(self.roles))

    def keep_end(self, reason: RefusalReason, detail: str) -> None:
        """Note that another end of the turn is kept. Raises RefusedBridge."""
        self._keep(reason, detail, on_purpose=self.force or self.retention is Retention.ALL)

    def keep(self, reason: RefusalReason, detail: str = "") -> None:
        """Note that other text is kept. Raises RefusedBridge."""
        self._keep(reason, detail, on_purpose=self.force)

    def _keep(self, reason: RefusalReason, detail: str, *, on_purpose: bool) -> None:
        # A bridge that hides a rewrite would train or cache a prompt that the template never
        # renders.
        if not on_purpose:
            raise RefusedBridge(reason, detail)
        self.notes.append(f"kept, although {BridgeRefusal(reason, detail)}")
