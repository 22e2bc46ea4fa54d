"""Commands that the tables of `uses/` cannot express: processes, limits, servers, the Hub."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import Mock

import httpx2
import pytest
import yaml

from autoparser import Json, analyze, load_template
from autoparser.analysis.core.errors import LimitKind, TemplateLimitError
from autoparser.analysis.core.reading_judge import ReadMessage
from autoparser.analysis.engines.chat_answers import event
from autoparser.analysis.engines.probe_texts import known_texts
from tests.analysis.decoding.running import Start as StartServer, servers
from tests.analysis.decoding.tiny_model import save_tiny_model
from tests.analysis.decoding.trials import CITIES, trial_of
from tests.analysis.engines.engine_stub import EngineStub, answering, vllm_stub
from tests.analysis.history.renderers import small
from tests.analysis.sources.gguf_files import header, pair, text
from tests.analysis.sources.hub_server import Hub
from tests.engines.running_serve import running_backend

from .conftest import ROOT, Run, Start

TEMPLATE = "fixtures/templates/j1-json-in-tags.jinja"
FORGETS = "fixtures/templates/history-last-query.jinja"
LINES = "fixtures/templates/p1-python-lines.jinja"
BARE = "fixtures/templates/tools-bare.jinja"
REQUEST = ("--tool-choice", "required", "--no-parallel")
LINT = ROOT / "fixtures" / "lint"
SECRET = "the user's own words"


def test_json_is_equal_in_every_process_and_time_zone(process: Run) -> None:
    first, second = (
        process("analyze", TEMPLATE, "--json", PYTHONHASHSEED=seed, TZ=zone)
        for seed, zone in (("1", "UTC"), ("4711", "Asia/Tokyo"))
    )
    assert first.code == 0
    assert first.out == second.out
    assert first.out.isascii()


@pytest.mark.parametrize("name", ["summary", "markers", "switches", "call", "turn", "phases"])
def test_single_section_equals_that_of_the_full_report(name: str, autoparser: Run) -> None:
    ran = autoparser("analyze", TEMPLATE, "--show", name)
    assert ran.code == 0
    assert ran.out in autoparser("analyze", TEMPLATE, "--full").out


@pytest.mark.slow
@pytest.mark.parametrize("refused", [False, True])
def test_terminal_output_is_colored_unless_no_color_is_set(
    refused: bool, terminal: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    if refused:
        monkeypatch.setenv("NO_COLOR", "1")
    shown = terminal("analyze", TEMPLATE)
    assert shown.code == 0
    assert "47/47 test messages match" in shown.out
    assert ("\x1b[36m" in shown.out) is not refused


def test_format_file_without_openai_form_checks_is_read(tmp_path: Path, autoparser: Run) -> None:
    template, saved = tmp_path / "spoiled.jinja", tmp_path / "x.json"
    table = yaml.safe_load(Path("fixtures/usual_form.yaml").read_text("utf-8"))
    template.write_text(table["arguments reversed"]["template"])
    autoparser("analyze", template, "--format", "file", "-o", saved)
    document = json.loads(saved.read_text("ascii"))
    for check in document["checks"]:
        del check["forms"]
    document["gate"]["faults"] = []
    del document["gate"]["usual_asked"], document["gate"]["usual_passed"]
    saved.write_text(json.dumps(document), "ascii")
    ran = autoparser("analyze", saved)
    assert ran.code == 0
    assert "Expects    arguments as a JSON string\n" in ran.out


@pytest.mark.slow
@pytest.mark.parametrize(("code", "more"), [("AP109", ()), ("AP401", ("--unsafe-fixes",))])
def test_fix_json_contains_the_proof(code: str, more: tuple[str, ...], autoparser: Run) -> None:
    ran = autoparser("fix", LINT / code / "fires.jinja", "--select", code, "--json", *more)
    (shown,) = json.loads(ran.out)["templates"]
    (finding,) = shown["findings"]
    proof = finding["proof"]
    assert (ran.code, shown["changed"], finding["fixed"]) == (1, True, True)
    assert 0 < proof["changed"] < proof["conversations"]
    assert finding["safe"] is not bool(more)
    assert proof["beyond"] == (proof["changed"] if more else 0)
    assert {"tools", "reasoning", "several turns", "no system message"} <= {*proof["kinds"]}
    assert all(example["before"] != example["after"] for example in proof["examples"])
    assert {example["asked_for"] for example in proof["examples"]} == {not more}


def test_limit_that_stops_the_search_is_named(
    autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = Mock(side_effect=TemplateLimitError(LimitKind.TASK_TIME, "this took more than 60 s"))
    monkeypatch.setattr("autoparser.analysis.editing.lint_fixes.fix_template", ended)
    ran = autoparser("fix", LINT / "AP109" / "fires.jinja", "--select", "AP109")
    assert (ran.code, ran.out) == (2, "")
    words = " ".join(ran.err.split())
    reasons = ("not finished: ", "this took more than 60 s", "a limit stopped the search")
    for reason in (*reasons, "stays AP109"):
        assert reason in words


@pytest.mark.slow
def test_edited_template_is_a_diff_or_a_file(tmp_path: Path, autoparser: Run) -> None:
    choice = ("--scenario", "reasoning + answer", "--edit")
    ran = autoparser("roundtrip", FORGETS, *choice)
    assert ran.code == 0
    told = "1 edit: 1 more pass: reasoning + answer.\nUnchanged: "
    assert ran.err.startswith(told)
    edited = tmp_path / "edited.jinja"
    assert autoparser("roundtrip", FORGETS, *choice, "--output", edited).out == ""
    (tmp_path / "fixtures/templates").mkdir(parents=True)
    shutil.copy(ROOT / FORGETS, tmp_path / FORGETS)
    patch = ["patch", "-p1", "--quiet"]
    subprocess.run(patch, cwd=tmp_path, input=ran.out, text=True, check=True)  # noqa: S603
    assert (tmp_path / FORGETS).read_text("utf-8") == edited.read_text("utf-8")
    again = autoparser("roundtrip", edited, *choice)
    assert (again.code, again.out) == (0, "")
    assert again.err == "All scenarios pass; no edit needed.\n"


@pytest.fixture
def vllm() -> Generator[EngineStub]:
    with answering(vllm_stub(load_template(ROOT / LINES))) as stub:
        yield stub


@pytest.mark.parametrize(("edge", "codes"), [("", (0, 0)), ("\n", (0, 1))])
def test_probe_with_all_texts_correct_exits_0(
    autoparser: Run, edge: str, codes: tuple[int, int]
) -> None:
    template = load_template(ROOT / LINES)
    meant = {text.text: text.message for text in known_texts(analyze(template), {}).texts}

    def reads(text: str) -> dict[str, object]:
        message = ReadMessage.of(meant[text])
        calls = [{"function": {"name": c.name, "arguments": c.arguments}} for c in message.calls]
        return {"content": message.content + edge, "tool_calls": calls}

    with answering(vllm_stub(template, reads=reads)) as stub:
        plain = autoparser("probe", stub.url, LINES)
        edges = autoparser("probe", stub.url, LINES, "--edges")
    assert (plain.code, edges.code) == codes
    assert "What to do" not in plain.out


def test_probe_without_a_template_takes_the_servers(autoparser: Run, vllm: EngineStub) -> None:
    root = str(ROOT / LINES)
    models = {"data": [{"id": "m", "owned_by": "vllm", "root": root}]}
    vllm.routes["/v1/models"] = lambda _: (200, models)
    ran = autoparser("probe", vllm.url)
    assert ran.code == 1
    assert f"comparing with the template of {root}, which the server says it serves" in ran.err


def test_api_key_is_read_from_the_environment(
    autoparser: Run, vllm: EngineStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOPARSER_API_KEY", "secret")
    ran = autoparser("probe", vllm.url, LINES, "--json")
    assert vllm.headers["authorization"] == "Bearer secret"
    assert "secret" not in ran.out + ran.err
    assert "secret" not in autoparser("probe", "--help").out


def sunny(path: str, _: object) -> list[bytes] | None:
    """Answer every request with one sentence."""
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
        # Standard output contains the address alone, for scripts.
        url = running.stdout.readline().strip()
        body = {"messages": [{"role": "user", "content": SECRET}]}
        answer = httpx2.post(f"{url}/chat/completions", json=body, timeout=30)
        assert answer.json()["choices"][0]["message"]["content"] == "It is sunny."
        (model,) = httpx2.get(f"{url}/models").json()["data"]
        assert model["id"] == "j1-json-in-tags.jinja"
        running.send_signal(signal.SIGTERM)
        assert running.wait(20) == -signal.SIGTERM
        assert said == f"Serving {url} (backend: llama-server at {backend.url})\n"
        # No text of the chat is written except to the requested log.
        assert (running.stdout.read(), running.stderr.read()) == ("", "")
    (line,) = map(json.loads, log.read_text("utf-8").splitlines())
    assert SECRET in line["prompt"]
    assert line["completion"] == "It is sunny."


def test_port_in_use_is_a_one_line_error(autoparser: Run) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        asked = ("--server", "http://127.0.0.1:9", "--engine", "vllm", "--port", port)
        ran = autoparser("serve", TEMPLATE, *asked)
    assert ran.code == 2
    assert f"cannot listen on 127.0.0.1:{port}" in ran.err


@pytest.fixture
def completing() -> Generator[StartServer]:
    yield from servers()


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(CITIES), "utf-8")
    return file


@pytest.mark.slow
def test_decode_with_a_server_reports_sampler_and_tokens(
    autoparser: Run, completing: StartServer, tools: Path
) -> None:
    running = completing("heed", "llama-server")
    asked = ("--server", running.url, "--engine", "llama-server", "--walks", "2")
    ran = autoparser("decode", BARE, "--tools", tools, *REQUEST, *asked)
    assert (ran.code, ran.err) == (0, "")
    assert f"Sampler    llama-server at {running.url}, seed 0" in ran.out
    assert "Tokens     18, as reported by the server\n" in ran.out
    assert "How is" not in ran.out
    assert all("get_weather" in body["prompt"] for body in running.requests)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed (the extra gpu)")
def test_model_samples_with_and_without_the_mask(process: Run, tmp_path: Path) -> None:
    directory = save_tiny_model(tmp_path, trial_of("tools-bare", []).tokenizer)
    schema = tmp_path / "schema.json"
    schema.write_text('{"enum": ["yes", "no"]}', "utf-8")
    options = ("--model", directory, "--batch", "2", "--walks", "3")
    request = ("--json-schema", schema, "--limit", "30", "--device", "cpu")
    ran = process("decode", BARE, *options, *request, "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert (document["answers"], document["clean"]) == (3, 3)
    figures = document["model"]
    assert (figures["device"], figures["batch"]) == ("cpu", 2)
    assert figures["unmasked"]["clean"] == 0
    assert min(figures["tokens_per_second"], figures["unmasked_tokens_per_second"]) > 0


HUB_TEMPLATE = (ROOT / "fixtures/templates/a1-function-parameter.jinja").read_text()
COMMANDS = {
    "analyze": ("--json",),
    "parse": ("--input", "fixtures/outputs/weather.txt", "--json"),
    "grammar": ("-f", "json", "--tools", "fixtures/tools.yaml"),
    "roundtrip": ("--json", "--scenario", "answer"),
    "export": ("--no-check",),
    "render": ("--messages", "fixtures/debugging/question.yaml"),
}
"""The options of each command that lead to a document, or to a text."""


@pytest.mark.parametrize("command", COMMANDS)
def test_hub_model_is_fetched_once_and_named_with_its_commit(
    command: str, hub: Hub, autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = hub.add("org/model", {"chat_template.jinja": HUB_TEMPLATE})
    ran = autoparser(command, "org/model", *COMMANDS[command])
    assert ran.code in (0, 1), ran.err
    told = f"org/model: from org/model at commit {commit}, chat_template.jinja\n"
    # The reports of these two commands state the source themselves.
    assert (told in ran.err) is (command not in ("analyze", "roundtrip"))
    if command not in ("export", "render"):
        source = json.loads(ran.out)["template"]["source"]
        assert (source["kind"], source["id"], source["commit"]) == ("hub", "org/model", commit)
    asked = len(hub.requests)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert autoparser(command, "org/model", *COMMANDS[command]).out == ran.out
    assert len(hub.requests) == asked


def test_tokenizer_comes_from_the_templates_commit(hub: Hub, autoparser: Run) -> None:
    files = {"chat_template.jinja": HUB_TEMPLATE, "tokenizer.json": small().to_str()}
    commit = hub.add("org/model", files)
    ran = autoparser("render", "org/model", *COMMANDS["render"], "--tokens")
    assert ran.code == 0, ran.err
    asked = [request.line for request in hub.requests if "tokenizer.json" in request.line]
    assert asked
    assert all(commit in line for line in asked)


@pytest.mark.parametrize("name", ["../../evil", "/evil", "a/b", "\x1b[31m", ".hidden"])
def test_gguf_template_name_is_not_used_as_a_path(
    hub: Hub, tmp_path: Path, autoparser: Run, name: str
) -> None:
    pairs = pair("tokenizer.chat_template", 8, text(HUB_TEMPLATE))
    pairs += pair(f"tokenizer.chat_template.{name}", 8, text("evil"))
    hub.add("org/model", {"m.gguf": header(pairs, 2)})
    ran = autoparser("fetch", "org/model", "-o", tmp_path / "model")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "is not a valid file name" in ran.err
    assert ran.err.rstrip("\n").isprintable()
    assert not list(tmp_path.rglob("*evil*"))
    assert not (tmp_path / "model").exists()
    # The text of the template is accessible by that name all the same.
    assert autoparser("analyze", "org/model").code == 0
