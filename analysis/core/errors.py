"""Every error that autoparser raises on purpose, each one line for a person.

Contract: ``str(error)`` is a single printable line that names the file, the place in
it and what to do. Text that comes from a template or a file is shown with its control
characters escaped and is cut where it is long; the attributes keep more of it.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from enum import StrEnum
from typing import Any, TypeGuard, TypeVar

# Which characters a person sees as what they are, and escapes for all others.
#
# A terminal obeys control characters, marks of direction turn what is beside them, and some
# characters that count as printable show nothing at all. Unicode 16, DerivedCoreProperties.txt,
# has those as Default_Ignorable_Code_Point; the empty Braille pattern is drawn as a space.


_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U000e0100-\U000e01ef]"
)
"""Printable by Python's account, as letters, marks and symbols are."""


def is_inert(text: str) -> bool:
    """Whether every character of the text shows itself, and does nothing else."""
    return text.isprintable() and (text.isascii() or _INVISIBLE.search(text) is None)


def escape_text(text: str) -> str:
    """Return the text with a Python escape for each character that is not inert."""
    if is_inert(text):
        return text
    return "".join(
        character if is_inert(character) else character.encode("unicode_escape").decode()
        for character in text
    )


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Errors of systems for a disk that is full or broken."""


# What a person probably meant by a word that is not known: the one home of "did you mean".


NEAR = 0.6
"""The share of characters that two words have in common, in order, to be taken for each other."""


def nearest_word(wrong_word: str, known_words: Iterable[object]) -> str | None:
    """Return the known word that is most like a given one, in any case, or None if none is."""
    # Only an error needs it.
    from difflib import get_close_matches  # noqa: PLC0415

    by_letters = {str(word).casefold(): str(word) for word in known_words}
    close = get_close_matches(wrong_word.casefold(), by_letters, n=1, cutoff=NEAR)
    return by_letters[close[0]] if close else None


def spelling_hint(wrong_word: str, known_words: Iterable[object], then: str = "") -> str:
    """Return a hint: what was probably meant, if anything is near; and `then`."""
    close = nearest_word(wrong_word, known_words)
    return " ".join(filter(None, (close and f"did you mean {close}?", then)))


def missing_name_hint(wanted: str, names: Iterable[object], then: str = "") -> str:
    """Return a hint about a missing name: which of those given stands for it; and `then`."""
    close = nearest_word(wanted, (name for name in names if name != wanted))
    return " ".join(filter(None, (close and f"did you mean {wanted} for {close}?", then)))


# What a value of a YAML, TOML or JSON file is, in words.


_KINDS: Mapping[type[object], str] = {
    bool: "true or false",
    dict: "an object",
    float: "a number",
    int: "a number",
    list: "a list",
    str: "a text",
    type(None): "empty",
}


_MAPPINGS = (dict, Mapping)
"""Nearly every object is a plain dictionary, which needs no question to an abstract class."""


def kind_of(value: object) -> str:
    """Describe the kind of a value, in words for a person."""
    return _KINDS.get(type(value), f"a {type(value).__name__}")


def is_mapping(value: object) -> TypeGuard[Mapping[Any, Any]]:
    """Return whether a value is an object, whatever its members are."""
    return isinstance(value, _MAPPINGS)


def is_list(value: object) -> TypeGuard[list[object]]:
    """Return whether a value is a list, whatever its items are."""
    return isinstance(value, list)


def is_row(value: object) -> TypeGuard[Sequence[object]]:
    """Return whether a value is a list or a tuple, whatever its items are."""
    return isinstance(value, list | tuple)


_Error = TypeVar("_Error", bound="AutoparserError")

LONGEST_TEXT = 400
"""Characters of one part of an error line; what is longer is cut in the middle."""


def one_line(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return ``text`` as one printable line: escapes for control characters, a cut if long."""
    if len(text) > longest:
        kept = longest // 2
        text = f"{text[:kept]} … {text[-kept:]}"
    return escape_text(text)


class LimitKind(StrEnum):
    """What a worker's task is held to; the words by which messages name it."""

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
        """What is wrong, in words."""
        self.file = file
        """The file, directory or source that it is about; None where there is none."""
        self.place = place
        """Where in the file, such as ``line 3, column 7``; None for the whole of it."""
        self.hint = hint
        """What to do about it; None where nothing is left to say."""

    def __str__(self) -> str:
        where = [one_line(part) for part in (self.file, self.place) if part]
        line = ": ".join([*where, one_line(self.message)])
        return f"{line}; {one_line(self.hint)}" if self.hint else line

    def __reduce__(self) -> tuple[object, ...]:
        # An exception is rebuilt from its constructor's arguments by default, and those of the
        # errors below are not what they keep.
        return _rebuild, (type(self), self.args, {**self.__dict__})


class TemplateNotFoundError(AutoparserError):
    """There is no template where one was looked for."""


class TemplateReadError(AutoparserError):
    """A file that should hold a template is there but cannot be read as one."""


class TemplateNeededError(AutoparserError):
    """What is asked takes a render, and a saved format has no template."""


class TokenizerError(AutoparserError):
    """A tokenizer is not there, cannot be read, or lacks what is asked of it."""


class TemplateSyntaxError(AutoparserError):
    """Jinja cannot read the template's text."""

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
        """The template's line, from 1; None where Jinja cannot tell."""
        self.column = column
        """The column in that line in characters, from 1; None where it is not known."""
        self.excerpt = excerpt
        """The line with a caret under the column, two lines of text; empty if unknown."""
        self.limit = limit
        """Which limit of a worker its compilation went beyond; None: that was not it."""


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
        """The template's own words if it refused, else the error's type and words."""
        self.line = line
        """The template's line, from 1; None where it is not known."""
        self.refused = refused
        """True when the template itself called ``raise_exception``."""
        self.forbidden = forbidden
        """True when Jinja's sandbox forbids what the template did."""


class TemplateUnusableError(AutoparserError):
    """The template renders, or refuses, in a way from which nothing can be concluded."""

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
        """The template's line, from 1; None where it is not known."""


class TemplateLimitError(TemplateRenderError):
    """A render went beyond a limit; only a worker holds renders to limits."""

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
        """Which limit."""


class TaskLimitError(AutoparserError):
    """A worker's whole task went beyond a limit, and was ended."""

    def __init__(
        self,
        limit: LimitKind,
        message: str,
        *,
        file: str | None = None,
        place: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, file=file, place=place, hint=hint)
        self.limit = limit
        """Which limit."""


class WorkerDiedError(AutoparserError):
    """A worker was killed or crashed in the middle of a task, which has no result."""


class FaultError(WorkerDiedError):
    """A fault of this program ended a task: something was raised that nobody raises on purpose."""


fault_keeper: ContextVar[Callable[[BaseException], object]] = ContextVar("fault_keeper")
"""Writes the traceback of a fault to a file and returns its path, or None if it cannot. A command
sets it; a program that uses the package has the exception itself."""


def fault_error(fault: BaseException, file: str | None) -> FaultError:
    """Return the error of a task that ended in a fault of this program."""
    words = f"a fault of autoparser ({type(fault).__name__}: {fault})"
    keep = fault_keeper.get(None)
    kept = None if keep is None else keep(fault)
    hint = "please report it" if kept is None else f"please report it with {kept}"
    error = FaultError(words, file=file, hint=hint)
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
