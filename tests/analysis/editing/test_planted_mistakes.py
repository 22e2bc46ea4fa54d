"""Mistakes planted into sound templates, of the kinds that `fix` has edits for: each is mended.

`planted.yaml` is the table. The sound template judges: the fixed one renders every conversation as
that does, but for the few rows that say so, where another text is as right.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from autoparser import ChatTemplate
from autoparser.analysis.editing.lint_fixes import fix_template
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.registry import rule_of
from autoparser.analysis.lint.subject import Subject

TEMPLATES = Path(__file__).parents[3] / "fixtures" / "templates"
TABLE = Path(__file__).parent / "planted.yaml"

pytestmark = pytest.mark.slow


@dataclass(frozen=True, slots=True)
class PlantedMistake:
    """A replacement in a template, and the rule that finds it."""

    template: str
    kind: str
    rule: str
    old: str
    new: str
    restored: bool
    """Whether the fixed template renders what the sound one does."""

    @property
    def sound(self) -> str:
        return (TEMPLATES / f"{self.template}.jinja").read_text(encoding="utf-8")

    @property
    def planted(self) -> str:
        assert self.sound.count(self.old) == 1
        return self.sound.replace(self.old, self.new)


def _row(row: dict[str, Any]) -> PlantedMistake:
    restored = row.get("restored", True)
    return PlantedMistake(
        row["in"], row["kind"], row["rule"], row["replace"], row["with"], restored
    )


MISTAKES = [_row(row) for row in yaml.safe_load(TABLE.read_text(encoding="utf-8"))]

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "lookup",
            "description": "Looks a word up.",
            "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
        },
    }
]
QUESTION = {"role": "user", "content": " What is it? "}
ANSWER = {"role": "assistant", "content": " It is this.\n", "reasoning_content": " Easy. "}
CALL: dict[str, Any] = {
    "type": "function",
    "id": "c00000001",
    "function": {"name": "lookup", "arguments": {}},
}
ASKED: dict[str, Any] = {"role": "assistant", "content": "Wait.", "tool_calls": [CALL, CALL]}
RESULT = {
    "role": "tool",
    "content": "a Word of many letters",
    "tool_call_id": "c00000001",
    "name": "lookup",
}
CONVERSATIONS: tuple[list[dict[str, Any]], ...] = (
    [QUESTION],
    [QUESTION, ANSWER],
    [{"role": "system", "content": "Be brief."}, QUESTION, ANSWER, QUESTION],
    [QUESTION, ASKED, RESULT, RESULT, ANSWER, QUESTION, ANSWER],
)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda it: f"{it.template}: {it.kind}")
def test_it_is_mended(mistake: PlantedMistake) -> None:
    template = ChatTemplate(mistake.planted)
    findings = lint(Subject(template), [rule_of(mistake.rule)]).findings
    found = fix_template(template, findings, unsafe=True)
    assert [each.reason for each in found.fixes] == [None]
    sound = ChatTemplate(mistake.sound)
    rendered = [
        [
            template.render(messages, tools, add_generation_prompt=generation)
            for messages in CONVERSATIONS
            for tools in (None, TOOLS)
            for generation in (False, True)
        ]
        for template in (sound, found.template)
    ]
    assert (rendered[0] == rendered[1]) is mistake.restored


def test_there_are_enough() -> None:
    assert len(MISTAKES) >= 25
    assert len({each.template for each in MISTAKES}) >= 10
    assert len({each.rule for each in MISTAKES}) >= 20
