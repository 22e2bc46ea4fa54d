"""Check that costly schemas are refused by tool name, and that cost grows linearly."""

from __future__ import annotations

from typing import Any

import pytest

from autoparser import Json, analyze, load_template
from autoparser.analysis.core.json_types import value_identity
from autoparser.analysis.core.schema_errors import SchemaError
from autoparser.analysis.grammar import schema_options

J1, A1 = "j1-json-in-tags", "a1-function-parameter"
CHOICES = [
    {
        "anyOf": [
            {"type": "object", "properties": {f"{letter}{at}": {"const": letter}}}
            for letter in "abcd"
        ]
    }
    for at in range(12)
]
JOINED = {
    "of a call": {"type": "object", "allOf": CHOICES},
    "of a member": {"type": "object", "properties": {"x": {"allOf": CHOICES}}},
    "of others": {"type": "object", "additionalProperties": {"allOf": CHOICES}},
    "of items": {"properties": {"x": {"type": "array", "items": {"allOf": CHOICES}}}},
}


def tool(parameters: object) -> dict[str, Any]:
    return {"type": "function", "function": {"name": "dear", "parameters": parameters}}


@pytest.mark.parametrize("template", [J1, A1])
@pytest.mark.parametrize("place", JOINED)
def test_multiplying_unions_are_refused_with_the_tools_name(template: str, place: str) -> None:
    analysis = analyze(load_template(f"fixtures/templates/{template}.jinja"))
    with pytest.raises(SchemaError, match=r"the parameters of dear.*unions that apply at once"):
        analysis.grammar([tool(JOINED[place])]).gbnf()


def test_enum_cost_grows_with_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = analyze(load_template(f"fixtures/templates/{J1}.jinja"))
    counts: list[int] = []

    def counted(value: Json) -> str:
        counts[-1] += 1
        return value_identity(value)

    monkeypatch.setattr(schema_options, "value_identity", counted)
    for size in (1000, 2000):
        counts.append(0)
        values = [f"v{at}" for at in range(size)]
        parameters = {"type": "object", "properties": {"x": {"enum": values}}}
        assert "v999" in analysis.grammar([tool(parameters)]).gbnf()
    assert counts[1] <= 2 * counts[0] + 10
