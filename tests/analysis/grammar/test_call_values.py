"""Rendered valid values are accepted and parsed back; rendered invalid ones are refused.

The table is `call_values.yaml`. The template writes; llguidance reads the grammar in Lark and in
GBNF; the parser of the same request reads what is accepted.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from autoparser import Analysis, AutoparserError, Grammar, Json
from autoparser.analysis.core.schema_errors import UnheldKeywordError
from autoparser.analysis.grammar.acceptance import GrammarDialect
from tests.case_tables import load_cases
from tests.fixture_analyses import analyzed

TABLE: list[dict[str, Any]] = load_cases(__file__, "call_values.yaml")
QUICK = {"a1-function-parameter", "j1-json-in-tags"}
"""Templates whose analyses other quick tests need, too."""
ASKED = {"role": "user", "content": "Book it."}


class Case(NamedTuple):
    row: dict[str, Any]
    template: str
    dialect: GrammarDialect

    @property
    def analysis(self) -> Analysis:
        folder, _, name = self.template.rpartition("/")
        return analyzed(f"../{folder}/{name}" if folder else name)

    @property
    def tool(self) -> dict[str, Any]:
        return {"name": "book", "description": "Book.", "parameters": self.row["parameters"]}

    def grammar(self, *, loosen: bool) -> Grammar:
        tools = [{"type": "function", "function": self.tool}]
        return self.analysis.grammar(tools, tool_choice="required", loosen=loosen)

    def call(self, arguments: dict[str, Json]) -> str:
        """Return the template's text of a call, after its prompt."""
        template, tools = self.analysis.template, [{"type": "function", "function": self.tool}]
        function = {"name": "book", "arguments": arguments}
        call = {"id": "abcDEF123", "type": "function", "function": function}
        said = {"role": "assistant", "content": "", "tool_calls": [call]}
        prompt = template.render([ASKED], tools, add_generation_prompt=True)
        whole = template.render([ASKED, said], tools)
        assert whole.startswith(prompt)
        return whole[len(prompt) :].rstrip("\n")


def cases() -> list[Any]:
    """Return a case for each row, template and dialect; some are for the quick lane."""
    found: list[Any] = []
    for at, row in enumerate(TABLE):
        for template in row["templates"]:
            for dialect in map(GrammarDialect, row.get("dialects", [*GrammarDialect])):
                # Quick cases alternate between dialects; each dialect gets a sixth of the rows.
                quick = template in QUICK and at % 6 == 3 * (dialect is GrammarDialect.GBNF)
                name = f"{row['name']} ({template}, {dialect})"
                case = Case(row, template, dialect)
                marks = () if quick else pytest.mark.slow
                found.append(pytest.param(case, id=name, marks=marks))
    return found


@pytest.mark.parametrize("case", cases())
def test_call_values_match_the_table(case: Case) -> None:
    row, dialect = case.row, case.dialect
    loosen = row.get("loosen", False)
    grammar = case.grammar(loosen=loosen)
    if "error" in row:
        with pytest.raises(AutoparserError) as caught:
            grammar.accepts("", dialect=dialect)
        check_error(case, caught.value)
        return
    if "loosened" in row:
        assert {*row["loosened"]} <= {
            loosening.keyword for loosening in grammar.loosened(dialect.value)
        }
    for arguments in row.get("accepted", []):
        text = case.call(arguments)
        found = grammar.accepts(text, dialect=dialect)
        assert found.accepted, (text, found)
        assert read_back(grammar, text) == arguments
    for arguments in row.get("refused", []):
        text = case.call(arguments)
        assert not grammar.accepts(text, dialect=dialect).accepted, text


def check_error(case: Case, error: AutoparserError) -> None:
    """Check the words and the place of an error, and that loosening leaves its keyword out."""
    expected = case.row["error"]
    assert expected["words"] in str(error)
    if "keyword" not in expected:
        return
    assert isinstance(error, UnheldKeywordError)
    assert error.keyword == expected["keyword"]
    pointer = expected.get("pointer", error.pointer)
    assert error.pointer == pointer
    assert str(error).startswith(f"the parameters of book, {pointer}: ")
    first = case.grammar(loosen=True).loosened(case.dialect.value)[0]
    assert (first.tool, first.pointer, first.keyword) == ("book", pointer, error.keyword)
    assert str(first).startswith(f"the parameters of book, {pointer} is not enforced: ")


def read_back(grammar: Grammar, text: str) -> object:
    (call,) = grammar.parser().parse(text).tool_calls
    return json.loads(call.arguments)
