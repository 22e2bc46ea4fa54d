"""Models on the Hub that are asked for once, and names in them that are not paths."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.analysis.history.vocabularies import small
from tests.analysis.sources.gguf_files import header, pair, text
from tests.analysis.sources.hub_server import Hub

from .conftest import ROOT, Run

TEMPLATE = (ROOT / "fixtures/templates/a1-function-parameter.jinja").read_text()
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
    commit = hub.add("org/model", {"chat_template.jinja": TEMPLATE})
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
    files = {"chat_template.jinja": TEMPLATE, "tokenizer.json": small().to_str()}
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
    pairs = pair("tokenizer.chat_template", 8, text(TEMPLATE))
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
