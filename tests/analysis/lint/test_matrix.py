"""The matrix of whole conversations: what is asked, what each holds, and what it costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autoparser import load_template
from autoparser.analysis.lint.conversation_matrix import Voice
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.chat_template import ChatTemplate

TEMPLATES = Path(__file__).parents[3] / "fixtures" / "templates"

MOST_RENDERS = 90
"""So many a template without switches may cost; a lint of it renders about three times as many."""


def subject(name: str) -> Subject:
    return Subject(load_template(TEMPLATES / f"{name}.jinja"))


def test_each_conversation_has_a_name_of_its_own() -> None:
    names = [each.conversation.name for each in subject("j1-json-in-tags").matrix]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["j1-json-in-tags", "t1-name-then-json", "reasoning-none"])
def test_each_text_is_sent_once_and_in_its_order(name: str) -> None:
    asked = subject(name)
    for played in asked.matrix:
        conversation = played.conversation
        sent = json.dumps(conversation.messages(asked.shape))
        places = [sent.find(each.text) for each in conversation.spoken]
        assert all(sent.count(each.text) == 1 for each in conversation.spoken)
        written = [
            place
            for place, each in zip(places, conversation.spoken, strict=True)
            if each.voice is not Voice.REASONING
        ]
        assert written == sorted(written), conversation.name


def test_a_result_knows_its_call() -> None:
    results = [
        each
        for played in subject("j1-json-in-tags").matrix
        for each in played.conversation.spoken
        if each.voice is Voice.RESULT
    ]
    assert results
    assert all(each.call is not None for each in results)


def test_the_smallest_come_first_and_those_with_a_switch_last() -> None:
    played = subject("j1-json-in-tags").matrix
    places = [(bool(each.conversation.setting), each.conversation.size) for each in played]
    assert places == sorted(places)
    assert places[-1][0]
    assert played[0].conversation.name == "a question"


def test_system_and_tools_are_crossed_in_every_scene() -> None:
    played = subject("j1-json-in-tags").matrix
    seen: dict[str, set[tuple[bool, bool]]] = {}
    for each in played:
        conversation = each.conversation
        if not conversation.setting and not conversation.other_form:
            beside = (bool(conversation.system), conversation.tools)
            seen.setdefault(conversation.scene, set()).add(beside)
    assert sum(len(beside) == 4 for beside in seen.values()) >= 12


def test_every_switch_is_set_to_each_of_its_values() -> None:
    settings = [each.conversation.setting for each in subject("j1-json-in-tags").matrix]
    assert {"enable_thinking": True} in settings or {"enable_thinking": False} in settings


def test_a_template_without_calls_is_asked_for_none() -> None:
    asked = Subject(ChatTemplate("{% for each in messages %}[{{ each.content }}]{% endfor %}"))
    assert asked.matrix
    assert not any(each.conversation.tools for each in asked.matrix)
    voices = {each.voice for played in asked.matrix for each in played.conversation.spoken}
    assert voices == {Voice.SYSTEM, Voice.USER, Voice.ANSWER}


def test_each_is_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = subject("t1-name-then-json")
    assert asked.analysis.check.passed
    rendered: list[object] = []
    once = ChatTemplate.render_prepared

    def counted(template: ChatTemplate, variables: dict[str, object]) -> str:
        rendered.append(variables)
        return once(template, variables)

    monkeypatch.setattr(ChatTemplate, "render_prepared", counted)
    first = asked.matrix
    assert 0 < len(rendered) <= MOST_RENDERS
    rendered.clear()
    assert asked.matrix is first
    assert not rendered
