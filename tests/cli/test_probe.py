"""`autoparser probe` beside its table: edges, a template of the server, a key."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from autoparser import analyze, load_template
from autoparser.analysis.core.conversation import ReadMessage
from autoparser.analysis.engines.probed_texts import known_texts
from tests.analysis.engines.engine_stub import EngineStub, answering, vllm_stub
from tests.cli.conftest import ROOT, Run

TEMPLATE = "fixtures/templates/p1-python-lines.jinja"


@pytest.fixture
def vllm() -> Generator[EngineStub]:
    with answering(vllm_stub(load_template(ROOT / TEMPLATE))) as stub:
        yield stub


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
