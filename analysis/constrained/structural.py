"""What a structural tag says, as a tree of few kinds of parts.

Two shapes are read: SGLang's ``{"structures": [{"begin", "schema", "end"}], "triggers": [...]}``,
and ``{"type": "structural_tag", "format": {...}}`` with the formats that xgrammar documents
(0.2.8, ``xgrammar.structural_tag``). What llguidance has no form for is refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Text:
    """One of some fixed texts; an empty one may stand among them."""

    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Json:
    """A JSON value of a schema."""

    schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Pattern:
    """A text of a regex."""

    regex: str


@dataclass(frozen=True, slots=True)
class Subgrammar:
    """A text of a grammar of its own, in Lark or GBNF."""

    text: str


@dataclass(frozen=True, slots=True)
class Free:
    """Any text that holds none of ``excludes``, up to the fixed text that follows, if any."""

    excludes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """Parts one after another."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some parts."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part again and again."""

    part: Part
    least: int
    most: int | None
    """None: no end to it."""
    separator: str = ""


@dataclass(frozen=True, slots=True)
class Arm:
    """What is bound once ``trigger`` was written in free text."""

    trigger: str
    begins: tuple[str, ...]
    """The texts that may go on from the trigger, each with the trigger itself before it."""
    bodies: tuple[Part, ...]
    """What follows each of ``begins``."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Free text in which triggers lead into arms."""

    arms: tuple[Arm, ...]
    starts_with_arm: bool
    """Whether an arm comes first, before any free text."""
    once: bool
    """Whether nothing follows the first arm."""
    excludes: tuple[str, ...] = ()


Part = Text | Json | Pattern | Subgrammar | Free | Row | Choice | Repeat | Dispatch
