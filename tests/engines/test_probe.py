"""Probe llama.cpp's own server, and reproduce the session of the docs page."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from autoparser.analysis.engines.probe_base import TextRoute
from autoparser.analysis.engines.probe_client import ProbeClient
from autoparser.analysis.engines.server_probe import server_at
from autoparser.cli.main import run

from .chats import ROOT
from .parrot import Parrot
from .running_llama import RunningLlama, running_llama

pytestmark = pytest.mark.engine

TEMPLATE = "fixtures/templates/a1-function-parameter.jinja"
MARKERS = (("<|im_start|>", True), ("<|im_end|>", True), ("<think>", False), ("</think>", False))
PAGE = ROOT / "docs" / "engines" / "probe.md"
SHOWN_URL = "http://127.0.0.1:8080"


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningLlama]:
    folder = tmp_path_factory.mktemp("probed")
    with running_llama(Parrot(MARKERS), folder, template=ROOT / TEMPLATE) as running:
        yield running


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = run([*arguments, "--no-isolation"])
    return code, capsys.readouterr().out


def test_probe_names_the_engine_and_its_template(llama: RunningLlama) -> None:
    with ProbeClient(llama.url, timeout=20) as client:
        server = server_at(client)
        assert server.served.engine == "llama-server"
        # The server drops the last newline.
        assert f"{server.served.template}\n" == (ROOT / TEMPLATE).read_text("utf-8")
        assert [rung.rung for rung in server.rungs()] == [TextRoute.FORCED]


def test_probe_judges_the_servers_own_parser(
    llama: RunningLlama, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out = printed(capsys, "probe", llama.url, "--json")
    told: dict[str, Any] = json.loads(out)
    assert (code, told["rung"], told["not_asked"]) == (1, "forced", [])
    assert all(prompt["same"] for prompt in told["prompts"])
    verdicts = {text["title"]: text["verdict"] for text in told["texts"]}
    assert len(verdicts) == 15
    assert verdicts["content"] == "exact"
    assert verdicts["1 call"] == "exact"
    # The verdicts for this version of llama.cpp; a later one may read more, and then this fails.
    otherwise = {title for title, verdict in verdicts.items() if verdict == "different"}
    assert otherwise == {
        "reasoning and content and 2 calls",
        "an argument of every type",
        "reasoning that quotes a call",
    }
    assert [advice["kind"] for advice in told["advice"]] == ["serve"]


@pytest.mark.slow
def test_probe_with_another_template_finds_differing_prompts(
    llama: RunningLlama, capsys: pytest.CaptureFixture[str]
) -> None:
    other = "fixtures/templates/j1-json-in-tags.jinja"
    code, out = printed(capsys, "probe", llama.url, str(ROOT / other))
    assert code == 1
    assert re.search(r"^Prompts +0 of 4 match the template$", out, re.MULTILINE)
    assert "    --jinja --chat-template-file FILE\n" in out


@pytest.mark.slow
def test_server_without_jinja_is_advised_the_flag(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / TEMPLATE).read_text("utf-8")
    with running_llama(Parrot(MARKERS), tmp_path, template_text=text) as running:
        code, out = printed(capsys, "probe", running.url)
    assert code == 1
    assert "start it with\n    --jinja\n" in out


@pytest.mark.slow
def test_documented_probe_session_is_reproduced(
    llama: RunningLlama, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "80")
    page = PAGE.read_text("utf-8")
    ((command, shown),) = re.findall(r"```console\n\$ autoparser (.+)\n([\s\S]+?)```", page)
    code, out = printed(capsys, *shlex.split(command.replace(SHOWN_URL, llama.url)))
    assert code == 1
    out = re.sub(rf"{llama.url}, model \S+", f"{SHOWN_URL}, model parrot", out)
    out = out.replace(llama.url, SHOWN_URL)
    at = 0
    for part in shown.split("[…]"):
        at = out.find(part.strip("\n"), at)
        assert at >= 0, part
