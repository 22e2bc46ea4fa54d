"""Decide whether any value can meet a schema, for every writer of grammars.

    >>> text = {"type": "string", "minLength": 5, "maxLength": 2}
    >>> may_be_met(text)
    False
    >>> may_be_met({"type": "object", "properties": {"a": text}})
    True
    >>> may_be_met({"type": "object", "properties": {"a": text}, "required": ["a"]})
    False

A part that no value meets must not be written: an optional member is left out, a model under the
grammar of a required one could never finish. The answer is False only if it is certain.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property, lru_cache

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema_document import (
    ROOT,
    SchemaDocument,
)
from autoparser.analysis.core.schema_errors import SchemaError, UnheldKeywordError, pointer_below
from autoparser.analysis.core.schema_keywords import (
    Schema,
    keyword_count,
    keyword_schemas,
    required_names,
    schema_map,
)
from autoparser.analysis.core.schema_loosened import (
    keyword_places,
    nearest_place,
    without_keyword,
)
from autoparser.analysis.core.schema_parts import shortest_conjunction

from .schema_guidance import has_text
from .schema_numbers import has_number
from .schema_options import Option, Resolver, meets_schema
from .schema_survey import TYPES, all_plain, plain_words, survey_schema
from .string_shape import StringShape, string_shape

DEEPEST = 60
"""Maximum nesting of values, recursion apart."""


class NamedMembers:
    """The schemas of an object's members by their names, from a flat schema."""

    def __init__(self, schema: Schema, pointer: str, resolver: Resolver) -> None:
        self.properties = schema_map(schema, "properties")
        self.patterns = schema_map(schema, "patternProperties")
        self.additional = schema.get("additionalProperties", True)
        self.names = schema.get("propertyNames", True)
        """The schema of every name, e.g. ``{"pattern": "^x-"}``."""
        self.pointer = pointer
        self._flat = resolver.flat
        self.required = required_names(schema)

    @property
    def other_place(self) -> tuple[Json, str]:
        """The schema of all members that it does not name, and its pointer."""
        return self.additional, pointer_below(self.pointer, "additionalProperties")

    @property
    def name_schema(self) -> Json:
        """The schema of their names, as strings."""
        return shortest_conjunction({"type": "string"}, self.names)

    @cached_property
    def known(self) -> list[str]:
        """All names that the schema lists, in its order."""
        return list(dict.fromkeys([*self.properties, *self.required, *self.listed]))

    @cached_property
    def listed(self) -> list[str]:
        """All names that are allowed, if `propertyNames` lists them; otherwise empty."""
        options = [] if self.patterns else self._flat(self.names)
        if not options or not all("enum" in option for option in options):
            return []
        names = [name for option in options for name in keyword_schemas(option, "enum")]
        return [name for name in names if isinstance(name, str)]

    def member_schema(self, name: str) -> tuple[Json, str]:
        """Return the schema of a known member's value and its pointer; False if none is allowed."""
        if not self.is_name(name):
            return False, self.pointer
        schemas = [self.properties[name]] if name in self.properties else []
        # A declared name may match a pattern, too: both hold.
        schemas += [self.patterns[source] for source in self.patterns if self.matches(name, source)]
        if not schemas:
            return self.other_place
        return shortest_conjunction(*schemas), pointer_below(self.pointer, "properties", name)

    def is_name(self, name: str) -> bool:
        """Return whether `propertyNames` allows a name."""
        return any(meets_schema(name, option, self._flat) for option in self._flat(self.names))

    def matches(self, name: str, source: str) -> bool:
        """Return whether a name matches a pattern of `patternProperties`."""
        return meets_schema(name, {"pattern": source}, self._flat)


class Satisfiability:
    """Decides this for the flat schemas of one document."""

    def __init__(
        self, resolver: Resolver, hold: Callable[[StringShape], None] = lambda _: None
    ) -> None:
        """Store the resolver; `hold` raises for a string that a writer cannot hold to its shape."""
        self._resolver = resolver
        self._hold = hold
        self._known: dict[str, bool] = {}
        """The answers that hold wherever the schema occurs."""
        self._cuts = 0
        """How often a schema was met inside itself, where a value must not hold it again."""

    def is_certain(self, option: Option) -> bool:
        """Return whether it is certain that no value meets an option."""
        try:
            return not self.option(option)
        except SchemaError:
            # The writer raises the same error when it reaches the keyword.
            return False

    def schema(self, schema: Json, pointer: str, above: frozenset[str] = frozenset()) -> bool:
        """Return whether a value meets a schema and holds none of the flat schemas `above`.

        Raises UnheldKeywordError for a keyword that leaves it open.
        """
        return any(self.option(option, above) for option in self._resolver.options(schema, pointer))

    def option(self, option: Option, above: frozenset[str] = frozenset()) -> bool:
        """Return whether a value meets a flat schema; takes and raises the same as `schema`."""
        if not option.schema:
            return True
        key = json.dumps(option.schema)
        if key in self._known:
            return self._known[key]
        if key in above:
            self._cuts += 1
            return False
        if len(above) > DEEPEST:
            raise SchemaError(f"more than {DEEPEST} levels deep", pointer=option.pointer)
        cuts = self._cuts
        found = self._flat(option, above | {key})
        if found or cuts == self._cuts:
            # If the search was cut short, False holds only here.
            self._known[key] = found
        return found

    def _flat(self, option: Option, above: frozenset[str]) -> bool:
        schema = option.schema
        if "enum" in schema:
            # Without the enum, which would compare each value with all of them.
            others = {keyword: held for keyword, held in schema.items() if keyword != "enum"}
            values = keyword_schemas(schema, "enum")
            return any(meets_schema(value, others, self._resolver.flat) for value in values)
        # Try types without nested values first, which are the fastest.
        kinds = sorted(
            map(str, keyword_schemas(schema, "type") or TYPES), key=TYPES.index, reverse=True
        )
        return any(self._type_holds(kind, option, above) for kind in kinds)

    def _type_holds(self, kind: str, option: Option, above: frozenset[str]) -> bool:
        schema, pointer = option.schema, option.pointer
        match kind:
            case "null" | "boolean":
                return True
            case "string":
                return self._string(string_shape(schema, pointer))
            case "array":
                return self._array(schema, pointer, above)
            case "object":
                return self._object(schema, pointer, above)
            case _:
                return has_number(schema, whole=kind == "integer")

    def _string(self, shape: StringShape) -> bool:
        self._hold(shape)
        try:
            return shape.single() is not None
        except UnheldKeywordError:
            # Several expressions have to match at once: llguidance intersects them.
            return has_text(shape)

    def _array(self, schema: Schema, pointer: str, above: frozenset[str]) -> bool:
        """Return whether an array of the least length meets a schema."""
        least, most = keyword_count(schema, "minItems") or 0, keyword_count(schema, "maxItems")
        if most is not None and most < least:
            return False
        needed = [
            (item, pointer_below(pointer, "prefixItems", index))
            for index, item in enumerate(keyword_schemas(schema, "prefixItems")[:least])
        ]
        # One item stands for all behind the prefix, since they have one schema.
        if least > len(needed):
            needed.append((schema.get("items", True), pointer_below(pointer, "items")))
        return all(self.schema(item, place, above) for item, place in needed)

    def _object(self, schema: Schema, pointer: str, above: frozenset[str]) -> bool:
        """Return whether an object with the required members, and with enough of them, exists."""
        members = NamedMembers(schema, pointer, self._resolver)
        required = dict.fromkeys(members.required)
        least = keyword_count(schema, "minProperties") or 0
        most = keyword_count(schema, "maxProperties")
        if most is not None and most < max(least, len(required)):
            return False
        if not all(self.schema(*members.member_schema(name), above) for name in required):
            return False
        # The number of members that are still missing for `minProperties`.
        room = least - len(required)
        if room <= 0:
            return True
        optional = (name for name in members.known if name not in required)
        room -= sum(self.schema(*members.member_schema(name), above) for name in optional)
        # Names can be made up without limit.
        return room <= 0 or self._has_others(members, above)

    def _has_others(self, members: NamedMembers, above: frozenset[str]) -> bool:
        """Return whether an object may have members that its schema does not list."""
        if members.listed or not self.schema(members.name_schema, members.pointer, above):
            return False
        places = [members.other_place]
        place = pointer_below(members.pointer, "patternProperties")
        places += [(held, pointer_below(place, key)) for key, held in members.patterns.items()]
        return any(self.schema(*schema, above) for schema in places)


_AS_JSON = json.JSONEncoder(ensure_ascii=False).encode
_MOST_LEFT_OUT = 20
"""Keywords that are left out of one schema, one after the other, before it counts as undecided."""


def may_be_met(schema: Json) -> bool:
    """Return whether a value may meet a schema of its own; False only if none does.

    Raises SchemaError for a schema that is malformed.
    """
    if isinstance(schema, bool):
        return schema
    if plain_words(schema) is not None:
        return True
    return _may_be_met(_AS_JSON(schema))


@lru_cache(maxsize=2048)
def _may_be_met(schema_text: str) -> bool:
    """Return False only if no value is valid; keywords that cannot be judged are left out."""
    document = SchemaDocument.of(json.loads(schema_text))
    if all_plain(document):
        return True
    for _ in range(_MOST_LEFT_OUT):
        try:
            survey_schema(document)
            return Satisfiability(Resolver(document)).schema(document.root, ROOT)
        except UnheldKeywordError as error:
            # A value that meets the schema also meets the rest of it.
            places = keyword_places(document.root, error.keyword)
            pointer = nearest_place(places, error.pointer)
            if not pointer:
                return True
            document = SchemaDocument.of(without_keyword(document.root, pointer))
        except SchemaError:
            # Too deep, or too many choices: undecided.
            return True
    return True
