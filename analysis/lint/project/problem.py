"""What could not be looked at, and why: it is not a finding, and stops no other template."""

from __future__ import annotations

from dataclasses import dataclass

from autoparser.analysis.core.errors import AutoparserError, TemplateSyntaxError


@dataclass(frozen=True, slots=True)
class Problem:
    """An input that is not what it should be."""

    path: str
    """The file or source that it is about."""
    message: str
    """What is wrong, without a full stop."""
    hint: str = ""
    """What to do about it."""
    place: str = ""
    """Where in the file, where that is not a line, such as ``byte 42``."""
    line: int | None = None


def problem_of(error: AutoparserError, path: str) -> Problem:
    """Return an error as a problem of `path`, unless it names a file itself."""
    line = error.line if isinstance(error, TemplateSyntaxError) else None
    place = "" if line is not None else error.place or ""
    return Problem(error.file or path, error.message, error.hint or "", place, line)
