"""llama.cpp's own parser, asked by a model that writes what it is told."""

from __future__ import annotations

import sys
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from autoparser import Analysis, ChatTemplate, analyze, load_template
from autoparser.analysis.core.conversation import ReadMessage
from autoparser.analysis.core.message_battery import loose_tools
from autoparser.analysis.engines.engine_process import EngineProcess, ParserError, ParserPair
from autoparser.analysis.engines.engine_ranking import AskedText, asked_texts, rank_parsers

from .chats import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.engine]
TITLES = ("content", "1 call", "2 calls", "an argument that is letters beyond ASCII")


@cache
def tags() -> Analysis:
    return analyze(load_template(ROOT / "fixtures/templates/j1-json-in-tags.jinja"))


def read(texts: list[AskedText], template: ChatTemplate, tokens: int = 0) -> Any:
    with EngineProcess("xllamacpp") as process:
        loaded = process.load(template, [], loose_tools(), [each.to_worker() for each in texts])
        assert not loaded.left_out
        return process.read(ParserPair(), range(len(texts)), tokens)


@pytest.mark.parametrize("tokens", [0, 1])
def test_the_model_writes_each_text_to_the_letter(tokens: int) -> None:
    # This template ends a turn with nothing else, and its parser has nothing to take out.
    text = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:"
    said = ["plain", "naïve 日本語 – 🚀", "x" * 600, "<0x41>1.2", "one\ntwo\n\n\tthree"]
    some = asked_texts(tags()).texts[0]
    texts = [replace(some, text=each, opening="", tools=False) for each in said]
    assert read(texts, ChatTemplate(text), tokens) == [ReadMessage(each) for each in said]


def test_most_turns_of_a_common_format_are_read_right() -> None:
    asked = asked_texts(tags())
    with EngineProcess("xllamacpp") as process:
        ranking = rank_parsers(process, tags(), asked)
    (only,) = ranking.pairs
    assert only.pair == ParserPair()
    assert not ranking.offered.has_parsers
    assert ranking.auto is None
    assert only.total + len(ranking.left_out) == len(asked.texts)
    assert only.whole.right > 0.75 * only.total
    assert only.streamed_right > 0.75 * only.total
    assert [each.delivery.tokens for each in only.streamed] == [1]


def test_a_text_that_its_grammar_forbids_is_said_to_be_so() -> None:
    texts = [each for each in asked_texts(tags()).texts if each.meant.calls][:1]
    # The parameter is a number.
    broken = [
        replace(each, text=each.text.replace('"arguments": {', '"arguments": [')) for each in texts
    ]
    (answer,) = read(broken, tags().template)
    assert isinstance(answer, ParserError)
    assert "its grammar does not let the text go on after" in answer.reason


def test_texts_after_a_prompt_that_it_does_not_render_are_left_out() -> None:
    some = asked_texts(tags()).texts[0]
    given = [some.to_worker(), replace(some, opening="another opening").to_worker()]
    with EngineProcess("xllamacpp", sys.executable) as process:
        loaded = process.load(tags().template, [], loose_tools(), given)
    assert list(loaded.left_out) == [1]


def test_a_prompt_that_it_cannot_render_is_the_reason_of_every_text() -> None:
    some = asked_texts(tags()).texts[0]
    template = ChatTemplate(
        "{{ messages[0].content }}{% if tools %}{{ raise_exception('no') }}{% endif %}"
    )
    (answer,) = read([replace(some, tools=True)], template)
    assert isinstance(answer, ParserError)
    assert "no" in answer.reason


def test_a_template_that_it_cannot_load_is_the_reason_of_every_text() -> None:
    some = asked_texts(tags()).texts[0]
    with EngineProcess("xllamacpp") as process:
        process.load(ChatTemplate("{% nonsense %}"), [], loose_tools(), [some.to_worker()])
        answer = process.read(ParserPair(), [0], 0)
    assert isinstance(answer, ParserError)
