"""Validate schemas, and values by their schemas; nothing is fetched.

    schema_breaches({"properties": {"days": {"type": "integer"}}}, {"days": "three"})
    # (SchemaBreach(place='days', keyword='properties.days.type',
    #               message="'three' is not of type 'integer'"),)

Most tools have plain schemas, and most arguments meet them: jsonschema, which takes longer to
import than an output to parse, is asked about all others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from itertools import count, islice
from types import ModuleType
from typing import Any

import msgspec
from msgspec import Struct

from .conversation import Json
from .error_words import one_line
from .json_types import JsonType, json_type

UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
"""Keywords about the members and items that no other keyword names."""
_PLAIN_DEPTH = 16
"""Levels of a schema that are looked at without jsonschema; it is asked about deeper ones."""
_PLAIN_TEXTS = frozenset({"description", "title", "format"})


def _is_plain(schema: Json, depth: int) -> bool:
    """Return whether a schema is valid and has only usual keywords, such as `properties`."""
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, dict) or not depth:
        return False
    return all(_is_plain_keyword(name, value, depth - 1) for name, value in schema.items())


def _is_plain_keyword(name: str, value: Json, depth: int) -> bool:
    if name == "type":
        return isinstance(value, str) and value in [*JsonType]
    if name in _PLAIN_TEXTS:
        return isinstance(value, str)
    if name == "required":
        if not isinstance(value, list):
            return False
        names = [item for item in value if isinstance(item, str)]
        return len({*names}) == len(value)
    if name == "properties":
        return isinstance(value, dict) and all(_is_plain(part, depth) for part in value.values())
    if name in ("items", "additionalProperties"):
        return _is_plain(value, depth)
    return name == "default" or (name in ("enum", "examples") and isinstance(value, list))


def _meets_plainly(schema: Any, value: Json) -> bool:
    """Return whether a value is valid under a plain schema; False if jsonschema has to decide."""
    if schema.__class__ is not dict:
        return schema is True
    kind, members = schema.get("type"), schema.get("properties", {})
    # Every integer is a number, too.
    if kind not in (None, found := json_type(value), found is JsonType.INTEGER and "number"):
        return False
    # Only strings are compared in the same way in Python and in JSON.
    if "enum" in schema and not (isinstance(value, str) and value in schema["enum"]):
        return False
    if isinstance(value, list):
        return all(_meets_plainly(schema.get("items", True), item) for item in value)
    if not isinstance(value, dict):
        return True
    others = schema.get("additionalProperties", True)
    return value.keys() >= {*schema.get("required", ())} and all(
        _meets_plainly(members.get(name, others), part) for name, part in value.items()
    )


Validate = Callable[[Json], str]
"""A function that describes the first fault of a value; empty if it is valid."""


@cache
def _library() -> tuple[Any, Any]:
    """Return jsonschema and referencing, untyped, since neither ships complete types."""
    # Imported here because they take longer to import than most grammars to write.
    with _grammar_of_addresses_later():
        import jsonschema  # noqa: PLC0415
    import referencing  # noqa: PLC0415

    return jsonschema, referencing


_ADDRESSES = "rfc3987_syntax"


def _is_valid_syntax(term: str, value: str) -> bool:
    return bool(import_module(_ADDRESSES).is_valid_syntax(term, value))


@contextmanager
def _grammar_of_addresses_later() -> Generator[None]:
    """Let jsonschema's check of IRIs be imported when the first IRI is checked.

    Its import makes an Earley parser of each of its terms, which takes many times as long as to
    import all the rest of jsonschema.
    """
    if _ADDRESSES in sys.modules or PathFinder.find_spec(_ADDRESSES) is None:
        yield
        return
    later = ModuleType(_ADDRESSES)
    later.__dict__["is_valid_syntax"] = _is_valid_syntax
    sys.modules[_ADDRESSES] = later
    try:
        yield
    finally:
        del sys.modules[_ADDRESSES]


def _dialect(schema: Json) -> Any:
    """Return the validator of the draft in `$schema`, by default draft 2020-12."""
    library, _ = _library()
    latest = library.Draft202012Validator
    if not isinstance(schema, dict) or not isinstance(schema.get("$schema"), str):
        return latest
    return library.validators.validator_for(schema, default=latest)


def schema_validator(
    schema: Json,
    *,
    unknown_formats: set[str] | None = None,
    checks: Mapping[str, Callable[[str], bool]] | None = None,
) -> Validate:
    """Return the validator of one schema; the schema None allows everything.

    By the standard `format` is an annotation. With a set of `unknown_formats` it is asserted, and
    formats without a known check are added to the set. With `checks`, by format, exactly these
    formats are asserted.
    """
    if schema is None:
        return lambda _: ""
    library, references = _library()
    dialect, formats = _dialect(schema), None
    if unknown_formats is not None:
        formats = dialect.FORMAT_CHECKER
        dialect = _asserting_formats(dialect, unknown_formats)
    elif checks is not None:
        formats = library.FormatChecker(())
        formats.checkers = {name: (_any_value(check), ()) for name, check in checks.items()}
    # The default registry would fetch the target of a `$ref` from the network.
    checker = dialect(schema, registry=references.Registry(), format_checker=formats)

    def complaint(value: Json) -> str:
        error = library.exceptions.best_match(checker.iter_errors(value))
        return "" if error is None else f"{error.message} at {error.json_path}"

    return complaint


class SchemaBreach(Struct, frozen=True):
    """A place in which a value is not as its schema asks."""

    place: str
    """In the value, e.g. `items[0].id`; empty: the value as a whole."""
    keyword: str
    """In the schema, e.g. `properties.days.type`."""
    message: str
    """In jsonschema's words, e.g. `'three' is not of type 'integer'`."""

    def __str__(self) -> str:
        words = one_line(self.message, _LONGEST_BREACH)
        return f"{self.place}: {words}" if self.place else words


MOST_BREACHES = 20
_LONGEST_BREACH = 200
_MOST_REFERENCES = 2000
"""References followed in a check of a stranger's schema."""


def schema_breaches(schema: Json, value: Json, *, trusted: bool = True) -> tuple[SchemaBreach, ...]:
    """Return the first places in which a value is not as its schema asks; formats are not asserted.

    Empty if the schema cannot be applied, such as one with a `$ref` to elsewhere. Of a schema that
    is not `trusted`, whatever may take exponential time is left out: patterns, and all of a schema
    that follows too many references.
    """
    if _is_plain(schema, _PLAIN_DEPTH) and _meets_plainly(schema, value):
        return ()
    library, references = _library()
    dialect = _dialect(schema)
    if not trusted:
        # A part that names a draft of its own would be read by that draft's own validator.
        if msgspec.json.encode(schema).count(b'"$schema"') > 1:
            return ()
        dialect = _in_bounds(dialect)
        _references.set(count(_MOST_REFERENCES, -1))
    # jsonschema's own registry would fetch the target of a `$ref`.
    checker = dialect(schema, registry=references.Registry())
    found: list[SchemaBreach] = []
    try:
        for error in islice(checker.iter_errors(value), MOST_BREACHES):
            inner = library.exceptions.best_match([error])
            place = inner.json_path.removeprefix("$").removeprefix(".")
            path = ".".join(map(str, inner.absolute_schema_path))
            found.append(SchemaBreach(place, path, inner.message))
    except Exception:  # noqa: BLE001 - a schema may be anything, and no call is lost for it
        return ()
    return tuple(found)


_references: ContextVar[count[int]] = ContextVar("references")
"""Counts down the references that a check may still follow."""


@cache
def _in_bounds(dialect: Any) -> Any:
    """Return the validator of a draft without patterns, and with a number of references."""
    follow, others = dialect.VALIDATORS["$ref"], dialect.VALIDATORS["additionalProperties"]

    def reference(checker: Any, name: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if not next(_references.get()):
            raise RecursionError
        yield from follow(checker, name, instance, schema) or ()

    def additional(checker: Any, allowed: Any, instance: Any, schema: Any) -> Iterator[Any]:
        # jsonschema's own check would search every name for these patterns.
        if "patternProperties" not in schema:
            yield from others(checker, allowed, instance, schema) or ()

    bounded: dict[str, Any] = {"$ref": reference, "additionalProperties": additional}
    left_out = (*UNEVALUATED, "pattern", "patternProperties", "$dynamicRef", "$recursiveRef")
    bounded |= {name: _allow_anything for name in left_out if name in dialect.VALIDATORS}
    return _library()[0].validators.extend(dialect, bounded)


def _allow_anything(*_: object) -> tuple[()]:
    return ()


def _asserting_formats(dialect: Any, unknown: set[str]) -> Any:
    """Return the validator of a draft that notes the formats of which it knows nothing."""
    asserted, known = dialect.VALIDATORS["format"], dialect.FORMAT_CHECKER.checkers

    def checked(checker: Any, name: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and name not in known:
            unknown.add(str(name))
        yield from asserted(checker, name, instance, schema) or ()

    return _library()[0].validators.extend(dialect, {"format": checked})


def _any_value(check: Callable[[str], bool]) -> Callable[[object], bool]:
    """Let a check of texts take any value: a format says nothing of others."""
    return lambda value: not isinstance(value, str) or check(value)


def _most_telling(error: Any) -> Any:
    """Return the most specific error: for a list of schemas, the invalid schema's error."""
    library, _ = _library()
    # The meta-schema of `type` is an `anyOf`, and best_match returns the error of one option.
    if error.absolute_path and error.absolute_path[-1] == "type":
        return error
    return library.exceptions.best_match([error])


class SchemaFlaw(Struct, frozen=True):
    """A fault of a schema."""

    path: tuple[str | int, ...]
    """Where in the schema: names, and places in lists, such as `("properties", "city")`."""
    message: str
    """The fault in jsonschema's words, such as `"'city' is not of type 'array'"`."""
    value: Json = None
    """The value at that place, such as `"city"` as the value of `required`."""
    is_no_schema: bool = False
    """Whether a schema is expected there, and the value is not a schema, such as the `"string"` of
    `{"properties": {"city": "string"}}`."""


def schema_flaws(schema: Json) -> Iterator[SchemaFlaw]:
    """Yield the places that are not valid in the draft of a schema, the outermost first.

    Raises RecursionError for one that is nested too deep to be looked at.
    """
    if _is_plain(schema, _PLAIN_DEPTH):
        return
    dialect = _dialect(schema)
    errors = map(_most_telling, dialect(dialect.META_SCHEMA).iter_errors(schema))
    for error in sorted(errors, key=lambda found: (len(found.absolute_path), str(found.json_path))):
        no_schema = error.validator == "type" and error.validator_value == ["object", "boolean"]
        yield SchemaFlaw(tuple(error.absolute_path), error.message, error.instance, no_schema)
