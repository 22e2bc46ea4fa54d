"""Conversations whose prompts are compared: what the template renders, and what a server makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from autoparser.analysis.analysis import Analysis
from autoparser.analysis.core.alignment import prefix_length
from autoparser.analysis.core.battery import CITY_TOOL, loose_tools
from autoparser.analysis.core.conversation import (
    Dialogue,
    Json,
    Message,
    ToolCall,
    ToolResult,
    User,
    function_of,
)
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.message_shape import Shape, offered

from .engine_server import EngineServer, TextRefusedError
from .known_text import ProbedChat

__all__ = ["ComparedPrompt", "compared_prompts"]

QUESTION = "Will it rain in Oslo?"
SYSTEM = "Answer in one sentence."
ID = "aB3dE6gH1"
"""Nine letters and digits, which the strictest templates want."""
CALL = ToolCall(CITY_TOOL, {"city": "Oslo", "days": 3}, ID)
DIALOGUES: Mapping[str, tuple[str, Dialogue, bool]] = {
    "a question": ("", (User(QUESTION),), False),
    "a question and tools": ("", (User(QUESTION),), True),
    "a system message and an earlier turn": (
        SYSTEM,
        (User("Hello."), Message("Good morning."), User(QUESTION)),
        False,
    ),
    "a call and its result": (
        "",
        (User(QUESTION), Message(calls=(CALL,)), ToolResult("rain", CITY_TOOL, ID)),
        True,
    ),
}
"""By their titles: the system message, the rest, whether tools are offered."""


@dataclass(frozen=True, slots=True)
class ComparedPrompt:
    """One prompt, as the template renders it and as the server makes it."""

    title: str
    rendered: str
    served: str | None
    """None: the server refuses."""
    refusal: str = ""

    @property
    def same(self) -> bool:
        """Whether both are the same text."""
        return self.served == self.rendered

    @property
    def parting(self) -> int:
        """The character at which they part."""
        return prefix_length(self.rendered, self.served or "")


def compared_prompts(
    analysis: Analysis, server: EngineServer, settings: Mapping[str, Json]
) -> tuple[tuple[ComparedPrompt, ...], tuple[str, ...]]:
    """Compare the prompts, and name the conversations that the template refuses.

    The text that begins every sequence is left out of both: some servers leave it to the tokenizer.
    """
    begin = analysis.template.special_tokens.get("bos_token", "")
    found: list[ComparedPrompt] = []
    refused: list[str] = []
    for title, (system, dialogue, tools) in DIALOGUES.items():
        rendered = _rendered(analysis, dialogue, system, settings, tools=tools)
        if rendered is None:
            refused.append(title)
            continue
        wire = Shape(arguments_as_string=True, system=bool(system))
        chat = ProbedChat(wire.messages(dialogue, system), loose_tools() if tools else (), settings)
        try:
            served, refusal = server.prompt(chat).removeprefix(begin), ""
        except TextRefusedError as error:
            served, refusal = None, str(error)
        found.append(ComparedPrompt(title, rendered.removeprefix(begin), served, refusal))
    return tuple(found), tuple(refused)


def _rendered(
    analysis: Analysis,
    dialogue: Dialogue,
    system: str,
    settings: Mapping[str, Json],
    *,
    tools: bool,
) -> str | None:
    """Return the template's prompt; None where it refuses, or crashes."""
    shape = replace(analysis.shape, system=bool(system))
    functions = [*map(function_of, loose_tools())] if tools else []
    given: Mapping[str, Any] = settings
    try:
        return analysis.rendering.render(
            shape.messages(dialogue, system),
            offered(functions, shape) if tools else None,
            add_generation_prompt=True,
            **given,
        )
    except TemplateRenderError:
        return None
