"""How rules of GBNF come out: escapes, counts, numbers, names, free text, size."""

from __future__ import annotations

import json
import os
import random
import re
import string
import subprocess
import sys
from decimal import Decimal
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from autoparser.analysis.grammar.call_writer import GrammarError
from autoparser.analysis.grammar.gbnf_rules import GbnfRules, character_class, gbnf_literal
from autoparser.analysis.grammar.gbnf_writer import SchemaTable, write_gbnf
from autoparser.analysis.grammar.grammar_rules import (
    NOTHING,
    FreeProse,
    FreeTextNode,
    GrammarRules,
    LiteralNode,
    ProseExit,
)
from autoparser.analysis.grammar.regex_nodes import ANY, CodePoints
from autoparser.analysis.grammar.regular_expressions import repeat_items
from autoparser.analysis.grammar.rule_paths import exclusion_states
from autoparser.analysis.grammar.schema_numbers import Interval, integer_range, number_range
from tests.analysis.grammar.gbnf_reader import Grammar, read_gbnf
from tests.analysis.grammar.judge import Judge, gbnf
from tests.analysis.parsing.loop import analysis_of

from .offers import STRICT

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
    ("style", "dumps"),
    [
        ({}, {"ensure_ascii": False}),
        ({"ascii_only": True}, {}),
        (
            {"item_separator": " ,\n", "key_separator": "\t= "},
            {"separators": (" ,\n", "\t= "), "ensure_ascii": False},
        ),
    ],
)
def test_json_of_a_style_is_what_dumps_writes(style: dict[str, Any], dumps: dict[str, Any]) -> None:
    judge = Judge.of(PERSON, **style)
    value = {"name": 'Zoë "\\\x00\x1f\x7f\u2028😀\n', "age": 3, "mail": "né"}
    text = json.dumps(value, **dumps)
    assert judge.accepts(text)
    for other in ({}, {"ensure_ascii": False}, {"separators": (",", ":")}, {"indent": 1}):
        written = json.dumps(value, **other)
        assert judge.accepts(written) == (written == text)


@pytest.mark.parametrize("ascii_only", [False, True])
def test_each_character_has_one_spelling(ascii_only: bool) -> None:
    reader = read_gbnf(gbnf({"type": "string", "maxLength": 1}, ascii_only=ascii_only))
    edges = (0x2028, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x103FF, 0x10400, 0x10FFFF)
    for point in (*range(0x100), *edges):
        text = json.dumps(chr(point), ensure_ascii=ascii_only)
        assert reader.accepts(text), text
        plain, escape = f'"{chr(point)}"', f'"\\u{point:04x}"'
        assert reader.accepts(plain) == (plain == text)
        assert point > 0xFFFF or reader.accepts(escape) == (escape == text)
    alone = ['"\\ud800"', '"\\udc00"', '"\\ud83dx"', '"\\u00E9"', '"\\/"', '"', '""x', '"\\u005c"']
    assert not [text for text in alone if reader.accepts(text)]


@pytest.mark.slow
def test_optional_members_take_a_rule_each() -> None:
    sizes: list[int] = []
    for count in (50, 100, 200):
        names = [f"member{at}" for at in range(count)]
        properties = {name: {"type": "integer"} for name in names}
        text = gbnf({"type": "object", "properties": properties, "additionalProperties": False})
        sizes.append(len(text))
        judge = Judge(text)
        assert judge.takes(dict.fromkeys(names[::3], 1))
        assert judge.takes({names[-1]: 1})
        assert not judge.takes({names[5]: 1, names[4]: 1})
    assert sizes[2] - sizes[1] < 2.2 * (sizes[1] - sizes[0])


@pytest.mark.slow
@pytest.mark.parametrize("alike", [True, False])
def test_made_up_names_stand_beside_many_known_ones(alike: bool) -> None:
    rng = random.Random(0)
    names = [f"a_rather_long_name_of_a_member_with_number_{at}" for at in range(40)]
    names = (
        names if alike else ["".join(rng.choices(string.ascii_letters, k=12)) for _ in range(99)]
    )
    judge = Judge.of({"type": "object", "properties": {name: {"type": "null"} for name in names}})
    assert judge.takes({names[3]: None, names[20]: None, names[2][:-1]: 1, names[2] + "x": 1})
    assert judge.takes({names[0][:7]: 1, names[-1] + "x": 1})
    assert not judge.takes({names[20]: 1})


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


@pytest.mark.slow
@pytest.mark.parametrize(
    ("least", "most"),
    [(0, 0), (0, 1), (3, 3), (0, None), (5, None), (0, 1001), (0, 2000), (999, 2001), (1500, None)],
)
def test_counts_of_any_size_are_exact(least: int, most: int | None) -> None:
    rules = GbnfRules()
    reader = read_gbnf(rules.text(repeat_items("[a]", least, most, rules)))
    stacks = reader.start()
    for count in range(2003):
        assert (() in stacks) == (least <= count and (most is None or count <= most))
        stacks = reader.step(stacks, "a")


def test_a_billion_items_take_few_rules() -> None:
    rules = GbnfRules()
    repeat_items("[a]", 1, 10**9, rules)
    assert len(list(rules)) < 20


@pytest.mark.parametrize(
    ("characters", "written"),
    [
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
    ],
)
def test_a_class_holds_its_characters_alone(characters: str, written: str) -> None:
    points = CodePoints.among(characters)
    assert character_class(points) == written
    alone, negated = (
        Judge(f"root ::= {character_class(each)}\n") for each in (points, ANY - points)
    )
    for char in {*'ab-^][\\&~"\né x/', *characters}:
        assert alone.accepts(char) is (char in characters)
        assert negated.accepts(char) is (char not in characters)


@pytest.mark.parametrize("text", ["", 'a"b\\c', "\n\r\t\0\x1b\x7f\x85", "é😀\u2028/#[]{}|*", "\\n"])
def test_a_literal_is_its_text(text: str) -> None:
    judge = Judge(f"root ::= {gbnf_literal(text)} [x]\n")
    assert judge.accepts(f"{text}x")
    assert not judge.accepts(f"{text}y")
    assert not judge.accepts(f"y{text}x")


@pytest.mark.slow
@pytest.mark.parametrize("text", ["-0", "\x1f0f", "&a-b", "\x00\x01beef", "^ff"])
def test_a_digit_behind_an_escape_is_a_character_to_xgrammar(text: str) -> None:
    xgrammar = pytest.importorskip("xgrammar")
    accepts = pytest.importorskip("xgrammar.testing")._is_grammar_accept_string
    among = character_class(CodePoints.among(text))
    for written in (gbnf_literal(text), f"{among}{{{len(text)}}}"):
        assert accepts(xgrammar.Grammar.from_ebnf(f"root ::= {written}\n"), text)


@pytest.mark.slow
def test_long_names_are_written_alike_in_every_process() -> None:
    text = """
from tests.analysis.grammar.judge import gbnf
names = [letter * 24 for letter in "abcdefghijkl"]
print(gbnf({"type": "object", "properties": dict.fromkeys(names, {"type": "integer"})}))
"""
    written = [
        subprocess.run(  # noqa: S603 - its own text
            [sys.executable, "-c", text],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert b"not-known-2" in written[0]
    assert written[0] == written[1]


integers = st.one_of(st.integers(-30, 30), st.integers(-1200, 1200), st.integers(-(10**20), 10**20))
floats = st.one_of(
    st.floats(-20, 20).filter(lambda number: number == 0 or abs(number) >= 1e-322),
    st.integers(-3000, 3000).map(lambda hundredths: hundredths / 100),
    st.floats(min_value=-1e307, max_value=1e307).filter(lambda number: abs(number) >= 1e-322),
    st.sampled_from([0.0, -0.0, 1e16, 9999999999999998.0, 1e-4, 1e-5, 0.1 + 0.2]),
)


def accepts(reader: Grammar | None, text: str) -> bool:
    return reader is not None and reader.accepts(text)


@pytest.mark.slow
@settings(max_examples=200, deadline=None, derandomize=True)
@given(least=st.none() | integers, most=st.none() | integers, values=st.lists(integers, max_size=8))
def test_a_range_holds_the_integers_between_its_bounds(
    least: int | None, most: int | None, values: list[int]
) -> None:
    expression = integer_range(least, most)
    reader = None if expression is None else read_gbnf(f"root ::= {expression}\n")
    near = [bound + step for bound in (least, most) if bound is not None for step in (-1, 0, 1)]
    for value in [*values, *near, 0]:
        inside = (least is None or value >= least) and (most is None or value <= most)
        assert accepts(reader, str(value)) == inside
    others = ("", "-", "-0", "00", "01", "-01", "+1")
    assert not any(accepts(reader, other) for other in others)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    low=st.none() | integers | floats,
    high=st.none() | integers | floats,
    opened=st.tuples(st.booleans(), st.booleans()),
    values=st.lists(integers | floats, max_size=8),
)
def test_an_interval_holds_the_numbers_between_its_bounds_each_spelled_once(
    low: float | None, high: float | None, opened: tuple[bool, bool], values: list[float]
) -> None:
    least, most = (None if bound is None else Decimal(repr(bound)) for bound in (low, high))
    interval = Interval(least, most, *opened)
    rules = GbnfRules()
    expression = number_range(interval, rules)
    reader = None if expression is None else read_gbnf(rules.text(expression))
    near = [bound for bound in (low, high) if bound is not None]
    near += [bound * factor for bound in near for factor in (1.0001, 0.9999)]
    for value in [*values, *near, 0, -0.0]:
        text = json.dumps(value)
        inside = interval.holds(Decimal(text))
        assert accepts(reader, text) == inside
        if inside and value and not text.lstrip("-").isdigit():
            digits, _, exponent = text.partition("e")
            others = [f"0{text}", f"+{text}", text.upper() if exponent else f"{text}e0"]
            others.append(f"{digits}0e{exponent}" if exponent else f"{text}0")
            assert not [other for other in others if accepts(reader, other)]


def free_text(*exits: ProseExit) -> str:
    return write_gbnf(GrammarRules(FreeTextNode(exits), {}), SchemaTable())


def test_a_close_of_1500_characters_is_refused() -> None:
    with pytest.raises(GrammarError, match="1500 characters"):
        free_text(ProseExit(FreeProse(), "Pages of text. " * 100, NOTHING))


def test_two_ways_behind_one_close_are_both_accepted() -> None:
    exits = [ProseExit(FreeProse(), "\n\n", LiteralNode(each)) for each in ("<a>", "<b>")]
    judge = Judge(plain(free_text(*exits)))
    assert judge.accepts("x\n\n<a>")
    assert judge.accepts("y\n\n<b>")


def test_a_long_text_with_many_beginnings_of_its_close_is_accepted() -> None:
    judge = Judge(plain(free_text(ProseExit(FreeProse(), "<a>", NOTHING))))
    assert judge.accepts("Some words < others. " * 200 + "<a>")


def plain(text: str) -> str:
    """Leave out comments and blank lines, which the stricter reader does not know."""
    return "".join(f"{line}\n" for line in text.splitlines() if line and line[0] != "#")


@pytest.mark.parametrize("close", ["b", "ab", "aab", "aba", "abab"])
def test_a_text_ends_where_its_close_stands_first(close: str) -> None:
    for size in range(7):
        for chars in product("ab", repeat=size):
            text = "".join(chars)
            place = text.find(close)
            assert closed_by([close], [], text) == (0, place + len(close) if place >= 0 else -1)


@pytest.mark.parametrize(
    ("closes", "excluded", "text", "outcome"),
    [
        # A close may hold an excluded text.
        (["\n<c>x", "</e>"], ["<c>", "<f>"], "ab\n<c>x", (0, 7)),
        (["\n<c>x", "</e>"], ["<c>", "<f>"], "ab\n\n<c>x", (0, 8)),
        (["\n<c>x", "</e>"], ["<c>", "<f>"], "\n<c>x", (0, 5)),
        (["\n<c>x", "</e>"], ["<c>", "<f>"], "ab</e>", (1, 6)),
        (["\n<c>x", "</e>"], ["<c>", "<f>"], "ab\n<d", (0, -1)),
        (["\n<c>x", "</e>"], ["<c>", "<f>"], "ab<c>x", None),
        (["\n<c>x", "</e>"], ["<c>", "<f>"], "<f>", None),
        (["\n<c>x", "</e>"], ["<c>", "<f>"], "\n<c>y", None),
        # The beginning of the close is excluded, the close is not.
        ([";\n"], [";", "<do"], "<<d;\n", (0, 5)),
        ([";\n"], [";", "<do"], ";a;\n", None),
        # What begins a longer excluded text may stand before the close.
        (["</a>"], ["</", "></b>"], "></a>", (0, 5)),
        (["</a>"], ["</", "></b>"], "></b>", None),
    ],
)
def test_excluded_texts_stand_only_in_closes(
    closes: list[str], excluded: list[str], text: str, outcome: tuple[int, int] | None
) -> None:
    assert closed_by(closes, excluded, text) == outcome


def closed_by(closes: list[str], excluded: list[str], text: str) -> tuple[int, int] | None:
    """Follow a text: its close and where that ends (-1: nowhere), or None if it is refused."""
    found = exclusion_states(closes, excluded)
    at = 0
    for place, char in enumerate(text):
        state = found[at]
        if char in state.closes:
            return state.closes[char], place + 1
        if char in state.refused or (state.close_begun and char not in state.goes):
            return None
        at = state.goes.get(char, 0)
    return 0, -1


def test_rules_are_named_after_their_subject_and_stand_in_sections() -> None:
    text = analysis_of("a1-function-parameter").grammar(STRICT).gbnf()
    parts = [section.partition("\n") for section in f"# root\n{text}".split("# ") if section]
    sections = {title: rules for title, _, rules in parts}
    assert {"calls", "content", "reasoning", "texts of arguments"} <= set(sections)
    weather = sections["call of get_weather"]
    assert weather.count("::=") == weather.count("\nget-weather-") + 1
    assert "content-after-lt-slash-thi ::=" in sections["content"]
    # Numbers are left for texts that are read after two markers with the same letters.
    assert not re.search(r"text-[0-9]", text)
