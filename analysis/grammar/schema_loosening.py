"""Name each keyword that a grammar cannot be held to where it stands, or leave it out.

The writers of a grammar raise for what they cannot write. Only then are the tools that may be meant
tried alone, with their places written into them, so that an error names tool, place and keyword. If
the tool did not ask to be held strictly, as OpenAI's ``"strict": true`` does, the keyword is left
out and listed; an error lists all of them at once.

In GBNF, the items of an array cannot be told apart, so it is written without that keyword:

    {"type": "array", "uniqueItems": true}  ->  {"type": "array"}
    loosened: #/properties/x/uniqueItems, each item would have to differ from all before
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, Literal, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.error_words import escape_text
from autoparser.analysis.core.schema_document import ROOT, schemas_in, with_places, without_notes
from autoparser.analysis.core.schema_errors import SchemaError, UnheldKeywordError
from autoparser.analysis.core.schema_keywords import copied_json, may_have_key
from autoparser.analysis.core.schema_loosened import (
    keyword_places,
    nearest_place,
    without_keyword,
)
from autoparser.analysis.parsing.turn_request import IdentityCache

from .call_writer import GrammarError
from .lark_writer import LarkGrammar
from .schema_survey import plain_words

Written = TypeVar("Written")
GrammarForm: TypeAlias = Literal["gbnf", "ebnf", "lark", "structural_tag"]
GrammarWriter: TypeAlias = Callable[[Mapping[str, Json], Json], Written]
"""Writes a grammar for the tools' schemas by name, and for the schema of content."""

_Attempt: TypeAlias = Callable[[Json], Sequence[SchemaError]]
"""Raises SchemaError for a schema that cannot be written; returns the errors for keywords that are
enforced in part."""

_CONTENT = "json_schema"


class Loosening(Struct, frozen=True):
    """A keyword of a schema that a grammar is not held to."""

    tool: str
    """The tool whose parameters are meant, e.g. "get_weather"; empty for the schema of content."""
    pointer: str
    """JSON pointer of the keyword in that schema, e.g. "#/properties/x/uniqueItems"."""
    keyword: str
    """The keyword, e.g. "uniqueItems"."""
    reason: str
    """Why it cannot be held, e.g. "uniqueItems cannot be written as a grammar: …"."""

    def __str__(self) -> str:
        """Return it as one line."""
        return f"{_owner(self.tool)}, {self.pointer} is not enforced: {self.reason}"


@dataclass(frozen=True, slots=True)
class WrittenGrammar(Generic[Written]):
    """A grammar as it is written, and the keywords that it leaves out."""

    grammar: Written
    """The grammar, e.g. 'root ::= content': a text, or the document of a structural tag."""
    loosened: tuple[Loosening, ...] = ()
    """The keywords that were left out, in the order in which they were found, e.g.
    `uniqueItems`."""


class LooseRequest(Struct, frozen=True):
    """The schemas of a request, and which of them a grammar may be looser than."""

    tools: Mapping[str, Json]
    """The parameters' schemas by the tools' names, e.g. {"get_weather": {"type": "object"}}."""
    json_schema: Json
    """The schema of content, e.g. {"type": "object"}, or None for free text."""
    may_loosen: Callable[[str], bool]
    """Whether keywords of this tool, e.g. "get_weather", may be left out; the empty name means the
    content's schema."""
    owners: tuple[object, ...]
    """The other values that decide what can be written, e.g. the `CallFormat`: the format, the
    tokenizer's tokens."""
    form: GrammarForm
    """The form to write, e.g. "gbnf": what cannot be held differs from one to the other."""

    @property
    def is_exact(self) -> bool:
        """Whether a tool has to be held to all keywords: then those that only cost time are held.

        All rules are in one grammar, so that one such tool decides for the others.
        """
        return not all(map(self.may_loosen, self.tools))


@lru_cache(maxsize=1024)
def log_loosening(loosened: tuple[Loosening, ...]) -> None:
    """Log the keywords that a grammar is not held to, in one line, and once a process.

    Servers make many grammars of the same tools. Of the keywords that share a reason the first is
    named; names come from requests, so they are escaped.
    """
    if not loosened:
        return
    reasons: dict[str, list[Loosening]] = {}
    for loosening in loosened:
        reasons.setdefault(loosening.reason, []).append(loosening)
    reason_words = (_shorten_reason(reason, places) for reason, places in reasons.items())
    import logging  # noqa: PLC0415 - only servers log

    words = "keywords that no grammar can express are left out: %s"
    logging.getLogger("autoparser").warning(words, "; ".join(reason_words))


def _shorten_reason(reason: str, places: Sequence[Loosening]) -> str:
    first, *others = places
    also = f" and {len(others)} more" if others else ""
    return escape_text(f"{_owner(first.tool)}, {first.pointer}{also} ({reason})")


def write_loosened(write: GrammarWriter[Written], request: LooseRequest) -> WrittenGrammar[Written]:
    """Write a grammar, without the keywords that it cannot be held to if it may be looser.

    Raises SchemaError, which names every such tool, place and keyword, and what `write` raises.
    """
    tools = {**request.tools, **({} if request.json_schema is None else {"": request.json_schema})}
    seen = _SEEN.of(request.owners, (request.form, request.is_exact), dict[str, _Loosened])
    texts = {name: f"{bool(name)} {schema!r}" for name, schema in tools.items()}
    # Findings about a schema are shared by all lists of tools that contain it.
    found = {name: seen[text].of(name) for name, text in texts.items() if text in seen}
    # Copy the schemas: the results are cached, and the caller may change its own later.
    tools = {
        name: schema if name in found else without_notes(copied_json(schema))
        for name, schema in tools.items()
    }
    grammar = _without_refused(write, tools, found, in_parts=request.form == "lark")
    for name, schema in tools.items():
        if name not in found:
            places = _loose_places(schema, _in_part(grammar, name), _only(write, name))
            found[name] = _Loosened(schema, _loosenings(name, places))
    if len(seen) > _MOST_SEEN:
        # Servers meet new schemas without end.
        seen.clear()
    seen |= {texts[name]: schema for name, schema in found.items()}
    return WrittenGrammar(grammar, _omitted_keywords(request, [*map(found.__getitem__, tools)]))


def _without_refused(
    write: GrammarWriter[Written],
    tools: Mapping[str, Json],
    found: dict[str, _Loosened],
    *,
    in_parts: bool,
) -> Written:
    """Write a grammar of the tools, and add their refused schemas, loosened, to `found`.

    `in_parts` is whether what is written of a tool is kept for the next writing.
    """
    suspects = [name for name, schema in tools.items() if name not in found and _is_suspect(schema)]
    if len(suspects) * _FEW <= len(tools) - len(found):
        # Otherwise all tools would be written only to find that one of these is refused.
        for name in suspects:
            found[name] = _looser(tools[name], _only(write, name), name, may_pass=in_parts)
    attempt = 0
    while True:
        try:
            return write(*_loosen_schemas(tools, found))
        except SchemaError as error:
            unknown = [name for name in tools if name not in found]
            # An error names the tools refused at one step of writing. It names only one of the
            # tools that share a rule, so further steps would find them one by one.
            named = error.tools if attempt < _STEPS else unknown
            tried = [name for name in unknown if name in named] or unknown
            for name in tried:
                found[name] = _looser(tools[name], _only(write, name), name, may_pass=in_parts)
            # Nothing was left out, so writing again would fail in the same way.
            if not any(found[name].loosened for name in tried):
                raise
            attempt += 1


def _is_suspect(schema: Json) -> bool:
    """Return whether a schema has keywords that some grammar is often not held to."""
    words = plain_words(schema)
    return words is None or not words.isdisjoint(("minLength", "maxLength"))


def _omitted_keywords(request: LooseRequest, found: Sequence[_Loosened]) -> tuple[Loosening, ...]:
    """Return the keywords that are left out; raise where one of them has to be held."""
    loosened = [schema for schema in found if schema.loosened]
    barred = [schema for schema in loosened if not request.may_loosen(schema.loosened[0].tool)]
    if barred:
        raise _list_errors(barred)
    return tuple(keyword for schema in loosened for keyword in schema.loosened)


def _loosen_schemas(
    tools: Mapping[str, Json], loosened: Mapping[str, _Loosened]
) -> tuple[Mapping[str, Json], Json]:
    """Return the schemas of tools and content without the keywords that were found."""
    schemas = {
        name: loosened[name].schema if name in loosened else schema
        for name, schema in tools.items()
    }
    content = schemas.pop("", None)
    return schemas, content


class StrictSchemaError(UnheldKeywordError):
    """Keywords that a grammar cannot hold, of schemas that it has to be held to."""


class _Loosened(Struct, frozen=True):
    """A schema without the keywords that cannot be held to."""

    schema: Json
    """The schema that is left, e.g. {"type": "array"} of an array with `uniqueItems`."""
    loosened: tuple[Loosening, ...] = ()
    """The keywords that were left out, e.g. `uniqueItems`."""
    hint: str | None = None
    """The hint for the first of them, e.g. "write the grammar as Lark"."""

    def of(self, tool: str) -> _Loosened:
        """Return the same of a tool with another name."""
        return replace(
            self, loosened=tuple(replace(loosening, tool=tool) for loosening in self.loosened)
        )


_SEEN: IdentityCache[dict[str, _Loosened]] = IdentityCache(256)
"""The keywords left out of each schema, for a format and a form of the grammar."""
_MOST_SEEN = 4096
_FEW = 10
"""One in so many new tools is tried alone before all are written."""
_STEPS = 3
"""Errors whose tools alone are tried, in the writing of a grammar."""


def _only(write: GrammarWriter[Written], name: str) -> _Attempt:
    """Return the attempt to write the schema of one tool; the empty name means the content's."""

    def attempt(schema: Json) -> Sequence[SchemaError]:
        try:
            return _in_part(write(*({name: schema}, None) if name else ({}, schema)), name)
        except GrammarError:
            # Among other tools, the grammar leaves out one that the format cannot call.
            return ()

    return attempt


def _in_part(grammar: object, name: str) -> Sequence[SchemaError]:
    """Return the errors for the keywords of a tool that a grammar enforces in part."""
    noted = grammar.in_part if isinstance(grammar, LarkGrammar) else ()
    return [error for tool, error in noted if tool == name]


def _looser(schema: Json, attempt: _Attempt, tool: str, *, may_pass: bool = False) -> _Loosened:
    """Leave out the keywords that cannot be held to, one after the other.

    `may_pass` is whether the schema is probably held as it is.
    """
    left_out: list[Loosening] = []
    hint: str | None = None
    while True:
        try:
            in_part = _attempt_schema(schema, attempt, may_pass=may_pass or bool(left_out))
        except UnheldKeywordError as error:
            for pointer, refusal in _by_place(schema, (error, *error.more)).items():
                looser = schema
                if pointer and isinstance(refusal, UnheldKeywordError):
                    looser = without_keyword(schema, pointer, refusal.instead)
                if looser != schema:
                    schema, hint = looser, hint or refusal.hint
                    keyword = pointer.rpartition("/")[2]
                    left_out.append(Loosening(tool, pointer, keyword, refusal.message))
                elif refusal is error:
                    # The error remains although the keyword was left out, so nothing would change.
                    raise error.moved(pointer).within(_owner(tool)) from None
        except SchemaError as error:
            raise error.within(_owner(tool)) from None
        else:
            loose = _loosenings(tool, _loose_places(schema, in_part, attempt))
            return _Loosened(schema, (*left_out, *loose), hint)


def _loose_places(
    schema: Json, in_part: Sequence[SchemaError], attempt: _Attempt
) -> Mapping[str, SchemaError]:
    """Return the keywords that are enforced in part, by their places."""
    if not all(_is_placed(schema, error) for error in in_part):
        in_part = attempt(_towards(schema, in_part)) or in_part
    return _by_place(schema, in_part)


def _loosenings(tool: str, places: Mapping[str, SchemaError]) -> tuple[Loosening, ...]:
    return tuple(
        Loosening(tool, pointer, error.keyword, error.message) for pointer, error in places.items()
    )


def _by_place(schema: Json, errors: Iterable[SchemaError]) -> Mapping[str, SchemaError]:
    """Return the errors by their places; of several reasons for one keyword, the first."""
    found: dict[str, SchemaError] = {}
    places: dict[str, list[str]] = {}
    for error in errors:
        if error.keyword not in places:
            places[error.keyword] = _places(schema, error.keyword)
        pointers = [at + error.pointer.removeprefix(ROOT) for at in _sources(schema, error)]
        for pointer in pointers or [error.pointer]:
            found.setdefault(nearest_place(places[error.keyword], pointer), error)
    return found


def _towards(schema: Json, errors: Sequence[SchemaError]) -> Json:
    """Return a schema with places on the way to the keywords of errors.

    The parts without these keywords were converted before.
    """
    # Schemas that references joined have only some of their places.
    if may_have_key(schema, ("$ref",)):
        return with_places(schema)
    keywords = {error.keyword for error in errors}
    return with_places(schema, towards=[at for word in keywords for at in _places(schema, word)])


def _attempt_schema(schema: Json, attempt: _Attempt, *, may_pass: bool) -> Sequence[SchemaError]:
    """Attempt a schema, with places in it for errors; return those that it enforces in part.

    One that may pass is first attempted as it is: then a later writing finds it converted.
    """
    if may_pass:
        try:
            return attempt(schema)
        except SchemaError as error:
            refusals = (error, *error.more)
            if all(_is_placed(schema, refusal) for refusal in refusals):
                raise
        try:
            attempt(_towards(schema, refusals))
        except SchemaError as error:
            keywords = {refusal.keyword for refusal in refusals}
            if keywords >= {refusal.keyword for refusal in (error, *error.more)}:
                raise
    return attempt(with_places(schema))


def _is_placed(schema: Json, error: SchemaError) -> bool:
    """Return whether the place of an error's keyword is certain without the places in a schema."""
    if not isinstance(error, UnheldKeywordError):
        return False
    # Equal members of one object are written alike.
    if len({at.rpartition("/")[0] for at in _sources(schema, error)}) == 1:
        return True
    places = _places(schema, error.keyword)
    return len(places) == 1 or (error.pointer in places and not error.source_text)


def _sources(schema: Json, error: SchemaError) -> list[str]:
    """Return the places of the schema that an error's pointer leads into, if it is known."""
    if not error.source_text:
        return []
    source = json.loads(error.source_text)
    if source == schema:
        return [ROOT]
    return [at for part, at in schemas_in(schema) if part == source]


def _places(schema: Json, keyword: str) -> list[str]:
    """Return the places of a keyword in a schema; all unions count as one keyword."""
    keywords = ("anyOf", "oneOf") if keyword == "anyOf" else (keyword,)
    for word in keywords:
        if places := keyword_places(schema, word):
            return places
    return []


def _list_errors(schemas: Sequence[_Loosened]) -> SchemaError:
    """Return one error for all keywords that cannot be held to; the first of them is explained."""
    first, *others = (loosening for schema in schemas for loosening in schema.loosened)
    other_words = "".join(f"; nor can {_owner(other.tool)}, {other.pointer}" for other in others)
    hint = "leave them out" if others else schemas[0].hint or "leave it out"
    error = StrictSchemaError(
        f"{first.reason}{other_words}",
        pointer=first.pointer,
        hint=f"{hint}, or loosen the grammar (--loosen)",
    )
    error.keyword = first.keyword
    return error.within(_owner(first.tool))


def _owner(tool: str) -> str:
    return f"the parameters of {tool}" if tool else _CONTENT
