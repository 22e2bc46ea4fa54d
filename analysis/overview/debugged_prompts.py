"""Conversations to debug a template with: renders step by step, tokens, loss mask, switches.

Contract: messages and tools are passed to the template as given, not in the shape that it accepts,
since the question is what it does with these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Any

import yaml

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.conversation import Json, Tool
from autoparser.analysis.core.errors import is_mapping
from autoparser.analysis.core.request_files import given_messages, given_tools
from autoparser.analysis.core.switches import Switch
from autoparser.analysis.history.renderer import Renderer
from autoparser.analysis.sources.token_bytes import byte_tokenizer
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.render_trace import RenderTrace

if TYPE_CHECKING:
    from tokenizers import Tokenizer

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

_YAML_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
"""Characters that JSON may hold as they are, and that YAML refuses or reads as a line's end."""

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
        # Any other variables of the template, whose names mypy cannot know.
        switches: dict[str, Any] = {**self.switches}
        return template.step_through(
            template.variables(self.messages, self.tools, self.prompts, **switches)
        )

    @property
    def prompts(self) -> bool:
        """Whether the prompt ends where the model begins."""
        if self.generation_prompt is not None:
            return self.generation_prompt
        return self.messages[-1].get("role") != "assistant"

    def as_yaml(self) -> str:
        """Return its messages as YAML and its tools as JSON, to be edited and read again as YAML.

        Tools are usually at hand as JSON, which YAML can hold.
        """
        messages = {"messages": [*self.messages]}
        text = yaml.safe_dump(messages, allow_unicode=True, sort_keys=False, width=76)
        if self.tools is None:
            return text
        tools = json.dumps(self.tools, indent=2, ensure_ascii=False)
        tools = _YAML_ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", tools)
        return f"{text}tools:\n{indent(tools, '  ')}\n"

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


@dataclass(frozen=True, slots=True)
class PromptMarks:
    """What is known of the characters of a prompt beyond who wrote them."""

    text: str = ""
    learned: tuple[tuple[int, int], ...] | None = None
    """The ranges that a training run learns, in order; None: not asked."""
    tokens: tuple[tuple[int, int, int], ...] = ()
    """The id of each token, with its range before it, which is empty where a token goes on in a
    character; none without a tokenizer."""


def mark_prompt(
    analysis: Analysis, conversation: DebuggedConversation, tokenizer: Tokenizer | None
) -> PromptMarks:
    """Return the tokens of a conversation's prompt and its loss mask.

    With a tokenizer the mask is that of its tokens. Raises as `Renderer.render` does.
    """
    known = byte_tokenizer(()) if tokenizer is None else tokenizer
    renderer = Renderer(analysis, known, switches=conversation.switches)
    found = renderer.attribute(
        conversation.messages, conversation.tools, add_generation_prompt=conversation.prompts
    )
    if tokenizer is None:
        segments = ((segment.start, segment.end) for segment in found.segments if segment.loss)
        return PromptMarks(found.text, tuple(segments))
    tokens, pieces = renderer.tokens(found)
    starts = accumulate(map(len, pieces), initial=0)
    ranges = [*pairwise(starts)]
    owned = zip(ranges, tokens.loss_mask, strict=True)
    return PromptMarks(
        found.text,
        tuple(each for each, loss in owned if loss),
        tuple((*each, id_) for each, id_ in zip(ranges, tokens.token_ids, strict=True)),
    )
