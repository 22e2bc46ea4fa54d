"""Check that a server process receives the grammar and that its answers are judged."""

from __future__ import annotations

import pytest

from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.decoding.answer_judge import AnswerFault, judge_answers
from autoparser.analysis.decoding.answer_writers import (
    CompletionServer,
    ServerError,
    grammar_fields,
    server_answers,
)

from .running import Start
from .trials import CITIES, trial_of

NAME = "tools-bare"
PROMPT = "<|header|>user<|/header|>\n\nHow is Rio?"


@pytest.mark.parametrize("engine", list(ServerEngine))
def test_server_with_grammar_returns_only_clean_answers(start: Start, engine: ServerEngine) -> None:
    trial = trial_of(NAME, CITIES, tool_choice="required", markers=False)
    running = start("heed", engine.value)
    server = CompletionServer(
        f"{running.url}/v1", engine, model="tiny" * (engine is ServerEngine.VLLM)
    )
    answers = server_answers(trial, server, PROMPT, count=4, seed=7, limit=3000)
    report = judge_answers(answers, trial.judge)
    assert report.ok, report.examples
    assert (report.answers, report.clean, report.tokens) == (4, 4, 36)
    requests = running.requests
    assert [body["seed"] for body in requests] == [7, 8, 9, 10]
    for body in requests:
        assert body["path"] == "/v1/completions"
        assert (body["prompt"], body["max_tokens"]) == (PROMPT, 3000)
        assert ("model" in body) is (engine is ServerEngine.VLLM)
        assert grammar_fields(engine, trial.grammar).items() <= body.items()


@pytest.mark.parametrize(
    ("mode", "limit", "fault"),
    [("heedless", 3000, AnswerFault.REFUSED), ("heed", 3, AnswerFault.NOT_ENDED)],
)
def test_unconstrained_or_truncated_server_answer_is_a_fault(
    start: Start, mode: str, limit: int, fault: AnswerFault
) -> None:
    trial = trial_of(NAME, CITIES, tool_choice="required", markers=False)
    server = CompletionServer(start(mode, "sglang").url, ServerEngine.SGLANG)
    answers = server_answers(trial, server, PROMPT, count=2, seed=0, limit=limit)
    report = judge_answers(answers, trial.judge)
    assert report.faults == {fault: 2}
    # A server that ignores constraints does not count its tokens either.
    assert (report.tokens is None) is (mode == "heedless")


@pytest.mark.parametrize(
    ("mode", "words", "advice"),
    [
        ("error", "responded with 400 Bad Request: ", "no such model"),
        ("html", "no completion in the response: <html>It works!</html>", "choices"),
        ("empty", 'no completion in the response: {"choices": []}', "choices"),
        ("hang", "does not answer within 0.5 seconds", "raise --server-timeout"),
    ],
)
def test_failing_server_error_is_one_line(start: Start, mode: str, words: str, advice: str) -> None:
    running = start(mode, "vllm")
    server = CompletionServer(running.url, ServerEngine.VLLM, timeout=0.5)
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
        ("127.0.0.1:8000", "not the address of a server"),
        ("file:///etc/hosts", "not the address of a server"),
        ("", "not the address of a server"),
    ],
)
def test_unreachable_server_is_an_error(url: str, words: str) -> None:
    with pytest.raises(ServerError, match=words):
        CompletionServer(url, ServerEngine.VLLM, timeout=5).complete({})
