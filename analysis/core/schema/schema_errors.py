"""The errors of this package: a schema that cannot be read, or not be held to."""

from __future__ import annotations

from autoparser.analysis.core.errors import AutoparserError


class SchemaError(AutoparserError):
    """A schema that cannot be read, or that what is made from it cannot be held to.

    Where a keyword is to blame, ``str(error)`` begins with its JSON pointer, such as
    ``#/properties/a/not``.
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
        """Take the words, and the place in words or as the pointer of a schema and its keyword."""
        found = below(pointer, keyword) if keyword and pointer else pointer
        super().__init__(message, place=place or found or None, hint=hint)
        self.pointer = found
        """JSON pointer of the keyword, or of the schema where no keyword is to blame."""
        self.keyword = keyword
        """The keyword that cannot be held to; empty where no single one is to blame."""
        self.tools: tuple[str, ...] = ()
        """The tools known to be refused, where several were read."""

    def moved(self, pointer: str) -> SchemaError:
        """Return the same error at another place; empty: at the same one."""
        found = type(self)(self.message, pointer=pointer or self.pointer, hint=self.hint)
        found.keyword = self.keyword
        return found

    def within(self, owner: str) -> SchemaError:
        """Return the same error, its place told with whose schema it is."""
        place = owner if not self.pointer or self.pointer == "#" else f"{owner}, {self.pointer}"
        found = type(self)(self.message, place=place, hint=self.hint)
        found.pointer, found.keyword = self.pointer, self.keyword
        return found


class UnheldKeywordError(SchemaError):
    """A keyword that means something, and that what is made from the schema cannot be held to.

    Without it the schema could be: whoever may be less strict leaves it out.
    """


def escaped(token: str) -> str:
    """Escape one part of a JSON pointer (RFC 6901)."""
    return token.replace("~", "~0").replace("/", "~1")


def below(pointer: str, *tokens: str | int) -> str:
    """Return the JSON pointer of something inside."""
    return "/".join([pointer, *(escaped(str(token)) for token in tokens)])
