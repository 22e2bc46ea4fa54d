"""Conversations to debug a template with: their renders step by step, and what switches change.

Contract: messages and tools are passed to the template as given, not in the shape that it accepts,
since the question is what it does with these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from autoparser.analysis.core.conversation import Json, Tool
from autoparser.analysis.core.errors import is_mapping
from autoparser.analysis.core.request_files import given_messages, given_tools
from autoparser.analysis.core.switches import Switch
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.render_trace import RenderTrace

SHIPPED = Path(__file__).with_name("debugged_conversations.yaml")
TOOLS: Sequence[Tool] = [
    {
        "type": "function",
        "function": {
            "name": "get_forecast",
            "description": "Look up the weather of the next days.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "list_rooms",
            "description": "List the free rooms.",
            "parameters": {"type": "object", "properties": {}},
        },
    },
]

ANY_TEXT = "a text of one's own"
"""What a switch is set to where any text is a value of it."""


@dataclass(frozen=True, slots=True)
class DebuggedConversation:
    """A conversation, with what is sent beside it."""

    name: str
    """What it is called: a shipped one's name, a file."""
    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Tool, ...] | None = None
    switches: Mapping[str, Json] = field(default_factory=dict[str, Json])
    generation_prompt: bool | None = None
    """Whether the prompt ends where the model begins; None: unless the last message is its."""
    about: str = ""

    def trace(self, template: ChatTemplate) -> RenderTrace:
        """Render it, step by step. Raises TemplateSyntaxError."""
        prompt = self.generation_prompt
        if prompt is None:
            prompt = self.messages[-1].get("role") != "assistant"
        # Any other variables of the template, whose names mypy cannot know.
        switches: dict[str, Any] = {**self.switches}
        return template.step_through(
            template.variables(self.messages, self.tools, prompt, **switches)
        )

    def as_yaml(self) -> str:
        """Return its messages and tools as a text that can be edited and read again."""
        given: dict[str, Any] = {"messages": [*self.messages]}
        if self.tools is not None:
            given["tools"] = [*self.tools]
        return yaml.safe_dump(given, allow_unicode=True, sort_keys=False, width=76)

    def edited(self, value: object, name: str) -> DebuggedConversation:
        """Return it with the messages and tools of `as_yaml`. Raises AutoparserError."""
        messages = tuple(given_messages(value, name))
        there = is_mapping(value) and "tools" in value
        tools = tuple(given_tools(value, name)) if there else None
        return replace(self, name=name, messages=messages, tools=tools)


@lru_cache(maxsize=1)
def shipped_conversations() -> tuple[DebuggedConversation, ...]:
    """Return the conversations that come with the package."""
    given: Mapping[str, Any] = yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))
    return tuple(
        DebuggedConversation(
            name,
            tuple(given_messages(each["messages"], SHIPPED.name)),
            tuple(TOOLS) if each.get("tools") else None,
            about=each["about"],
        )
        for name, each in given.items()
    )


@dataclass(frozen=True, slots=True)
class SwitchedRender:
    """A conversation rendered with another value of a switch."""

    name: str
    value: Json
    trace: RenderTrace


def switched_renders(
    template: ChatTemplate, switches: Sequence[Switch], conversation: DebuggedConversation
) -> Iterator[SwitchedRender]:
    """Render a conversation with each value of each switch, the others as they are set."""
    for switch in switches:
        for value in (*switch.values, *((ANY_TEXT,) if switch.inserted else ())):
            set_to = {**conversation.switches, switch.name: value}
            trace = replace(conversation, switches=set_to).trace(template)
            yield SwitchedRender(switch.name, value, trace)
