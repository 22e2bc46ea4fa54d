"""Schemas that a grammar cannot be held to: the keyword named where it stands, or left out.

The writers of a grammar say what they cannot write. Only then is each schema tried by itself, with
its places written into it, so that the error names tool, place and keyword; where the grammar may
be looser, the keyword is left out, and told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema import (
    SchemaError,
    UnheldKeywordError,
    nearest,
    with_places,
    without_keyword,
)

from .call_writer import GrammarError

GrammarWriter: TypeAlias = Callable[[Mapping[str, Json], Json], str]
"""Writes a grammar for the tools' schemas by name, and for the schema of content."""

_CONTENT = "json_schema"


@dataclass(frozen=True, slots=True)
class Loosening:
    """A keyword of a schema that a grammar is not held to."""

    tool: str
    """The tool whose parameters are meant; empty: the schema of content."""
    pointer: str
    """JSON pointer of the keyword in that schema."""
    keyword: str
    reason: str

    def __str__(self) -> str:
        """Return it as one line."""
        return f"{_owner(self.tool)}, {self.pointer} is not held to: {self.reason}"


@dataclass(frozen=True, slots=True)
class WrittenGrammar:
    """A grammar as text, and what it leaves out."""

    text: str
    tools: Mapping[str, Json]
    """The schemas that it is held to."""
    json_schema: Json
    loosened: tuple[Loosening, ...] = ()


def written_grammar(
    write: GrammarWriter, tools: Mapping[str, Json], content: Json, *, loosen: bool
) -> WrittenGrammar:
    """Write a grammar; where it may be looser, without the keywords that it cannot be held to.

    Raises SchemaError, which names the tool and the place, and what `write` raises besides.
    """
    try:
        return WrittenGrammar(write(tools, content), tools, content)
    except SchemaError as error:
        refused = error
    loosened: list[Loosening] = []
    held: dict[str, Json] = {}
    for name, schema in tools.items():
        only = _OnlyTool(write, name)
        held[name], left_out = _looser(schema, only.attempt, name, loosen=loosen)
        loosened += left_out
    if content is not None:
        content, left_out = _looser(
            content, lambda each: _attempt(write, {}, each), "", loosen=loosen
        )
        loosened += left_out
    if not loosened:
        raise refused
    return WrittenGrammar(write(held, content), held, content, tuple(loosened))


@dataclass(frozen=True, slots=True)
class _OnlyTool:
    """Writes the grammar for one tool."""

    write: GrammarWriter
    name: str

    def attempt(self, schema: Json) -> None:
        """Raise SchemaError where the schema cannot be written."""
        _attempt(self.write, {self.name: schema}, None)


def _attempt(write: GrammarWriter, tools: Mapping[str, Json], content: Json) -> None:
    try:
        write(tools, content)
    except GrammarError:
        # A tool that the format cannot call is left out among others.
        return


def _looser(
    schema: Json, attempt: Callable[[Json], None], tool: str, *, loosen: bool
) -> tuple[Json, list[Loosening]]:
    """Leave out what cannot be held to, one keyword after the other."""
    left_out: list[Loosening] = []
    while True:
        try:
            attempt(with_places(schema))
        except UnheldKeywordError as error:
            pointer = nearest(schema, error.keyword, error.pointer)
            if not loosen or not pointer:
                raise error.moved(pointer).within(_owner(tool)) from None
            schema = without_keyword(schema, pointer)
            left_out.append(Loosening(tool, pointer, error.keyword, error.message))
        except SchemaError as error:
            raise error.within(_owner(tool)) from None
        else:
            return schema, left_out


def _owner(tool: str) -> str:
    return f"the parameters of {tool}" if tool else _CONTENT
