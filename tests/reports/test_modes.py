"""The page on modes explains every word there is, and what it shows is so."""

from __future__ import annotations

import re
from dataclasses import fields
from enum import StrEnum
from pathlib import Path

import pytest

from autoparser import MarkerRegistry
from autoparser.analysis.core.switches import SwitchEffect
from autoparser.analysis.formats.format_view import (
    CallIdPosition,
    ContentMode,
    FormatFlags,
    ReasoningMode,
    ToolFormat,
)
from autoparser.reports.template_page import MEANINGS
from tests.fixture_analyses import analyzed

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "modes.md").read_text("utf-8")

MODES: dict[str, tuple[str, type[StrEnum]]] = {
    "Reasoning": ("reasoning", ReasoningMode),
    "Content": ("content", ContentMode),
    "Tool calls": ("tools", ToolFormat),
    "Call id": ("call_id", CallIdPosition),
}


def table(title: str) -> list[list[str]]:
    """Return the rows of a section's table, less the quotes of code."""
    _, _, section = PAGE.partition(f"\n## {title}\n")
    lines = [line for line in section.partition("\n## ")[0].splitlines() if line.startswith("|")]
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines[2:]]
    return [[cell.strip().replace("\\|", "|") for cell in row] for row in cells]


def code(cell: str) -> str:
    assert cell[0] == cell[-1] == "`", cell
    return cell[1:-1]


@pytest.mark.parametrize("title", MODES)
def test_every_mode_is_explained(title: str) -> None:
    assert [code(row[0]) for row in table(title)] == [*MODES[title][1]]


@pytest.mark.parametrize(
    ("title", "mode", "fixture"),
    [(title, code(row[0]), code(row[2])) for title in MODES for row in table(title)],
)
def test_a_mode_is_shown_by_its_template(title: str, mode: str, fixture: str) -> None:
    assert getattr(analyzed(fixture).view, MODES[title][0]) == mode


def test_every_marker_is_explained() -> None:
    assert [code(row[0]) for row in table("Markers")] == [
        each.name for each in fields(MarkerRegistry)
    ]


@pytest.mark.parametrize(
    ("marker", "text", "fixture"),
    [(code(row[0]), code(row[2]), code(row[3])) for row in table("Markers")],
)
def test_a_marker_is_in_its_template(marker: str, text: str, fixture: str) -> None:
    assert getattr(analyzed(fixture).markers, marker) == text


def test_every_flag_effect_and_phase_is_explained() -> None:
    assert [code(row[0]) for row in table("Flags")] == [each.name for each in fields(FormatFlags)]
    assert [code(row[0]) for row in table("What a switch changes")] == [*SwitchEffect]
    phases = [finding.phase for finding in analyzed("a1-function-parameter").phases]
    assert [code(row[0]) for row in table("Phases")] == phases


def test_the_page_for_a_browser_has_words_for_every_mode() -> None:
    assert [list(words) for words in MEANINGS.values()] == [[*kind] for _, kind in MODES.values()]
