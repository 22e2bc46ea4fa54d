"""How the rules come out: separators, escapes, order, bare text, size, the table itself."""

from __future__ import annotations

import json
import os
import random
import string
import subprocess
import sys
from typing import Any

import pytest

from autoparser.analysis.core.schema_keywords import SchemaError
from autoparser.analysis.grammar.gbnf_rules import GbnfRules, character_class, gbnf_literal
from autoparser.analysis.grammar.regex_nodes import ANY, CodePoints
from autoparser.analysis.grammar.regular_expressions import repeat_items
from autoparser.analysis.grammar.schema_rules import schema_rules, text_rules
from tests.analysis.grammar.gbnf_reader import read_gbnf
from tests.analysis.grammar.judge import Judge, gbnf

pytestmark = pytest.mark.slow

PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "age": {"type": "integer"},
        "mail": {"enum": ["ja", "né"]},
    },
    "required": ["name"],
    "additionalProperties": False,
}


def test_a_grammar_in_full() -> None:
    assert gbnf(PERSON).splitlines() == [
        "root ::= json",
        r'escape ::= "\\" ["\\bfnrt] | "\\u" "000" [0-7] | "\\u" "000b" | '
        r'"\\u" "00" ("0" [ef] | "1" [0-9a-f])',
        r"char ::= [^\x00-\x1F" + r'"\\] | escape',
        r'string ::= "\"" char* "\""',
        'integer ::= ("0" | "-"? [1-9] [0-9]*)',
        r'mail ::= "\"ja\"" | "\"né\""',
        'seam ::= "" | never seam',
        "never ::= [\\x00] [^\\x00-\U0010ffff]",
        'colon ::= ": " seam',
        'comma ::= ", " seam',
        r'from-mail ::= (comma "\"mail\"" colon mail)?',
        r'from-age ::= (comma "\"age\"" colon integer)? from-mail',
        'begin-object ::= "{" seam',
        'end-object ::= "}" seam',
        r'json ::= begin-object "\"name\"" colon string from-age end-object',
    ]


@pytest.mark.parametrize(
    ("options", "dumps"),
    [
        ({}, {"ensure_ascii": False}),
        ({"ascii_only": True}, {}),
        (
            {"item_separator": ",", "key_separator": ":"},
            {"separators": (",", ":"), "ensure_ascii": False},
        ),
        (
            {"item_separator": " ,\n", "key_separator": "\t= "},
            {"separators": (" ,\n", "\t= "), "ensure_ascii": False},
        ),
        ({"sort_keys": True}, {"sort_keys": True, "ensure_ascii": False}),
    ],
)
def test_the_options_are_those_of_dumps(options: dict[str, Any], dumps: dict[str, Any]) -> None:
    judge = Judge.of(PERSON, **options)
    value = {"name": 'Zoë "\\\x00\x1f\x7f\u2028😀\n', "age": 3, "mail": "né"}
    others: list[dict[str, Any]] = [
        {},
        {"ensure_ascii": False},
        {"separators": (",", ":")},
        {"sort_keys": True},
        {"indent": 1},
    ]
    text = json.dumps(value, **dumps)
    assert judge.accepts(text)
    for other in others:
        written = json.dumps(value, **other)
        assert judge.accepts(written) == (written == text)


@pytest.mark.parametrize("ascii_only", [False, True])
def test_every_character_is_written_in_one_way(ascii_only: bool) -> None:
    reader = read_gbnf(gbnf({"type": "string", "maxLength": 1}, ascii_only=ascii_only))
    for point in [
        *range(0x100),
        0x2028,
        0xD7FF,
        0xE000,
        0xFFFF,
        0x10000,
        0x103FF,
        0x10400,
        0x10FFFF,
    ]:
        text = json.dumps(chr(point), ensure_ascii=ascii_only)
        assert reader.accepts(text), text
        plain, escape = f'"{chr(point)}"', f'"\\u{point:04x}"'
        assert reader.accepts(plain) == (plain == text)
        assert point > 0xFFFF or reader.accepts(escape) == (escape == text)
    alone = ['"\\ud800"', '"\\udc00"', '"\\ud83dx"', '"\\u00E9"', '"\\/"', '"', '""x', '"\\u005c"']
    assert not [text for text in alone if reader.accepts(text)]


TEXTS: list[tuple[Any, list[str], list[str]]] = [
    ({"enum": ["a b", 'c"\n', 3, None]}, ["a b", 'c"\n', "3", "null"], ['"a b"', "a", ""]),
    ({"type": "string", "pattern": '^"[a-z\\s]+"$'}, ['"a\nb"'], ["a", '\\"a\\"']),
    ({"type": ["integer", "boolean"]}, ["12", "true"], ['"12"', "True"]),
    ({"type": "array", "items": {"enum": ["a", "é"]}}, ['["a", "é"]'], ["[a]"]),
    ({"format": "date", "type": ["string", "null"]}, ["2024-02-29", "null"], ['"2024-02-29"']),
]


@pytest.mark.parametrize(("schema", "accepted", "refused"), TEXTS, ids=lambda case: str(case)[:40])
def test_bare_text(schema: Any, accepted: list[str], refused: list[str]) -> None:
    rules = GbnfRules()
    root = text_rules(schema, rules)
    assert root is not None
    judge = Judge(rules.text(root))
    assert [text for text in accepted if not judge.accepts(text)] == []
    assert [text for text in refused if judge.accepts(text)] == []


@pytest.mark.parametrize(
    "schema",
    [True, {}, {"type": "string"}, {"type": ["null", "string"]}, {"anyOf": [{"const": 1}, {}]}],
    ids=str,
)
def test_any_text_is_told(schema: Any) -> None:
    assert text_rules(schema, GbnfRules()) is None


def test_lengths_of_bare_text_are_refused() -> None:
    with pytest.raises(SchemaError, match=r"#/minLength: minLength cannot be written"):
        text_rules({"type": "string", "minLength": 1}, GbnfRules())


def test_optional_members_take_a_rule_each() -> None:
    sizes: list[int] = []
    for count in (50, 100, 200):
        names = [f"member{at}" for at in range(count)]
        schema = {
            "type": "object",
            "properties": {name: {"type": "integer"} for name in names},
            "additionalProperties": False,
        }
        text = gbnf(schema)
        sizes.append(len(text))
        judge = Judge(text)
        assert judge.takes(dict.fromkeys(names[::3], 1))
        assert judge.takes({names[-1]: 1})
        assert not judge.takes({names[5]: 1, names[4]: 1})
    assert sizes[2] - sizes[1] < 2.2 * (sizes[1] - sizes[0])


def test_others_beside_many_long_names() -> None:
    names = [f"a_rather_long_name_of_a_member_with_number_{at}" for at in range(40)]
    schema = {"type": "object", "properties": {name: {"type": "null"} for name in names}}
    judge = Judge.of(schema)
    assert judge.takes({names[3]: None, names[20]: None, names[2][:-1]: 1, names[2] + "x": 1})
    assert not judge.takes({names[20]: 1})


def test_others_beside_many_different_names() -> None:
    rng = random.Random(0)
    names = ["".join(rng.choices(string.ascii_letters, k=12)) for _ in range(100)]
    judge = Judge.of({"type": "object", "properties": {name: {"type": "null"} for name in names}})
    assert judge.takes({names[0]: None, names[0][:7]: 1, names[99] + "x": 1})
    assert not judge.takes({names[99]: 1})


def test_rules_of_several_schemas_share_what_is_equal() -> None:
    rules = GbnfRules()
    roots = [schema_rules({"type": "array", "items": {}}, rules) for _ in range(3)]
    assert len(set(roots)) == 1
    before = len(list(rules))
    schema_rules({"type": "object"}, rules)
    schema_rules({"type": ["number", "string"]}, rules)
    assert len(list(rules)) == before + 1
    other = schema_rules({"type": "array", "items": {}}, rules, item_separator=",")
    assert other not in roots


@pytest.mark.parametrize(
    "name", ["root", "start", "Ünïcode Name!", "1st", "a_b", "a-b", "-", "x" * 200, "value", "char"]
)
def test_names_of_members_make_legal_names_of_rules(name: str) -> None:
    schema = {
        "type": "object",
        "properties": {name: {"enum": ["x", "y"]}, "a b": {"enum": ["z", 1]}, "free": {}},
        "required": [name],
    }
    assert Judge.of(schema).takes({name: "x", "a b": 1, "free": {}})


@pytest.mark.parametrize(
    ("least", "most"),
    [
        (0, 0),
        (1, 1),
        (0, 1),
        (3, 3),
        (0, None),
        (5, None),
        (0, 1000),
        (0, 1001),
        (0, 2000),
        (999, 2001),
        (1500, None),
    ],
)
def test_counts_of_any_size(least: int, most: int | None) -> None:
    rules = GbnfRules()
    reader = read_gbnf(rules.text(repeat_items("[a]", least, most, rules)))
    stacks = reader.start()
    for count in range(2003):
        assert (() in stacks) == (least <= count and (most is None or count <= most))
        stacks = reader.step(stacks, "a")


def test_a_great_count_takes_few_rules() -> None:
    rules = GbnfRules()
    repeat_items("[a]", 1, 10**9, rules)
    assert len(list(rules)) < 20


CLASSES = [
    ("abc", "[a-c]"),
    ("ab", "[ab]"),
    ("a", '"a"'),
    ('"', '"\\""'),
    ("^-]", "[\\x2D\\]\\x5E]"),
    ("[\\&~", "[\\x26\\[\\\\\\x7E]"),
    ("\n\t\x00\x7f", "[\\x00\\t\\n\\x7F]"),
    ("é😀", "[é😀]"),
    # xgrammar reads as many digits behind `\\x` as there are.
    ("-0123456789a", "[\\x2D\\x30-9a]"),
    ("&-ab", "[\\x26\\x2D\\x61\\x62]"),
]


@pytest.mark.parametrize(("characters", "written"), CLASSES)
def test_classes(characters: str, written: str) -> None:
    assert character_class(CodePoints.among(characters)) == written
    judge = Judge(f"root ::= {written}\n")
    others = {"a", "b", "-", "^", "]", "[", "\\", "&", "~", '"', "\n", "é", "x", "/"}
    assert [char for char in characters if not judge.accepts(char)] == []
    assert [char for char in others - {*characters} if judge.accepts(char)] == []
    negated = character_class(ANY - CodePoints.among(characters))
    judge = Judge(f"root ::= {negated}\n")
    assert [char for char in characters if judge.accepts(char)] == []
    assert [char for char in others - {*characters} if not judge.accepts(char)] == []


@pytest.mark.parametrize(
    "text", ["", 'a"b\\c', "\n\r\t\0\x1b\x7f\x85", "é😀\u2028", "/#[]{}|*", "\\n"]
)
def test_literals(text: str) -> None:
    judge = Judge(f"root ::= {gbnf_literal(text)} [x]\n")
    assert judge.accepts(f"{text}x")
    assert not judge.accepts(f"{text}y")
    assert not judge.accepts(f"y{text}x")


@pytest.mark.parametrize("text", ["-0", "\x1f0f", "&a-b", "\x00\x01beef", "^ff"])
def test_digits_behind_an_escape_are_characters_of_their_own_to_xgrammar(text: str) -> None:
    xgrammar = pytest.importorskip("xgrammar")
    accepts = pytest.importorskip("xgrammar.testing")._is_grammar_accept_string
    among = character_class(CodePoints.among(text))
    for written in (gbnf_literal(text), f"{among}{{{len(text)}}}"):
        assert accepts(xgrammar.Grammar.from_ebnf(f"root ::= {written}\n"), text)


def test_an_undefined_rule_is_an_error() -> None:
    rules = GbnfRules()
    rules.reserve("a")
    with pytest.raises(ValueError, match="never defined"):
        rules.text("a")


_LONG_NAMES = """
from tests.analysis.grammar.judge import gbnf
names = [letter * 24 for letter in "abcdefghijkl"]
print(gbnf({"type": "object", "properties": dict.fromkeys(names, {"type": "integer"})}))
"""


def test_names_that_are_long_are_written_alike_in_every_process() -> None:
    written = [
        subprocess.run(  # noqa: S603 - its own text
            [sys.executable, "-c", _LONG_NAMES],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    ]
    assert b"not-known-2" in written[0]
    assert len(set(written)) == 1
