"""Tools as servers write them, in two of the project's own templates.

Published ones in real templates: `python -m tests.corpus --real-tools FOLDER`.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.fixture_analyses import TEMPLATES
from tests.fuzz.schemas.trial import FORMATS, JUDGE

from .real_tools import EACH, FORMS, ToolScore, real_tools, scores_of, tools_table

pytestmark = pytest.mark.skipif(find_spec("xgrammar") is None, reason="xgrammar is not installed")

_UUID = "^([0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$"
_ROOM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "room": {"type": "string", "format": "uuid", "pattern": _UUID},
        "guests": {"type": "integer", "minimum": 1, "maximum": 4},
        "kind": {"type": "string", "enum": ["single", "double"]},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]{2,8}$"}},
        "note": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]},
        "extras": {
            "type": "object",
            "propertyNames": {"type": "string"},
            "additionalProperties": {"type": "boolean"},
        },
    },
    "required": ["room", "guests"],
    "additionalProperties": False,
    "$schema": "http://json-schema.org/draft-07/schema#",
}
_TREE: dict[str, Any] = {
    "type": "object",
    "properties": {"tree": {"$ref": "#/$defs/tree"}},
    "required": ["tree"],
    "additionalProperties": False,
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "maxLength": 12},
                "inner": {"type": "array", "items": {"$ref": "#/$defs/tree"}, "maxItems": 2},
            },
            "required": ["name"],
            "additionalProperties": False,
        }
    },
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tools = [
        {"type": "function", "function": {"name": name, "parameters": schema}}
        for name, schema in (("book_room", _ROOM), ("plant", _TREE))
    ]
    (tmp_path / "hotel.json").write_text(json.dumps({"tools": tools}), "utf-8")
    return tmp_path


def test_makes_calls_that_meet_a_schema_and_calls_that_do_not(folder: Path) -> None:
    tools = real_tools(folder)
    assert [tool.name for tool in tools] == ["book_room", "plant"]
    for tool in tools:
        judge = JUDGE(tool.schema, format_checker=FORMATS)
        assert len(tool.valid) == len(tool.invalid) == EACH
        assert all(map(judge.is_valid, tool.valid))
        assert not any(map(judge.is_valid, tool.invalid))


@pytest.mark.parametrize("name", ["j1-json-in-tags", "a1-function-parameter"])
def test_each_form_takes_what_is_valid_and_nothing_else(folder: Path, name: str) -> None:
    found = scores_of(TEMPLATES / f"{name}.jinja", real_tools(folder))
    for form in FORMS:
        score = found[1][form]
        assert not score.wrong, tools_table([found])
        assert not score.unwritten, tools_table([found])
        assert score.counts["valid"] == score.counts["taken"] == 2 * EACH
        kept_out = ("kept out", "ambiguous", "not held")
        assert score.counts["invalid"] == sum(score.counts[each] for each in kept_out) == 2 * EACH
        assert score.counts["kept out"] > EACH
        assert score.together.startswith("2/2")


def test_the_table_names_what_is_wrong() -> None:
    score = ToolScore(wrong=[("plant", "taken", "{}")], unwritten={"dig": "no way"})
    text = tools_table([("own", {"gbnf": score})])
    assert "taken own gbnf plant: '{}'" in text
    assert "unwritten own gbnf dig: no way" in text
