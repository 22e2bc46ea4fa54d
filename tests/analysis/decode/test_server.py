"""A real server process: the grammar reaches its engine, and its answers are judged as all are."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from autoparser.analysis.decode import (
    Engine,
    Fault,
    Server,
    ServerError,
    grammar_fields,
    judged,
    server_answers,
)

from .trials import CITIES, trial_of

ROOT = Path(__file__).parents[3]
PROCESS = "tests.analysis.decode.server_process"
NAME = "tools-bare"
CLOSERS = ("<tool>", "</tool>")
PROMPT = "<|header|>user<|/header|>\n\nHow is Rio?"


@dataclass
class Running:
    url: str
    asked: Path

    @property
    def requests(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.asked.read_text("utf-8").splitlines()]


Start = Callable[[str, str], Running]


@pytest.fixture
def start(tmp_path: Path) -> Generator[Start]:
    """Start servers, and end them with the test."""
    running: list[subprocess.Popen[str]] = []

    def started(mode: str, engine: str = "vllm") -> Running:
        asked = tmp_path / f"asked-{len(running)}"
        with asked.open("w", encoding="utf-8") as errors:
            process = subprocess.Popen(  # noqa: S603 - the interpreter that runs the tests
                [sys.executable, "-m", PROCESS, mode, engine, *CLOSERS],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        running.append(process)
        assert process.stdout is not None
        port = process.stdout.readline().strip()
        assert port, asked.read_text("utf-8")
        return Running(f"http://127.0.0.1:{port}", asked)

    yield started
    for process in running:
        process.terminate()
        process.communicate(timeout=10)


@pytest.mark.parametrize("engine", list(Engine))
def test_every_answer_is_clean(start: Start, engine: Engine) -> None:
    trial = trial_of(NAME, CITIES, tool_choice="required")
    running = start("heed", engine.value)
    server = Server(f"{running.url}/v1", engine, model="tiny" * (engine is Engine.VLLM))
    answers = server_answers(trial, server, PROMPT, count=4, seed=7, limit=3000)
    report = judged(answers, trial.judge)
    assert report.ok, report.examples
    assert (report.answers, report.clean) == (4, 4)
    requests = running.requests
    assert [body["seed"] for body in requests] == [7, 8, 9, 10]
    for body in requests:
        assert body["path"] == "/v1/completions"
        assert (body["prompt"], body["max_tokens"]) == (PROMPT, 3000)
        assert ("model" in body) is (engine is Engine.VLLM)
        assert grammar_fields(engine, trial.grammar).items() <= body.items()


def test_a_server_that_does_not_heed_the_grammar_is_found_out(start: Start) -> None:
    trial = trial_of(NAME, CITIES, tool_choice="required")
    server = Server(start("heedless", "sglang").url, Engine.SGLANG)
    report = judged(server_answers(trial, server, PROMPT, count=2, seed=0, limit=3000), trial.judge)
    assert report.faults == {Fault.REFUSED: 2}


def test_an_answer_that_the_limit_cut_did_not_end(start: Start) -> None:
    trial = trial_of(NAME, CITIES, tool_choice="required")
    server = Server(start("heed", "vllm").url, Engine.VLLM)
    report = judged(server_answers(trial, server, PROMPT, count=1, seed=0, limit=3), trial.judge)
    assert report.faults == {Fault.NOT_ENDED: 1}


BROKEN = [
    ("error", "answers with 400 Bad Request: ", "no such model"),
    ("html", "answers with no completion: <html>It works!</html>", "choices"),
    ("empty", 'answers with no completion: {"choices": []}', "choices"),
    ("hang", "does not answer within 0.5 seconds", "--timeout"),
]


@pytest.mark.parametrize(("mode", "words", "advice"), BROKEN)
def test_a_server_that_fails_is_one_line(start: Start, mode: str, words: str, advice: str) -> None:
    running = start(mode, "vllm")
    server = Server(running.url, Engine.VLLM, timeout=0.5)
    with pytest.raises(ServerError) as caught:
        server.complete({"prompt": PROMPT})
    line = str(caught.value)
    assert line.startswith(f"{running.url}: {words}")
    assert advice in line
    assert line.isprintable()


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://127.0.0.1:1", "cannot be reached"),
        ("127.0.0.1:8000", "this is no server's address"),
        ("file:///etc/hosts", "this is no server's address"),
        ("", "this is no server's address"),
    ],
)
def test_a_server_that_is_not_there_is_one_line(url: str, words: str) -> None:
    with pytest.raises(ServerError, match=words):
        Server(url, Engine.VLLM, timeout=5).complete({})
