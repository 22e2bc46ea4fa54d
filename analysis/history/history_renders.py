"""A template with fixed tools, switches and time of day, as the renderer uses it.

Contract: the renders equal those of `ChatTemplate.render`, in the template's own sandbox.
Messages are prepared once and then varied, so that a render costs no more than the template itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.templates.chat_template import (
    ChatTemplate,
    plain_value,
    prepared_tools,
)
from autoparser.analysis.templates.environment import GENERATION_CLOSE, GENERATION_OPEN

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

    def text(self, messages: Messages, *, generation: bool) -> str:
        """Render prepared messages. Raises TemplateRenderError."""
        return self.template.render_prepared(self.variables(messages, generation))

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
    marked = renders.template.render_generation(renders.variables(messages, generation))
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
