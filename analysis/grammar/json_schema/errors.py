"""The one error of this package: a schema that no grammar can be written for."""

from __future__ import annotations

from autoparser.analysis.grammar import schema


class SchemaError(schema.SchemaError):
    """A schema is malformed, contradicts itself, or says what a grammar cannot.

    ``str(error)`` begins with the keyword's JSON pointer, such as ``#/properties/a/not``.
    """

    def __init__(self, message: str, *, pointer: str, keyword: str = "", hint: str | None = None):
        place = f"{pointer}/{escaped(keyword)}" if keyword else pointer
        super().__init__(message, place=place, hint=hint)
        self.pointer = place
        """JSON pointer of the keyword, or of the schema where no keyword is to blame."""
        self.keyword = keyword
        """The keyword that cannot be written; empty where no single one is to blame."""


def unwritable(keyword: str, pointer: str, why: str) -> SchemaError:
    """Give the error of a keyword that is legal but that no grammar here can express."""
    return SchemaError(
        f"{keyword} cannot be written as a grammar: {why}",
        pointer=pointer,
        keyword=keyword,
        hint="leave it out, or use a grammar format that takes JSON Schema whole",
    )


def escaped(token: str) -> str:
    """Escape one part of a JSON pointer (RFC 6901)."""
    return token.replace("~", "~0").replace("/", "~1")
