"""Texts of a template, hostile ones where they can be told; `tests/cli/uses` has the rankings."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import SimpleNamespace

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.engines.ranking_texts import AskedTexts, asked_texts
from tests.fixture_analyses import analyzed

NAMES = ("j1-json-in-tags", "a1-function-parameter", "reasoning-forced-open", "content-plain")


@cache
def asked(name: str) -> AskedTexts:
    return asked_texts(analyzed(name))


@pytest.mark.parametrize("name", NAMES)
def test_asked_texts_follow_their_prompt_without_the_end_marker(name: str) -> None:
    analysis = analyzed(name)
    ends = tuple(end.core for end in analysis.format.end_literals)
    assert asked(name).texts
    assert ends
    for text in asked(name).texts:
        assert not text.text.rstrip().endswith(ends)
        if not (text.meant.calls or text.tools):
            setting = {**text.setting} or None
            turns = analysis.turns(None, prompt=text.prompt, chat_template_kwargs=setting)
            assert turns.written_turn(text.meant).text.find(text.text) >= 0, text.title


def titles(name: str) -> set[str]:
    return {text.title for text in asked(name).texts if text.hostile}


def test_hostile_texts_are_asked_only_if_the_template_writes_them() -> None:
    assert {"</tool_call> alone in a string", "a call quoted in reasoning"} <= titles(NAMES[0])
    assert not [title for title in titles("content-plain") if "reasoning" in title]


def test_ambiguous_hostile_texts_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def reads_nothing(_: object) -> SimpleNamespace:
        return SimpleNamespace(
            parse=lambda text: SimpleNamespace(content=text, reasoning_content=None, tool_calls=())
        )

    monkeypatch.setattr(import_module(asked_texts.__module__), "OutputParser", reads_nothing)
    found, usual = asked_texts(analyzed(NAMES[0])), asked(NAMES[0])
    assert [text.title for text in found.texts] == [
        text.title for text in usual.texts if not text.hostile
    ]
    assert found.not_asked == usual.not_asked + sum(text.hostile for text in usual.texts)


def test_texts_continue_a_prompt_that_opens_reasoning() -> None:
    first = asked("a2-2-one-line").texts[0].prompt
    after = [text for text in asked("a2-2-one-line").texts if text.prompt == first]
    assert first.endswith("<think>")
    assert len(after) > 40
    assert all(text.meant.reasoning for text in after)


def test_template_without_calls_gets_no_call_texts() -> None:
    text = "{% for m in messages %}[{{ m.role }}]{{ m.content }}[end]{% endfor %}[assistant]"
    found = asked_texts(analyze(ChatTemplate(text))).texts
    assert [asked_text.title for asked_text in found if not asked_text.hostile]
    assert not [
        asked_text.title
        for asked_text in found
        if asked_text.meant.calls or asked_text.meant.reasoning
    ]
