"""What a template writes for a valid value is taken, whatever the value's notation looks like.

The template writes; llguidance reads the grammar in Lark and in GBNF.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema_keywords import SchemaError, UnheldKeywordError
from autoparser.analysis.grammar.acceptance import GrammarDialect
from autoparser.analysis.grammar.request_grammar import Grammar
from tests.fixture_analyses import TEMPLATES, TOKENS

pytestmark = pytest.mark.slow

NOVEL = TEMPLATES.parent / "novel"
NAMES, ATTRIBUTES = NOVEL / "names-are-tags.jinja", NOVEL / "attributes.jinja"
TAGS = TEMPLATES / "a1-4-namespaced-tags.jinja"
ELEMENTS = TEMPLATES / "a6-key-is-tag.jinja"
SORTED = TEMPLATES / "g1-2-escape-token.jinja"
FLAGS = TEMPLATES / "arguments-type-flags.jinja"
SORTED_JSON = TEMPLATES / "arguments-sorted.jinja"
LINES = TEMPLATES / "a1-function-parameter.jinja"
UNQUOTED = TEMPLATES / "p1-4-unquoted.jinja"
CDATA = TEMPLATES / "arguments-cdata.jinja"
GUARDED = TEMPLATES / "a5-cdata-when-needed.jinja"
HTML = TEMPLATES / "arguments-html-escaped.jinja"
TYPED = TEMPLATES / "a4-type-flags.jinja"
MARKED = NOVEL / "directive-lines.jinja"
BROKEN = TEMPLATES / "a1-7-break-after-value.jinja"
PYTHON = TEMPLATES / "j8-2-python-dict-in-tags.jinja"
ASKED = {"role": "user", "content": "Book it."}
BOTH = pytest.mark.parametrize("dialect", [*GrammarDialect])


@cache
def known(path: Path) -> tuple[ChatTemplate, Analysis]:
    """Learn a fixture once."""
    template = ChatTemplate(path.read_text(encoding="utf-8"), TOKENS)
    return template, analyze(template)


def offered(parameters: Json) -> dict[str, Any]:
    """Offer one tool."""
    function = {"name": "book", "description": "Book.", "parameters": parameters}
    return {"type": "function", "function": function}


def grammar_of(path: Path, parameters: Json, *, loosen: bool = False) -> Grammar:
    """Return the grammar of a request for one call."""
    _, analysis = known(path)
    return analysis.grammar([offered(parameters)], tool_choice="required", loosen=loosen)


def written(path: Path, parameters: Json, arguments: dict[str, Json]) -> str:
    """Return what the template writes after its prompt for a call."""
    template, _ = known(path)
    tools = [offered(parameters)]
    function = {"name": "book", "arguments": arguments}
    call = {"id": "abcDEF123", "type": "function", "function": function}
    said = {"role": "assistant", "content": "", "tool_calls": [call]}
    prompt = template.render([ASKED], tools, add_generation_prompt=True)
    whole = template.render([ASKED, said], tools)
    assert whole.startswith(prompt)
    return whole[len(prompt) :]


def members(**properties: Json) -> dict[str, Json]:
    """Return the schema of an object with these members and no others."""
    return {"type": "object", "properties": dict(properties), "additionalProperties": False}


TEXT: Json = {"type": "string"}
SHORT: Json = {"type": "string", "maxLength": 4}
ENDS_IN_B: Json = {"type": "string", "pattern": "b$"}
TREE: Json = {**members(b={"type": "integer"}), "$defs": {}}
LATER: dict[str, Json] = {"additionalProperties": {}}
NUMBER: Json = {"type": "integer"}
EMPTY: Json = {"oneOf": [{"type": "null"}]}
KEPT: Json = {"k": "x"}
NAMED: Json = [{"required": ["b"]}, {"properties": {"a": {"enum": ["x", "yz"]}}}]
EITHER: Json = [
    {"properties": {"b": {"description": "How many."}}, "required": ["b", "a"]},
    {"properties": {"a": False}},
]
CASES: list[tuple[Path, dict[str, Json], dict[str, Json]]] = [
    (ATTRIBUTES, members(b={"type": "integer"}), {"b": 10}),
    (ATTRIBUTES, members(a=TEXT, b={}), {"a": "<&>", "b": [1]}),
    (ATTRIBUTES, members(a={"type": "string", "pattern": "^$"}), {"a": ""}),
    (ATTRIBUTES, members(a={"type": "string", "maxLength": 3}), {"a": "'<'"}),
    (
        NAMES,
        members(a={"anyOf": [{"type": "number"}, {"type": "string", "minLength": 3}]}),
        {"a": 6},
    ),
    (
        NAMES,
        {**members(b={"$ref": "#/$defs/o", "unevaluatedProperties": False}), "$defs": {"o": TREE}},
        {"b": {"b": -1}},
    ),
    (
        NOVEL / "s-expression.jinja",
        {"properties": {"a": {"anyOf": [ENDS_IN_B, {"enum": ["12", "1"]}]}, "b": TEXT}},
        {"a": "12", "b": "x"},
    ),
    (TAGS, members(a={}), {"a": "12:30:05Z"}),
    (TAGS, members(a={}), {"a": "[1"}),
    (NAMES, members(a={}), {"a": "<b>"}),
    (CDATA, members(a={"anyOf": [{"type": "string", "format": "ipv4"}, {}]}), {"a": "2024-02"}),
    (TAGS, members(a={}), {"a": {"b": [True, None]}}),
    (ELEMENTS, members(a={}), {"a": "10.0.0.1"}),
    (ELEMENTS, members(a={"type": "array"}), {"a": ["2024-02-29", 2, [1]]}),
    (ELEMENTS, members(a={}), {"a": ""}),
    (ELEMENTS, members(a={}), {"a": ["x"]}),
    (ELEMENTS, members(a={"type": ["string", "array"], "maxLength": 40}), {"a": [1, ["x"]]}),
    (ATTRIBUTES, members(b=members(k={"type": "object"}, a=SHORT)), {"b": {"a": "x'y"}}),
    (ELEMENTS, members(ab=TEXT, b={"type": "string", "format": "date"}), {"b": "2024-02-29"}),
    (UNQUOTED, members(a={}, b={}), {"a": [1, "x"], "b": "y"}),
    (SORTED_JSON, {**members(b={}), **LATER, "required": ["b", "a"]}, {"b": 1, "a": "x"}),
    (SORTED_JSON, {**members(b={}), **LATER, "anyOf": [{"required": ["a"]}, {}]}, {"b": 1, "a": 2}),
    (FLAGS, members(a={}, b=TEXT), {"a": "<", "b": "<d"}),
    (ATTRIBUTES, members(a={"anyOf": [{"type": "integer"}, ENDS_IN_B]}), {"a": 6}),
    (ATTRIBUTES, members(a={"anyOf": [{"type": "integer"}, ENDS_IN_B]}), {"a": "6'b"}),
    (GUARDED, members(a={}), {"a": ["<b>"]}),
    (GUARDED, members(a={}), {"a": {"x": "&"}}),
    (GUARDED, members(a={}), {"a": "[<"}),
    (GUARDED, members(a={}), {"a": "[x"}),
    (ELEMENTS, members(b=members(a={}, ab={"type": "integer"})), {"b": {"a": "x"}}),
    (ELEMENTS, members(b=members(a={}, ab={"type": "integer"})), {"b": {"a": "x", "ab": 1}}),
    (BROKEN, {**members(b={"type": "number"}, a=TEXT), "anyOf": EITHER}, {"b": 2, "a": "x"}),
    (BROKEN, {**members(b={"type": "number"}, a=TEXT), "anyOf": EITHER}, {"b": 2}),
    (GUARDED, members(a={"anyOf": [members(k={"const": 1}), members(k=TEXT)]}), {"a": {"k": "b"}}),
    (HTML, members(a={"oneOf": [members(k=TEXT), members(k=NUMBER)]}), {"a": {"k": 1}}),
    (LINES, members(a={"oneOf": [members(k=TEXT)], "unevaluatedProperties": False}), {"a": KEPT}),
    (NOVEL / "bullets.jinja", members(b={"anyOf": [{"const": None}, EMPTY]}), {"b": None}),
    (TYPED, {**members(a={}, b=NUMBER), "anyOf": NAMED}, {"a": "yz"}),
    (TYPED, {**members(a={}, b=NUMBER), "anyOf": NAMED}, {"a": "yz", "b": 1}),
    (TYPED, {**members(a={}, b=NUMBER), "anyOf": NAMED}, {"a": "y", "b": 1}),
    (MARKED, members(a=TEXT, b=NUMBER), {"a": "x\n\ny\n", "b": 1}),
    (MARKED, members(a=TEXT, b=NUMBER), {"a": "x\ny"}),
    (MARKED, {**members(a=TEXT, b=NUMBER), "anyOf": EITHER}, {"a": "x\ny", "b": 1}),
    (PYTHON, members(a=TEXT), {"a": "a\u200bb"}),
    (PYTHON, members(a=TEXT), {"a": "it's \x00\x7f \U000e0001"}),
]


@BOTH
@pytest.mark.parametrize(("path", "parameters", "arguments"), CASES)
def test_what_the_template_writes_is_taken(
    path: Path, parameters: dict[str, Json], arguments: dict[str, Json], dialect: GrammarDialect
) -> None:
    text = written(path, parameters, arguments)
    grammar = grammar_of(path, parameters, loosen=True)
    found = grammar.accepts(text.rstrip("\n"), dialect=dialect)
    assert found.accepted, (text, found)


def test_text_beside_elements_may_begin_as_they_do() -> None:
    text = written(ELEMENTS, members(a={}), {"a": "]<b"}).rstrip("\n")
    assert grammar_of(ELEMENTS, members(a={})).accepts(text).accepted


@BOTH
def test_text_without_quotes_holds_no_sign_that_ends_it(dialect: GrammarDialect) -> None:
    schema: dict[str, Json] = {**members(a=TEXT, b={"type": "integer"}), "required": ["b"]}
    grammar = grammar_of(UNQUOTED, schema)
    for value, taken in (("x", True), ("x)y", False), ("x, y", False)):
        text = written(UNQUOTED, schema, {"a": value, "b": 1})
        assert grammar.accepts(text, dialect=dialect).accepted is taken, value


@BOTH
def test_text_up_to_the_next_marked_line_holds_no_such_line(dialect: GrammarDialect) -> None:
    schema: dict[str, Json] = {**members(a=TEXT, b=TEXT), "required": ["a", "b"]}
    text = written(MARKED, schema, {"a": "x\ny", "b": "1\n"}).rstrip("\n")
    grammar = grammar_of(MARKED, schema)
    assert grammar.accepts(text, dialect=dialect).accepted
    marked = text.replace("x\ny", "x\n@arg y")
    assert not grammar.accepts(marked, dialect=dialect).accepted


def test_text_in_quotes_that_are_not_escaped_does_not_hold_what_ends_a_call() -> None:
    path = TEMPLATES / "p1-2-python-list.jinja"
    text = written(path, members(a=TEXT), {"a": "x'y"}).rstrip("\n")
    grammar = grammar_of(path, members(a=TEXT))
    assert grammar.accepts(text).accepted
    assert not grammar.accepts(text.replace("x'y", "x')y")).accepted


OPEN: dict[str, Json] = {
    "type": "object",
    "properties": {"a": {"anyOf": [{"type": "integer"}, {}]}, "ab": {"type": "object"}},
    "additionalProperties": {"type": "integer"},
}


@BOTH
def test_a_made_up_name_that_stands_twice_is_named_as_what_is_not_held_to(
    dialect: GrammarDialect,
) -> None:
    with pytest.raises(SchemaError, match="additionalProperties cannot be held to") as raised:
        grammar_of(NAMES, OPEN).accepts("", dialect=dialect)
    assert isinstance(raised.value, UnheldKeywordError)
    assert raised.value.pointer == "#/additionalProperties"


def test_a_loosened_grammar_takes_made_up_names_beside_declared_ones() -> None:
    grammar = grammar_of(NAMES, OPEN, loosen=True)
    cases: list[dict[str, Json]] = [
        {"ab": {}},
        {"a": "x", "ab": {}},
        {"abc": 1},
        {"a": 1, "other": 2},
    ]
    for arguments in cases:
        text = written(NAMES, OPEN, arguments)
        assert grammar.accepts(text.rstrip("\n")).accepted, text
    assert [each.keyword for each in grammar.loosened("lark")] == ["additionalProperties"]


def test_an_object_that_says_nothing_of_other_names_takes_none_where_they_stand_twice() -> None:
    grammar = grammar_of(NAMES, {"type": "object", "properties": {}})
    call = written(NAMES, {}, {"a": 1}).rstrip("\n")
    assert not grammar.accepts(call).accepted
    assert not grammar.accepts(call.replace("</a></book>", "</b></book>")).accepted
    assert grammar.accepts(written(NAMES, {}, {}).rstrip("\n")).accepted


@BOTH
def test_text_of_a_shape_is_not_held_to_it_where_a_bounded_number_may_stand(
    dialect: GrammarDialect,
) -> None:
    either: Json = {
        "anyOf": [{"type": "string", "pattern": "^[0-9]{2}$"}, {"type": "integer", "minimum": 200}]
    }
    with pytest.raises(UnheldKeywordError, match="read as a value of another type"):
        grammar_of(NAMES, members(a=either)).accepts("", dialect=dialect)


@pytest.mark.parametrize("path", [NAMES, LINES])
def test_text_of_a_shape_stands_beside_any_whole_number(path: Path) -> None:
    either: Json = {"anyOf": [{"type": "string", "pattern": "\\s\\w\\w"}, {"type": "integer"}]}
    grammar = grammar_of(path, members(a=either))
    for value, taken in ((6, True), (123, True), ("a bc", True), ("ab", False)):
        text = written(path, members(a=either), {"a": value})
        assert grammar.accepts(text.rstrip("\n")).accepted is taken, value


DAY: Json = {"type": "string", "format": "date"}


@BOTH
@pytest.mark.parametrize(
    ("either", "other"),
    [
        ({"anyOf": [DAY, {"type": "integer"}]}, 3),
        ({"anyOf": [DAY, {"type": "null"}]}, None),
        ({"type": ["string", "null"], "format": "date"}, None),
        ({"type": ["string", "boolean"], "format": "date"}, False),
    ],
)
def test_text_of_a_format_is_held_to_it_beside_a_value_of_another_type(
    either: Json, other: Json, dialect: GrammarDialect
) -> None:
    grammar = grammar_of(NAMES, members(a=either))
    cases: list[tuple[Json, bool]] = [("2024-02-29", True), (other, True), ("tomorrow", False)]
    for value, taken in cases:
        text = written(NAMES, members(a=either), {"a": value})
        assert grammar.accepts(text.rstrip("\n"), dialect=dialect).accepted is taken, value


@BOTH
def test_a_format_that_nobody_asserts_leaves_any_text(dialect: GrammarDialect) -> None:
    either: Json = {"anyOf": [{"type": "string", "format": "haiku"}, {"type": "integer"}]}
    text = written(NAMES, members(a=either), {"a": "2024-01-02"})
    assert grammar_of(NAMES, members(a=either)).accepts(text.rstrip("\n"), dialect=dialect).accepted


NONE: Json = {"type": "number", "minimum": 2, "exclusiveMaximum": 1}
CODE: Json = {"type": "string", "pattern": "^[0-9]{2}$"}


@BOTH
@pytest.mark.parametrize(
    ("said", "keyword"),
    [
        ({"anyOf": [CODE, NONE]}, "minimum"),
        ({"anyOf": [TEXT, {"type": "integer", "minimum": 200}]}, "minimum"),
        ({"anyOf": [TEXT, {"const": True}]}, "const"),
        ({"anyOf": [TEXT, {"type": "array", "items": {"type": "string"}}]}, "items"),
        ({"anyOf": [{"const": "12"}, {"type": "integer", "minimum": 200}]}, "const"),
    ],
)
def test_what_bare_text_would_be_read_as_is_named_as_what_is_not_held_to(
    said: Json, keyword: str, dialect: GrammarDialect
) -> None:
    with pytest.raises(UnheldKeywordError, match="read as a value of another type") as raised:
        grammar_of(NAMES, members(a=said)).accepts("", dialect=dialect)
    assert raised.value.keyword == keyword
    assert raised.value.pointer.startswith("#/properties/a/anyOf/")


@BOTH
def test_text_is_held_to_what_the_whole_schema_lets_its_reader_see(dialect: GrammarDialect) -> None:
    either: Json = [{"properties": {"a": TEXT}}, {"properties": {"a": {"minimum": 5}}}]
    schema = {**members(a={"type": ["string", "integer"]}), "anyOf": either}
    with pytest.raises(UnheldKeywordError, match="read as a value of another type"):
        grammar_of(NAMES, schema).accepts("", dialect=dialect)
    assert grammar_of(NAMES, schema, loosen=True).loosened(dialect.value)


@BOTH
def test_a_text_that_is_read_as_another_of_the_allowed_values_is_not_among_them(
    dialect: GrammarDialect,
) -> None:
    schema = members(a={"enum": [-1, 7, "12", "x"]})
    grammar = grammar_of(NAMES, schema)
    for value, taken in ((-1, True), (7, True), ("x", True), (12, False), ("12", False)):
        text = written(NAMES, schema, {"a": value}).rstrip("\n")
        assert grammar.accepts(text, dialect=dialect).accepted is taken, value


@BOTH
@pytest.mark.parametrize(
    "never",
    [
        {"allOf": [{"type": "string", "pattern": "^a+$"}, {"pattern": "^b+$"}]},
        {"allOf": [{"enum": ["a", "b"]}, {"enum": ["c", 1]}]},
        {"type": "string", "pattern": "^a+$", "allOf": [{"pattern": "^b+$"}], "anyOf": [{}, NONE]},
        {"anyOf": [NONE, {"type": "integer", "if": {}, "then": TEXT, "else": TEXT}]},
    ],
)
def test_a_member_that_no_value_meets_is_left_out(never: Json, dialect: GrammarDialect) -> None:
    schema = members(a=never, b={"type": "integer"})
    grammar = grammar_of(TAGS, schema)
    text = written(TAGS, schema, {"b": 1})
    assert grammar.accepts(text.rstrip("\n"), dialect=dialect).accepted
    with pytest.raises(SchemaError, match="no value meets this schema"):
        grammar_of(TAGS, {**schema, "required": ["a"]}).accepts("", dialect=dialect)


def test_a_name_that_is_only_required_stands_where_the_format_sorts_it() -> None:
    schema: dict[str, Json] = {**members(b={}), **LATER, "required": ["a"]}
    text = written(SORTED, schema, {"b": 1, "a": 2})
    assert text.index("a:2") < text.index("b:1")
    assert grammar_of(SORTED, schema).accepts(text.rstrip("\n")).accepted


def test_a_name_that_is_made_up_stands_where_the_format_sorts_it() -> None:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {"kind": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["kind"],
        "additionalProperties": {"type": "integer"},
    }
    grammar = grammar_of(SORTED, schema)
    cases: list[dict[str, Json]] = [
        {"kind": 1, "a": 2},
        {"a": 1, "b": 2, "c": 3, "kind": 4, "x": 5},
        {"kind": 1},
    ]
    for arguments in cases:
        text = written(SORTED, schema, arguments).rstrip("\n")
        assert grammar.accepts(text).accepted, text
    assert not grammar.accepts(written(SORTED, schema, {"a": 1}).rstrip("\n")).accepted


WAYS: Json = [members(a=NUMBER, ab=TEXT), members(a=NUMBER), members(b=NUMBER, ab=TEXT)]


@BOTH
@pytest.mark.parametrize("path", [NAMES, TAGS, SORTED])
def test_objects_of_a_union_that_begin_alike_are_all_taken(
    path: Path, dialect: GrammarDialect
) -> None:
    schema: dict[str, Json] = {"type": "object", "anyOf": WAYS}
    grammar = grammar_of(path, schema)
    cases: list[tuple[dict[str, Json], bool]] = [
        ({"a": 1}, True),
        ({"a": 1, "ab": "x"}, True),
        ({"ab": "x"}, True),
        ({"ab": "x", "b": 1}, path is SORTED),
        ({"b": 2, "ab": "x"}, True),
        ({"a": 1, "b": 2}, False),
        ({}, True),
    ]
    for arguments, taken in cases:
        text = written(path, schema, arguments).rstrip("\n")
        assert grammar.accepts(text, dialect=dialect).accepted is taken, text


@pytest.mark.parametrize("other", [{"type": "string", "format": "uuid"}, {"type": "number"}])
def test_any_text_of_one_object_is_not_told_in_gbnf_from_values_of_another(other: Json) -> None:
    either: Json = [members(a={}), {**members(a=other, b=NUMBER), "required": ["b"]}]
    grammar = grammar_of(ELEMENTS, {"type": "object", "anyOf": either}, loosen=True)
    text = written(ELEMENTS, {"type": "object", "anyOf": either}, {"a": "ABC-1"})
    assert grammar.accepts(text.rstrip("\n")).accepted
    assert grammar.accepts(text.rstrip("\n"), dialect=GrammarDialect.GBNF).accepted
    assert "#/anyOf" in {each.pointer for each in grammar.loosened("gbnf")}
    with pytest.raises(SchemaError, match="#/anyOf"):
        replace(grammar, loosen=False).gbnf()


def test_a_number_beyond_all_floats_is_not_written_where_it_would_be_read_as_text() -> None:
    lists = TEMPLATES / "novel-notation.jinja"
    schema = members(a={"type": "array", "items": {"type": "number"}})
    grammar = grammar_of(lists, schema)
    text = written(lists, schema, {"a": [1.5]}).rstrip("\n")
    assert grammar.accepts(text).accepted
    assert grammar.accepts(text.replace("1.5", "1.5e-07")).accepted
    assert not grammar.accepts(text.replace("1.5", "1.5e308")).accepted


@BOTH
def test_a_number_in_a_python_object_is_one_that_floats_hold(dialect: GrammarDialect) -> None:
    schema = members(a={"type": "object", "properties": {"b": {"type": "number"}}})
    grammar = grammar_of(UNQUOTED, schema)
    text = written(UNQUOTED, schema, {"a": {"b": 1.5}})
    assert grammar.accepts(text, dialect=dialect).accepted
    assert not grammar.accepts(text.replace("1.5", "8e924"), dialect=dialect).accepted


@BOTH
@pytest.mark.parametrize("opened", ["[", "{"])
def test_a_text_without_quotes_begins_as_no_list_or_object_beside_it(
    opened: str, dialect: GrammarDialect
) -> None:
    # Whoever reads it waits for the end of the list or the object.
    text = written(UNQUOTED, members(a={}), {"a": "text"})
    beside = grammar_of(UNQUOTED, members(a={}))
    alone = grammar_of(UNQUOTED, members(a={"type": "string"}))
    begun = text.replace("text", f"{opened}x")
    assert beside.accepts(text, dialect=dialect).accepted
    assert not beside.accepts(begun, dialect=dialect).accepted
    assert alone.accepts(begun, dialect=dialect).accepted


@BOTH
@pytest.mark.parametrize("keyword", ["unevaluatedProperties", "unevaluatedItems"])
@pytest.mark.parametrize(
    "said",
    [
        {"$ref": "#/$defs/short", "maxLength": 6},
        {"allOf": [{"$ref": "#/$defs/short"}, {"maxLength": 6}]},
    ],
)
def test_text_is_held_to_what_stands_beside_a_keyword_for_other_types(
    said: dict[str, Json], keyword: str, dialect: GrammarDialect
) -> None:
    short: Json = {"type": "string", "pattern": "^[a-z]{1,4}$"}
    schema = members(a={**said, keyword: False})
    schema["$defs"] = {"short": short}
    grammar = grammar_of(LINES, schema)
    for value, taken in (("four", True), ("sixers", False)):
        text = written(LINES, schema, {"a": value}).rstrip("\n")
        assert grammar.accepts(text, dialect=dialect).accepted is taken, value


@BOTH
def test_a_reference_that_another_keyword_looks_at_is_not_held_to(dialect: GrammarDialect) -> None:
    short: Json = {"$ref": "#/$defs/short", "unevaluatedProperties": False}
    schema = members(a={"type": "string", "allOf": [short]})
    schema["$defs"] = {"short": {"maxLength": 4}}
    with pytest.raises(UnheldKeywordError, match="unevaluatedProperties cannot be held to"):
        grammar_of(LINES, schema).accepts("", dialect=dialect)


@BOTH
@pytest.mark.parametrize("path", [LINES, TEMPLATES / "a2-7-python-literals.jinja"])
def test_constants_stand_beside_values_that_begin_alike(
    path: Path, dialect: GrammarDialect
) -> None:
    numbers: Json = {"type": ["array", "object"], "items": {"type": "integer"}}
    constants: Json = {"enum": [[1, "x"], {"b": [1]}, 3]}
    schema = members(a={"anyOf": [numbers, constants]})
    grammar = grammar_of(path, schema)
    all_taken: list[Json] = [[1, "x"], [10], [1, 12], 3, {"b": [12]}]
    none_taken: list[Json] = [[1, "y"], 4]
    for value in all_taken + none_taken:
        text = written(path, schema, {"a": value}).rstrip("\n")
        assert grammar.accepts(text, dialect=dialect).accepted is (value in all_taken), value


def test_a_union_may_ask_for_a_name_that_stands_among_made_up_ones() -> None:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {"b": NUMBER},
        "additionalProperties": NUMBER,
        "anyOf": [{"required": ["kind"]}, {}],
    }
    grammar = grammar_of(SORTED, schema)
    cases: list[dict[str, Json]] = [{"b": 1}, {"a": 1, "b": 2, "kind": 3, "x": 4}, {"kind": 1}, {}]
    for arguments in cases:
        text = written(SORTED, schema, arguments).rstrip("\n")
        assert grammar.accepts(text).accepted, text


@BOTH
def test_text_of_a_length_is_not_held_to_it_where_what_begins_alike_may_stand(
    dialect: GrammarDialect,
) -> None:
    short: Json = {"type": "string", "maxLength": 3}
    with pytest.raises(UnheldKeywordError, match="read as a value of another type") as raised:
        grammar_of(HTML, members(a={"anyOf": [short, {"type": "object"}]})).accepts(
            "", dialect=dialect
        )
    assert raised.value.keyword == "maxLength"


def test_text_that_cannot_begin_as_another_value_is_held_beside_it() -> None:
    schema = members(a={"anyOf": [DAY, {"type": ["object", "array"]}]})
    grammar = grammar_of(HTML, schema)
    cases: list[tuple[Json, bool]] = [({"b": 1}, True), ([1, "x"], True), ("2024-02-29", True)]
    for value, taken in [*cases, ("tomorrow", False)]:
        text = written(HTML, schema, {"a": value}).rstrip("\n")
        assert grammar.accepts(text).accepted is taken, value


@BOTH
def test_the_only_option_of_a_union_is_held_to_its_own_union(dialect: GrammarDialect) -> None:
    word: Json = {"pattern": "^[a-z]{3}$"}
    schema = members(a={"anyOf": [{"type": "string", "anyOf": [CODE, word]}]})
    grammar = grammar_of(NAMES, schema)
    for value, taken in (("12", True), ("abc", True), ("ab", False), ("123", False)):
        text = written(NAMES, schema, {"a": value}).rstrip("\n")
        assert grammar.accepts(text, dialect=dialect).accepted is taken, value


@BOTH
@pytest.mark.parametrize("path", [UNQUOTED, SORTED, LINES])
def test_an_object_without_a_value_for_what_it_requires_is_not_written(
    path: Path, dialect: GrammarDialect
) -> None:
    never: dict[str, Json] = {**members(k={"type": "string", "not": {}}), "required": ["k"]}
    schema = members(b=NUMBER, ab=never)
    text = written(path, schema, {"b": 1}).rstrip("\n")
    assert grammar_of(path, schema).accepts(text, dialect=dialect).accepted
    with pytest.raises(SchemaError):
        grammar_of(path, {**schema, "required": ["ab"]}).accepts("", dialect=dialect)


@BOTH
def test_text_begins_as_it_will_beside_a_constant_that_is_left_out(dialect: GrammarDialect) -> None:
    schema = members(a={"anyOf": [NUMBER, SHORT, {"const": "1.0", "maximum": 0}]})
    grammar = grammar_of(UNQUOTED, schema, loosen=True)
    assert [each.keyword for each in grammar.loosened(dialect.value)] == ["const"]
    text = written(UNQUOTED, schema, {"a": "{x}"})
    assert grammar.accepts(text, dialect=dialect).accepted


UUID = (
    "^([0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    "|00000000-0000-0000-0000-000000000000)$"
)


@BOTH
@pytest.mark.parametrize(
    ("text", "is_good"),
    [
        ("123e4567-e89b-42d3-a456-426614174000", True),
        ("00000000-0000-0000-0000-000000000000", True),
        ("123e4567-e89b-92d3-a456-426614174000", False),
        ("123e4567e89b42d3a456426614174000", False),
    ],
)
@pytest.mark.parametrize("path", [LINES, SORTED, SORTED_JSON])
def test_a_uuid_with_a_format_and_a_pattern_is_held_to_both(
    path: Path, text: str, is_good: bool, dialect: GrammarDialect
) -> None:
    schema = members(it={"type": "string", "format": "uuid", "pattern": UUID})
    grammar = grammar_of(path, schema)
    call = written(path, schema, {"it": text}).rstrip("\n")
    assert grammar.accepts(call, dialect=dialect).accepted == is_good


@BOTH
@pytest.mark.parametrize("path", [LINES, UNQUOTED, SORTED])
@pytest.mark.parametrize("text", ["x", "<", "a\nb", "</parameter", ""])
def test_a_text_without_quotes_is_not_empty_where_the_schema_says_so(
    path: Path, text: str, dialect: GrammarDialect
) -> None:
    schema = members(it={"type": "string", "minLength": 1})
    call = written(path, schema, {"it": text}).rstrip("\n")
    any_text = grammar_of(path, members(it=TEXT)).accepts(call, dialect=dialect).accepted
    accepted = grammar_of(path, schema).accepts(call, dialect=dialect).accepted
    assert accepted == (any_text and bool(text))


def test_a_bounded_text_stays_filled_where_its_bound_is_left_out() -> None:
    schema = members(it={"type": "string", "minLength": 1, "maxLength": 400})
    grammar = grammar_of(LINES, schema, loosen=True)
    assert [each.keyword for each in grammar.loosened("gbnf")] == ["maxLength"]
    for text in ("a", ""):
        call = written(LINES, schema, {"it": text}).rstrip("\n")
        assert grammar.accepts(call, dialect=GrammarDialect.GBNF).accepted == bool(text)


@pytest.mark.parametrize("most", [200, 10_000])
@pytest.mark.parametrize("path", [SORTED, MARKED, LINES])
def test_a_text_that_a_marker_closes_is_as_long_as_it_may_be(path: Path, most: int) -> None:
    schema = members(it={"type": "string", "minLength": 1, "maxLength": most}, to=TEXT)
    grammar = grammar_of(path, schema)
    for text in ("", "it's <b a>, a text", "x" * most, "x" * (most + 1)):
        call = written(path, schema, {"it": text, "to": "Oslo"}).rstrip("\n")
        assert grammar.accepts(call).accepted == (1 <= len(text) <= most), len(text)


@BOTH
@pytest.mark.parametrize(
    ("key", "is_good"),
    [
        ("X-Api-Key", True),
        ("user.name", True),
        ("0", True),
        ("Zürich", True),
        ("first name", True),
        ("$ref", True),
        ("a/b", True),
        ("ab", True),
        ("a", False),
        ("a\nb", False),
    ],
)
@pytest.mark.parametrize("path", [LINES, SORTED, FLAGS, TYPED])
def test_a_made_up_key_is_any_name_but_a_declared_one(
    path: Path, key: str, is_good: bool, dialect: GrammarDialect
) -> None:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "additionalProperties": {"type": "boolean"},
    }
    call = written(path, schema, {key: True}).rstrip("\n")
    # Nothing but a line break stands before a name there: its reader looks for a word.
    is_good = is_good and (path is not FLAGS or " " not in key)
    assert grammar_of(path, schema).accepts(call, dialect=dialect).accepted == is_good


@BOTH
@pytest.mark.parametrize("path", [LINES, SORTED, SORTED_JSON])
def test_names_that_have_to_be_texts_may_be_any(path: Path, dialect: GrammarDialect) -> None:
    inner: dict[str, Json] = {
        "type": "object",
        "propertyNames": {"type": "string"},
        "additionalProperties": {"type": "integer"},
    }
    schema = members(it=inner)
    grammar = grammar_of(path, schema)
    for value, is_good in ((1, True), ("x", False)):
        call = written(path, schema, {"it": {"X-Any": value}}).rstrip("\n")
        assert grammar.accepts(call, dialect=dialect).accepted == is_good
