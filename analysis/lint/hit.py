"""What a rule saw: the words, the texts that show it, and where.

Severity says what it costs, confidence how sure the observation is; a hit of high severity and
low confidence is one to look at, not one to fail on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Severity(StrEnum):
    """What it costs those who use the template."""

    ERROR = "error"
    """Requests fail, or what was said is lost or changed."""
    WARNING = "warning"
    """It works, but it costs: the prefix cache, fidelity, or callers with other habits."""
    INFO = "info"
    """Good to know; most templates are meant so."""


class Confidence(StrEnum):
    """How sure it is that the template does what the finding says."""

    HIGH = "high"
    """The renders show it, and nothing else explains them."""
    MEDIUM = "medium"
    """The renders show it; whether it is meant so, they cannot tell."""
    LOW = "low"
    """Something suggests it, and no render could confirm it."""


@dataclass(frozen=True, slots=True)
class ShownText:
    """One text that shows something: a render, or what a model wrote."""

    label: str
    """What it is, such as ``with the call's arguments as a string``."""
    text: str = ""
    error: str = ""
    """The template's own words where it raised instead."""
    messages: tuple[dict[str, Any], ...] = ()
    """The conversation that was rendered, as JSON; empty where the text is not a render."""
    origins: tuple[tuple[int, int], ...] = field(default=(), compare=False)
    """Where in the text another line of the template begins to write, and which line; empty where
    nobody asked."""


@dataclass(frozen=True, slots=True)
class HitEvidence:
    """One text, or two that differ in what the rule is about."""

    one: ShownText
    other: ShownText | None = None


@dataclass(frozen=True, slots=True)
class HitCause:
    """What is after a finding; findings of one cause are one."""

    kind: str
    """Such as ``raises``."""
    line: int | None = None
    detail: str = ""


TEXT_DROPPED = HitCause("text dropped")
"""Content as text is lost where a list of parts is written."""


def spoiled_cause(usual: str) -> HitCause:
    """Return the cause of findings about a form, such as ``arguments as an object``."""
    return HitCause("spoiled", detail=usual)


@dataclass(frozen=True, slots=True)
class Hit:
    """What a rule saw, before its code and weight are put to it."""

    message: str
    """What happens to whom, in one sentence without a full stop."""
    evidence: tuple[HitEvidence, ...] = ()
    line: int | None = None
    """The template's line, from 1."""
    fix: str = ""
    """What to write instead, where it is known."""
    severity: Severity | None = None
    """Where it weighs otherwise than the rule's usual hit."""
    confidence: Confidence | None = None
    cause: HitCause | None = None
    setting: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The switches under which alone it holds, with their values; empty where it always does."""
    engines: tuple[str, ...] = ()
    """What installed engines make of it, a sentence each; empty where none was asked."""
    column: int | None = None
    """The place in that line, from 1; None: the line as a whole."""
    loses: bool = False
    """Whether what somebody said is lost; that is shown even where the rule is of a convention."""
