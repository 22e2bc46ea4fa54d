"""A whole schema as a document, in which references are resolved.

    {"$defs": {"city": {"type": "string"}}, "$ref": "#/$defs/city"}

Here `SchemaDocument.resolve("#/$defs/city")` is `({"type": "string"}, "#/$defs/city")`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, cached_property
from importlib import import_module
from importlib.machinery import PathFinder
from itertools import count, islice, takewhile
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from .conversation import Json
from .errors import one_line
from .schema_keywords import (
    BY_NAME,
    VALUES,
    JsonType,
    Schema,
    SchemaError,
    keys_within,
    map_schemas,
    pointer_below,
    schemas_of,
    type_of,
    without_keywords,
)

if TYPE_CHECKING:
    from referencing import Specification
    from referencing._core import Resolver


# A schema in which every reference is a JSON pointer from its root.
#
# Anchors and schemas with ids of their own are looked up by `referencing`; nothing is fetched.


ROOT = "#"
_NAMES = ("$id", "$anchor", "$dynamicAnchor")
REFERRING = frozenset({"$ref", *_NAMES})
"""Keywords of references and names; a schema without them needs no resolution."""


def is_pointer(reference: str) -> bool:
    """Return whether a reference is a JSON pointer into its own document."""
    return reference == ROOT or reference.startswith("#/")


def with_pointers(root: Json) -> Json:
    """Return the schema with every reference as a pointer from its root.

    References without a target stay unchanged.
    """
    if not isinstance(root, dict) or not _has_names(root):
        return root
    try:
        return _ReferenceRewriter(root).rewrite(root)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        # Some part of the schema is invalid; the reader of that part reports it.
        return root


def _has_names(root: Schema) -> bool:
    """Return whether a reference may be something else than a pointer from the root."""
    waiting: list[Json] = [root]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            reference = value.get("$ref")
            if isinstance(reference, str) and not is_pointer(reference):
                return True
            # An anchor or an id of the root changes no pointer from the root.
            named = value is not root and not value.keys().isdisjoint(_NAMES)
            if named and any(isinstance(value.get(name), str) for name in _NAMES):
                return True
            waiting += [inner for inner in value.values() if isinstance(inner, dict | list)]
    return False


class _ReferenceRewriter:
    """Resolves references before the names that they refer to are removed."""

    def __init__(self, root: Schema) -> None:
        # Imported here: importing them takes longer than reading most schemas.
        from referencing import Registry, Resource  # noqa: PLC0415
        from referencing.jsonschema import DRAFT202012, specification_with  # noqa: PLC0415

        self.places: dict[int, str] = {}
        self._find(root, ROOT)
        dialect = root.get("$schema")
        self.specification: Specification[Any] = DRAFT202012
        if isinstance(dialect, str):
            self.specification = specification_with(dialect, default=DRAFT202012)
        resource: Resource[Json] = self.specification.create_resource(root)
        registry: Registry[Json] = Registry[Json]().with_resource("", resource)
        self.resolver = registry.resolver_with_root(resource)

    def _find(self, value: Json, pointer: str) -> None:
        """Record the pointer of every container."""
        if isinstance(value, dict):
            # One object may be in several places, as with an anchor in YAML: any of them serves.
            self.places.setdefault(id(value), pointer)
            for key, inner in value.items():
                self._find(inner, pointer_below(pointer, key))
        elif isinstance(value, list):
            for at, inner in enumerate(value):
                self._find(inner, pointer_below(pointer, at))

    def rewrite(self, schema: Json, resolver: Resolver[Json] | None = None) -> Json:
        """Return a schema with its references as pointers, and without its names."""
        resolver = resolver or self.resolver
        if isinstance(schema, list):
            return [self.rewrite(inner, resolver) for inner in schema]
        if not isinstance(schema, dict):
            return schema
        if isinstance(schema.get("$id"), str):
            resolver = resolver.in_subresource(self.specification.create_resource(schema))
        found = {
            keyword: self._inside(keyword, value, resolver)
            for keyword, value in schema.items()
            if keyword not in _NAMES or not isinstance(value, str)
        }
        reference = found.get("$ref")
        return self._point(found, reference, resolver) if isinstance(reference, str) else found

    def _inside(self, keyword: str, value: Json, resolver: Resolver[Json]) -> Json:
        if keyword in VALUES:
            return value
        if keyword in BY_NAME and isinstance(value, dict):
            return {name: self.rewrite(inner, resolver) for name, inner in value.items()}
        return self.rewrite(value, resolver)

    def _point(self, schema: Schema, reference: str, resolver: Resolver[Json]) -> Schema:
        from referencing.exceptions import Unresolvable  # noqa: PLC0415

        try:
            target = resolver.lookup(reference).contents
        except Unresolvable:
            return schema
        if isinstance(target, bool):
            # `true` and `false` have no identity by which to find their place, and need none.
            others = schema.get("allOf")
            del schema["$ref"]
            return {**schema, "allOf": [*(others if isinstance(others, list) else []), target]}
        return {**schema, "$ref": self.places.get(id(target), reference)}


# The places of the parts of a schema before they were joined, moved and taken apart.
#
# It costs a second reading of the schema, with the places written into it, so only errors do it.


_PLACE = "x-place"
"""The keyword for a schema's pointer; no keyword of the standard begins with `x-`."""


def with_places(schema: Json, pointer: str = ROOT) -> Json:
    """Return a schema in which every schema that is an object has its pointer as a keyword."""
    if isinstance(schema, list):
        return [with_places(inner, pointer_below(pointer, at)) for at, inner in enumerate(schema)]
    if not isinstance(schema, dict):
        return schema
    found: Schema = {
        keyword: _inside(keyword, value, pointer_below(pointer, keyword))
        for keyword, value in schema.items()
    }
    return {**found, _PLACE: pointer}


def _inside(keyword: str, value: Json, pointer: str) -> Json:
    if keyword in VALUES or keyword == "dependentRequired":
        return value
    if keyword in (*BY_NAME, "dependencies") and isinstance(value, dict):
        return {
            name: with_places(inner, pointer_below(pointer, name)) for name, inner in value.items()
        }
    return with_places(value, pointer)


def schemas_in(schema: Json) -> Iterator[tuple[Schema, str]]:
    """Return the schemas that are objects in a schema, and itself, each with its pointer."""
    found: list[tuple[Schema, str]] = []

    def note(part: Schema) -> Json:
        if _PLACE in part:
            found.append((part, schema_place(part, ROOT)))
        return part

    map_schemas(with_places(schema), note)
    yield from found


def schema_place(schema: Schema, otherwise: str) -> str:
    """Return the recorded pointer of a schema, or `otherwise` if it has none."""
    place = schema.get(_PLACE)
    return place if isinstance(place, str) else otherwise


# Most tools have plain schemas, and most arguments meet them: jsonschema, which takes longer to
# import than an output to parse, is asked about all others.


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
    if kind not in (None, found := type_of(value), found is JsonType.INTEGER and "number"):
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


# Validation of schemas, and of values by them, with jsonschema; nothing is fetched.


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
    left_out = (*_UNEVALUATED, "pattern", "patternProperties", "$dynamicRef", "$recursiveRef")
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


# A schema with a keyword left out, so that it allows all that it allowed before, and more.


_WITH: Mapping[str, tuple[str, ...]] = {
    "if": ("then", "else"),
    "contains": ("minContains", "maxContains"),
    "properties": ("additionalProperties",),
    "patternProperties": ("additionalProperties",),
    "prefixItems": ("items", "additionalItems"),
}
"""Keywords that would say more, or nothing, without another one."""
_UNEVALUATED = ("unevaluatedProperties", "unevaluatedItems")
_SEEN = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}) | {
    *("contains", "properties", "patternProperties", "prefixItems", "items", "$dynamicRef")
}
"""Keywords that the ``unevaluated`` ones look at."""
_LOOSE = "x-loose"
"""The keyword that holds those that a grammar is held to in part; the standard knows none such."""
_IN_PART = frozenset({"additionalProperties"})
"""Keywords that allow what would not be allowed without them."""

_IN_PLACE = frozenset({"$ref", "allOf", "anyOf"})
"""Keywords by which other schemas may name members of the same value."""
_NAMING = frozenset({"properties", "$ref"})
_VALUES = ("const", "enum")
"""Keywords that list values: of which types these are is still said without them."""


def nearest_place(schema: Json, keyword: str, pointer: str) -> str:
    """Return where a keyword stands, as near as it goes to a place; empty where it is nowhere.

    What was joined of several schemas knows the place of one of them only.
    """
    places = [pointer_below(at, keyword) for part, at in schemas_in(schema) if keyword in part]
    return max(places, key=lambda place: (_shared_tokens(place, pointer), -len(place)), default="")


def _shared_tokens(first: str, second: str) -> int:
    pairs = zip(first.split("/"), second.split("/"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def without_keyword(schema: Json, pointer: str, instead: Schema | None = None) -> Json:
    """Return a schema without the keyword at a pointer; the same one where nothing is there.

    Those of `instead` take its place if none of them is there. What allows members that have no
    name stays, and is said to be held to in part: `is_loose`.
    """
    place, _, token = pointer.rpartition("/")
    # `~1` first, as RFC 6901 demands: `~01` stands for `~1`, not for `/`.
    keyword = token.replace("~1", "/").replace("~0", "~")

    def changed(part: Schema) -> Schema:
        rest = _without_own(part, keyword)
        return rest if instead is None or instead.keys() & rest.keys() else {**rest, **instead}

    found = _change_at(schema, "#", place, changed)
    if keyword in _SEEN:
        # Loosen these, too: they apply to the members that other keywords leave, of which there
        # would now be more.
        found = map_schemas(found, lambda part: without_keywords(part, *_UNEVALUATED))
    return found


def _change_at(value: Json, at: str, place: str, change: Callable[[Schema], Json]) -> Json:
    """Change the schema at a place."""
    if at == place:
        return change(value) if isinstance(value, dict) else value

    def inner(key: str | int, part: Json) -> Json:
        return _change_at(part, pointer_below(at, key), place, change)

    if not place.startswith(f"{at}/"):
        return value
    if isinstance(value, dict):
        return {key: inner(key, part) for key, part in value.items()}
    return [inner(*item) for item in enumerate(value)] if isinstance(value, list) else value


def is_loose(schema: Schema, keyword: str) -> bool:
    """Whether a grammar may take more than a keyword of this schema allows."""
    return keyword in schemas_of(schema, _LOOSE)


def _without_own(schema: Schema, keyword: str) -> Schema:
    if keyword in _IN_PART and not is_loose(schema, keyword):
        return {**schema, _LOOSE: [keyword]}
    if keyword == "oneOf" and keyword in schema:
        union_schema: Schema = {"anyOf": schema["oneOf"]}
        rest = without_keywords(schema, "oneOf")
        return {**rest, **union_schema} if "anyOf" not in rest else {"allOf": [rest, union_schema]}
    rest = without_keywords(schema, keyword, *_WITH.get(keyword, ()))
    if keyword in _VALUES and schema.get(keyword) != [] and "type" not in rest:
        # State the type: if any value is allowed, a text without quotes cannot begin like a list.
        listed = schema.get(keyword)
        values = listed if keyword == "enum" and isinstance(listed, list) else [listed]
        kinds: list[Json] = [*sorted({str(type_of(value)) for value in values})]
        return {**rest, "type": kinds}
    # Be explicit: a notation that writes names twice closes an object that is silent about it.
    opened = "additionalProperties" in _WITH.get(keyword, ()) and "additionalProperties" in schema
    keywords = {keyword, *keys_within(schema.get(keyword))}
    names = keyword in _IN_PLACE and not keywords.isdisjoint(_NAMING)
    if opened or (names and "additionalProperties" not in rest):
        return {**rest, "additionalProperties": True}
    return rest


class SchemaDocument(Struct, frozen=True, dict=True):
    """The whole schema; every reference in it that leads anywhere is a pointer from its root."""

    root: Json
    """The schema, such as `{"type": "object", "properties": {"city": {"type": "string"}}}`."""
    refers: bool = True
    """Whether anything in it may refer to another place, such as `{"$ref": "#/$defs/city"}`."""

    @cached_property
    def known_kinds(self) -> dict[str, frozenset[JsonType]]:
        """The types that were found after a reference."""
        return {}

    @classmethod
    def of(cls, schema: Json) -> SchemaDocument:
        """Read a schema that may refer to itself by pointers, anchors and ids."""
        keys = keys_within(schema)
        root = schema if keys.isdisjoint(REFERRING) else with_pointers(schema)
        return cls(root, refers="$ref" in keys)

    def resolve(self, reference: str, pointer: str = "") -> tuple[Json, str]:
        """Follow a ``$ref`` that stands in the schema at `pointer`: the schema and its pointer.

        Raises SchemaError for one that leaves the document or leads nowhere.
        """
        if not is_pointer(reference):
            raise SchemaError(
                f"$ref {reference!r} leaves the schema; nothing is fetched",
                pointer=pointer,
                keyword="$ref",
                hint="give a JSON pointer into the schema, such as #/$defs/name",
            )
        found = self.root
        place = ROOT
        for token in _pointer_tokens(reference):
            inner = _member_at(found, token)
            if inner is None:
                raise SchemaError(
                    f"$ref {reference!r} leads nowhere: {place} has no {token!r}",
                    pointer=pointer,
                    keyword="$ref",
                )
            found, place = inner[0], pointer_below(place, token)
        if not isinstance(found, dict | bool):
            raise SchemaError(
                f"$ref {reference!r} leads to no schema", pointer=pointer, keyword="$ref"
            )
        return found, place


def _pointer_tokens(reference: str) -> Iterator[str]:
    # A reference is the fragment of a URI, which may be percent-encoded.
    for token in unquote(reference[1:]).split("/")[1:]:
        yield token.replace("~1", "/").replace("~0", "~")


def _member_at(value: Json, token: str) -> tuple[Json] | None:
    """Return the value of a container's key or index, as a tuple of one, or None if it has none."""
    if isinstance(value, dict) and token in value:
        return (value[token],)
    # RFC 6901 allows no leading zeros in an index.
    if isinstance(value, list) and re.fullmatch(r"0|[1-9]\d*", token) and int(token) < len(value):
        return (value[int(token)],)
    return None
