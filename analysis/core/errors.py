"""All errors that autoparser raises on purpose, each with a message of one line.

    chat.yaml: messages[0]: missing role; did you mean role for rol? add one such as …

Contract: `str(error)` is a single printable line with the file, the place in it and the way out.
Text from a template or a file has its control characters escaped, and is cut if it is long; the
attributes keep more of it.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextvars import ContextVar
from enum import StrEnum
from typing import TypeVar

from .error_words import one_line

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Error numbers of a disk that is full or broken."""

_Error = TypeVar("_Error", bound="AutoparserError")


class LimitKind(StrEnum):
    """The limits of a worker's task, by their names in messages."""

    RENDER_TIME = "time of one render"
    TASK_TIME = "time"
    MEMORY = "memory"
    OUTPUT = "output"


class AutoparserError(Exception):
    """Base of all errors that autoparser raises on purpose."""

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        place: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        """The fault in words."""
        self.file = file
        """The file, directory or source with the fault, or None."""
        self.place = place
        """The place in the file, e.g. `"line 3, column 7"`, or None for all of it."""
        self.hint = hint
        """The way out, e.g. `"add content, or tool_calls"`, or None."""

    def __str__(self) -> str:
        where = [one_line(part) for part in (self.file, self.place) if part]
        line = ": ".join([*where, one_line(self.message)])
        return f"{line}; {one_line(self.hint)}" if self.hint else line

    def __reduce__(self) -> tuple[object, ...]:
        # By default, an exception is rebuilt from its constructor's arguments, and the errors
        # below do not keep theirs.
        return _rebuild, (type(self), self.args, {**self.__dict__})


class TemplateNotFoundError(AutoparserError):
    """A source has no template."""


class TemplateReadError(AutoparserError):
    """A file exists but cannot be read as a template."""


class TemplateNeededError(AutoparserError):
    """A saved format, which has no template, is used for something that needs a render."""


class TokenizerError(AutoparserError):
    """A tokenizer is missing, cannot be read, or lacks a needed feature."""


class TemplateSyntaxError(AutoparserError):
    """Jinja cannot parse the template."""

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        column: int | None = None,
        excerpt: str = "",
        limit: LimitKind | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, file=file, place=_line_place(line, column), hint=hint)
        self.line = line
        """The template's line, from 1, or None if Jinja does not report it."""
        self.column = column
        """The column in that line in characters, from 1, or None if unknown."""
        self.excerpt = excerpt
        """The line with a caret under the column, two lines of text; empty if unknown."""
        self.limit = limit
        """The worker's limit that compilation exceeded, or None if it exceeded none."""


class TemplateRenderError(AutoparserError):
    """The template refused a conversation or crashed on it."""

    def __init__(
        self,
        reason: str,
        *,
        file: str | None = None,
        line: int | None = None,
        refused: bool = False,
        forbidden: bool = False,
        hint: str | None = None,
    ) -> None:
        verb = "refuses the conversation" if refused else "cannot render the conversation"
        super().__init__(f"{verb}: {reason}", file=file, place=_line_place(line, None), hint=hint)
        self.reason = reason
        """The template's own message if it refused, else the error's type and message."""
        self.line = line
        """The template's line, from 1, or None if unknown."""
        self.refused = refused
        """Whether the template itself called `raise_exception`."""
        self.forbidden = forbidden
        """Whether Jinja's sandbox raised."""


class TemplateUnusableError(AutoparserError):
    """The template's renders or refusals allow no conclusions."""

    def __init__(
        self,
        message: str,
        *,
        file: str | None = None,
        line: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, file=file, place=_line_place(line, None), hint=hint)
        self.line = line
        """The template's line, from 1, or None if unknown."""


class TemplateLimitError(TemplateRenderError):
    """A render exceeded a limit; only workers have limits."""

    def __init__(
        self,
        limit: LimitKind,
        reason: str,
        *,
        file: str | None = None,
        line: int | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(reason, file=file, line=line, hint=hint)
        self.limit = limit
        """The limit."""


class TaskLimitError(AutoparserError):
    """A worker's task exceeded a limit and was ended."""

    def __init__(
        self,
        limit: LimitKind,
        message: str,
        *,
        file: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, file=file, hint=hint)
        self.limit = limit
        """The limit."""


class WorkerDiedError(AutoparserError):
    """A worker was killed or crashed during a task, which has no result."""


class FaultError(WorkerDiedError):
    """A bug of this program ended a task with an unexpected exception."""


fault_keeper: ContextVar[Callable[[BaseException], object]] = ContextVar("fault_keeper")
"""A function that writes the traceback of a bug to a file and returns its path, or None if it
cannot. Commands set it; programs that use the package have the exception itself."""


def fault_error(fault: BaseException, file: str | None) -> FaultError:
    """Return the error of a task that a bug of this program ended."""
    words = f"a fault of autoparser ({type(fault).__name__}: {fault})"
    keep = fault_keeper.get(None)
    kept = None if keep is None else keep(fault)
    hint = "please report it" if kept is None else f"please report it with {kept}"
    error = FaultError(words, file=file, hint=hint)
    # The error is returned, not raised here, so Python sets no cause by itself.
    error.__cause__ = fault
    return error


def _rebuild(kind: type[_Error], arguments: tuple[object, ...], state: dict[str, object]) -> _Error:
    error = kind.__new__(kind)
    error.args = arguments
    error.__dict__.update(state)
    return error


def _line_place(line: int | None, column: int | None) -> str | None:
    if line is None:
        return None
    return f"line {line}" if column is None else f"line {line}, column {column}"
