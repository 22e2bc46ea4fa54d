"""Check that a comparison finds every edit of a template where it shows, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.overview import comparison
from autoparser.analysis.overview.compared_texts import text_differences
from autoparser.analysis.overview.comparison import (
    Comparison,
    FindingFate,
    changed_renders,
    compare_templates,
)
from autoparser.analysis.overview.format_facts import changed_facts
from tests.analysis.history.renderers import analysis_of
from tests.analysis.templates.test_renders import EndlessTemplate
from tests.case_tables import load_cases
from tests.fixture_analyses import TEMPLATES

TABLE = load_cases(__file__, "comparisons.yaml")
SWITCHED: str = TABLE["switched"]


_FATE_BACK = {
    FindingFate.NEW: FindingFate.FIXED,
    FindingFate.FIXED: FindingFate.NEW,
    FindingFate.CHANGED: FindingFate.CHANGED,
}


def text_for(case: dict[str, Any]) -> str:
    if "fixture" not in case:
        return SWITCHED
    text = (TEMPLATES / f"{case['fixture']}.jinja").read_text("utf-8")
    return edit(text, case["before"]) if "before" in case else text


def edit(text: str, case: dict[str, Any]) -> str:
    old, new = case["old"], case["new"]
    assert old in text
    return text.replace(old, new) if old else new + text


def compare(case: dict[str, Any]) -> Comparison:
    text = text_for(case)
    return compare_templates(analysis_of(text), analysis_of(edit(text, case)))


@pytest.mark.slow
@pytest.mark.parametrize("case", TABLE["mutations"], ids=lambda case: case["name"])
def test_mutation_is_found_only_under_its_settings(case: dict[str, Any]) -> None:
    assert SWITCHED.count(case["old"]) == 1
    renders, _ = changed_renders(analysis_of(SWITCHED), analysis_of(edit(SWITCHED, case)))
    changes = renders.changed
    assert changes
    for change in changes:
        assert [dict(setting) for setting in change.under] == case["under"]
    assert changes[-1].only == tuple(filter(None, [case.get("only")]))
    # A difference that shows with default settings is not counted again under a setting.
    usual = case["under"] == [{}]
    counts = renders.differing > 0, renders.under_switches.differing > 0
    assert counts == (usual, not usual)


@pytest.mark.slow
@pytest.mark.parametrize("case", TABLE["spellings"], ids=lambda case: case["old"])
def test_other_jinja_spelling_compares_equal(case: dict[str, Any]) -> None:
    found = compare(case)
    assert (found.equal, found.same_text) == (True, False)
    assert found.renders.total > 100
    assert found.round_trips.total > 30


@pytest.mark.slow
@pytest.mark.parametrize("case", TABLE["edits"], ids=lambda case: case["name"])
def test_edit_changes_facts_renders_trips_and_findings(case: dict[str, Any]) -> None:
    found = compare(case)
    assert found.equal is case.get("equal", False)
    facts = [[fact.aspect, fact.name, fact.left, fact.right] for fact in found.facts]
    assert all(fact in facts for fact in case.get("facts", []))
    trips = [[trip.left, trip.right] for trip in found.round_trips.changed]
    assert all(trip in trips for trip in case.get("trips", []))
    if "turns" in case:
        # The same change in several turns is one fact.
        (fact,) = (fact for fact in found.facts if fact.name == case["turns"])
        assert len(fact.turns) > 1
    if "findings" in case:
        codes = {finding.finding.code for finding in found.findings}
        assert all(code in codes for code in case["findings"]) if case["findings"] else not codes
        text = text_for(case)
        back = compare_templates(analysis_of(edit(text, case)), analysis_of(text))
        there = sorted((change.finding.code, change.fate) for change in found.findings)
        back_again = sorted(
            (change.finding.code, _FATE_BACK[change.fate]) for change in back.findings
        )
        assert there == back_again
    if "refusal" in case:
        change = next(
            render_change for render_change in found.renders.changed if render_change.right is None
        )
        assert (change.right_error, bool(change.left)) == (case["refusal"], True)
    if "render" in case:
        wanted = case["render"]
        # The line is named only for the renders that it writes.
        render, *others = found.renders.changed
        assert [render.only, *(other.only for other in others)] == [("with tools",), ()]
        assert [render.right_line, *(other.right_line for other in others)] == wanted["lines"]
        assert wanted["conversation"] in render.conversations
        assert wanted["before"] in render.before
        assert str(render.left).startswith(wanted["left"])
        assert str(render.right).startswith(wanted["right"])


@pytest.mark.slow
def test_second_change_and_refusal_under_one_value_are_found() -> None:
    text = SWITCHED.replace("'<s>'", "'<system>'").replace("few words", "two words")
    text = text.replace("{{- '\\nThink little.' }}", "{{- raise_exception('Not yet.') }}")
    renders, asked = changed_renders(analysis_of(SWITCHED), analysis_of(text))
    changes = renders.changed
    assert [dict(change.under[0]) for change in changes] == [
        {},
        {"detail": "low"},
        {"style": "terse"},
    ]
    refused = changes[1]
    assert (refused.left_error, refused.right, refused.right_error) == (None, None, "Not yet.")
    values = [("thinking", True), ("thinking", False), ("detail", "low"), ("detail", "high")]
    values += [("style", "terse"), ("persona", "any text"), ("no_tools_note", True)]
    assert all({name: value} in asked.settings for name, value in values)
    assert {"user parts: image", "user parts: input_audio"} <= {*asked.content}
    assert "user parts: file" in asked.refused_by_both.conversations
    assert {"detail": "any text"} in asked.refused_by_both.settings
    assert asked.pairs > 0
    assert (asked.left_out.settings, asked.left_out.renders) == ((), 0)


@pytest.mark.slow
def test_settings_beyond_the_limit_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "MOST_SETTINGS", 4)
    monkeypatch.setattr(comparison, "MOST_PAIRS", 2)
    _, asked = changed_renders(analysis_of(SWITCHED), analysis_of(SWITCHED))
    assert len(asked.settings) == 4
    assert {"no_tools_note": True} in asked.left_out.settings
    assert asked.pairs <= 2


@pytest.mark.slow
def test_renders_beyond_a_limit_are_skipped_and_counted() -> None:
    left = analysis_of(SWITCHED)
    renders, asked = changed_renders(left, replace(left, template=EndlessTemplate(SWITCHED)))
    assert {change.right_error for change in renders.changed} == {"it takes more than 5 s"}
    assert renders.total + renders.under_switches.total <= 3
    assert asked.left_out.renders > 100


def test_special_token_named_by_one_side_is_not_a_difference() -> None:
    text = "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}"
    found = compare_templates(
        analyze(ChatTemplate(text)), analyze(ChatTemplate(text, {"bos_token": "<s>"}))
    )
    assert (found.renders.changed, found.same_text) == ((), True)


def test_changed_placeholder_is_a_fact() -> None:
    text = (TEMPLATES.parent / "parts" / "inline.jinja").read_text("utf-8")
    other = text.replace("<|picture|>", "<|view|>").replace("part.type == 'video'", "false")
    changes = changed_facts(analysis_of(text), analysis_of(other))
    assert {change.aspect for change in changes} == {"parts of the content"}
    found = {change.name: [change.left, change.right] for change in changes}
    assert found == TABLE["placeholders"]


def test_text_before_a_difference_is_in_both_renders() -> None:
    written, other = '{"city": "Oslo", "days": 3}', "{'city': 'Oslo', 'days': 3}"
    differences = text_differences(f"<call>{written}", f"<call>{other}")
    assert len(differences) > 1
    for difference in differences:
        for text, at in ((written, difference.at), (other, difference.right_at)):
            assert f"<call>{text}"[:at].endswith(difference.before), difference


def test_added_turn_of_repeated_words_differs_after_them() -> None:
    turn = "<user>What is the weather in Rio, in Oslo and in Ulm, and which day is the best?</user>"
    (difference,) = text_differences(f"{turn}<model>", f"{turn}{turn}<model>")
    assert difference.left_rest != difference.right_rest
    assert (difference.at, difference.left, difference.right) == (len(turn) + 1, "", f"{turn[1:]}<")
    assert f"{turn}<"[-60:].endswith(difference.before)


def test_changed_quotes_of_one_argument_are_one_difference() -> None:
    text = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}"
        "{% for c in m.tool_calls or [] %}"
        "({{ c.function.name }} {{ c.function.arguments | tojson }})"
        "{% endfor %}</s>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    passed = text.replace(
        "c.function.arguments | tojson",
        "c.function.arguments if c.function.arguments is string else c.function.arguments | tojson",
    )
    found = compare_templates(analyze(ChatTemplate(text)), analyze(ChatTemplate(passed)))
    assert [str(change.left)[:3] for change in found.renders.changed] == ['"{\\']
