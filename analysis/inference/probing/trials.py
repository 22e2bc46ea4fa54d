"""What all negotiations share: the trials they leave after, and conversations of sentinels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from autoparser.analysis.core.conversation import Dialogue, Json, Message, ToolCall, ToolResult
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.message_shape import Setting, Shape

from .prober import Prober
from .suggestions import Suggestions


@dataclass(frozen=True, slots=True)
class ShapeTrial:
    """One shape that was tried, and what came of it."""

    what: str
    outcome: str


class UnusableTemplateError(Exception):
    """No conversation at all could be rendered so that it shows its messages."""

    def __init__(self, reason: str, hint: str, cause: TemplateRenderError | None = None) -> None:
        """Say why and what to do; `cause` is the render's own failure."""
        super().__init__(reason)
        self.hint = hint
        self.cause = cause


def call_of(prober: Prober, position: int = 0) -> ToolCall:
    """Return a call made of sentinels: one string argument."""
    marks = prober.sentinels
    return ToolCall(
        marks.names[position],
        {marks.keys[0]: marks.values[position]},
        marks.ids[position],
    )


def prints_parts(text: str, parts: Sequence[Json]) -> bool:
    """Whether a text holds a part of a content as Python prints it, or as JSON writes it."""
    return any(
        written in text
        for part in parts
        for written in (repr(part), json.dumps(part), json.dumps(part, separators=(",", ":")))
    )


def answered(prober: Prober, message: Message) -> Dialogue:
    """Put a message into the shortest conversation that the shape allows."""
    dialogue: Dialogue = (prober.user, message)
    if message.calls and prober.shape.answered:
        answers = [
            ToolResult(prober.sentinels.answer, call.name, call.id) for call in message.calls
        ]
        return (*dialogue, *answers)
    return dialogue


_NOT_SWITCHES = frozenset(
    {
        "messages",
        "tools",
        "documents",
        "add_generation_prompt",
        "raise_exception",
        "strftime_now",
        "namespace",
        "range",
        "dict",
        "lipsum",
        "cycler",
        "joiner",
        "loop",
        "caller",
        "varargs",
        "kwargs",
    }
)
"""What transformers passes itself and what Jinja defines."""


def switch_candidates(suggestions: Suggestions) -> list[str]:
    """Name the variables that a caller may set."""
    return [name for name in suggestions.variables if _may_be_switch(name)]


def _may_be_switch(name: str) -> bool:
    return name not in _NOT_SWITCHES and not name.endswith("_token")


def under(setting: Setting) -> str:
    """Say a setting in words."""
    words = ", ".join(f"{key}={value}" for key, value in setting.items())
    return f" with {words}" if words else ""


def describe(shape: Shape, plain: Shape) -> str:
    """Say in words how a shape differs from a plainer one."""
    names = [name for name in Shape.__slots__ if getattr(shape, name) != getattr(plain, name)]
    return ", ".join(f"{name}={getattr(shape, name)}" for name in names) or "the plain shape"
