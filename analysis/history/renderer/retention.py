"""Which reasoning a bridge keeps on purpose, and why a bridge is refused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Retention(StrEnum):
    """The reasoning that stays in the prompt although the template's rules would drop it."""

    NONE = "none"
    TOOL_CYCLE = "tool_cycle"
    """While only tool results follow."""
    ALL = "all"

    def keeps(self, roles: Sequence[str]) -> bool:
        """Whether reasoning is kept when messages of these roles follow."""
        if self is Retention.TOOL_CYCLE:
            return all(role == "tool" for role in roles)
        return self is Retention.ALL


class Reason(StrEnum):
    """Why there is no bridge."""

    NOTHING_NEW = "there is no new message"
    ASSISTANT = "an assistant message is among the new ones; what a model wrote comes as ids"
    REASONING_DROPPED = "the template drops reasoning from the history"
    PROMPT_REWRITTEN = "the template does not keep in the history what its prompt has written"
    HISTORY_REWRITTEN = "the template changes the text of earlier messages"
    END_DIFFERS = "the template ends the turn in the history otherwise than the model did"
    END_UNKNOWN = "it is not known how the template ends such a turn"
    BEHIND_STOP = "after the stop token stands what the template does not write"
    DEPENDS = "what the template writes of new messages depends on the whole conversation"
    NO_CALL = "a tool result follows, but no call could be read from the output"
    REFUSED = "the template refuses the conversation"
    NOT_ENCODED = "the tokenizer does not give back the text of the new messages"


@dataclass(frozen=True, slots=True)
class BridgeRefusal:
    """No bridge, and the reason: render the whole conversation instead. False in a condition."""

    reason: Reason
    detail: str = ""
    """What of the conversation it is about, or the template's own words."""

    def __bool__(self) -> bool:
        """Return False: a refusal is not a prompt."""
        return False

    def __str__(self) -> str:
        """Return the reason and the detail as one line."""
        return f"{self.reason.value}: {self.detail}" if self.detail else self.reason.value


class RefusedBridge(Exception):
    """Carries a refusal out of the steps of a bridge."""

    def __init__(self, reason: Reason, detail: str = "") -> None:
        """Refuse."""
        super().__init__(reason.value)
        self.refusal = BridgeRefusal(reason, detail)


@dataclass(slots=True)
class Purpose:
    """What one bridge keeps on purpose although the template would rewrite it, told in notes."""

    retention: Retention
    roles: tuple[str, ...]
    """Of the messages that follow."""
    force: bool
    """Whether all that can be kept is, not only reasoning."""
    notes: list[str]

    def keep_reasoning(self, reason: Reason, detail: str) -> None:
        """Note that reasoning is kept. Raises RefusedBridge where nobody asked for that."""
        self._keep(reason, detail, asked=self.force or self.retention.keeps(self.roles))

    def keep_end(self, reason: Reason, detail: str) -> None:
        """Note that another end of the turn is kept. Raises RefusedBridge."""
        self._keep(reason, detail, asked=self.force or self.retention is Retention.ALL)

    def keep(self, reason: Reason, detail: str = "") -> None:
        """Note that other text is kept. Raises RefusedBridge."""
        self._keep(reason, detail, asked=self.force)

    def _keep(self, reason: Reason, detail: str, *, asked: bool) -> None:
        if not asked:
            raise RefusedBridge(reason, detail)
        self.notes.append(f"kept, although {BridgeRefusal(reason, detail)}")
