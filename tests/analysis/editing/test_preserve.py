"""Edited templates: what holds by the edits, and that nothing else is rendered otherwise."""

from __future__ import annotations

import pytest

from autoparser import AutoparserError, ChatTemplate, analyze, load_encoder
from autoparser.analysis.editing.edit_proof import EditProof
from autoparser.analysis.editing.preserving_edits import (
    SAMPLED,
    PreservingTemplate,
    preserving_template,
)
from autoparser.analysis.history.round_trips import round_trip
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.history.trip_causes import Culprit
from autoparser.analysis.lint.subject import Subject
from tests.analysis.history.test_round_trips import scenario_from
from tests.analysis.tiny import CONTENT, REASONING, calls, turn
from tests.fixture_analyses import TEMPLATES, analysed
from tests.lanes import sampled

pytestmark = pytest.mark.slow

JSON = calls('<call>{"name": "{{ f.name }}", "arguments": {{ f.arguments|tojson }}}</call>')


def chat(*parts: str) -> ChatTemplate:
    return turn(*parts, opening="<|a|>", end="<|end|>\n", prompt="<|a|>")


LAST = "{% if loop.last and m.reasoning_content %}(r){{ m.reasoning_content }}(/r){% endif %}"
EITHER = "f.arguments if f.arguments is string else f.arguments|tojson"
USUAL = "{{ m.content }}"
EDITED = {
    # a scenario that breaks: the parts of a turn, and what is replaced in them so that it holds
    "reasoning + answer": ((LAST, CONTENT), (LAST, REASONING)),
    "newline ends reasoning": (
        ("<r>{{ (m.reasoning_content or '')|trim }}</r>", CONTENT, JSON),
        ("{{ (m.reasoning_content or '')|trim }}", "{{ m.reasoning_content or '' }}"),
    ),
    "newline ends answer": (("{{ m.content.strip() }}",), (".strip()", "")),
    "arguments as string": ((CONTENT, JSON), ("f.arguments|tojson", EITHER)),
    "tool call + content": (
        ("{% if not m.tool_calls %}{{ m.content or '' }}{% endif %}", JSON),
        ("{% if not m.tool_calls %}{{ m.content or '' }}{% endif %}", "{{ m.content or '' }}"),
    ),
}


def preserved(template: ChatTemplate, *names: str) -> PreservingTemplate:
    return preserving_template(analyze(template), list(map(scenario_from, names)))


@pytest.mark.parametrize("scenario", EDITED)
def test_the_least_edit_by_which_a_scenario_holds_is_found(scenario: str) -> None:
    parts, (old, new) = EDITED[scenario]
    found = preserved(chat(*parts), scenario)
    assert found.template.text == chat(*(part.replace(old, new) for part in parts)).text
    assert [each.name for each, _ in found.fixed] == [scenario]
    assert found.left == ()


HISTORIES = ["history-last-query", "history-content-stripped", "history-tool-cycle"]


@pytest.mark.parametrize("name", sampled(HISTORIES, 3))
def test_by_the_edits_more_steps_hold_and_those_that_held_render_the_same(name: str) -> None:
    analysis = analysed(name)
    found = preserving_template(analysis, shipped_scenarios())
    before, after = (
        {
            (row.scenario.name, row.next): row.verdict.holds
            for row in round_trip(each, shipped_scenarios()).rows
        }
        for each in (analysis, analyze(found.template))
    )
    assert {step for step, holds in before.items() if holds} < {
        step for step, holds in after.items() if holds
    }
    assert len(found.fixed) == sum(after.values()) - sum(before.values())
    assert not [each for each in found.left if after[each.scenario.name, each.next]]
    assert found.held > 0
    assert found.proof is not None
    assert found.proof.beyond == 0
    assert {"tools", "reasoning", "several turns"} <= {*found.proof.kinds}


def test_a_switch_under_which_a_scenario_holds_becomes_the_default() -> None:
    analysis = analysed("history-last-query")
    found = preserving_template(analysis, [scenario_from("reasoning + answer")])
    assert found.template.text == (
        "{% set preserve_thinking = preserve_thinking|default(true) %}\n" + analysis.template.text
    )
    messages = [
        {"role": "user", "content": "One?"},
        {"role": "assistant", "reasoning_content": "Hm.", "content": "Two."},
        {"role": "user", "content": "Three?"},
    ]
    for value in (True, False):
        old, new = (
            each.render(messages, preserve_thinking=value)
            for each in (analysis.template, found.template)
        )
        assert old == new
    assert "Hm." in found.template.render(messages)


ALL_TRIMMED = (
    "{% for m in messages %}{% set c = m.content|trim %}<|{{ m.role }}|>"
    "{% if m.role == 'assistant' and loop.last %}<r>{{ m.reasoning_content }}</r>{% endif %}"
    "{{ c }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TOLD_LAST = (
    "{% set asked = messages|selectattr('role', 'equalto', 'user')|list %}"
    "{% for m in messages %}{% if tools and m == asked[-1] %}<t>{{ tools|tojson }}</t>{% endif %}"
    "<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def test_an_edit_changes_no_text_of_others_than_the_model() -> None:
    # Each turn's reasoning may stand there, but what trims the answers trims the questions, too.
    found = preserved(ChatTemplate(ALL_TRIMMED), "reasoning + answer", "newline ends answer")
    assert found.template.text == ALL_TRIMMED.replace(" and loop.last", "")
    assert [scenario.name for scenario, _ in found.fixed] == ["reasoning + answer"]


TRIMMED = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content|trim }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
BEFORE_EACH = TOLD_LAST.replace("m == asked[-1]", "m.role == 'user' and m == asked|last")


@pytest.mark.parametrize(
    ("text", "scenario"), [(TRIMMED, "newline ends answer"), (BEFORE_EACH, "answer")]
)
def test_no_edit_trims_no_question_and_writes_no_tools_before_each(
    text: str, scenario: str
) -> None:
    found = preserved(ChatTemplate(text), scenario)
    assert found.edits == ()
    assert [step.scenario.name for step in found.left] == [scenario]


def test_tools_that_move_stay_at_the_first_question() -> None:
    found = preserved(ChatTemplate(TOLD_LAST), "answer")
    assert found.template.text == TOLD_LAST.replace("[-1]", "[0]")
    assert [scenario.name for scenario, _ in found.fixed] == ["answer"]


# Each is a change that would let the scenario hold, and would break something else.
WRONG = [
    (USUAL, "{{ m.content|trim }}"),
    (JSON, JSON.replace("|tojson", "|tojson(sort_keys=true)")),
    (USUAL, "{{ m.content }} "),
    (JSON, JSON.replace("f.name", "f.name|upper")),
]


@pytest.mark.parametrize(("right", "wrong"), WRONG)
def test_a_template_that_renders_otherwise_is_not_proven(right: str, wrong: str) -> None:
    proof = EditProof(Subject(chat(USUAL, JSON)), SAMPLED)
    same = proof.proven(chat(USUAL, JSON))
    assert same is not None
    assert (same.changed, same.safe) == (0, True)
    assert proof.proven(chat(*(part.replace(right, wrong) for part in (USUAL, JSON)))) is None


def test_arguments_as_text_that_were_right_stay_right() -> None:
    right = chat(CONTENT, JSON.replace("f.arguments|tojson", f"({EITHER})"))
    assert EditProof(Subject(right), SAMPLED).proven(chat(CONTENT, JSON)) is None


def test_nothing_is_edited_where_nothing_breaks_or_no_message_holds_the_text() -> None:
    template = chat(REASONING, CONTENT, JSON)
    found = preserved(template, "tool call + both")
    assert (found.template, found.edits, found.left) == (template, (), ())
    found = preserved(chat(CONTENT, JSON), "compact JSON")
    assert (found.edits, [each.fault for each in found.left]) == ((), [Culprit.MODEL])


def test_lines_end_as_they_ended() -> None:
    text = (TEMPLATES / "history-last-query.jinja").read_text("utf-8")
    windows, usual = (
        preserved(ChatTemplate(each), "reasoning + answer").template.text
        for each in (text.replace("\n", "\r\n"), text)
    )
    assert windows == usual.replace("\n", "\r\n") != text.replace("\n", "\r\n")


def test_an_encoder_has_no_text_to_edit() -> None:
    path = TEMPLATES.parent / "encoders" / "dashes.py"
    with pytest.raises(AutoparserError, match="no template that could be edited"):
        preserving_template(
            analyze(load_encoder(f"{path}:encode_messages")), [scenario_from("answer")]
        )
