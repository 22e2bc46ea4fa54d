"""Every kind of source, and where a template is said to come from."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.analysis.history.vocabularies import small
from tests.analysis.sources.gguf_files import header, pair, text, write_model
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
def test_a_model_on_the_hub_is_fetched_once_and_named_with_its_commit(
    command: str, hub: Hub, autoparser: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = hub.add("org/model", {"chat_template.jinja": TEMPLATE})
    ran = autoparser(command, "org/model", *COMMANDS[command])
    assert ran.code in (0, 1), ran.err
    told = f"org/model: from org/model at commit {commit}, chat_template.jinja\n"
    # Reports of these two say it themselves.
    assert (told in ran.err) is (command not in ("analyze", "roundtrip"))
    if command not in ("export", "render"):
        document = json.loads(ran.out)
        source = document["template"]["source"]
        assert (source["kind"], source["id"], source["commit"]) == ("hub", "org/model", commit)
    asked = len(hub.requests)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert autoparser(command, "org/model", *COMMANDS[command]).out == ran.out
    assert len(hub.requests) == asked


@pytest.mark.parametrize("command", ["analyze", "roundtrip"])
def test_a_document_of_any_source_is_by_its_schema(
    command: str, hub: Hub, tmp_path: Path, autoparser: Run
) -> None:
    hub.add("org/model", {"chat_template.jinja": TEMPLATE})
    name = "analysis" if command == "analyze" else command
    schema = json.loads((ROOT / f"docs/{name}.schema.json").read_text("utf-8"))
    sources = {
        "hub": ("org/model", "--revision", "main"),
        "gguf": (write_model(tmp_path / "m.gguf", TEMPLATE),),
        "standard input": ("-",),
    }
    for kind, source in sources.items():
        ran = autoparser(command, *source, *COMMANDS[command], stdin=TEMPLATE.encode())
        document = json.loads(ran.out)
        jsonschema.validate(document, schema)
        assert document["template"]["source"]["kind"] == kind
    told = " ".join(autoparser(command, "org/model", "--revision", "main").out.split())
    assert "revision main, chat_template.jinja" in told


def test_a_revision_is_linted(hub: Hub, autoparser: Run, tmp_path: Path) -> None:
    hub.add("org/model", {"chat_template.jinja": TEMPLATE})
    hub.models["org/model"].branches["v1"] = {"chat_template.jinja": b"{% if %}"}
    here = tmp_path / "t.jinja"
    here.write_text(TEMPLATE, encoding="utf-8")
    command = ("lint", "org/model", here, "--select", "AP101", "--format", "concise")
    assert autoparser(*command).code == 0
    ran = autoparser(*command, "--revision", "v1")
    found = [line.partition(":")[0] for line in ran.out.splitlines() if "AP101" in line]
    assert (ran.code, found) == (1, ["org/model"])


def test_a_pasted_address_is_a_model(hub: Hub, autoparser: Run, tmp_path: Path) -> None:
    commit = hub.add("org/model", {"chat_template.jinja": TEMPLATE})
    url = f"{hub.endpoint}/org/model/blob/main/chat_template.jinja?raw=true"
    source = json.loads(autoparser("analyze", url, "--json").out)["template"]["source"]
    assert (source["id"], source["revision"], source["commit"]) == ("org/model", "main", commit)
    # No pattern, although it has a question mark.
    assert autoparser("lint", url, "--select", "AP101").code == 0
    assert autoparser("fetch", url, "-o", tmp_path / "model").code == 0
    refused = autoparser("analyze", url, "--revision", "v1").err
    assert "the URL names the revision 'main', but 'v1' was asked for" in refused
    assert "a model on the Hub cannot be watched" in autoparser("analyze", url, "--watch").err


def test_a_tokenizer_is_named_by_its_address(hub: Hub, autoparser: Run, tmp_path: Path) -> None:
    hub.add("org/model", {"tokenizer.json": small().to_str()})
    template = tmp_path / "t.jinja"
    template.write_text(TEMPLATE, "utf-8")
    use = ("render", template, *COMMANDS["render"], "--tokens", "--tokenizer")
    ran = autoparser(*use, f"{hub.endpoint}/org/model/blob/main/tokenizer.json")
    assert ran.code == 0, ran.err
    ran = autoparser(*use, "https://example.org/org/model")
    assert (ran.code, ran.out) == (2, "")
    assert "this URL is not of the Hub" in ran.err


def test_the_tokenizer_of_a_model_is_that_of_the_templates_commit(
    hub: Hub, autoparser: Run
) -> None:
    files = {"chat_template.jinja": TEMPLATE, "tokenizer.json": small().to_str()}
    commit = hub.add("org/model", files)
    ran = autoparser("render", "org/model", *COMMANDS["render"], "--tokens")
    assert ran.code == 0, ran.err
    asked = [each.line for each in hub.requests if "tokenizer.json" in each.line]
    assert asked
    assert all(commit in line for line in asked)


@pytest.mark.slow
def test_two_revisions_are_compared(hub: Hub, autoparser: Run) -> None:
    hub.add("org/model", {"chat_template.jinja": TEMPLATE})
    files = {"chat_template.jinja": TEMPLATE.encode(), "README.md": b"Another commit."}
    hub.models["org/model"].branches["v1"] = files
    use, v1 = ("compare", "org/model", "org/model"), "revision v1, chat_template.jinja\n"
    ran = autoparser(*use, "--right-revision", "v1")
    assert (ran.code, ran.err.count(v1)) == (0, 1)
    assert autoparser(*use, "--revision", "v1").err.count(v1) == 2
    ran = autoparser(*use, "--revision", "v1", "--left-revision", "main")
    assert (ran.err.count(v1), ran.err.count("revision main, ")) == (1, 1)


def test_an_encoder_is_never_run_unless_it_is_named(tmp_path: Path, autoparser: Run) -> None:
    trap = "import pathlib\npathlib.Path(__file__).with_name('ran').touch()\n"
    for name in ("encoding.py", "encoding/encoding.py", "chat_template.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(trap)
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    assert autoparser("analyze", tmp_path).code == 0
    (tmp_path / "chat_template.jinja").unlink()
    assert autoparser("analyze", tmp_path).code == 2
    assert not list(tmp_path.rglob("ran"))


def test_what_an_encoder_prints_is_not_in_the_document(tmp_path: Path, process: Run) -> None:
    path = tmp_path / "loud.py"
    path.write_text(
        "print('loading')\n"
        "def f(messages):\n"
        "    print('encoding')\n"
        "    return ''.join(f\"[{m['role']}]{m['content']}\" for m in messages)\n"
    )
    ran = process("analyze", "--encoder", f"{path}:f", "--json")
    assert json.loads(ran.out)["template"]["origin"] == f"{path}:f"


def test_a_fetched_directory_is_a_source_of_every_command(
    hub: Hub, tmp_path: Path, autoparser: Run
) -> None:
    files: dict[str, str | bytes] = {
        "chat_template.jinja": TEMPLATE,
        "additional_chat_templates/rag.jinja": "R",
        "tokenizer_config.json": '{"bos_token": "<s>"}',
        "model.safetensors": b"\0" * 50_000,
    }
    commit = hub.add("org/model", files)
    model = tmp_path / "model"
    ran = autoparser("fetch", "org/model", "-o", model)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"From org/model at commit {commit}",
        "    1  additional_chat_templates/rag.jinja",
        f"{len(TEMPLATE.encode()):,}  chat_template.jinja",
        "   20  tokenizer_config.json",
        f"Written to {model}",
    ]
    written = {path.relative_to(model).as_posix() for path in model.rglob("*") if path.is_file()}
    assert written == set(files) - {"model.safetensors"}
    for command, options in COMMANDS.items():
        assert autoparser(command, model, *options).code in (0, 1)
    again = autoparser("fetch", "org/model", "-o", model)
    words = "there is something already; name a new or an empty directory"
    assert (again.code, again.err) == (2, f"{model}: {words}\n")


def test_a_gguf_file_is_fetched_as_a_directory(hub: Hub, tmp_path: Path, autoparser: Run) -> None:
    templates = [{"name": "default", "template": TEMPLATE}, {"name": "rag", "template": "R"}]
    content = write_model(tmp_path / "made.gguf", templates).read_bytes()
    commit = hub.add("org/model", {"m-Q4.gguf": content, "m-Q8.gguf": content})
    ran = autoparser("fetch", "org/model:q8", "-o", tmp_path / "model", "--json")
    document = json.loads(ran.out)
    schema = json.loads((ROOT / "docs/fetch.schema.json").read_text("utf-8"))
    jsonschema.validate(document, schema)
    assert (document["source"]["file"], document["source"]["commit"]) == ("m-Q8.gguf", commit)
    assert sorted(document["files"]) == [
        "additional_chat_templates/rag.jinja",
        "chat_template.jinja",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    config = json.loads((tmp_path / "model/tokenizer_config.json").read_text())
    assert config == {"bos_token": "<s>", "eos_token": "</s>"}


@pytest.mark.parametrize("name", ["../../evil", "/evil", "a/b", "\x1b[31m", ".hidden"])
def test_a_name_in_a_gguf_header_is_no_path(
    hub: Hub, tmp_path: Path, autoparser: Run, name: str
) -> None:
    pairs = pair("tokenizer.chat_template", 8, text(TEMPLATE))
    pairs += pair(f"tokenizer.chat_template.{name}", 8, text("evil"))
    hub.add("org/model", {"m.gguf": header(pairs, 2)})
    ran = autoparser("fetch", "org/model", "-o", tmp_path / "model")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "cannot be that of a file" in ran.err
    assert ran.err.rstrip("\n").isprintable()
    assert not list(tmp_path.rglob("*evil*"))
    assert not (tmp_path / "model").exists()
    # Its text can be read by that name all the same.
    assert autoparser("analyze", "org/model").code == 0
