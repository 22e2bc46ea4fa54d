"""An engine's process: its answers, and parsers that fail to answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from autoparser import AutoparserError, ChatTemplate
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

CALL = '<tool_call>\n{"name": "f", "arguments": {"a": 1}}\n</tool_call>'
TEXTS: list[dict[str, Any]] = [
    {
        "prompt": "p",
        "opening": "p",
        "text": text,
        "end": "<end>",
        "setting": {},
        "others": [],
        "tools": True,
    }
    for text in (CALL, "Hello.")
]


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
