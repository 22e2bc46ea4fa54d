"""Check the spelling of GBNF rules: escapes, counts, numbers, names."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from itertools import chain, product
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from autoparser import Grammar, Json
from autoparser.analysis.core.schema_document import ROOT, SchemaDocument
from autoparser.analysis.grammar.call_writer import GrammarError
from autoparser.analysis.grammar.code_points import ANY, CodePoints
from autoparser.analysis.grammar.gbnf_numbers import integer_range, number_range
from autoparser.analysis.grammar.gbnf_patterns import RegexWriter, repeat_items
from autoparser.analysis.grammar.gbnf_rules import (
    GbnfRules,
    JsonTokens,
    character_class,
    gbnf_literal,
)
from autoparser.analysis.grammar.gbnf_schemas import Converter, schema_rules
from autoparser.analysis.grammar.grammar_rules import CharacterQuoting, JsonStyle
from autoparser.analysis.grammar.schema_numbers import Interval
from autoparser.analysis.grammar.string_shape import PATTERNS, whole_pattern
from tests.analysis.parsing.loop import analysis_of
from tests.case_tables import case_tables, load_cases
from tests.fixture_analyses import TEMPLATES
from tests.offers import tool

from .judge import Judge, check_gbnf

table = case_tables(__file__, "gbnf.yaml")
TABLES = load_cases(__file__, "gbnf.yaml")
CONVERTED: list[Json] = TABLES["converted"]


class _Calling(GbnfRules):
    calls_itself, names_alone = True, True


@pytest.mark.parametrize("kind", [GbnfRules, _Calling])
@pytest.mark.parametrize("turned", [False, True])
def test_replayed_rules_equal_those_of_a_shared_table(kind: type[GbnfRules], turned: bool) -> None:
    replayed, written = kind(), kind()
    replayed.reserve("string"), written.reserve("string")
    for schema in CONVERTED[:: -1 if turned else 1]:
        converter = Converter(SchemaDocument.of(schema), JsonTokens(written, JsonStyle()))
        expression = converter.value(schema, ROOT)
        assert schema_rules(schema, replayed, JsonStyle()) == expression
        for table in (replayed, written):
            table.reserve(f"between {expression}")
    assert [*replayed._bodies.items()] == [*written._bodies.items()]
    assert len(replayed._bodies) > 30


PERSON: dict[str, Any] = TABLES["person"]


@table("styles")
def test_json_style_accepts_exactly_dumps_output(
    style: dict[str, Any], dumps: dict[str, Any]
) -> None:
    judge = Judge.of(PERSON, **style)
    value = {"name": 'Zoë "\\\x00\x1f\x7f\u2028😀\n', "age": 3, "mail": "né"}
    text = json.dumps(value, **dumps)
    assert judge.accepts(text)
    for other in ({}, {"ensure_ascii": False}, {"separators": (",", ":")}, {"indent": 1}):
        written = json.dumps(value, **other)
        assert judge.accepts(written) == (written == text)


@pytest.mark.parametrize("ascii_only", [False, True])
def test_each_character_has_one_json_spelling(ascii_only: bool) -> None:
    judge = Judge.of({"type": "string", "maxLength": 1}, ascii_only=ascii_only)
    edges = (0x2028, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x103FF, 0x10400, 0x10FFFF)
    for point in (*range(0x100), *edges):
        text = json.dumps(chr(point), ensure_ascii=ascii_only)
        assert judge.accepts(text), text
        plain, escape = f'"{chr(point)}"', f'"\\u{point:04x}"'
        assert judge.accepts(plain) == (plain == text)
        assert point > 0xFFFF or judge.accepts(escape) == (escape == text)
    alone = ['"\\ud800"', '"\\udc00"', '"\\ud83dx"', '"\\u00E9"', '"\\/"', '"', '""x', '"\\u005c"']
    assert not [text for text in alone if judge.accepts(text)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("least", "most"),
    [(0, 0), (0, 1), (3, 3), (0, None), (5, None), (0, 1001), (999, 2001), (1500, None)],
)
def test_repetition_counts_of_any_size_are_exact(least: int, most: int | None) -> None:
    rules = GbnfRules()
    judge = Judge(rules.text(repeat_items("[a]", least, most, rules)))
    for edge in (0, least, 1000, most or 2000):
        for count in (edge - 1, edge, edge + 1):
            inside = least <= count and (most is None or count <= most)
            assert judge.accepts("a" * count) is (inside or (count < 0 and not least))


def test_billion_items_need_few_rules() -> None:
    rules = GbnfRules()
    repeat_items("[a]", 1, 10**9, rules)
    assert len(list(rules)) < 20


@table("classes")
def test_character_class_accepts_only_its_characters(characters: str, written: str) -> None:
    points = CodePoints.among(characters)
    assert character_class(points) == written
    alone, negated = (
        Judge(f"root ::= {character_class(characters)}\n") for characters in (points, ANY - points)
    )
    for char in {*'ab-^][\\&~"\né x/', *characters}:
        assert alone.accepts(char) is (char in characters)
        assert negated.accepts(char) is (char not in characters)
    literal = Judge(f"root ::= {gbnf_literal(characters)} [x]\n")
    assert literal.accepts(f"{characters}x")
    assert not literal.accepts(f"{characters}y")


@pytest.mark.parametrize(
    "name", ["root", "start", "Ünïcode Name!", "1st", "a_b", "a-b", "-", "x" * 200, "value", "char"]
)
def test_member_names_become_legal_rule_names(name: str) -> None:
    schema = {
        "type": "object",
        "properties": {name: {"enum": ["x", "y"]}, "a b": {"enum": ["z", 1]}, "free": {}},
        "required": [name],
    }
    assert Judge.of(schema).takes({name: "x", "a b": 1, "free": {}})


integers = st.one_of(st.integers(-30, 30), st.integers(-1200, 1200), st.integers(-(10**20), 10**20))
floats = st.one_of(
    st.floats(-20, 20).filter(lambda number: number == 0 or abs(number) >= 1e-322),
    st.integers(-3000, 3000).map(lambda hundredths: hundredths / 100),
    st.floats(min_value=-1e307, max_value=1e307).filter(lambda number: abs(number) >= 1e-322),
    st.sampled_from([0.0, -0.0, 1e16, 9999999999999998.0, 1e-4, 1e-5, 0.1 + 0.2]),
)


def acceptance(grammar: str | None) -> Callable[[str], bool]:
    """Return the acceptance of a grammar of numbers; no grammar accepts nothing.

    It is read as a regular expression, since llguidance parts what stands at a root into lexemes.
    """
    if grammar is None:
        return lambda _: False
    rules = dict(line.split(" ::= ") for line in grammar.splitlines())
    body = rules["root"].replace("digits", rules.get("digits", ""))
    regex = re.sub(r'"([^"]*)"', lambda text: re.escape(text[1]), body).replace(" ", "")
    return lambda text: re.fullmatch(regex, text) is not None


@pytest.mark.slow
@settings(max_examples=200, deadline=None, derandomize=True)
@given(least=st.none() | integers, most=st.none() | integers, values=st.lists(integers, max_size=8))
def test_integer_range_accepts_exactly_its_integers(
    least: int | None, most: int | None, values: list[int]
) -> None:
    expression = integer_range(least, most)
    accepts = acceptance(None if expression is None else f"root ::= {expression}\n")
    near = [bound + step for bound in (least, most) if bound is not None for step in (-1, 0, 1)]
    for value in [*values, *near, 0]:
        inside = (least is None or value >= least) and (most is None or value <= most)
        assert accepts(str(value)) == inside
    others = ("", "-", "-0", "00", "01", "-01", "+1")
    assert not any(accepts(other) for other in others)


@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    low=st.none() | integers | floats,
    high=st.none() | integers | floats,
    opened=st.tuples(st.booleans(), st.booleans()),
    values=st.lists(integers | floats, max_size=8),
)
def test_interval_accepts_its_numbers_in_one_spelling(
    low: float | None, high: float | None, opened: tuple[bool, bool], values: list[float]
) -> None:
    least, most = (None if bound is None else Decimal(repr(bound)) for bound in (low, high))
    interval = Interval(least, most, *opened)
    rules = GbnfRules()
    expression = number_range(interval, rules)
    accepts = acceptance(None if expression is None else rules.text(expression))
    near = [bound for bound in (low, high) if bound is not None]
    near += [bound * factor for bound in near for factor in (1.0001, 0.9999)]
    for value in [*values, *near, 0, -0.0]:
        text = json.dumps(value)
        inside = interval.holds(Decimal(text))
        assert accepts(text) == inside
        if inside and value and not text.lstrip("-").isdigit():
            digits, _, exponent = text.partition("e")
            others = [f"0{text}", f"+{text}", text.upper() if exponent else f"{text}e0"]
            others.append(f"{digits}0e{exponent}" if exponent else f"{text}0")
            assert not [other for other in others if accepts(other)]


_DISPATCH = re.compile(
    r'TagDispatch\(loop_after_dispatch=false, excludes=\((?:"(?:[^"\\]|\\.)*"(?:, )?)*\)\)'
)


_LITERAL_OR_CLASS = re.compile(r'"(?:[^"\\]|\\.)*"|\[(?:[^\]\\]|\\.)*\]')
_REPEATED_CHOICE = re.compile(r"\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)[*+]")


def repeated_choices(grammar: str) -> list[str]:
    """Return the repetitions of a choice that names a rule: 100 ms a mask in xgrammar."""
    bodies = _LITERAL_OR_CLASS.sub("x", grammar).splitlines()
    found = [match[1] for body in bodies for match in _REPEATED_CHOICE.finditer(body)]
    return [group for group in found if "|" in group and re.search(r"[a-z]{2}", group)]


def test_repeated_choice_with_a_rule_is_detected() -> None:
    assert repeated_choices('string ::= "x" ([a-z] | escape)* "x"') == ["x | escape"]
    assert repeated_choices('string ::= "x" [a-z]* (escape [a-z]*)* ("a" | "b")*') == []


TEXT: dict[str, Any] = {"type": "string"}
TEXTS: dict[str, Any] = TABLES["texts"]


def grammars_in_tag(grammar: Grammar) -> list[str]:
    tag = json.dumps(grammar.structural_tag())
    return [json.loads(text) for text in re.findall(r'"grammar": ("(?:[^"\\]|\\.)*")', tag)]


@pytest.mark.parametrize(
    "name", ["j1-json-in-tags", "a1-function-parameter", "a3-invoke-parameter"]
)
def test_structural_tag_text_repeats_no_one_character_rule(name: str) -> None:
    grammar = analysis_of(name).grammar([tool("save", TEXTS, "text")], tool_choice="required")
    (written,) = grammars_in_tag(grammar)
    assert repeated_choices(written) == []
    check_gbnf(_DISPATCH.sub('"x"', written))
    lengths = {loosening.pointer for loosening in grammar.loosened("structural_tag")}
    assert lengths >= {f"#/properties/short/{bound}" for bound in ("minLength", "maxLength")}


def test_python_string_in_a_structural_tag_repeats_no_escapes() -> None:
    grammar = analysis_of("p1-2-python-list").grammar([tool("save", TEXTS)], tool_choice="required")
    (written,) = grammars_in_tag(grammar)
    assert repeated_choices(written) == []
    # A rule of escapes would end within a token: 1.6 ms a mask behind each backslash.
    assert "escape" not in written


@pytest.mark.slow
def test_fixture_structural_tags_repeat_no_choice_of_rules() -> None:
    seen = 0
    repeated: dict[str, list[str]] = {}
    for path in sorted(TEMPLATES.glob("*.jinja")):
        analysis = analysis_of(path.stem)
        if analysis.format.calls is None:
            continue
        with suppress(GrammarError):  # the template writes no answer that was asked for
            grammar = analysis.grammar([tool("save", TEXTS)], tool_choice="required")
            seen += 1
            if found := [*chain(*map(repeated_choices, grammars_in_tag(grammar)))]:
                repeated[path.stem] = found
    assert seen > 50
    assert repeated == {}


@pytest.mark.parametrize("pattern", ["(a|%[0-9])*b?(c+d)?e{2,3}", "(x?y?)+z*", PATTERNS["uri"]])
def test_a_pattern_in_a_tag_refers_to_a_rule_at_the_end_alone(pattern: str) -> None:
    """A rule that ends within a token has xgrammar look at that token again for each mask."""
    rules, regex = _Calling(), whole_pattern(pattern)
    root = RegexWriter(rules, CharacterQuoting.JSON).quoted(regex)
    bodies = [re.sub(r'"(?:\\.|[^"\\])*"|\[(?:\\.|[^\]\\])*\]', "'", body) for _, body in rules]
    assert bodies, root
    assert not [body for body in bodies if re.search(r"[a-z0-9][)*+?{ ]+[^| ]|[(]", body)]


@pytest.mark.parametrize("pattern", ["^(a|b)*(ab?)+$", "^(x?y?)+z*$", "^a{9,12}b?$"])
def test_a_pattern_in_a_tag_matches_the_same_texts(pattern: str) -> None:
    rules, regex = _Calling(), whole_pattern(pattern)
    judge = Judge(rules.text(RegexWriter(rules, CharacterQuoting.JSON).quoted(regex)))
    alphabet = sorted(set("abcde%5xyz") & set(pattern)) + ["5"] * ("0-9" in pattern)
    texts = ["".join(row) for size in range(7) for row in product(alphabet[:6], repeat=size)]
    texts += ["a" * count + end for count in range(14) for end in ("", "b")]
    wrong = [text for text in texts if judge.takes(text) is not bool(re.fullmatch(pattern, text))]
    assert not wrong
    assert any(map(judge.takes, texts))
