r"""The values that a rule yields: a message, the evidence for it, and its place.

Severity is the cost of the fault, confidence the certainty of the observation: a hit of high
severity and low confidence deserves a look, not a failed run. A hit as `reasoning_stripped.py`
yields it:

    Hit(
        "whitespace around reasoning is cut off",
        (HitEvidence(ShownText("with spaces around the reasoning", "<think>\nplan</think>")),),
        line=12,
        fix="write the reasoning as it is",
    )
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from msgspec import Struct


class Severity(StrEnum):
    """The cost to the template's users."""

    ERROR = "error"
    """Requests fail, or a text of the conversation is lost or changed."""
    WARNING = "warning"
    """Requests work, at a cost: the prefix cache, fidelity, or callers with other habits."""
    INFO = "info"
    """Good to know; most templates do so on purpose."""


class Confidence(StrEnum):
    """The certainty of the observation."""

    HIGH = "high"
    """Renders show it and allow no other explanation."""
    MEDIUM = "medium"
    """Renders show it, but not whether the author intends it."""
    LOW = "low"
    """Something suggests it, and no render could confirm it."""


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text that serves as evidence: a render, or a model's output."""

    label: str
    """A caption, e.g. ``with the call's arguments as a string``."""
    text: str = ""
    """The whole text, e.g. ``"<|user|>Hello<|end|>"``; empty if the render raised."""
    error: str = ""
    """The template's error message if it raised, e.g. ``"roles must alternate"``."""
    messages: tuple[dict[str, Any], ...] = ()
    """The rendered conversation as JSON; empty if the text is not a render."""
    origins: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    """Pairs of offset and template line, one wherever another line begins to write, e.g. ``((0, 3),
    (24, 7))``; empty unless two renders are compared."""


class HitEvidence(Struct, frozen=True):
    """One text, or two that differ in the rule's subject."""

    one: ShownText
    """The faulty text, or the first of the two."""
    other: ShownText | None = None
    """The text to compare it with, e.g. the render without the whitespace."""


class HitCause(Struct, frozen=True):
    """The identity of a cause; findings that share it are merged."""

    kind: str
    """The class of the cause, e.g. ``raises`` or ``text dropped``."""
    line: int | None = None
    """The template's line, if a render names one."""
    detail: str = ""
    """A detail that separates causes of the same kind and line, e.g. the exception's message."""


TEXT_DROPPED = HitCause("text dropped")
"""The cause of findings about plain string content that a template loses because it expects content
parts."""


def spoiled_cause(usual: str) -> HitCause:
    """Return the cause of findings about a form, such as ``arguments as an object``."""
    return HitCause("spoiled", detail=usual)


@dataclass(frozen=True, slots=True)
class Hit:
    """An observation of a rule, before the rule's code and severity are attached."""

    message: str
    """One sentence without a full stop, e.g. ``"content: null beside a call is rendered as None"``.
    """
    evidence: tuple[HitEvidence, ...] = ()
    """The texts that show it, the clearest first."""
    line: int | None = None
    """The template's line, from 1, or None if no render names one."""
    fix: str = ""
    """The remedy, if this hit has one of its own; otherwise the rule's applies."""
    severity: Severity | None = None
    """The severity if it differs from the rule's."""
    confidence: Confidence | None = None
    """The confidence if it differs from the rule's."""
    cause: HitCause | None = None
    """The cause by which findings of several rules are merged, or None if unknown."""
    setting: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The only switches under which it happens, e.g. ``{"enable_thinking": False}``; empty if it
    always does."""
    engines: tuple[str, ...] = ()
    """The behavior of installed engines, one sentence each; empty unless the rule asked them."""
    column: int | None = None
    """The column in that line, from 1, or None for the whole line."""
    loses: bool = False
    """Whether a text of the conversation is lost: `Profile.RELEASE` shows that even for rules of
    conventions."""
