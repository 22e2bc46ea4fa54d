"""Run the commands of the engines' pages verbatim.

Only addresses and paths are substituted. Other fixtures start the servers: llama.cpp's replaces the
command that starts it, and `test_engine_servers.py` starts transformers'.
"""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from autoparser import load_template

from .chats import ROOT, analysis_of, answered, chats_of, parrot, streamed, with_values
from .parrot import END, Parrot
from .running_llama import RunningLlama, running_llama

pytestmark = [pytest.mark.slow, pytest.mark.engine]

NAME = "j1-json-in-tags"
TEMPLATE = ROOT / "fixtures" / "templates" / f"{NAME}.jinja"
PATIENCE = 60.0
"""Seconds that an answer may take, and an endpoint to end."""


def commands_of(page: str, put_in: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the arguments of each `autoparser` command that a page shows, by its name."""
    text = (ROOT / "docs" / f"{page}.md").read_text("utf-8")
    for shown, real in put_in.items():
        assert shown in text, shown
        text = text.replace(shown, real)
    lines = re.findall(r"^autoparser (.+)$", text, re.MULTILINE)
    return {arguments[0]: arguments for arguments in map(shlex.split, lines)}


def ran(arguments: list[str], program: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command, or a program that Python is given, in a process of its own."""
    started = ("-",) if program else ("-m", "autoparser")
    return subprocess.run(  # noqa: S603 - the interpreter that runs the tests
        [sys.executable, *started, *arguments],
        input=program,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@contextmanager
def endpoint(arguments: list[str]) -> Generator[str]:
    """Run `autoparser serve`, give its address, and end it as a signal does."""
    with subprocess.Popen(  # noqa: S603 - the interpreter that runs the tests
        [sys.executable, "-m", "autoparser", *arguments],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    ) as serving:
        assert serving.stderr is not None
        try:
            lines = iter(serving.stderr.readline, "")
            yield (
                next(line for line in lines if line.startswith("Serving "))
                .split("/v1")[0]
                .removeprefix("Serving ")
            )
        finally:
            serving.send_signal(signal.SIGTERM)
            serving.wait(PATIENCE)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningLlama]:
    folder = tmp_path_factory.mktemp("llama")
    with running_llama(parrot(), folder, template=TEMPLATE) as running:
        yield running


@pytest.fixture(scope="module")
def llama_commands(llama: RunningLlama) -> dict[str, list[str]]:
    put_in = {
        "http://127.0.0.1:9000": llama.url,
        "model.gguf": str(llama.model),
        "--port 8080": "--port 0",
        "--walks 20": "--walks 4",
        "tools.yaml": str(ROOT / "fixtures" / "tools.yaml"),
    }
    found = commands_of("engines/llama-server", put_in)
    assert list(found) == ["probe", "serve", "decode"]
    return found


@pytest.mark.parametrize("command", ["probe", "decode"])
def test_llama_server_page_commands_find_their_files(
    command: str, llama_commands: dict[str, list[str]]
) -> None:
    found = ran([*llama_commands[command], "--json"])
    told: dict[str, Any] = json.loads(found.stdout)
    # Now and then this model spells out the end of the turn before it writes the token.
    assert found.returncode in (0, 1), found.stderr
    if command == "probe":
        assert all(prompt["same"] for prompt in told["prompts"])
        assert len(told["texts"]) == 15
    else:
        assert told["clean"] >= 2, told["faults"]
        assert told["calls"] >= 2


def test_llama_server_page_setup_answers_clients(llama_commands: dict[str, list[str]]) -> None:
    chat = next(
        scripted_chat
        for scripted_chat in chats_of(NAME)
        if scripted_chat.message.content and scripted_chat.message.calls
    )
    with endpoint(llama_commands["serve"]) as url:
        health = httpx2.get(f"{url}/health", timeout=PATIENCE)
        message = streamed(url, chat.body)
    assert health.is_success
    assert message == chat.parsed


def test_transformers_page_settings_parse_answers(tmp_path: Path) -> None:
    model, exported = tmp_path / "model", tmp_path / "response_template.json"
    parrot().save_directory(model)
    settings = json.loads((model / "tokenizer_config.json").read_text("utf-8"))
    settings["chat_template"] = TEMPLATE.read_text("utf-8")
    (model / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    put_in = {"path/to/model": str(model), "response_template.json": str(exported)}
    made = ran(commands_of("engines/transformers", put_in)["export"])
    assert made.returncode == 0, made.stderr

    page = (ROOT / "docs" / "engines" / "transformers.md").read_text("utf-8")
    (program,) = re.findall(r"python - \S+ \S+ <<'PY'\n([\s\S]+?)PY\n", page)
    merged = ran([str(model / "tokenizer_config.json"), str(exported)], program)
    assert merged.returncode == 0, merged.stderr

    tokenizer: Any = import_module("transformers").AutoTokenizer.from_pretrained(str(model))
    prompt = analysis_of(NAME).turns(None).prompt
    chats = [
        scripted_chat
        for scripted_chat in chats_of(NAME)
        if scripted_chat.message.content and scripted_chat.message.calls
    ]
    for chat in chats:
        # Parse like the model's server: from the ids, including the model's end token.
        ids = tokenizer.encode(f"{chat.script}{END}", add_special_tokens=False)
        read = tokenizer.parse_response(ids, prefix=prompt)
        assert read["content"] == chat.parsed["content"]
        assert [
            (call["function"]["name"], call["function"]["arguments"]) for call in read["tool_calls"]
        ] == [(call.name, dict(call.arguments)) for call in chat.message.calls]
    assert len(chats) == 28


# A format learned from a log, in front of a real server: the documentation page, run from beginning
# to end. The template renders neither calls nor reasoning. Labeled outputs that are not in the log
# decide: the server writes one, and the client must get the message of its label.


LEARNING = ROOT / "fixtures" / "learning"
LEARNED = LEARNING / "chat-only.jinja"
STOP = "<|eot|>"
LABELED: list[dict[str, Any]] = yaml.safe_load((LEARNING / "examples.yaml").read_text("utf-8"))
TOOLS: list[Any] = yaml.safe_load((LEARNING / "tools.yaml").read_text("utf-8"))


@pytest.fixture(scope="module")
def learned_llama(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningLlama]:
    parrot = Parrot(((STOP, True),), lag=300, ends=(STOP,))
    with running_llama(parrot, tmp_path_factory.mktemp("llama"), slots=1) as running:
        yield running


@pytest.fixture(scope="module")
def commands(
    learned_llama: RunningLlama, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[str]]:
    """Return the page's commands, the learned file's among them."""
    folder = tmp_path_factory.mktemp("learned")
    (folder / "answer.txt").write_text(LABELED[0]["output"], "utf-8")
    put_in = {
        "autoparser learn chat_template.jinja": f"autoparser learn {LEARNED}",
        "autoparser serve chat_template.jinja": f"autoparser serve {LEARNED} --port 0",
        "outputs outputs.jsonl": f"outputs {LEARNING / 'outputs.jsonl'}",
        "tools tools.yaml": f"tools {LEARNING / 'tools.yaml'}",
        "model.format.json": str(folder / "model.format.json"),
        "answer.txt": str(folder / "answer.txt"),
        "http://127.0.0.1:9000": learned_llama.url,
    }
    found = commands_of("learn", put_in)
    assert list(found) == ["learn", "parse", "serve"]
    learned = ran(found["learn"])
    # One line of the log is truncated.
    assert learned.returncode == 1, learned.stderr
    assert "9 of 10 outputs parse completely and re-render exactly" in learned.stderr
    return found


def meant(message: dict[str, Any]) -> dict[str, Any]:
    """Return the fields in which a label and an answer must agree."""
    calls = [call.get("function", call) for call in message.get("tool_calls") or ()]
    given = [(call["name"], call["arguments"]) for call in calls]
    return {
        "content": message.get("content") or None,
        "reasoning": message.get("reasoning_content") or message.get("reasoning") or None,
        "calls": [
            (name, json.loads(value) if isinstance(value, str) else value) for name, value in given
        ],
    }


def test_learned_page_parse_command_returns_the_shown_message(
    commands: dict[str, list[str]],
) -> None:
    parsed = ran([*commands["parse"], "--json"])
    assert parsed.returncode == 0, parsed.stderr
    assert meant(json.loads(parsed.stdout)) == meant(LABELED[0]["message"])


def test_serve_clients_get_the_labeled_messages(
    learned_llama: RunningLlama, commands: dict[str, list[str]]
) -> None:
    render = load_template(LEARNED).render

    def prompt_of(user: str) -> str:
        return render([{"role": "user", "content": user}], None, add_generation_prompt=True)

    with endpoint(commands["serve"]) as url:
        for entry in LABELED:
            user = learned_llama.parrot.padded_message(f"{entry['output']}{STOP}", prompt_of)
            body = {"messages": [{"role": "user", "content": user}], "tools": TOOLS}
            for message in (answered(url, {**body, "max_tokens": 200}), streamed(url, body)):
                assert with_values(message).items() >= meant(entry["message"]).items()
