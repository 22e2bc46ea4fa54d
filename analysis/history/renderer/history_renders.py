"""A template under one setting, as the renderer renders it: same tools, same switches, one moment.

Contract: what is rendered is what `ChatTemplate.render` gives, in the template's own sandbox.
Messages are prepared once and then varied, so that a render costs no more than the template itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.loading.template import (
    ChatTemplate,
    plain,
    prepared_messages,
    prepared_tools,
)

Message: TypeAlias = Mapping[str, object]
Messages: TypeAlias = Sequence[Message]


class Clock:
    """One moment for all renders that share it, so that no two of them differ by a second."""

    def __init__(self) -> None:
        """Stop at now."""
        self._moment = datetime.now()  # noqa: DTZ005 - local time, as transformers does
        self._told: dict[str, str] = {}

    def __call__(self, form: str) -> str:
        """Return the moment by `form`."""
        return self._told.setdefault(form, self._moment.strftime(form))

    def still(self) -> bool:
        """Whether what it has told is still so; a date is, until midnight."""
        now = datetime.now()  # noqa: DTZ005 - as above
        return all(now.strftime(form) == said for form, said in self._told.items())


@dataclass(frozen=True, slots=True)
class HistoryRenders:
    """Renders conversations that share their tools, their switches and the time of day."""

    template: ChatTemplate
    tools: list[object] | None = None
    switches: Mapping[str, object] = field(default_factory=dict[str, object])
    clock: Clock = field(default_factory=Clock)

    @classmethod
    def of(
        cls,
        template: ChatTemplate,
        tools: Sequence[object] | None,
        switches: Mapping[str, object],
    ) -> HistoryRenders:
        """Prepare tools and switches as transformers does. Raises TypeError."""
        values = {name: plain(value) for name, value in switches.items()}
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
        """Render prepared messages; None where the template refuses them or crashes."""
        try:
            return self.text(messages, generation=generation)
        except TemplateRenderError:
            return None


def prepared(messages: Sequence[object]) -> list[Message]:
    """Return messages as a template sees them. Raises ValueError, TypeError."""
    return list(prepared_messages(messages))
