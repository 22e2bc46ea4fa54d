"""Conversations to debug a template with: renders step by step, tokens, loss mask, switches.

Contract: messages and tools are passed to the template unchanged, not in the shape that it accepts:
the debugger shows what the template does with them.

For a user's "Hi" and an assistant's "Yes.", without a tokenizer, `mark_prompt` returns

    PromptMarks(text="<u>Hi</s><a>Yes.</s>", learned=((12, 16), (16, 20)))
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
from autoparser.analysis.core.error_words import is_mapping
from autoparser.analysis.core.request_files import given_messages, given_tools
from autoparser.analysis.core.switches import Switch
from autoparser.analysis.history.renderer import Renderer
from autoparser.analysis.sources.token_bytes import byte_tokenizer
from autoparser.analysis.templates.chat_template import ChatTemplate
from autoparser.analysis.templates.render_trace import RenderTrace

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SHIPPED = Path(__file__).with_name("debugged_conversations.yaml")
# One tool with arguments and one without, which templates may render differently.
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
"""Characters that JSON allows unescaped and YAML refuses, or reads as a line break."""

ANY_TEXT = "a text of one's own"
"""The value of a switch that takes any text."""


@dataclass(frozen=True, slots=True)
class DebuggedConversation:
    """A conversation and the other arguments of its request."""

    name: str
    """The name of a shipped conversation, such as `"two-calls"`, or a file."""
    messages: tuple[Mapping[str, Any], ...]
    """The messages, as they are passed to the template, such as
    `({"role": "user", "content": "Who are you?"},)`."""
    tools: tuple[Tool, ...] | None = None
    """The offered tools, such as `get_forecast`, or None."""
    switches: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The template's variables, e.g. `{"enable_thinking": False}`."""
    generation_prompt: bool | None = None
    """`add_generation_prompt`, or None for true unless the last message is the assistant's."""
    about: str = ""
    """Its purpose, in words, such as `"One question, and the model begins."`."""

    def trace(self, template: ChatTemplate, *, in_full: bool = False) -> RenderTrace:
        """Render step by step; values are short unless `in_full`. Raises TemplateSyntaxError."""
        # Any other variables of the template, whose names mypy cannot know.
        switches: dict[str, Any] = {**self.switches}
        return template.step_through(
            template.variables(self.messages, self.tools, self.prompts, **switches), in_full=in_full
        )

    @property
    def prompts(self) -> bool:
        """The `add_generation_prompt` in effect."""
        if self.generation_prompt is not None:
            return self.generation_prompt
        return self.messages[-1].get("role") != "assistant"

    def as_yaml(self) -> str:
        """Return the messages as YAML and the tools as JSON, for an editor.

        The whole is YAML, which includes JSON; tools can so be pasted as they usually come.
        """
        messages = {"messages": [*self.messages]}
        # Keys keep their order in the message, usually with the role first.
        text = yaml.safe_dump(messages, allow_unicode=True, sort_keys=False, width=76)
        if self.tools is None:
            return text
        tools = json.dumps(self.tools, indent=2, ensure_ascii=False)
        # As JSON escapes, which YAML reads as the same characters.
        tools = _YAML_ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", tools)
        return f"{text}tools:\n{indent(tools, '  ')}\n"

    def with_edits(self, value: object, name: str) -> DebuggedConversation:
        """Return a copy with the messages and tools of edited YAML. Raises AutoparserError."""
        messages = tuple(given_messages(value, name))
        # The editor's text may be a list of messages, which includes no tools.
        there = is_mapping(value) and "tools" in value
        tools = tuple(given_tools(value, name)) if there else None
        return replace(self, name=name, messages=messages, tools=tools)


@lru_cache(maxsize=1)
def shipped_conversations() -> tuple[DebuggedConversation, ...]:
    """Return the conversations that the package ships."""
    given: Mapping[str, Any] = yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))
    return tuple(
        DebuggedConversation(
            name,
            tuple(given_messages(entry["messages"], SHIPPED.name)),
            tuple(TOOLS) if entry.get("tools") else None,
            about=entry["about"],
        )
        for name, entry in given.items()
    )


@dataclass(frozen=True, slots=True)
class SwitchedRender:
    """A conversation rendered with another value of a switch."""

    name: str
    """The switch, e.g. `enable_thinking`."""
    value: Json
    """Its value."""
    trace: RenderTrace
    """The render, step by step."""


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
    """The loss mask and the tokens of a prompt, by character."""

    text: str = ""
    """The prompt, e.g. `"<u>Hi</s><a>"`."""
    learned: tuple[tuple[int, int], ...] | None = None
    """The ranges in the loss mask, in order, or None if it was not computed."""
    tokens: tuple[tuple[int, int, int], ...] = ()
    """Each token as (start, end, id), empty without a tokenizer. A token that continues a character
    has an empty range."""


def mark_prompt(
    analysis: Analysis, conversation: DebuggedConversation, tokenizer: Tokenizer | None
) -> PromptMarks:
    """Return the tokens of a conversation's prompt and its loss mask.

    With a tokenizer, the mask has its tokens' edges. Raises as `Renderer.render` does.
    """
    # A renderer requires a tokenizer, although attributing characters uses none.
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
        tuple(span for span, loss in owned if loss),
        tuple((*span, id_) for span, id_ in zip(ranges, tokens.token_ids, strict=True)),
    )
