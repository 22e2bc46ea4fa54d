"""Flat schemas: keywords that speak of one value alone, in one spelling each.

A flat schema holds `type` as a list, `enum` (also for `const`), `prefixItems` and `items` (also
for the older list of `items` with `additionalItems`), and no keyword that says nothing.
"""

from __future__ import annotations

from autoparser.analysis.core.schema import Schema, identity

from .string_formats import PATTERNS, UNHELD

STRING = ("minLength", "maxLength", "pattern", "format")
NUMBER = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
ARRAY = ("prefixItems", "items", "minItems", "maxItems", "uniqueItems")
OBJECT = (
    "properties",
    "required",
    "additionalProperties",
    "patternProperties",
    "propertyNames",
    "minProperties",
    "maxProperties",
)
KEYWORDS = frozenset({"type", "enum", *STRING, *NUMBER, *ARRAY, *OBJECT})
"""The keywords of a flat schema."""

_EVALUATED = {"unevaluatedProperties": "additionalProperties", "unevaluatedItems": "items"}
"""Without schemas for the same value beside them, these mean the same as those."""


def tidied(schema: Schema) -> Schema:
    """Return a schema's own keywords as a flat schema, without the schemas it points to."""
    found = dict(schema)
    if isinstance(items := found.get("items"), list):
        del found["items"]
        found["prefixItems"] = items
        if "additionalItems" in found:
            found["items"] = found["additionalItems"]
    for keyword, meant in _EVALUATED.items():
        if keyword in found:
            found.setdefault(meant, found[keyword])
    if isinstance(kind := found.get("type"), str):
        found["type"] = [kind]
    if "const" in found:
        value = found["const"]
        values = found.get("enum", [value])
        known = {identity(item) for item in values} if isinstance(values, list) else set[str]()
        found["enum"] = [value] if identity(value) in known else []
    if found.get("format") not in (*PATTERNS, *UNHELD):
        found.pop("format", None)
    return {keyword: value for keyword, value in found.items() if keyword in KEYWORDS}
