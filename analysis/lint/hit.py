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
    """The rendered conversation as JSON, e.g. ``({"role": "user", "content": "What is the weather
    in Rio?"},)``; empty if the text is not a render."""
    origins: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    """Pairs of offset and template line, one wherever another line begins to write, e.g. ``((0, 3),
    (24, 7))``; empty unless two renders are compared."""


class HitEvidence(Struct, frozen=True):
    """One text, or two that differ in the rule's subject."""

    one: ShownText
    """The faulty text, or the first of the two, e.g. ``ShownText("an answer",
    "<|user|>…<|end|>")``."""
    other: ShownText | None = None
    """The text to compare it with, e.g. the render without the whitespace."""


class HitCause(Struct, frozen=True):
    """The identity of a cause; findings that share it are merged."""

    kind: str
    """The class of the cause, e.g. ``raises`` or ``text dropped``."""
    line: int | None = None
    """The template's line, e.g. 23, if a render names one."""
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
    """The texts that show it, the clearest first, e.g. one labeled ``system: a list of parts``."""
    line: int | None = None
    """The template's line, from 1, e.g. 23, or None if no render names one."""
    fix: str = ""
    """The remedy, e.g. ``"quote string values, such as with `tojson`"``, if this hit has one of its
    own; otherwise the rule's applies."""
    severity: Severity | None = None
    """The severity if it differs from the rule's, e.g. ``Severity.WARNING`` for two calls
    without a separator."""
    confidence: Confidence | None = None
    """The confidence if it differs from the rule's, e.g. ``Confidence.MEDIUM``."""
    cause: HitCause | None = None
    """The cause by which findings of several rules are merged, e.g. ``HitCause("raises", 30,
    "Unknown role: developer")``, or None if unknown."""
    setting: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The only switches under which it happens, e.g. ``{"enable_thinking": False}``; empty if it
    always does."""
    engines: tuple[str, ...] = ()
    """The behavior of installed engines, one sentence each, e.g. ``("minijinja 3.0.5 renders it
    like transformers",)``; empty unless the rule asked them."""
    column: int | None = None
    """The column in that line, from 1, e.g. 25, or None for the whole line."""
    loses: bool = False
    """Whether a text of the conversation is lost, e.g. True for a tool result as parts:
    `Profile.RELEASE` shows that even for rules of conventions."""
