"""GBNF that llguidance's reader takes, and that accepts what the template writes."""

from __future__ import annotations

import re

import pytest
from llguidance import LLMatcher, grammar_from

from autoparser.analysis.grammar.call_writer import GrammarError
from autoparser.analysis.grammar.gbnf_writer import write_gbnf
from autoparser.analysis.grammar.grammar_rules import (
    NOTHING,
    FreeProse,
    FreeTextNode,
    GrammarRules,
    JsonValue,
    LiteralNode,
    ProseExit,
)
from autoparser.analysis.grammar.regex_nodes import Regex
from tests.analysis.parsing.loop import analysis_of

from .offers import STRICT
from .tokens import byte_tokenizer, guidance, ids

_NAMES = re.compile(r"[a-z][a-z0-9-]*")


class Table:
    """A table that writes every JSON value as one text between braces, or as digits."""

    def __init__(self) -> None:
        self.section = ""
        self.bodies: dict[str, str] = {}

    def reserve(self, wish: str) -> str:
        name = wish
        while name in self.bodies or name == "root":
            name += "-x"
        self.bodies[name] = ""
        return name

    def add(self, wish: str, body: str) -> str:
        return self.define(self.reserve(wish), body)

    @property
    def never(self) -> str:
        return self.define("never", "[\\x00] [^\\x00-\U0010ffff]")

    @property
    def seam(self) -> str:
        return self.define("seam", f'"" | {self.never} seam')

    def define(self, name: str, body: str) -> str:
        self.bodies[name] = body
        return name

    def value(self, value: JsonValue) -> str:
        schema = value.schema
        assert isinstance(schema, dict)
        kind = schema.get("type")
        return '"{" [^{}]* "}"' if kind == "object" else "[0-9]+"

    def pattern(self, regex: str) -> str:
        assert regex
        return "[0-9]+"

    def bare(self, regex: Regex) -> str:
        raise AssertionError(regex)

    def text(self, root: str) -> str:
        rules = [("root", root), *self.bodies.items()]
        return "".join(f"{name} ::= {body}\n" for name, body in rules)


CALL = '<tool_call>\n{"name": "list_rooms", "arguments": {}}\n</tool_call>'
XML = "<tool_call>\n<function=get_weather>\n<parameter=city>\nA <b> c\n</parameter>\n"
UNIT = "<parameter=unit>\ncelsius\n</parameter>\n</function>\n</tool_call>"


@pytest.mark.parametrize(
    ("name", "text", "accepted"),
    [
        ("j1-json-in-tags", "Hello < there.", True),
        ("j1-json-in-tags", f"Look.\n{CALL}", True),
        ("j1-json-in-tags", f"Look.{CALL}", False),
        ("j1-json-in-tags", f"<think>\nWell.\n</think>\n\nLook.\n{CALL}\n{CALL}", True),
        ("a1-function-parameter", f"Well.\n</think>\n\nLook.\n\n{XML}{UNIT}", True),
        ("a1-function-parameter", f"Well.\n</think>\n\nLook.\n{XML}{UNIT}", False),
        ("a1-function-parameter", f"Well.\n</think>\n\n{XML}{UNIT.replace('celsius', 'x')}", False),
    ],
)
def test_what_is_accepted(name: str, text: str, accepted: bool) -> None:
    table = Table()
    written = write_gbnf(analysis_of(name).grammar(STRICT).rules(), table)
    assert all(_NAMES.fullmatch(each) for each in table.bodies)
    loaded = guidance()
    matcher = LLMatcher(loaded, grammar_from("gbnf", written), log_level=0)
    assert not matcher.is_error(), matcher.get_error()
    tokens = ids(byte_tokenizer(), text)
    whole = matcher.validate_tokens(tokens) == len(tokens)
    assert (whole and matcher.consume_tokens(tokens) and matcher.is_accepting()) is accepted


def test_an_end_of_many_characters_is_refused() -> None:
    exit_ = ProseExit(FreeProse(), "Pages of text. " * 100, NOTHING)
    with pytest.raises(GrammarError, match="1500 characters"):
        write_gbnf(GrammarRules(FreeTextNode((exit_,)), {}), Table())


def test_two_ways_behind_one_close_are_both_there() -> None:
    exits = tuple(ProseExit(FreeProse(), "\n\n", LiteralNode(each)) for each in ("<a>", "<b>"))
    text = write_gbnf(GrammarRules(FreeTextNode(exits), {}), Table())
    matcher = LLMatcher(guidance(), grammar_from("gbnf", text), log_level=0)
    for each in ("x\n\n<a>", "y\n\n<b>"):
        found = matcher.deep_copy()
        assert found.consume_tokens(ids(byte_tokenizer(), each)), each
        assert found.is_accepting()


def test_a_long_text_with_many_marks_in_it_may_be_closed() -> None:
    rules = GrammarRules(FreeTextNode((ProseExit(FreeProse(), "<a>", NOTHING),)), {})
    text = write_gbnf(rules, Table())
    matcher = LLMatcher(guidance(), grammar_from("gbnf", text), log_level=0)
    assert matcher.consume_tokens(ids(byte_tokenizer(), "Some words < others. " * 200 + "<a>"))
    assert matcher.is_accepting(), matcher.get_error()


def test_rules_are_named_after_what_they_are_of_and_stand_in_sections() -> None:
    text = analysis_of("a1-function-parameter").grammar(STRICT).gbnf()
    parts = [section.partition("\n") for section in f"# root\n{text}".split("# ") if section]
    sections = {title: rules for title, _, rules in parts}
    assert {"calls", "content", "reasoning", "texts of arguments"} <= set(sections)
    weather = sections["call of get_weather"]
    assert weather.count("::=") == weather.count("\nget-weather-") + 1
    assert "content-after-lt-slash-thi ::=" in sections["content"]
    # Numbers are left for texts that are read after two markers with the same letters.
    assert not re.search(r"text-[0-9]", text)
