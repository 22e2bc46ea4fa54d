"""Errors of schemas: invalid ones and those that a grammar cannot enforce, with JSON pointers.

For example, an error of the keyword `not` of one property:

    >>> pointer = pointer_below("#", "properties", "path/name")
    >>> print(SchemaError("`not` cannot be enforced", pointer=pointer, keyword="not"))
    #/properties/path~1name/not: `not` cannot be enforced
"""

from __future__ import annotations

from collections.abc import Sequence

from .errors import AutoparserError
from .schema_keywords import Schema


class SchemaError(AutoparserError):
    """A schema that is invalid, or that a grammar cannot enforce.

    If a keyword is to blame, `str(error)` begins with its JSON pointer, such as
    `#/properties/a/not`.
    """

    def __init__(
        self,
        message: str,
        *,
        place: str | None = None,
        pointer: str = "",
        keyword: str = "",
        hint: str | None = None,
    ) -> None:
        """Store the words, and the place in words or as the pointer of a schema and its keyword."""
        found = pointer_below(pointer, keyword) if keyword and pointer else pointer
        super().__init__(message, place=place or found or None, hint=hint)
        self.pointer = found
        """JSON pointer of the keyword, or of the schema if no keyword is to blame."""
        self.keyword = keyword
        """The keyword that cannot be enforced, e.g. `"not"`; empty if no single one is to blame."""
        self.tools: tuple[str, ...] = ()
        """The names of all tools that are refused, if there are several."""
        self.more: tuple[SchemaError, ...] = ()
        """Other errors of the same schema that were found with this one."""
        self.source_text = ""
        """The schema that its pointer leads into, as JSON; empty if unknown."""

    def moved(self, pointer: str) -> SchemaError:
        """Return the same error at another pointer; an empty one changes nothing."""
        # The pointer ends with the keyword already, so the constructor must not append it again.
        found = type(self)(self.message, pointer=pointer or self.pointer, hint=self.hint)
        found.keyword = self.keyword
        return found

    def within(self, owner: str) -> SchemaError:
        """Return the same error with the schema's owner in its place."""
        place = owner if not self.pointer or self.pointer == "#" else f"{owner}, {self.pointer}"
        found = type(self)(self.message, place=place, hint=self.hint)
        found.pointer, found.keyword = self.pointer, self.keyword
        return found


def raise_refused(refused: Sequence[tuple[str, SchemaError]]) -> None:
    """Raise the first error, with the names of all tools and the other errors of its own.

    Each error has the name of its tool, empty without a tool.
    """
    if refused:
        tool, error = refused[0]
        error.tools = tuple(dict.fromkeys(name for name, _ in refused if name))
        for name, other in refused[1:]:
            error.more += (other, *other.more) if name == tool else ()
        raise error


class UnheldKeywordError(SchemaError):
    """A keyword that a grammar cannot enforce.

    Without it the schema can be enforced, so a less strict grammar omits it, or has `instead`.
    """

    instead: Schema | None = None
    """Looser keywords for its place, e.g. `{"pattern": "[a-z]*"}` for `[a-z]{0,61}`."""


def escape_pointer(token: str) -> str:
    """Escape one part of a JSON pointer (RFC 6901)."""
    # `~` first: otherwise the `~` of each `~1` would be escaped again.
    return token.replace("~", "~0").replace("/", "~1")


def pointer_below(pointer: str, *tokens: str | int) -> str:
    """Return the JSON pointer of a value inside the one of `pointer`."""
    for token in tokens:
        text = str(token)
        pointer += f"/{escape_pointer(text) if '~' in text or '/' in text else text}"
    return pointer
