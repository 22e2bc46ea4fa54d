"""An engine's process: its answers, parsers that fail to answer, and texts to rank them by."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from autoparser import AutoparserError, ChatTemplate, analyze
from autoparser.analysis.core.message_battery import loose_tools
from autoparser.analysis.core.reading_judge import ReadCall, ReadMessage
from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.engines.engine_process import (
    EngineProcess,
    ParserError,
    ParserPair,
    installed_engines,
    likely_tokens,
)
from autoparser.analysis.engines.engine_worker.__main__ import ENGINES, LookedUpTokens
from autoparser.analysis.engines.environment_worker import PLUGINS
from autoparser.analysis.engines.ranking_texts import AskedTexts, asked_texts
from tests.case_tables import load_cases
from tests.fixture_analyses import analyzed

CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
TEXTS: list[dict[str, Any]] = load_cases(__file__, "engine_process.yaml")["texts"]


@pytest.fixture
def engine(fake_engines: None) -> Iterator[EngineProcess]:
    del fake_engines
    with EngineProcess("sglang", text_seconds=0.1) as process:
        process.load(ChatTemplate("{{ messages }}"), ["<tool_call>"], loose_tools(), TEXTS)
        yield process


def test_installed_engines_of_a_python_are_found(fake_engines: None) -> None:
    del fake_engines
    assert installed_engines(sys.executable) == ("vllm", "sglang")


@pytest.mark.parametrize("python", ["/nowhere/python", "/bin/ls"])
def test_non_python_interpreter_is_an_error(python: str) -> None:
    with pytest.raises(AutoparserError, match="cannot be run"):
        installed_engines(python)


def test_missing_python_is_an_error() -> None:
    named = EngineProcess("sglang", "/nowhere/python")
    with named as process, pytest.raises(AutoparserError, match="cannot be run"):
        process.parsers()


def test_engine_that_fails_to_import_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sglang.py").write_text("raise ImportError('half of it is missing')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with EngineProcess("sglang") as process, pytest.raises(AutoparserError, match="half of it"):
        process.parsers()


def test_engine_parsers_are_listed_and_parse_texts(engine: EngineProcess) -> None:
    found = engine.parsers()
    assert found.version == "0.0.fake"
    assert {"careful", "quick"} < {*found.tools}
    assert found.reasoning == ("tags", "greedy")
    read = ReadMessage(calls=(ReadCall("f", '{"a": 1}'),))
    for tokens in (0, 1, 6):
        answers = engine.read(ParserPair("careful", "tags"), [0, 1], tokens)
        assert answers == [read, ReadMessage("Hello.")]


def test_failing_parsers_lose_only_their_answers(engine: EngineProcess) -> None:
    raised = engine.read(ParserPair("raising"), [0, 1], 0)
    assert raised == [ParserError("ValueError: no idea what <tool is"), ReadMessage("Hello.")]
    looped = engine.read(ParserPair("looping"), [0, 1], 0)
    late = ParserError("it did not finish in 0.1 seconds", late=True)
    assert looped == [late, ReadMessage("Hello.")]
    died = engine.read(ParserPair("dying"), [0], 0)
    words = "the process ended with the code 3: whatever it prints of <tool is not an answer"
    assert died == ParserError(words)
    engine._answer_seconds = 0.5
    slept = engine.read(ParserPair("sleeping"), [0], 0)
    assert slept == ParserError("no answer after 0.5 seconds", late=True)
    engine._answer_seconds = 60
    # The new process gets the texts again.
    assert engine.read(ParserPair("careful"), [1], 0) == [ReadMessage("Hello.")]


def test_lost_processes_lose_one_text_each_until_the_second(engine: EngineProcess) -> None:
    hello = ReadMessage("Hello.")
    words = "the process ended with the code 3: whatever it prints of <tool is not an answer"
    died = ParserError(words)
    assert engine.read(ParserPair("dying"), [0, 1, 1], 0) == [died, hello, hello]
    assert engine.read(ParserPair("dying"), [1, 0, 0, 1], 0) == [hello, died, died, died]
    # A pair that reads no text is not tried on all of them.
    assert engine.read(ParserPair("dying"), [0, 0, 1], 0) == died


def test_slow_parsers_answer_every_text_within_the_limit_of_one(
    fake_engines: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    del fake_engines
    monkeypatch.setenv("FAKE_SLEEP", "0.3")
    with EngineProcess("sglang") as process:
        process.load(ChatTemplate("{{ messages }}"), [], loose_tools(), TEXTS)
        process._answer_seconds = 2
        answers = process.read(ParserPair("sleeping"), [0] * 8, 0)
    assert answers == [ReadMessage(calls=(ReadCall("f", '{"a": 1}'),))] * 8


def test_unknown_parser_is_a_parser_error(engine: EngineProcess) -> None:
    assert engine.read(ParserPair("nobody"), [0], 0) == ParserError("KeyError: 'nobody'")


def test_end_marker_is_kept_for_parsers_that_read_it(engine: EngineProcess) -> None:
    assert engine.read(ParserPair("echo"), [1], 0) == [ReadMessage("Hello.<end>")]
    assert engine.read(ParserPair("blind"), [1], 0) == [ReadMessage("Hello.")]


def test_template_markers_are_single_stream_tokens() -> None:
    template = ChatTemplate("{{ '<|call_begin|>[X] a < b' }}", special_tokens={"eos_token": "</s>"})
    assert likely_tokens(template) == ["<|call_begin|>", "[X]", "</s>"]
    assert likely_tokens(template, ["[X]", "other"]) == ["[X]"]
    tokens = LookedUpTokens(likely_tokens(template))
    pieces = [tokens.decode(number) for number in tokens.encode("a<|call_begin|>b")]
    assert pieces == ["a", "<|call_begin|>", "b"]


def test_engine_process_ends_with_its_context(fake_engines: None) -> None:
    del fake_engines
    with EngineProcess("vllm") as process:
        assert process.parsers().tools == ("careful", "particular")
        running = process._running
        assert running is not None
        assert running._process.poll() is None
    assert running._process.poll() is not None


def test_worker_engine_names_match_the_records() -> None:
    # The workers run in an engine's Python, which cannot import the records.
    titles = {engine.record.package: engine.record.title.lower() for engine in ServerEngine}
    workers: dict[str, Any] = {**ENGINES}
    assert {package: worker.name for package, worker in workers.items()} == titles
    assert PLUGINS.keys() < titles.keys()


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
