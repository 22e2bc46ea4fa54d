"""The page on modes explains every word there is, and what it shows is so."""

from __future__ import annotations

import re
from dataclasses import fields
from enum import StrEnum
from pathlib import Path

import pytest

from autoparser.analysis.core.switches import SwitchEffect
from autoparser.analysis.formats.format_view import (
    CallIdPosition,
    ContentMode,
    FormatFlags,
    ReasoningMode,
    ToolFormat,
)
from autoparser.formats import MarkerRegistry
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


EXAMPLES = [
    (title, code(mode), code(fixture)) for title in MODES for mode, _, fixture, *_ in table(title)
]


@pytest.mark.parametrize(("title", "mode", "fixture"), EXAMPLES)
def test_a_mode_is_shown_by_its_template(title: str, mode: str, fixture: str) -> None:
    assert getattr(analyzed(fixture).view, MODES[title][0]) == mode


@pytest.mark.parametrize("row", table("Markers"), ids=lambda row: row[0])
def test_a_marker_is_in_its_template(row: list[str]) -> None:
    marker, text, fixture = map(code, (row[0], row[2], row[3]))
    assert getattr(analyzed(fixture).markers, marker) == text


def test_every_mode_marker_flag_effect_and_phase_is_explained() -> None:
    explained = {
        **{title: [*kind] for title, (_, kind) in MODES.items()},
        "Markers": [each.name for each in fields(MarkerRegistry)],
        "Flags": [each.name for each in fields(FormatFlags)],
        "What a switch changes": [*SwitchEffect],
        "Phases": [finding.phase for finding in analyzed("a1-function-parameter").phases],
    }
    assert {title: [code(row[0]) for row in table(title)] for title in explained} == explained
    # The page for a browser has words for every mode, too.
    assert [list(words) for words in MEANINGS.values()] == [[*kind] for _, kind in MODES.values()]
