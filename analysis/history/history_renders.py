"""A template under one setting, as the renderer renders it: same tools, same switches, one moment.

Contract: what is rendered is what `ChatTemplate.render` gives, in the template's own sandbox.
Messages are prepared once and then varied, so that a render costs no more than the template itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.templates.chat_template import (
    ChatTemplate,
    plain_value,
    prepared_tools,
)
from autoparser.analysis.templates.environment import GENERATION_CLOSE, GENERATION_OPEN

# Which reasoning a bridge keeps on purpose, and why a bridge is refused.


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


class RefusalReason(StrEnum):
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
    OTHER_TOOLS = "the prompt does not have a tool that is offered now"
    NO_CALL = "a tool result follows, but no call could be read from the output"
    REFUSED = "the template refuses the conversation"
    NOT_ENCODED = "the tokenizer does not give back the text of the new messages"


@dataclass(frozen=True, slots=True)
class BridgeRefusal:
    """No bridge, and the reason: render the whole conversation instead. False in a condition."""

    reason: RefusalReason
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

    def __init__(self, reason: RefusalReason, detail: str = "") -> None:
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

    def keep_reasoning(self, reason: RefusalReason, detail: str) -> None:
        """Note that reasoning is kept. Raises RefusedBridge if nobody asked for that."""
        self._keep(reason, detail, on_purpose=self.force or self.retention.keeps(self.roles))

    def keep_end(self, reason: RefusalReason, detail: str) -> None:
        """Note that another end of the turn is kept. Raises RefusedBridge."""
        self._keep(reason, detail, on_purpose=self.force or self.retention is Retention.ALL)

    def keep(self, reason: RefusalReason, detail: str = "") -> None:
        """Note that other text is kept. Raises RefusedBridge."""
        self._keep(reason, detail, on_purpose=self.force)

    def _keep(self, reason: RefusalReason, detail: str, *, on_purpose: bool) -> None:
        if not on_purpose:
            raise RefusedBridge(reason, detail)
        self.notes.append(f"kept, although {BridgeRefusal(reason, detail)}")


Message: TypeAlias = Mapping[str, object]
Messages: TypeAlias = Sequence[Message]


class Clock:
    """One moment for all renders that share it, so that no two of them differ by a second."""

    def __init__(self) -> None:
        """Stop at now."""
        self._moment = datetime.now()  # noqa: DTZ005 - local time, as transformers does
        self._texts: dict[str, str] = {}

    def __call__(self, form: str) -> str:
        """Return the moment by `form`."""
        return self._texts.setdefault(form, self._moment.strftime(form))

    def still(self) -> bool:
        """Whether what it has told is still so; a date is, until midnight."""
        now = datetime.now()  # noqa: DTZ005 - as above
        return all(now.strftime(form) == text for form, text in self._texts.items())


@dataclass(frozen=True, slots=True)
class HistoryRenders:
    """Renders conversations that share their tools, their switches and the time of day."""

    template: ChatTemplate
    tools: list[object] | None = None
    switches: Mapping[str, object] = field(default_factory=dict[str, object])
    clock: Clock = field(default_factory=Clock)

    @classmethod
    def of(
        cls, template: ChatTemplate, tools: Sequence[object] | None, switches: Mapping[str, object]
    ) -> HistoryRenders:
        """Prepare tools and switches as transformers does. Raises TypeError."""
        values = {name: plain_value(value) for name, value in switches.items()}
        return cls(template, prepared_tools(tools), values)

    def text(self, messages: Messages, *, generation: bool = False) -> str:
        """Render prepared messages. Raises TemplateRenderError."""
        return self.template.render_prepared(self.variables(messages, generation))

    def generation_text(self, messages: Messages, *, generation: bool = False) -> str:
        """Render with marks around generation blocks. Raises TemplateRenderError."""
        return self.template.render_generation(self.variables(messages, generation))

    def variables(self, messages: Messages, generation: bool) -> dict[str, object]:
        """Return what a template is rendered with."""
        return {
            "strftime_now": self.clock,
            **self.template.special_tokens,
            **self.switches,
            "messages": list(messages),
            "tools": self.tools,
            "documents": None,
            "add_generation_prompt": generation,
        }

    def attempt(self, messages: Messages, *, generation: bool = False) -> str | None:
        """Render prepared messages; return None if the template refuses them or crashes."""
        try:
            return self.text(messages, generation=generation)
        except TemplateRenderError:
            return None


# The text that a template's own `{% generation %}` blocks mark as the model's.
#
# The blocks are transformers' extension; a template that has them decides itself what is sampled.


def generation_ranges(
    renders: HistoryRenders, messages: Messages, text: str, *, generation: bool
) -> list[tuple[int, int]] | None:
    """Return the stretches of `text` that stand in generation blocks.

    None if the template has no such block, or writes something else when its blocks are
    marked: where it changes the text of a block afterwards, nobody can tell what it marked.
    """
    if not renders.template.marks_generation:
        return None
    marked = renders.generation_text(messages, generation=generation)
    pieces = marked.split(GENERATION_OPEN)
    found: list[tuple[int, int]] = []
    length = len(pieces[0])
    whole = [pieces[0]]
    for piece in pieces[1:]:
        inside, closed, behind = piece.partition(GENERATION_CLOSE)
        if not closed:
            return None
        if inside:
            found.append((length, length + len(inside)))
        length += len(inside) + len(behind)
        whole += [inside, behind]
    return found if "".join(whole) == text else None
