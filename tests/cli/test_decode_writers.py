"""The command ``decode`` with a model and with a server in place of chance."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.decoding.running import Start, servers
from tests.analysis.decoding.tiny_model import save_tiny_model
from tests.analysis.decoding.trials import CITIES, trial_of

pytestmark = pytest.mark.slow

Run = Callable[..., Any]
TEMPLATE = "fixtures/templates/tools-bare.jinja"
REQUEST = ("--tool-choice", "required", "--no-parallel")


@pytest.fixture
def start() -> Generator[Start]:
    yield from servers()


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(CITIES), "utf-8")
    return file


def test_a_server_writes(autoparser: Run, start: Start, tools: Path) -> None:
    running = start("heed", "llama-server")
    asked = ("--server", running.url, "--engine", "llama-server", "--walks", "2")
    ran = autoparser("decode", TEMPLATE, "--tools", tools, *REQUEST, *asked)
    assert (ran.code, ran.err) == (0, "")
    assert f"Sampler    llama-server at {running.url}, seed 0" in ran.out
    assert "Tokens     18, as the server counts them\n" in ran.out
    assert "How is" not in ran.out
    assert all("get_weather" in body["prompt"] for body in running.requests)


def test_a_server_that_fails_is_one_line(autoparser: Run, start: Start, tools: Path) -> None:
    running = start("error", "vllm")
    asked = ("--server", running.url, "--engine", "vllm")
    ran = autoparser("decode", TEMPLATE, "--tools", tools, *asked)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"{running.url}: answers with 400")
    assert ran.err.count("\n") == 1


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed (the extra gpu)")
def test_a_model_writes_with_the_mask_and_without(process: Run, tmp_path: Path) -> None:
    directory = save_tiny_model(tmp_path, trial_of("tools-bare", []).tokenizer)
    schema = tmp_path / "schema.json"
    schema.write_text('{"enum": ["yes", "no"]}', "utf-8")
    options = ("--sampler", "transformers", "--model", directory, "--batch", "2", "--walks", "3")
    request = ("--json-schema", schema, "--limit", "30", "--device", "cpu")
    ran = process("decode", TEMPLATE, *options, *request, "--json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    assert (document["answers"], document["clean"]) == (3, 3)
    figures = document["model"]
    assert (figures["device"], figures["batch"]) == ("cpu", 2)
    assert figures["unmasked"]["clean"] == 0
    assert min(figures["tokens_per_second"], figures["unmasked_tokens_per_second"]) > 0
