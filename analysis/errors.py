"""Every error that autoparser raises on purpose, each one line for a person.

Contract: ``str(error)`` is a single printable line that names the file, the place in
it and what to do. Text that comes from a template or a file is shown with its control
characters escaped and is cut where it is long; the attributes keep it whole.
"""

from __future__ import annotations

__all__ = [
    "AutoparserError",
    "TemplateNotFoundError",
    "TemplateReadError",
    "TemplateRenderError",
    "TemplateSyntaxError",
    "TemplateUnusableError",
    "TokenizerError",
    "one_line",
]

LONGEST_TEXT = 400
"""Characters of one part of an error line; what is longer is cut in the middle."""


def one_line(text: str, longest: int = LONGEST_TEXT) -> str:
    """Give ``text`` as one printable line: escapes for control characters, a cut if long."""
    if len(text) > longest:
        kept = longest // 2
        text = f"{text[:kept]} … {text[-kept:]}"
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


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


class TemplateNotFoundError(AutoparserError):
    """There is no template where one was looked for."""


class TemplateReadError(AutoparserError):
    """A file that should hold a template is there but cannot be read as one."""


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
        hint: str | None = None,
    ) -> None:
        super().__init__(message, file=file, place=_place(line, column), hint=hint)
        self.line = line
        """The template's line, from 1; None where Jinja cannot tell."""
        self.column = column
        """The column in that line in characters, from 1; None where it is not known."""
        self.excerpt = excerpt
        """The line with a caret under the column, two lines of text; empty if unknown."""


class TemplateRenderError(AutoparserError):
    """The template refused a conversation or crashed on it."""

    def __init__(
        self,
        reason: str,
        *,
        file: str | None = None,
        line: int | None = None,
        refused: bool = False,
        hint: str | None = None,
    ) -> None:
        verb = "refuses the conversation" if refused else "cannot render the conversation"
        super().__init__(f"{verb}: {reason}", file=file, place=_place(line, None), hint=hint)
        self.reason = reason
        """The template's own words if it refused, else the error's type and words."""
        self.line = line
        """The template's line, from 1; None where it is not known."""
        self.refused = refused
        """True when the template itself called ``raise_exception``."""


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
        super().__init__(message, file=file, place=_place(line, None), hint=hint)
        self.line = line
        """The template's line, from 1; None where it is not known."""


def _place(line: int | None, column: int | None) -> str | None:
    if line is None:
        return None
    return f"line {line}" if column is None else f"line {line}, column {column}"
