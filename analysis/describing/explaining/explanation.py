"""One place where an output is not as the template writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from autoparser.analysis.core.conversation import Json


class Deviation(StrEnum):
    """What is not as the template writes it."""

    STRAY = "stray closer"
    BEHIND_END = "text after the end of the turn"
    LEFT_OUT = "text that belongs to nothing"
    UNREADABLE = "call that cannot be read"
    UNKNOWN_TOOL = "tool that was not offered"
    CUT = "text that ends within a call"
    NO_END = "no end of the turn"
    MISSING = "missing text"
    SURPLUS = "text that the template does not write"
    OTHER = "other text"
    ORDER = "another order"
    SPACE = "other whitespace"
    FOREIGN = "markup of no part of this format"


class CauseKind(StrEnum):
    """Why an output may be so; each was tried, and would explain it."""

    STRIPPED = "special tokens stripped"
    """With the format's markers put back that are missing, the output is regular."""
    OTHER_PROMPT = "prompt of another setting"
    """After another generation prompt of the template, the output is regular."""
    OTHER_FORMAT = "another format"
    """Nothing of this format's calls is there, and something that looks like another's."""


@dataclass(frozen=True, slots=True)
class PossibleCause:
    """Why an output may be so."""

    kind: CauseKind
    markers: tuple[str, ...] = ()
    """What was stripped."""
    setting: Mapping[str, Json] = field(default_factory=dict[str, Json])
    """The switches of the other prompt; empty: the template's defaults."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """One place, what was expected there, what was found, and the likely cause."""

    deviation: Deviation
    offset: int
    """In characters of the output."""
    expected: str
    """What the template writes there; empty: nothing, or nothing that can be told."""
    found: str
    """What stands there; empty: nothing."""
    cause: PossibleCause | None = None
    more: int = 0
    """How many places more are like this one."""
