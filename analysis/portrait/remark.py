"""What a linter remarks, as reports show it; whatever finds it is adapted to this value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad it is, the worst first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class Remark:
    """One finding on a template."""

    code: str
    """The rule's code, which is stable."""
    severity: Severity
    message: str
    """What happens to whom."""
    title: str = ""
    """The rule's name."""
    confidence: str = ""
    evidence: str = ""
    """What was observed, such as two renders."""
    line: int | None = None
    """Of the template's text."""
    fix: str = ""
