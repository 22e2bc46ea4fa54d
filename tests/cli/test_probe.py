"""`autoparser probe` against servers that answer as engines do: exit codes, forms, where from."""

from __future__ import annotations

import json
import sys
from collections.abc import Generator

import pytest
from jsonschema import Draft202012Validator

from autoparser import analyze, load_template
from autoparser.analysis.core.conversation import ReadMessage
from autoparser.analysis.engines import engine_process
from autoparser.analysis.engines.probed_texts import known_texts
from tests.analysis.engines.engine_stub import (
    EngineStub,
    answering,
    sglang_stub,
    vllm_stub,
)
from tests.cli.conftest import ROOT, Run

TEMPLATE = "fixtures/templates/p1-python-lines.jinja"


@pytest.fixture
def vllm() -> Generator[EngineStub]:
    with answering(vllm_stub(load_template(ROOT / TEMPLATE))) as stub:
        yield stub


def test_what_is_read_otherwise_is_exit_code_1(autoparser: Run, vllm: EngineStub) -> None:
    ran = autoparser("probe", vllm.url, TEMPLATE)
    assert (ran.code, ran.err) == (1, "")
    assert "Prompts   4 of 4 match the template" in ran.out
    assert "Misread: 1 call" in ran.out
    assert "--tool-call-parser autoparser --reasoning-parser autoparser" in ran.out
    assert autoparser("probe", vllm.url, TEMPLATE, "--exit-zero").code == 0


@pytest.mark.usefixtures("fake_engines")
def test_the_best_of_vllms_own_parsers_is_named(autoparser: Run) -> None:
    """The server is asked no other parser than its own; its installation has all of them."""
    template = "fixtures/templates/j1-json-in-tags.jinja"
    with answering(vllm_stub(load_template(ROOT / template))) as stub:
        ran = autoparser("probe", stub.url, template, "--python", sys.executable)
        told = json.loads(autoparser("probe", stub.url, template, "--json").out)
    assert ran.code == 1
    lines = ran.out.splitlines()
    at = lines.index("    --reasoning-parser tags --tool-call-parser careful")
    assert (
        lines[at - 1] == "  Of the engine's own parsers, these read most of the template's turns:"
    )
    assert "  best   --reasoning-parser tags --tool-call-parser careful" in lines
    assert told["installed"]["right"] == told["installed"]["texts"] > 40
    assert [each["kind"] for each in told["advice"]] == ["plugin", "installed", "export"]


def test_a_python_without_the_engine_is_an_error(
    autoparser: Run, vllm: EngineStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_process, "ENGINES", ())
    ran = autoparser("probe", vllm.url, TEMPLATE, "--python", sys.executable)
    assert ran.code == 2
    assert "has no vllm; name a Python of vllm" in ran.err


def test_json_has_what_its_schema_says(autoparser: Run) -> None:
    with answering(sglang_stub(load_template(ROOT / TEMPLATE))) as stub:
        ran = autoparser("probe", stub.url, TEMPLATE, "--json")
    told = json.loads(ran.out)
    schema = json.loads((ROOT / "docs" / "probe.schema.json").read_text("utf-8"))
    Draft202012Validator(schema).validate(told)
    assert (told["ok"], told["rung"], ran.code) == (False, "given", 1)
    assert told["server"]["tool_parser"] == "qwen"
    assert told["ranking"]["reasoning"]


@pytest.mark.parametrize(("edge", "codes"), [("", (0, 0)), ("\n", (0, 1))])
def test_all_read_as_it_is_meant_is_exit_code_0(
    autoparser: Run, edge: str, codes: tuple[int, int]
) -> None:
    template = load_template(ROOT / TEMPLATE)
    meant = {each.text: each.message for each in known_texts(analyze(template), {}).texts}

    def reads(text: str) -> dict[str, object]:
        message = ReadMessage.of(meant[text])
        calls = [{"function": {"name": c.name, "arguments": c.arguments}} for c in message.calls]
        return {"content": message.content + edge, "tool_calls": calls}

    with answering(vllm_stub(template, reads=reads)) as stub:
        plain = autoparser("probe", stub.url, TEMPLATE)
        edges = autoparser("probe", stub.url, TEMPLATE, "--edges")
    assert (plain.code, edges.code) == codes
    assert "What to do" not in plain.out


def test_the_template_is_the_servers_where_none_is_named(autoparser: Run, vllm: EngineStub) -> None:
    root = str(ROOT / TEMPLATE)
    models = {"data": [{"id": "m", "owned_by": "vllm", "root": root}]}
    vllm.routes["/v1/models"] = lambda _: (200, models)
    ran = autoparser("probe", vllm.url)
    assert ran.code == 1
    assert f"comparing with the template of {root}, which the server says it serves" in ran.err


def test_the_key_comes_from_the_environment(
    autoparser: Run, vllm: EngineStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOPARSER_API_KEY", "secret")
    ran = autoparser("probe", vllm.url, TEMPLATE, "--json")
    assert vllm.headers["authorization"] == "Bearer secret"
    assert "secret" not in ran.out + ran.err
    assert "secret" not in autoparser("probe", "--help").out
