r"""Rewrite a schema for llguidance's ``%json``, so that it holds as the standard says.

    schema -> guidance_schema -> GuidanceSchema -> ensure_loaded asks llguidance about the rest

Measured with llguidance 1.9.1: it refuses a whole grammar for an unknown keyword or format,
whatever it says; it takes `\d` and `.` as Rust does; it accepts a leap second as a time; it counts
members only if all that are named are required, and counts a repeated name twice. So patterns and
formats are written out, a ``oneOf`` whose schemas exclude each other becomes an ``anyOf``, and
what it still cannot hold is an error.

Each character of counted text takes states of its lexer, which allows 250,000 for a whole answer
and then cuts that answer: in JSON strings up to 7.6 a character with Qwen's vocabulary and 8.7 with
DeepSeek's, so it is asked to count to 20,000.
"""

from __future__ import annotations

import json
import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from threading import Lock

from msgspec import Struct

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema_document import ROOT, SchemaDocument, schema_place
from autoparser.analysis.core.schema_errors import SchemaError, UnheldKeywordError, raise_refused
from autoparser.analysis.core.schema_keywords import (
    Schema,
    keyword_count,
    keyword_schemas,
    map_schemas,
    required_names,
    schema_map,
    schema_references,
    without_keywords,
)

from .regex_nodes import Regex, rust_regex
from .schema_numbers import number_interval
from .schema_options import tell_apart
from .schema_survey import (
    IN_PLACE,
    STRING_KEYWORDS,
    UNEVALUATED,
    UNWRITABLE,
    is_plain,
    plain_words,
    reachable_schemas,
    unwritable_keyword,
)
from .string_shape import StringShape, ensure_counted, string_shape

# Schemas that llguidance does not load: none is checked twice.


_MOST = 4096
KNOWN: OrderedDict[str, str] = OrderedDict()
"""Cached answers for the latest schemas; empty if llguidance loads them."""
_LOCK = Lock()


def schema_refusals(schemas: Iterable[str]) -> Mapping[str, str]:
    """Return llguidance's refusals of the schemas, as JSON texts, that it does not load."""
    found: dict[str, str] = {}
    for schema in dict.fromkeys(schemas):
        known = KNOWN.get(schema)
        found[schema] = guidance_refusal(schema) if known is None else known
    with _LOCK:
        for schema, why in found.items():
            KNOWN[schema] = why
            KNOWN.move_to_end(schema)
        while len(KNOWN) > _MOST:
            KNOWN.popitem(last=False)
    return {schema: why for schema, why in found.items() if why}


def guidance_refusal(schema: str) -> str:
    """Return llguidance's refusal of a schema; empty if it loads it.

    Only as a grammar of its own does a schema cost little: before llguidance reads any Lark, it
    takes a millisecond, ten times as long as most schemas.
    """
    from llguidance import LLMatcher  # noqa: PLC0415 - it takes longer to import than to ask

    grammar = LLMatcher.grammar_from_json_schema(schema)
    is_error, messages = LLMatcher.validate_grammar_with_warnings(grammar)
    return str(messages[0]).strip() if is_error and messages else ""


ESCAPES = "json_allow_general_unicode_escapes"
"""Any character of a JSON string may be an escape; llguidance 1.7.6 does not know the option."""


@cache
def knows_guidance_option(name: str) -> bool:
    """Return whether the installed llguidance has an option of ``x-guidance`` that is a switch.

    It refuses a whole grammar for an option that it does not know, and engines pin its version.
    """
    return not guidance_refusal(_AS_JSON({"type": "string", "x-guidance": {name: True}}))


_AS_JSON = json.JSONEncoder(ensure_ascii=False).encode
_STRICTLY = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_UNWRITABLE: Mapping[str, str] = {
    **UNWRITABLE,
    "propertyNames": "llguidance does not support it",
    "minContains": "items would have to be counted by kind",
    "maxContains": "items would have to be counted by kind",
}


class GuidanceSchema(Struct, frozen=True):
    """A schema in keywords that llguidance holds, and what decides whether it loads it."""

    text: str
    """The schema as JSON, its values the same, e.g. `{"type": "string", "minLength": 3, "pattern":
    "^(?:(?:a){1,})$"}`."""
    source_text: str = ""
    """The schema as it was given, e.g. `{"type": "integer", "multipleOf": 5}`, if its keywords
    alone do not settle that."""
    questions: tuple[str, ...] = ()
    """Parts of it: if llguidance loads each of them, it loads the whole, e.g. (`{"type": "integer",
    "multipleOf": 5}`,)."""


def guidance_schema(schema: Json) -> GuidanceSchema:
    """Return a schema in keywords that llguidance holds; `ensure_loaded` asks about the rest.

    Raises UnheldKeywordError for a keyword that it cannot be held to, and SchemaError for a schema
    that is malformed.
    """
    words = plain_words(schema)
    # A plain schema stays as it is, unless it counts a long text.
    if words is not None and words.isdisjoint(_LOOKED_AT):
        try:
            text = _json_text(schema)
        except (TypeError, ValueError):
            text = ""  # the call below reports the place
        if text and not _LONG.search(text):
            return GuidanceSchema(text)
    return _guidance_schema(_AS_JSON(schema))


def _json_text(schema: Json) -> str:
    """Return it as JSON; raises ValueError for what JSON or UTF-8 cannot say."""
    text = _STRICTLY(schema)
    if not text.isascii():
        text.encode()
    return text


@lru_cache(maxsize=2048)
def _guidance_schema(source_text: str) -> GuidanceSchema:
    """Convert a schema for llguidance, and collect the parts that only llguidance can judge.

    Raises UnheldKeywordError for all keywords that it cannot enforce, at once.
    """
    document = SchemaDocument.of(json.loads(source_text))
    unsettled: list[Json] = []
    refused: list[tuple[str, SchemaError]] = []
    for schema, pointer in reachable_schemas(document, skips=_stays):
        try:
            _hold(schema, pointer, document)
        except UnheldKeywordError as error:
            error.source_text = source_text
            refused.append(("", error))
        if not is_plain(schema):
            unsettled.append(schema)
    raise_refused(refused)
    root, *written = (
        map_schemas(part, _guidance_form, keeps=_stays) for part in (document.root, *unsettled)
    )
    text = _AS_JSON(root)
    # Without a length that its pattern has anyway, a part may be plain.
    unsettled = [part for part in written if not (isinstance(part, dict) and is_plain(part))]
    # A part with a reference means nothing without the rest of the schema.
    if any(reference for part in unsettled for reference in schema_references(part)):
        return GuidanceSchema(text, source_text, (text,))
    return GuidanceSchema(text, source_text, tuple(dict.fromkeys(map(_AS_JSON, unsettled))))


def _stays(schema: Schema) -> bool:
    """Return whether llguidance can take a schema unchanged, inner schemas included."""
    words = plain_words(schema)
    return words is not None and words.isdisjoint(_STAYS_NOT)


def ensure_loaded(schemas: Sequence[GuidanceSchema], tools: Sequence[str] = ()) -> None:
    """Raise SchemaError for the first schema that llguidance does not load: no value meets it.

    `tools` has the owner of each schema; the error names all whose schemas are refused, and comes
    with those of the first one's other schemas.
    """
    refused = schema_refusals([part for schema in schemas for part in schema.questions])
    # The refused part may be an optional member without a valid value, so check the whole schema.
    whole = {
        schema.text: _undecided(schema, refused)
        for schema in schemas
        if not refused.keys().isdisjoint(schema.questions)
    }
    whole.update(schema_refusals([text for text, why in whole.items() if not why]))
    owners = tools or [""] * len(schemas)
    pairs = zip(owners, schemas, strict=True)
    refusing = [(owner, schema) for owner, schema in pairs if whole.get(schema.text)]
    if refusing:
        own = dict.fromkeys(schema for owner, schema in refusing if owner == refusing[0][0])
        error, *others = (_refusal_error(schema, whole[schema.text]) for schema in own)
        error.more += tuple(also for other in others for also in (other, *other.more))
        error.tools = tuple(dict.fromkeys(owner for owner, _ in refusing if owner))
        raise error


def _undecided(schema: GuidanceSchema, refused: Mapping[str, str]) -> str:
    """Return the refusal of a text that llguidance gives up on; empty if the whole may still load.

    It gives up in the same way on all that the text is a part of, unless another schema for the
    same text excludes what it would try.
    """
    if any(f'"{keyword}"' in schema.text for keyword in IN_PLACE):
        return ""
    found = (refused.get(part, "") for part in schema.questions)
    return next((why for why in found if why.startswith(_GIVES_UP)), "")


_GIVES_UP = "Unable to determine if regex is empty"


@lru_cache(maxsize=512)
def has_text(shape: StringShape) -> bool:
    """Return whether a text meets a shape, where several expressions have to match it at once.

    Raises UnheldKeywordError if llguidance cannot tell: nor would it load such a grammar.
    """
    if shape.most is not None and shape.most < shape.least:
        return False
    if len(shape.regexes) < 2:  # noqa: PLR2004 - one expression always matches something
        return True
    why = _refusal_of(shape.regexes)
    if not why or "Unsatisfiable" in why:
        return not why
    bound = "minLength" if shape.most is None else "maxLength"
    keyword = shape.keywords[1] if _refusal_of(shape.patterns) else bound
    raise unwritable_keyword(keyword, shape.pointer, _UNTOLD)


def _refusal_of(regexes: Sequence[Regex]) -> str:
    """Return why llguidance cannot match one text by all expressions; empty if it can."""
    parts: list[Json] = [{"pattern": f"^(?:{rust_regex(regex)})$"} for regex in regexes]
    return "".join(schema_refusals([_AS_JSON({"type": "string", "allOf": parts})]).values())


def _refusal_error(refused: GuidanceSchema, refusal: str) -> SchemaError:
    """Return the error for llguidance's refusal: no value is left, or a keyword is too much."""
    document = SchemaDocument.of(json.loads(refused.source_text))
    root = document.root
    place = schema_place(root, ROOT) if isinstance(root, dict) else ROOT
    if "Unsatisfiable" in refusal:
        return SchemaError("no value satisfies this schema", pointer=place)
    untold: list[UnheldKeywordError] = []
    for schema, pointer in reachable_schemas(document, skips=_stays):
        own = {keyword: schema[keyword] for keyword in _STRINGS if keyword in schema}
        why = "" if is_plain(own) else _refusal_of_text(own)
        # An optional member may be one that no value meets.
        if not why or (untold and "Unsatisfiable" in why):
            continue
        # Ask llguidance for the least to leave out: one keyword whose removal alone is enough.
        without = ((word, without_keywords(own, word)) for word in reversed(own))
        alone = (word for word, others in without if not _refusal_of_text(others))
        keyword = next(alone, next(iter(own)))
        untold.append(unwritable_keyword(keyword, pointer, _UNTOLD))
        untold[-1].source_text = refused.source_text
    if not untold:
        return SchemaError(f"llguidance rejects this schema: {refusal}", pointer=place)
    first, *others = untold
    first.more = tuple(others)
    return first


_UNTOLD = "llguidance cannot check it together with the schema's other keywords"
_STRINGS = ("format", "pattern", "allOf", "minLength", "maxLength")
"""Keywords that llguidance may give up on, the most specific first."""


def _refusal_of_text(schema: Schema) -> str:
    """Return why llguidance does not load the keywords of a text; empty if it does."""
    asked = _AS_JSON(_guidance_form({"type": "string", **schema}))
    return schema_refusals([asked]).get(asked, "")


def _hold(schema: Schema, pointer: str, document: SchemaDocument) -> None:
    """Raise UnheldKeywordError for the first keyword that llguidance cannot hold."""
    if schema.keys().isdisjoint(_MAY_BE_UNHELD):
        return
    for keyword in schema:
        if keyword in _UNWRITABLE:
            raise unwritable_keyword(keyword, pointer, _UNWRITABLE[keyword])
    if schema.get("uniqueItems") is True:
        raise unwritable_keyword("uniqueItems", pointer, "every item would depend on the others")
    for keyword in UNEVALUATED:
        if keyword in schema and any(other in schema for other in IN_PLACE):
            raise unwritable_keyword(keyword, pointer, "its scope depends on other schemas")
    if not schema.keys().isdisjoint(STRING_KEYWORDS):
        # The schemas of an `allOf` come at places of their own.
        own = string_shape(without_keywords(schema, "allOf"), pointer)
        ensure_counted(own, _COUNTED, _COUNTED)
    # Only to raise for a pattern that cannot be read.
    for source in schema_map(schema, "patternProperties"):
        string_shape({"pattern": source}, pointer)
    if "oneOf" in schema:
        tell_apart(keyword_schemas(schema, "oneOf"), document, pointer)
    _hold_bounds(schema, pointer)
    _hold_counts(schema, pointer)


def _hold_bounds(schema: Schema, pointer: str) -> None:
    """Raise UnheldKeywordError if llguidance would accept the bound that is excluded.

    Above 0 and up to 0.5 it accepts the 0, too: the whole part that all numbers there have.
    """
    if schema.keys().isdisjoint(_OPEN_BOUNDS):
        return
    bounds = number_interval(schema)
    for keyword, is_open, near, far in (
        ("exclusiveMinimum", bounds.low_open, bounds.low, bounds.high),
        ("exclusiveMaximum", bounds.high_open, bounds.high, bounds.low),
    ):
        if not is_open or near is None or far is None or not _may_be_fraction(schema):
            continue
        if near == int(near) and abs(far - near) < 1:
            raise unwritable_keyword(
                keyword, pointer, "llguidance accepts the bound itself if the other one is near"
            )


def _may_be_fraction(schema: Schema) -> bool:
    kinds = schema.get("type", "number")
    return "number" in (kinds if isinstance(kinds, list) else [kinds])


def _hold_counts(schema: Schema, pointer: str) -> None:
    """Raise for counts that llguidance cannot enforce: it does not count optional members."""
    if schema.keys().isdisjoint(_COUNTS):
        return
    least, most = (
        keyword_count(schema, "minProperties") or 0,
        keyword_count(schema, "maxProperties"),
    )
    required = required_names(schema)
    why = "optional members would have to be counted"
    closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    if _all_needed(schema):
        # The other members may be written twice.
        held = least <= len(required) + 1
    else:
        # One member is required as any of the named ones, see `_needed_counts`.
        held = least <= (1 if closed else len(required))
    if not held and not _is_implied(schema, least):
        raise unwritable_keyword("minProperties", pointer, why)
    free = closed and most is not None and most >= len(schema_map(schema, "properties"))
    if most is not None and not free and not _all_needed(schema):
        raise unwritable_keyword("maxProperties", pointer, why)


def _is_implied(schema: Schema, least: int) -> bool:
    return least <= len(required_names(schema))


def _all_needed(schema: Schema) -> bool:
    """Return whether every named member is required."""
    return set(schema_map(schema, "properties")) <= set(required_names(schema))


def _guidance_form(schema: Schema) -> Json:
    """Write one schema whose inner ones are already written."""
    if schema.keys().isdisjoint(_REWRITTEN):
        return schema
    found = {
        keyword: value
        for keyword, value in schema.items()
        if keyword not in _GONE and not (keyword == "additionalItems" and not _is_tuple(schema))
    }
    beside: list[Json] = []
    shape = _text_shape(schema)
    texts = _anchored(shape)
    if texts:
        # Pattern and format hold together, so that one of them goes into an `allOf`.
        found["pattern"] = texts[0]
        beside.extend({"pattern": text} for text in texts[1:])
        # llguidance tries texts until one has both the length and the pattern.
        if shape.least == 0:
            found.pop("minLength", None)
        if shape.most is None:
            found.pop("maxLength", None)
    for keyword, meant in UNEVALUATED.items():
        if keyword in schema:
            found.setdefault(meant, schema[keyword])
    patterns = schema_map(schema, "patternProperties")
    if patterns:
        found["patternProperties"] = {
            _anchor_pattern(key): inner for key, inner in patterns.items()
        }
    if "oneOf" in schema:
        # `_hold` has made sure that no value meets two of them.
        beside.append({"anyOf": schema["oneOf"]})
    beside += _needed_counts(schema, found)
    if beside:
        found["allOf"] = [*keyword_schemas(schema, "allOf"), *beside]
    return found


_COUNTED = 20_000
"""The largest maximum length of a JSON string that llguidance is asked to count."""
_LONG = re.compile(r'Length": [^,}]{5}')
"""Lengths that may be more than that, such as 50000 and 1e+22."""
_GONE = frozenset({"format", "pattern", "oneOf", "uniqueItems", *UNEVALUATED, "x-place", "x-loose"})

_COUNTS = frozenset({"minProperties", "maxProperties"})
_PATTERNS = ("pattern", "format")
_OPEN_BOUNDS = frozenset({"exclusiveMinimum", "exclusiveMaximum"})
_REWRITTEN = _GONE | _COUNTS | {"additionalItems", "patternProperties"}
"""Keywords that do not stay as they are, or that others are added to."""
_MAY_BE_UNHELD = frozenset(_UNWRITABLE) | _REWRITTEN | STRING_KEYWORDS | _OPEN_BOUNDS
"""Keywords of which some values cannot be held."""
_LOOKED_AT = _GONE | _OPEN_BOUNDS
"""Keywords that do not stay as they are, or not everywhere."""
_STAYS_NOT = _LOOKED_AT | {"minLength", "maxLength"}


def _is_tuple(schema: Schema) -> bool:
    return isinstance(schema.get("items"), list)


def _text_shape(schema: Schema) -> StringShape:
    """Return the pattern and the format of a schema, with the length that they leave to say."""
    if schema.keys().isdisjoint(_PATTERNS):
        return StringShape()
    own = {keyword: value for keyword, value in schema.items() if keyword in STRING_KEYWORDS}
    try:
        return string_shape(own, ROOT).joined
    except UnheldKeywordError:
        return StringShape()  # unreachable: this place was checked before


def _anchored(shape: StringShape) -> list[str]:
    """Return the patterns of a shape, as Rust reads them."""
    return [f"^(?:{rust_regex(regex)})$" for regex in shape.patterns]


def _anchor_pattern(source: str) -> str:
    found = _anchored(_text_shape({"pattern": source}))
    return found[0] if found else source


def _needed_counts(schema: Schema, keywords: Schema) -> list[Json]:
    """Leave out counts of members that add nothing; a first member is one of those named."""
    least, most = keyword_count(schema, "minProperties"), keyword_count(schema, "maxProperties")
    named = schema_map(schema, "properties")
    if most is not None and not _all_needed(schema):
        del keywords["maxProperties"]
    if least is None:
        return []
    if _is_implied(schema, least):
        del keywords["minProperties"]
    elif named and not _all_needed(schema):
        del keywords["minProperties"]
        return [{"anyOf": [{"required": [name]} for name in named]}]
    return []
