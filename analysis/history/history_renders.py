"""A template with fixed tools, switches and time of day, as the renderer uses it.

Contract: the renders equal those of `ChatTemplate.render`, in the template's own sandbox.
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

# The reasoning that a bridge keeps on purpose, and the reasons why a bridge is refused.


class Retention(StrEnum):
    """The reasoning that stays in the prompt although the template's rules would drop it."""

    NONE = "none"
    TOOL_CYCLE = "tool_cycle"
    """Reasoning is kept while only tool results follow."""
    ALL = "all"

    def keeps(self, roles: Sequence[str]) -> bool:
        """Whether reasoning is kept when messages of these roles follow."""
        if self is Retention.TOOL_CYCLE:
            return all(role == "tool" for role in roles)
        return self is Retention.ALL


class RefusalReason(StrEnum):
    """The reasons to refuse a bridge."""

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
    """Whether everything is kept that can be, not only reasoning."""
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
        """Whether every result so far is still current; a date is until midnight."""
        now = datetime.now()  # noqa: DTZ005 - as above
        return all(now.strftime(form) == text for form, text in self._texts.items())


@dataclass(frozen=True, slots=True)
class HistoryRenders:
    """Renders conversations that share their tools, their switches and the time of day."""

    template: ChatTemplate
    """The template that renders, such as `<ChatTemplate of Qwen-Qwen3-0.6B.jinja: 85 lines>`."""
    tools: list[object] | None = None
    """The offered tools as the template sees them, such as
    `[{"type": "function", "function": {"name": "get_weather", …}}]`, or None."""
    switches: Mapping[str, object] = field(default_factory=dict[str, object])
    """The template's variables, e.g. `{"enable_thinking": False}`."""
    clock: Clock = field(default_factory=Clock)
    """The time of day that `strftime_now` returns."""

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
        """Return the template's variables."""
        return {
            "strftime_now": self.clock,
            # Switches come after special tokens, so that a caller may set `bos_token`, and before
            # the arguments of the render, which no switch replaces.
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
# The blocks are transformers' extension; a template that contains them decides itself which text is
# sampled.


def generation_ranges(
    renders: HistoryRenders, messages: Messages, text: str, *, generation: bool
) -> list[tuple[int, int]] | None:
    """Return the ranges of `text` inside generation blocks.

    Return None if the template has no such block, or renders other text when its blocks are
    marked: if it edits a block's text afterwards, the marked range is unknown.
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
        # A block around an empty text, e.g. the content of a message with calls alone, marks
        # nothing.
        if inside:
            found.append((length, length + len(inside)))
        length += len(inside) + len(behind)
        whole += [inside, behind]
    return found if "".join(whole) == text else None
