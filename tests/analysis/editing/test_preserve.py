"""Check edited templates: passing scenarios, and no other changed render."""

from __future__ import annotations

from typing import Any

import pytest

from autoparser import ChatTemplate, analyze, round_trip
from autoparser.analysis.editing.edit_proof import EditProof
from autoparser.analysis.editing.preserving_edits import SAMPLED, preserving_template
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.history.trip_causes import Culprit
from autoparser.analysis.lint.subject import Subject
from tests.analysis.history.test_round_trips import scenario_from
from tests.analysis.tiny import calls, turn
from tests.case_tables import load_cases
from tests.fixture_analyses import TEMPLATES, analyzed
from tests.lanes import sampled

pytestmark = pytest.mark.slow

JSON = calls('<call>{"name": "{{ f.name }}", "arguments": {{ f.arguments|tojson }}}</call>')
TABLE = load_cases(__file__, "preserved.yaml")


def chat(*parts: str) -> ChatTemplate:
    return turn(*parts, opening="<|a|>", end="<|end|>\n", prompt="<|a|>")


def template_of(row: dict[str, Any], *edit: str) -> ChatTemplate:
    text: str = row["text"] if "text" in row else chat(*row["parts"]).text
    text = text.replace("{JSON}", JSON)
    return ChatTemplate(text.replace(edit[0], edit[1]) if edit else text)


@pytest.mark.parametrize(
    "row", TABLE["edits"], ids=lambda row: f"{row.get('fixed', '')}{row.get('left', '')}"
)
def test_smallest_edit_that_makes_scenarios_pass_is_found(row: dict[str, Any]) -> None:
    fixed, left = row.get("fixed", []), row.get("left", [])
    scenarios = [scenario_from(given) for given in (*fixed, *left, *row.get("holds", ()))]
    found = preserving_template(analyze(template_of(row)), scenarios)
    assert found.template.text == template_of(row, *row.get("becomes", ())).text
    assert bool(found.edits) is ("becomes" in row)
    assert [scenario.name for scenario, _ in found.fixed] == fixed
    assert [step.scenario.name for step in found.left] == left
    if "fault" in row:
        assert [step.fault for step in found.left] == [Culprit.MODEL]


HISTORIES = ["history-last-query", "history-content-stripped", "history-tool-cycle"]


@pytest.mark.parametrize("name", sampled(HISTORIES, 3))
def test_edits_fix_steps_and_keep_passing_renders(name: str) -> None:
    analysis = analyzed(name)
    found = preserving_template(analysis, shipped_scenarios())
    before, after = (
        {
            (row.scenario.name, row.next): row.verdict.holds
            for row in round_trip(analysis_, shipped_scenarios()).rows
        }
        for analysis_ in (analysis, analyze(found.template))
    )
    assert {step for step, holds in before.items() if holds} < {
        step for step, holds in after.items() if holds
    }
    assert len(found.fixed) == sum(after.values()) - sum(before.values())
    assert not [step for step in found.left if after[step.scenario.name, step.next]]
    assert found.held_steps > 0
    assert found.proof is not None
    assert found.proof.beyond == 0
    assert {"tools", "reasoning", "several turns"} <= {*found.proof.kinds}


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_switch_that_makes_a_scenario_pass_becomes_the_default(newline: str) -> None:
    text = (TEMPLATES / "history-last-query.jinja").read_text("utf-8").replace("\n", newline)
    scenarios = [scenario_from("reasoning + answer")]
    found = preserving_template(analyze(ChatTemplate(text)), scenarios)
    default = "{% set preserve_thinking = preserve_thinking|default(true) %}"
    assert found.template.text == f"{default}{newline}{text}"


@pytest.mark.parametrize(("right", "wrong"), TABLE["wrong"])
def test_different_render_is_not_proven(right: str, wrong: str) -> None:
    either = "(f.arguments if f.arguments is string else f.arguments|tojson)"
    text = chat("{{ m.content }}", JSON.replace("f.arguments|tojson", either)).text
    if right not in (either, "{{ m.content }}", "f.name"):
        text = text.replace(either, right)
    proof = EditProof(Subject(ChatTemplate(text)), SAMPLED)
    same = proof.prove_edits(ChatTemplate(text))
    assert same is not None
    assert (same.changed, same.safe) == (0, True)
    assert proof.prove_edits(ChatTemplate(text.replace(right, wrong))) is None
