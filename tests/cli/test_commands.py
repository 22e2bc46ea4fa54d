"""What the tables of `uses/` cannot say of single commands: of processes, limits and servers."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Generator
from pathlib import Path

import pytest
import yaml

from autoparser import analyze, load_template
from autoparser.analysis.core.conversation import ReadMessage
from autoparser.analysis.core.errors import LimitKind, TemplateLimitError
from autoparser.analysis.engines.probed_texts import known_texts
from tests.analysis.engines.engine_stub import EngineStub, answering, vllm_stub

from .conftest import ROOT, Run

TEMPLATE = "fixtures/templates/j1-json-in-tags.jinja"
FORGETS = "fixtures/templates/history-last-query.jinja"
LINES = "fixtures/templates/p1-python-lines.jinja"
LINT = ROOT / "fixtures" / "lint"


def test_json_is_the_same_in_every_process_and_time_zone(process: Run) -> None:
    first, second = (
        process("analyze", TEMPLATE, "--json", PYTHONHASHSEED=seed, TZ=zone)
        for seed, zone in (("1", "UTC"), ("4711", "Asia/Tokyo"))
    )
    assert first.code == 0
    assert first.out == second.out
    assert first.out.isascii()


@pytest.mark.parametrize("name", ["summary", "markers", "switches", "call", "turn", "phases"])
def test_a_section_alone_is_that_of_the_whole_report(name: str, autoparser: Run) -> None:
    ran = autoparser("analyze", TEMPLATE, "--show", name)
    assert ran.code == 0
    assert ran.out in autoparser("analyze", TEMPLATE, "--full").out


@pytest.mark.slow
@pytest.mark.parametrize("refused", [False, True])
def test_a_terminal_gets_color_unless_it_is_refused(
    refused: bool, terminal: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    if refused:
        monkeypatch.setenv("NO_COLOR", "1")
    shown = terminal("analyze", TEMPLATE)
    assert shown.code == 0
    assert "self-check 47/47" in shown.out
    assert ("\x1b[36m" in shown.out) is not refused


def test_a_format_from_before_the_usual_form_was_asked_is_read(
    tmp_path: Path, autoparser: Run
) -> None:
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
    assert "It wants   arguments as JSON text\n" in ran.out


@pytest.mark.slow
@pytest.mark.parametrize(("code", "more"), [("AP109", ()), ("AP401", ("--unsafe-fixes",))])
def test_json_has_the_proof_of_a_fix(code: str, more: tuple[str, ...], autoparser: Run) -> None:
    ran = autoparser("fix", LINT / code / "fires.jinja", "--select", code, "--json", *more)
    (shown,) = json.loads(ran.out)["templates"]
    (finding,) = shown["findings"]
    proof = finding["proof"]
    assert (ran.code, shown["changed"], finding["fixed"]) == (1, True, True)
    assert 0 < proof["changed"] < proof["conversations"]
    assert finding["safe"] is not bool(more)
    assert proof["beyond"] == (proof["changed"] if more else 0)
    assert {"tools", "reasoning", "several turns", "no system message"} <= {*proof["kinds"]}
    assert all(each["before"] != each["after"] for each in proof["examples"])
    assert {each["asked_for"] for each in proof["examples"]} == {not more}


def test_a_limit_that_ends_the_search_is_named(
    autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object, **__: object) -> None:
        raise TemplateLimitError(LimitKind.TASK_TIME, "this took more than 60 s")

    monkeypatch.setattr("autoparser.analysis.editing.lint_fixes.fix_template", ended)
    ran = autoparser("fix", LINT / "AP109" / "fires.jinja", "--select", "AP109")
    assert (ran.code, ran.out) == (2, "")
    words = " ".join(ran.err.split())
    for each in ("not finished: ", "this took more than 60 s", "stays AP109", "a limit ended the"):
        assert each in words


@pytest.mark.slow
def test_an_edited_template_is_a_diff_or_a_file(tmp_path: Path, autoparser: Run) -> None:
    choice = ("--scenario", "reasoning + answer", "--to", "template")
    ran = autoparser("roundtrip", FORGETS, *choice)
    assert ran.code == 0
    told = "1 edit: 1 more hold: reasoning + answer.\nRendered to the same text: "
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
    assert again.err == "Nothing breaks, so nothing is edited.\n"


@pytest.fixture
def vllm() -> Generator[EngineStub]:
    with answering(vllm_stub(load_template(ROOT / LINES))) as stub:
        yield stub


@pytest.mark.parametrize(("edge", "codes"), [("", (0, 0)), ("\n", (0, 1))])
def test_all_read_as_it_is_meant_is_exit_code_0(
    autoparser: Run, edge: str, codes: tuple[int, int]
) -> None:
    template = load_template(ROOT / LINES)
    meant = {each.text: each.message for each in known_texts(analyze(template), {}).texts}

    def reads(text: str) -> dict[str, object]:
        message = ReadMessage.of(meant[text])
        calls = [{"function": {"name": c.name, "arguments": c.arguments}} for c in message.calls]
        return {"content": message.content + edge, "tool_calls": calls}

    with answering(vllm_stub(template, reads=reads)) as stub:
        plain = autoparser("probe", stub.url, LINES)
        edges = autoparser("probe", stub.url, LINES, "--edges")
    assert (plain.code, edges.code) == codes
    assert "What to do" not in plain.out


def test_the_template_is_the_servers_where_none_is_named(autoparser: Run, vllm: EngineStub) -> None:
    root = str(ROOT / LINES)
    models = {"data": [{"id": "m", "owned_by": "vllm", "root": root}]}
    vllm.routes["/v1/models"] = lambda _: (200, models)
    ran = autoparser("probe", vllm.url)
    assert ran.code == 1
    assert f"comparing with the template of {root}, which the server says it serves" in ran.err


def test_the_key_comes_from_the_environment(
    autoparser: Run, vllm: EngineStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUTOPARSER_API_KEY", "secret")
    ran = autoparser("probe", vllm.url, LINES, "--json")
    assert vllm.headers["authorization"] == "Bearer secret"
    assert "secret" not in ran.out + ran.err
    assert "secret" not in autoparser("probe", "--help").out
