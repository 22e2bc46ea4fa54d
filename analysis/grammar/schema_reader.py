"""Read a JSON Schema for the maker of a grammar: resolved parts, and parts that stand alone.

`SchemaReader` follows references, joins what holds together, and splits unions into options; a part
left to a writer of JSON becomes a schema of its own (`alone`).

A union of two schemas becomes two options, without the reference:

    >>> reader = SchemaReader({"$defs": {"T": {"type": "string"}}})
    >>> reader.options({"anyOf": [{"type": "integer"}, {"$ref": "#/$defs/T"}]})
    [{'type': 'integer'}, {'type': 'string'}]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from autoparser.analysis.core.call_notation import MemberOrder
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.json_types import JsonType, json_type
from autoparser.analysis.core.schema_document import (
    ROOT,
    SchemaDocument,
    schema_place,
)
from autoparser.analysis.core.schema_errors import SchemaError, UnheldKeywordError
from autoparser.analysis.core.schema_keywords import (
    Schema,
    keyword_schemas,
    map_schemas,
    required_names,
    schema_map,
    schema_references,
    without_keywords,
)
from autoparser.analysis.core.schema_parts import ANY, NOTHING, allowed_types, flat_conjunction
from autoparser.analysis.core.schema_validation import schema_validator

from .schema_guidance import has_text
from .schema_options import MOST_OPTIONS, tell_apart
from .schema_satisfiability import may_be_met
from .schema_survey import plain_words
from .string_shape import FORMAT_CHECKS, string_shape

_ROOT = "root"
_UNIONS = ("anyOf", "oneOf")
_UNEVALUATED: Mapping[str, JsonType] = {
    "unevaluatedProperties": JsonType.OBJECT,
    "unevaluatedItems": JsonType.ARRAY,
}
"""Keywords that depend on the schemas around them, and the type of value that they constrain."""


class SchemaReader:
    """Reads the parts of one schema."""

    def __init__(self, root: Json, place: str = "schema") -> None:
        """Store a whole schema; `place` names it in errors."""
        self.document = SchemaDocument.of(root)
        self.place = place

    @property
    def root(self) -> Json:
        """The whole schema, its references as pointers."""
        return self.document.root

    def resolved(self, schema: Json, above: frozenset[str] = frozenset()) -> Schema:
        """Follow references, and join what holds together; true and {} allow everything.

        A part that cannot be joined exactly stays in an ``allOf``.
        """
        if schema is False:
            return NOTHING
        if isinstance(schema, dict) and schema.keys().isdisjoint(_JOINED):
            return schema
        found = self._drop_idle_keywords(_members(schema, self.place))
        if "$ref" in found:
            reference = str(found["$ref"])
            if reference in above:
                raise SchemaError(f"{reference} refers to itself", place=self.place)
            if not found.keys().isdisjoint(_UNEVALUATED):
                # These keywords depend on the referenced schema, so they may not be taken from it.
                return found
            target = self.resolved(self._at(reference), above | {reference})
            found = flat_conjunction(target, without_keywords(found, "$ref"))
        parts = keyword_schemas(found, "allOf")
        if not parts or not found.keys().isdisjoint(_UNEVALUATED):
            return found
        found = without_keywords(found, "allOf")
        for part in parts:
            found = flat_conjunction(found, self.resolved(part, above))
        return found

    def _drop_idle_keywords(self, schema: Schema) -> Schema:
        """Leave out the keywords for members or items of values that have none."""
        looks = [keyword for keyword in _UNEVALUATED if keyword in schema]
        if not looks:
            return schema
        kinds = self.kinds(schema)
        return without_keywords(
            schema, *(keyword for keyword in looks if _UNEVALUATED[keyword] not in kinds)
        )

    def _at(self, reference: str) -> Json:
        # The document does not know its place in the request, which errors name.
        try:
            return self.document.resolve(reference)[0]
        except SchemaError as error:
            raise SchemaError(error.message, place=self.place, hint=error.hint) from None

    def kinds(self, schema: Json) -> frozenset[JsonType]:
        """Return the types that a schema allows; a number may be a whole one."""
        try:
            return allowed_types(schema, self.document)
        except SchemaError as error:
            raise SchemaError(error.message, place=self.place, hint=error.hint) from None

    def options(self, schema: Schema) -> list[Schema]:
        """Split a union: return each option joined with the keywords beside the union.

        The only option of a union is split itself.
        """
        for union in _UNIONS:
            options = keyword_schemas(schema, union) if union in schema else []
            if options:
                if union == "oneOf":
                    tell_apart(options, self.document, schema_place(schema, ROOT))
                beside = without_keywords(schema, union)
                joined = [_beside(beside, self.resolved(option)) for option in options]
                # Keywords next to this union may be joined now that the union is resolved.
                found = [self.resolved(option) for option in joined]
                return found if len(found) > 1 else self.options(found[0])
        return [schema]

    def objects(self, schema: Schema) -> list[Schema]:
        """Split the options that are objects until no union is left; empty if no option is one."""
        options = self.options(schema)
        if len(options) > 1:
            found: list[Schema] = []
            for option in options:
                found += self.objects(option)
                if len(found) > MOST_OPTIONS:
                    raise SchemaError(
                        f"unions that apply at once have more than {MOST_OPTIONS} combinations",
                        place=self.place,
                        hint="write them as one anyOf",
                    )
            return found
        (only,) = options
        if JsonType.OBJECT not in self.kinds(only):
            return []
        self.hold(only, JsonType.OBJECT)
        return [only]

    def only_values(self, schema: Schema, kinds: frozenset[JsonType]) -> list[Json] | None:
        """Return the only values of some types that are allowed, if they are listed."""
        values = [schema["const"]] if "const" in schema else schema.get("enum")
        if not isinstance(values, list):
            return None
        plain = len({"const", "enum"} & schema.keys()) == 1
        if (
            plain
            and schema.keys() - {"const", "enum"} <= _PLAIN
            and all(json_type(value) in kinds for value in values)
        ):
            return values
        # Only the whole schema decides which of the listed values are allowed.
        complaint = schema_validator(self.alone(schema), checks=FORMAT_CHECKS)
        return [value for value in values if _has_type(value, kinds) and not complaint(value)]

    def allows_empty(self, schema: Schema) -> bool:
        """Return whether the object without members meets a schema."""
        if schema.keys() <= _OPEN:
            return not schema.get("required")
        return not schema_validator(self.alone(schema))({})

    def may_be_met(self, schema: Json, levels: int = 4) -> bool:
        """Return whether a value may meet a part of the schema; False only if none does.

        Members of members are asked about down to so many levels.
        """
        if isinstance(schema, bool) or plain_words(schema) is not None:
            return schema is not False
        found = self.resolved(schema)
        if not self.kinds(found) or self.only_values(found, ANY) == []:
            return False
        return may_be_met(self.alone(found)) and self._option_may_be_met(found, levels)

    def _option_may_be_met(self, schema: Schema, levels: int) -> bool:
        """Return whether a value may meet one of a schema's options; True if undecided.

        The options of a reader resolve more than those of a grammar, such as `if` and `not`.
        """
        try:
            options = self.options(schema)
            if options != [schema]:
                return any(self.may_be_met(option, levels) for option in options)
            kinds = self.kinds(schema)
            if kinds == frozenset({JsonType.OBJECT}) and levels:
                members = schema_map(schema, "properties")
                needed = [members[name] for name in required_names(schema) if name in members]
                return all(self.may_be_met(member, levels - 1) for member in needed)
            return kinds != frozenset({JsonType.STRING}) or has_text(string_shape(schema, ROOT))
        except UnheldKeywordError:
            return True

    def hold(self, schema: Schema, kind: JsonType) -> None:
        """Raise SchemaError for a keyword that only JSON's own notation can be held to."""
        for part, keyword in _unheld(schema, kind):
            raise UnheldKeywordError(
                f"{keyword} cannot be enforced in this format's notation of {_PLURALS[kind]}",
                pointer=schema_place(part, ROOT),
                keyword=keyword,
                hint="leave it out",
            )

    def alone(
        self,
        schema: Schema,
        kinds: frozenset[JsonType] | None = None,
        order: MemberOrder = MemberOrder.GIVEN,
    ) -> Json:
        """Return a part as a schema of its own, limited to some types, keys in a format's order."""
        part: dict[str, Json] = dict(schema)
        if kinds is not None and not (kinds >= ANY and "type" not in part):
            names: list[Json] = [str(kind) for kind in _KINDS if kind in kinds]
            if JsonType.NUMBER in kinds and "integer" in names:
                # An integer is a number to JSON Schema, so naming both is redundant.
                names.remove("integer")
            part["type"] = names[0] if len(names) == 1 else names
        references = [*schema_references(part)] if self.document.refers else []
        if references:
            if part == self.root and all(
                reference.startswith(("#/$defs/", "#/definitions/")) for reference in references
            ):
                return _order_members(part, order)
            # The whole schema comes along, under a name to which the references are redirected.
            definitions = {**schema_map(part, "$defs"), _ROOT: self.root}
            return _order_members(
                map_schemas({**part, "$defs": definitions}, _redirect_reference), order
            )
        return _order_members(part, order)


_KINDS = tuple(JsonType)
_JOINED = frozenset({"$ref", "allOf", *_UNEVALUATED})
"""Keywords of the schemas that `resolved` changes."""
_PLAIN = frozenset(
    {"type", "title", "description", "default", "examples", "deprecated", "$comment"}
)
"""Keywords beside the values of a constant that say nothing more of them."""
_OPEN = frozenset(
    {"type", "properties", "required", "additionalProperties", "description", "title", "$defs"}
)
"""Keywords of an object of which ``required`` alone asks for members."""
_CONDITIONS = ("not", "if", "$dynamicRef", "$recursiveRef")
_ARRAYS = ("maxItems", "uniqueItems", "prefixItems", "contains", "unevaluatedItems")
_OBJECTS = (
    *("minProperties", "maxProperties", "patternProperties", "propertyNames"),
    *("dependentRequired", "dependentSchemas", "dependencies", "unevaluatedProperties"),
)
_UNHELD: Mapping[JsonType, tuple[str, ...]] = {
    JsonType.ARRAY: (*_CONDITIONS, *_ARRAYS),
    JsonType.OBJECT: (*_CONDITIONS, *_OBJECTS),
}
_BESIDE: Mapping[JsonType, tuple[str, ...]] = {
    JsonType.ARRAY: ("items", "minItems"),
    JsonType.OBJECT: ("properties", "additionalProperties", "required"),
}
"""Keywords that an ``allOf``, which holds what was not joined, must not have either."""
_PLURALS = {
    kind: {JsonType.BOOLEAN: "true and false", JsonType.NULL: "null"}.get(kind, f"{kind}s")
    for kind in JsonType
}


def _unheld(schema: Schema, kind: JsonType) -> Iterator[tuple[Schema, str]]:
    """Return the keywords that values of a type cannot be held to, each with its schema."""
    for keyword in _UNHELD.get(kind, _CONDITIONS):
        if keyword in schema and not _names_types(keyword, schema[keyword]):
            yield schema, keyword
    if "$ref" in schema or "allOf" in schema:
        # These keywords were not joined to the rest if another keyword depends on them.
        yield from ((schema, keyword) for keyword in _UNEVALUATED if keyword in schema)
    least = schema.get("minItems", 0)
    if kind is JsonType.ARRAY and least not in (0, 1):
        yield schema, "minItems"
    for part in keyword_schemas(schema, "allOf"):
        if isinstance(part, dict):
            yield from (
                (part, union) for union in (*_UNIONS, *_BESIDE.get(kind, ())) if union in part
            )
            yield from _unheld(part, kind)


def _names_types(keyword: str, value: Json) -> bool:
    """Return whether this only says which types a value has not: that is known already."""
    return keyword == "not" and isinstance(value, dict) and value.keys() == {"type"}


def _has_type(value: Json, kinds: frozenset[JsonType]) -> bool:
    # To JSON Schema, 1.0 is an integer.
    whole = isinstance(value, float) and value.is_integer()
    return json_type(value) in kinds or (whole and JsonType.INTEGER in kinds)


def _members(schema: Json, place: str) -> Schema:
    if schema is None or schema is True:
        return {}
    if isinstance(schema, dict):
        return schema
    raise SchemaError(
        f"{schema!r} is not a JSON schema",
        place=place,
        hint='give an object such as {"type": "string"}',
    )


def _beside(schema: Schema, option: Schema) -> Schema:
    """Return an option with the keywords beside its union; what depends on both stays in place."""
    if schema.keys().isdisjoint(_UNEVALUATED):
        return flat_conjunction(schema, option)
    return {**schema, "allOf": [*keyword_schemas(schema, "allOf"), option]}


def _redirect_reference(schema: Schema) -> Schema:
    """Redirect references to the document to its place among the definitions."""
    reference = schema.get("$ref")
    if not isinstance(reference, str) or not reference.startswith("#"):
        return schema
    return {
        keyword: f"#/$defs/{_ROOT}{reference[1:]}" if keyword == "$ref" else value
        for keyword, value in schema.items()
    }


def _order_members(schema: Json, order: MemberOrder) -> Json:
    """Sort the properties of every object into the order in which a format writes them."""
    return (
        schema
        if order is MemberOrder.GIVEN
        else map_schemas(schema, lambda inner: _arrange_properties(inner, order))
    )


def _arrange_properties(schema: Schema, order: MemberOrder) -> Schema:
    """Declare the members of an object in order, with those that are named beside it alone.

    A reader of the schema writes what is declared first: what is only required comes too late.
    """
    properties = schema_map(schema, "properties")
    others = schema.get("additionalProperties", True)
    if others is not False and schema.keys().isdisjoint(_SEES_NAMES):
        properties = {**dict.fromkeys(_named_members(schema), others), **properties}
    if not properties:
        return schema
    return {**schema, "properties": {key: properties[key] for key in order.arrange([*properties])}}


_SEES_NAMES = frozenset(
    {"patternProperties", "unevaluatedProperties", "minProperties", "maxProperties"}
)
"""Keywords that mean or hold something else where one more member is declared."""


def _named_members(schema: Schema) -> Iterator[str]:
    """Return the members that a schema, or a part that holds beside it, declares or requires."""
    yield from schema_map(schema, "properties")
    yield from required_names(schema)
    for keyword in ("allOf", *_UNIONS):
        for part in keyword_schemas(schema, keyword):
            if isinstance(part, dict):
                yield from _named_members(part)
