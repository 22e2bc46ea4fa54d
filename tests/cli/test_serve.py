"""The command ``serve``: it starts, answers, says what is missing, and stops."""

from __future__ import annotations

import json
import signal
import socket
from pathlib import Path

import httpx2
import pytest

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.engines.chat_answers import event
from tests.engines.running_serve import running_backend

from .conftest import Run, Start

TEMPLATE = "fixtures/templates/j1-json-in-tags.jinja"
SECRET = "the user's own words"


def sunny(path: str, _: object) -> list[bytes] | None:
    """Say one sentence, whatever is asked."""
    piece: Json = {"content": "It is sunny.", "tokens": [], "stop": False}
    last: Json = {"content": "", "stop": True, "stop_type": "eos", "tokens_predicted": 3}
    return [event(piece), event(last), b""] if path == "/completion" else None


@pytest.mark.slow
def test_chats_are_answered_and_logged_until_a_signal(tmp_path: Path, start: Start) -> None:
    log = tmp_path / "traffic.jsonl"
    options = ("--engine", "llama-server", "--port", "0", "--traffic-log", log)
    with (
        running_backend(sunny) as backend,
        start("serve", TEMPLATE, "--server", backend.url, *options) as running,
    ):
        assert running.stderr is not None
        assert running.stdout is not None
        said = running.stderr.readline()
        url = said.split(" ")[0]
        body = {"messages": [{"role": "user", "content": SECRET}]}
        answer = httpx2.post(f"{url}/chat/completions", json=body, timeout=30)
        assert answer.json()["choices"][0]["message"]["content"] == "It is sunny."
        (model,) = httpx2.get(f"{url}/models").json()["data"]
        assert model["id"] == "j1-json-in-tags.jinja"
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == -signal.SIGTERM
        assert said.endswith(f"answers by llama-server at {backend.url}\n")
        # Nothing that was said is written but to the log that was asked for.
        assert (running.stdout.read(), running.stderr.read()) == ("", "")
    (line,) = map(json.loads, log.read_text("utf-8").splitlines())
    assert SECRET in line["prompt"]
    assert line["completion"] == "It is sunny."


def test_a_port_that_is_taken_is_one_line(autoparser: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        asked = ("--server", "http://127.0.0.1:9", "--engine", "vllm", "--port", port)
        ran = autoparser("serve", TEMPLATE, *asked)
    assert ran.code == 2
    assert f"cannot listen at 127.0.0.1:{port}" in ran.err
