"""Ten turns: where rendering again breaks the prefix, and where a bridge does not."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.overview.portrait import Portrait, portray_template
from autoparser.analysis.overview.portrait_conversation import PortraitConversation
from tests.analysis.history.vocabularies import tiny
from tests.fixture_analyses import analysed

FOLDER = Path(__file__).parents[3] / "fixtures" / "templates"


@cache
def portrait(name: str) -> Portrait:
    return portray_template(analysed(name))


def talk(name: str) -> PortraitConversation:
    return portrait(name).conversation


BREAKS = [
    ("j1-4-compact", set()),
    ("history-last-query", {4, 8}),
]
"""Templates, and the turns after which reasoning is dropped: those before a user's message."""


@pytest.mark.parametrize(("name", "turns"), BREAKS)
def test_the_prefix_breaks_where_reasoning_is_dropped(name: str, turns: set[int]) -> None:
    found = talk(name)
    assert [step.turn for step in found.steps] == list(range(1, 11))
    assert {step.turn for step in found.steps if step.breaks} == turns
    assert found.breaks == len(turns)
    assert (found.thrown_away > 0) == bool(turns)
    for step in found.steps:
        assert 0 < step.reused <= min(step.cached, step.rendered)
        assert (step.written != "") == step.breaks


def test_a_bridge_keeps_all_that_was_computed() -> None:
    steps = talk("history-last-query").steps
    assert all(step.bridged is not None for step in steps)
    lengths = [step.bridged or 0 for step in steps]
    assert lengths == sorted(lengths)
    assert [step.turn for step in steps if step.note] == [4, 8]


@pytest.mark.parametrize("name", ["calls-in-prompt-words", "roles-alternate", "content-plain"])
def test_a_template_without_calls_or_with_strict_roles_has_ten_turns(name: str) -> None:
    assert len(talk(name).steps) == 10


def test_a_conversation_that_cannot_be_had_says_why() -> None:
    source = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}"
        "{% if messages|length > 5 %}{{ raise_exception('enough') }}{% endif %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    found = portray_template(analyze(ChatTemplate(source))).conversation
    assert 0 < len(found.steps) < 10
    assert "enough" in found.stopped


def test_without_a_tokenizer_bytes_are_counted_and_that_is_said() -> None:
    assert talk("j1-4-compact").unit == "bytes, each marker counted as one"
    analysis = analysed("j1-4-compact")
    assert portray_template(analysis, tokenizer=tiny()).conversation.unit == "tokens"


def test_unknown_special_tokens_do_not_stop_it() -> None:
    text = (FOLDER / "j1-json-in-tags.jinja").read_text(encoding="utf-8")
    found = portray_template(analyze(ChatTemplate("{{ bos_token }}" + text))).conversation
    assert len(found.steps) == 10
