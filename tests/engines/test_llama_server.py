"""Check llama.cpp's own server: constrained and lazy grammars, its Jinja, and probes of it."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from autoparser import Analysis, ChatTemplate, Message, ToolCall
from autoparser.analysis.engines.probe_base import TextRoute
from autoparser.analysis.engines.probe_client import ProbeClient
from autoparser.analysis.engines.server_probe import server_at
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.other_renders import installed_jinjas
from autoparser.analysis.lint.registry import rules_of
from autoparser.analysis.lint.subject import Subject
from autoparser.cli.main import run
from tests.fixture_analyses import analyzed
from tests.lanes import sampled
from tests.offers import tool

from .chats import ROOT, TIMEOUT, analysis_of, parrot
from .parrot import Parrot
from .running_llama import RunningLlama, running_llama

pytestmark = pytest.mark.engine

NAME = "j1-json-in-tags"
BEYOND = "\u00ff\u00fe\u00fd\u00fc\u00fb\u00fa\u00f9\u00f8"
"""How a byte-level vocabulary writes the bytes from 0xF8 on; bytes that go on with a character may
follow them."""
BOOKING = tool(
    "book",
    {"room": {"enum": ["blue"]}, "days": {"type": "integer", "enum": [3]}},
    *("room", "days"),
    closed=True,
)


@pytest.mark.slow
def test_json_masks_allow_only_utf8_bytes(tmp_path: Path) -> None:
    analysis = analysis_of(NAME)
    grammar = analysis.grammar([BOOKING], tool_choice="required", parallel_tool_calls=False)
    vocabulary = parrot().tokenizer.get_vocab()
    begins = [vocabulary[char] for char in BEYOND]
    goes_on = [vocabulary[chr(code)] for code in range(0xA1, 0xC0) if chr(code) in vocabulary]
    bias = [*([id_, 60.0] for id_ in goes_on), *([id_, 100.0] for id_ in begins)]
    # Only the rules of the call are tested, since text before a call may contain any byte.
    rules = grammar.gbnf().partition("\n")[2]
    asked = {"prompt": "Book.", "n_predict": 200, "logit_bias": bias, "temperature": 0.0}
    with running_llama(parrot(), tmp_path) as llama:
        body = {**asked, "grammar": f"root ::= call\n{rules}"}
        answer = httpx2.post(f"{llama.url}/completion", json=body, timeout=TIMEOUT).json()
    arguments = answer["content"].partition('"arguments": ')[2]
    assert json.JSONDecoder().raw_decode(arguments)[0] == {"room": "blue", "days": 3}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("j1-json-in-tags", ()),
        ("content-after-calls", ("<|im_end|>",)),
        ("j3-8-header-recipient", ()),
    ],
)
def test_output_under_the_sent_grammar_matches_the_template(
    name: str, ends: tuple[str, ...], tmp_path: Path
) -> None:
    # The parrot repeats bytes of the prompt wherever the grammar allows. Formats that allow no text
    # before a required call force it to write one. Text after a call continues until the model ends
    # it the way the prompt's turns end.
    template = f"fixtures/templates/{name}.jinja"
    wanted = ["--tools", "fixtures/tools.yaml", "--tool-choice", "required", "--no-parallel"]
    size = ["--walks", "3", "--limit", "600", "--json"]
    model = Parrot(tuple((end, True) for end in ends), lag=300, ends=ends)
    with running_llama(model, tmp_path) as llama:
        asked = ["--server", llama.url, "--engine", "llama-server"]
        ran = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "autoparser", "decode", template, *wanted, *asked, *size],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (ran.returncode, ran.stderr) == (0, "")
    told = json.loads(ran.stdout)
    assert (told["clean"], told["with_calls"]) == (3, 3)


def test_marker_is_written_as_its_token_despite_a_spelling_bias(tmp_path: Path) -> None:
    grammar = analysis_of("content-after-calls").grammar([BOOKING], tool_choice="required")
    model = Parrot(tuple((marker, True) for marker in grammar.preserved_tokens), lag=100)
    known = model.tokenizer.token_to_id
    asked = {"prompt": "x", "n_predict": 20, "temperature": 0.0, "return_tokens": True}
    asked |= {"logit_bias": [[known("<"), 50.0]], "preserved_tokens": grammar.preserved_tokens}
    markers = [known(marker) for marker in grammar.preserved_tokens]
    with running_llama(model, tmp_path) as llama:
        for tokenizer in (None, model.tokenizer):
            body = {**asked, "grammar": grammar.gbnf(tokenizer)}
            answer = httpx2.post(f"{llama.url}/completion", json=body, timeout=TIMEOUT).json()
            first = answer["tokens"][answer["tokens"][0] == known("\n")]
            assert first in ([known("<")] if tokenizer is None else markers)


STYLES = (
    *("j1-json-in-tags", "a1-function-parameter", "j8-2-python-dict-in-tags"),
    *("a6-key-is-tag", "arguments-cdata", "a7-token-pairs"),
)
SAID = "Let me see; {no} <call, yet."


def turn(analysis: Analysis, room: str) -> str:
    """Return the template's turn with some text and a call, after its prompt."""
    call = ToolCall("book", {"room": room, "days": 3}, "abcDEF123")
    written = analysis.turns([BOOKING]).written_turn(Message(SAID, calls=(call,)))
    assert written.continuation is not None
    return written.continuation


@pytest.mark.parametrize("style", sampled(STYLES, len(STYLES)))
def test_lazy_grammar_constrains_only_the_call(style: str, tmp_path: Path) -> None:
    analysis = analyzed(style)
    # The script calls with a value that the schema does not allow. The output must be the call with
    # the only allowed value, as the template renders it.
    script, wanted = turn(analysis, "red!"), turn(analysis, "blue")
    grammar = analysis.grammar([BOOKING], parallel_tool_calls=False, lazy=True)
    held = {
        "grammar": grammar.gbnf(),
        "grammar_lazy": True,
        "grammar_triggers": [trigger.to_llama_server() for trigger in grammar.server_triggers],
    }
    told: list[str] = []
    with running_llama(Parrot(lag=800), tmp_path) as llama:
        prompt = llama.parrot.padded_message(script, str)
        for fields in ({}, held):
            asked = {"prompt": prompt, "temperature": 0.0, "max_tokens": len(script) + 40}
            answer = httpx2.post(
                f"{llama.url}/v1/completions", json={**asked, **fields}, timeout=TIMEOUT
            )
            told.append(answer.json()["choices"][0]["text"])
    end = wanted.index("blue") + len("blue")
    assert told[0].startswith(script.rstrip("\n")[:end])
    assert told[1].startswith(wanted[:end])
    assert "red" not in told[1]


ENDING = "{%- if add_generation_prompt %}{{- '<|assistant|>' }}{% endif %}"
TURNS = (
    "{{- bos_token }}{%- for m in messages %}"
    "{{- '<|' + m.role + '|>' + m.content + eos_token }}{%- endfor %}"
)


TOOLS = "{%- if tools is defined %}\n{{- '#' }}{%- endif %}"
CLOCK = "{{- strftime_now('%Y-%m-%d') }}"


@pytest.mark.parametrize(
    ("template", "code", "place"),
    [
        # The finding names the line with the missing feature.
        (TURNS + "\n{{- 'abc' | wordwrap(2) }}" + ENDING, "AP810", "{{- 'abc' | wordwrap(2) }} on"),
        # In llama.cpp, tools that are not passed are undefined.
        pytest.param(TOOLS + TURNS, "AP811", "{{- '#' }} in", marks=pytest.mark.slow),
        # Both renders use the same time, even while the clock runs.
        pytest.param(CLOCK + TURNS + ENDING, "", "", marks=pytest.mark.slow),
    ],
)
def test_different_llama_render_is_a_finding(template: str, code: str, place: str) -> None:
    llama = [jinja for jinja in installed_jinjas([sys.executable]) if jinja.name == "llama.cpp"]
    assert llama, "xllamacpp belongs to the extra 'test'"
    tokens = {"bos_token": "<begin>", "eos_token": "<over>"}
    found = lint(Subject(ChatTemplate(template, tokens), jinjas=llama), rules_of("AP81")).findings
    assert [(finding.code, finding.line) for finding in found] == ([(code, 2)] if code else [])
    assert all(f" at {place} " in finding.message for finding in found)


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
