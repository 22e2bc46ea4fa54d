"""Edited templates: what holds by the edits, and that nothing else is rendered otherwise."""

from __future__ import annotations

from typing import NamedTuple

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
from tests.analysis.history.played import TEMPLATES, fixture, shipped
from tests.analysis.tiny import CONTENT, REASONING, calls, turn
from tests.lanes import sampled

pytestmark = pytest.mark.slow

JSON = calls('<call>{"name": "{{ f.name }}", "arguments": {{ f.arguments|tojson }}}</call>')


def chat(*parts: str) -> ChatTemplate:
    return turn(*parts, opening="<|a|>", end="<|end|>\n", prompt="<|a|>")


class Edited(NamedTuple):
    """A template's parts, a scenario that breaks, and the parts under which it holds."""

    parts: tuple[str, ...]
    scenario: str
    fixed: tuple[str, ...]


LAST = "{% if loop.last and m.reasoning_content %}(r){{ m.reasoning_content }}(/r){% endif %}"
EDITED = {
    "reasoning is kept": Edited((LAST, CONTENT), "reasoning + answer", (REASONING, CONTENT)),
    "reasoning is not trimmed": Edited(
        ("<r>{{ (m.reasoning_content or '')|trim }}</r>", CONTENT, JSON),
        "newline ends reasoning",
        ("<r>{{ m.reasoning_content or '' }}</r>", CONTENT, JSON),
    ),
    "content is not trimmed": Edited(
        ("{{ m.content.strip() }}",), "newline ends answer", ("{{ m.content }}",)
    ),
    "arguments are not encoded twice": Edited(
        (CONTENT, JSON),
        "arguments as string",
        (
            CONTENT,
            JSON.replace(
                "f.arguments|tojson",
                "f.arguments if f.arguments is string else f.arguments|tojson",
            ),
        ),
    ),
    "content stands beside calls": Edited(
        ("{% if not m.tool_calls %}{{ m.content or '' }}{% endif %}", JSON),
        "tool call + content",
        ("{{ m.content or '' }}", JSON),
    ),
}


@pytest.mark.parametrize("title", EDITED)
def test_the_least_edit_is_found(title: str) -> None:
    case = EDITED[title]
    found = preserving_template(analyze(chat(*case.parts)), [shipped(case.scenario)])
    assert found.template.text == chat(*case.fixed).text
    assert [scenario.name for scenario, _ in found.fixed] == [case.scenario]
    assert found.left == ()


HISTORIES = ["history-last-query", "history-content-stripped", "history-tool-cycle"]


@pytest.mark.parametrize("name", sampled(HISTORIES, 3))
def test_by_the_edits_more_holds_and_all_that_held_is_the_same_text(name: str) -> None:
    analysis = fixture(name)
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


def test_a_switch_under_which_it_holds_becomes_the_default_and_can_be_set() -> None:
    analysis = fixture("history-last-query")
    found = preserving_template(analysis, [shipped("reasoning + answer")])
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


def test_by_an_edit_that_serves_others_texts_do_not_change() -> None:
    # Each turn's reasoning may stand there, but what trims the answers trims the questions, too.
    scenarios = [shipped("reasoning + answer"), shipped("newline ends answer")]
    found = preserving_template(analyze(ChatTemplate(ALL_TRIMMED)), scenarios)
    assert found.template.text == ALL_TRIMMED.replace(" and loop.last", "")
    assert [scenario.name for scenario, _ in found.fixed] == ["reasoning + answer"]


def test_no_edit_writes_the_tools_before_each_question() -> None:
    text = TOLD_LAST.replace("m == asked[-1]", "m.role == 'user' and m == asked|last")
    found = preserving_template(analyze(ChatTemplate(text)), [shipped("answer")])
    assert found.edits == ()
    assert [step.scenario.name for step in found.left] == ["answer"]


def test_tools_that_move_stay_at_the_first_question() -> None:
    found = preserving_template(analyze(ChatTemplate(TOLD_LAST)), [shipped("answer")])
    assert found.template.text == TOLD_LAST.replace("[-1]", "[0]")
    assert [scenario.name for scenario, _ in found.fixed] == ["answer"]


# Each is a change that would let the scenario hold, and would break something else.
WRONG = [
    ("{{ m.content }}", "{{ m.content|trim }}"),
    (JSON, JSON.replace("|tojson", "|tojson(sort_keys=true)")),
    ("{{ m.content }}", "{{ m.content }} "),
    (JSON, JSON.replace("f.name", "f.name|upper")),
]


@pytest.mark.parametrize(("right", "wrong"), WRONG)
def test_a_template_that_renders_otherwise_is_told(right: str, wrong: str) -> None:
    parts = ("{{ m.content }}", JSON)
    proof = EditProof(Subject(chat(*parts)), SAMPLED)
    same = proof.proven(chat(*parts))
    assert same is not None
    assert (same.changed, same.safe) == (0, True)
    assert proof.proven(chat(*(part.replace(right, wrong) for part in parts))) is None


def test_arguments_as_text_that_were_right_stay_right() -> None:
    either = "(f.arguments if f.arguments is string else f.arguments|tojson)"
    right = chat(CONTENT, JSON.replace("f.arguments|tojson", either))
    assert EditProof(Subject(right), SAMPLED).proven(chat(CONTENT, JSON)) is None


def test_where_nothing_breaks_nothing_is_edited() -> None:
    template = chat(REASONING, CONTENT, JSON)
    found = preserving_template(analyze(template), [shipped("tool call + both")])
    assert (found.template, found.edits, found.left) == (template, (), ())


def test_what_no_message_holds_no_template_mends() -> None:
    found = preserving_template(analyze(chat(CONTENT, JSON)), [shipped("compact JSON")])
    assert found.edits == ()
    assert [each.fault for each in found.left] == [Culprit.MODEL]


def test_lines_end_as_they_ended() -> None:
    text = (TEMPLATES / "history-last-query.jinja").read_text("utf-8")
    windows = ChatTemplate(text.replace("\n", "\r\n"))

    def found(template: ChatTemplate) -> PreservingTemplate:
        return preserving_template(analyze(template), [shipped("reasoning + answer")])

    assert found(windows).template.text == found(ChatTemplate(text)).template.text.replace(
        "\n", "\r\n"
    )


def test_an_encoder_has_no_text_to_edit() -> None:
    path = TEMPLATES.parent / "encoders" / "dashes.py"
    with pytest.raises(AutoparserError, match="no template that could be edited"):
        preserving_template(analyze(load_encoder(f"{path}:encode_messages")), [shipped("answer")])


def test_what_a_user_says_is_trimmed_as_before() -> None:
    template = ChatTemplate(
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content|trim }}<|end|>{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    found = preserving_template(analyze(template), [shipped("newline ends answer")])
    assert found.edits == ()
    assert [each.scenario.name for each in found.left] == ["newline ends answer"]
