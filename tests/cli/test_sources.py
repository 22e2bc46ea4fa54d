"""Every command takes every kind of source, and says where a template came from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.analysis.history.vocabularies import small
from tests.analysis.sources.gguf_files import header, pair, text, write_model
from tests.analysis.sources.hub_server import Hub
from tests.cli.conftest import ROOT, Run

TEMPLATE = (ROOT / "fixtures/templates/a1-function-parameter.jinja").read_text()
TOOLS = ("--tools", "fixtures/tools.yaml")
ENCODER = "fixtures/encoders/dashes.py:encode_messages"


@pytest.fixture
def messages(tmp_path: Path) -> Path:
    file = tmp_path / "messages.yaml"
    file.write_text("- {role: user, content: Hello}\n")
    return file


def commands(messages: Path) -> dict[str, tuple[str, ...]]:
    """Return the options of each command that lead to a document."""
    output = messages.with_name("output.txt")
    output.write_text("Hello")
    return {
        "analyze": ("--json",),
        "parse": ("--input", str(output), "--json"),
        "grammar": ("-f", "json", *TOOLS),
        "roundtrip": ("--json", "--scenario", "answer"),
        "decode": (*TOOLS, "--walks", "2", "--json"),
        "export": ("--no-check",),
        "render": ("--messages", str(messages)),
        "report": (),
    }


NAMES = ("analyze", "parse", "grammar", "roundtrip", "decode", "export", "render", "report")


@pytest.mark.parametrize("command", NAMES)
def test_a_model_on_the_hub(
    command: str,
    hub: Hub,
    messages: Path,
    autoparser: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commit = hub.add("org/model", {"chat_template.jinja": TEMPLATE})
    options = commands(messages)[command]
    ran = autoparser(command, "org/model", *options)
    assert ran.code in (0, 1), ran.err
    said = f"org/model: from org/model at commit {commit}, chat_template.jinja\n"
    if command in ("analyze", "roundtrip"):
        assert said not in ran.err
    else:
        assert said in ran.err
    if command not in ("export", "render", "report"):
        source = json.loads(ran.out)["template"]["source"]
        assert (source["kind"], source["id"], source["commit"]) == ("hub", "org/model", commit)
    asked = len(hub.requests)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert autoparser(command, "org/model", *options).out == ran.out
    assert len(hub.requests) == asked


@pytest.mark.parametrize("command", NAMES)
def test_an_encoder(command: str, messages: Path, autoparser: Run) -> None:
    ran = autoparser(command, "--encoder", ENCODER, *commands(messages)[command])
    assert ran.code in (0, 1), ran.err
    if command not in ("analyze", "roundtrip"):
        assert (
            f"{ENCODER}: an encoder: its Python code was run, with thinking_mode=thinking\n"
            in ran.err
        )
    if command not in ("export", "render", "report"):
        source = json.loads(ran.out)["template"]["source"]
        assert (source["kind"], source["ran_code"]) == ("encoder", True)
    if command == "render":
        assert ran.out == "<-begin-><-user->Hello<-model-><think>"


@pytest.mark.parametrize("command", NAMES)
def test_a_gguf_file(command: str, tmp_path: Path, messages: Path, autoparser: Run) -> None:
    path = write_model(tmp_path / "m.gguf", TEMPLATE)
    ran = autoparser(command, path, *commands(messages)[command])
    assert ran.code in (0, 1), ran.err
    if command not in ("export", "render", "report"):
        assert json.loads(ran.out)["template"]["source"]["kind"] == "gguf"


def test_a_revision_is_linted(hub: Hub, autoparser: Run, tmp_path: Path) -> None:
    hub.add("org/model", {"chat_template.jinja": TEMPLATE})
    hub.models["org/model"].branches["v1"] = {"chat_template.jinja": b"{% if %}"}
    here = tmp_path / "t.jinja"
    here.write_text(TEMPLATE, encoding="utf-8")
    command = ("lint", "org/model", here, "--select", "AP101", "--format", "concise")
    assert autoparser(*command).code == 0
    ran = autoparser(*command, "--revision", "v1")
    assert ran.code == 1
    assert [line.partition(":")[0] for line in ran.out.splitlines() if "AP101" in line] == [
        "org/model"
    ]


def test_a_pasted_url_is_a_model(hub: Hub, autoparser: Run, tmp_path: Path) -> None:
    commit = hub.add("org/model", {"chat_template.jinja": TEMPLATE})
    url = f"{hub.endpoint}/org/model/blob/main/chat_template.jinja?raw=true"
    ran = autoparser("analyze", url, "--json")
    source = json.loads(ran.out)["template"]["source"]
    assert (source["id"], source["revision"], source["commit"]) == ("org/model", "main", commit)
    # No pattern, although it has a question mark.
    assert autoparser("lint", url, "--select", "AP101").code == 0
    assert autoparser("fetch", url, "-o", tmp_path / "model").code == 0
    ran = autoparser("analyze", url, "--revision", "v1")
    assert "the URL names the revision 'main', but 'v1' was asked for" in ran.err
    ran = autoparser("analyze", url, "--watch")
    assert "a model on the Hub cannot be watched" in ran.err


def test_a_tokenizer_is_named_by_its_url(
    hub: Hub, autoparser: Run, tmp_path: Path, messages: Path
) -> None:
    hub.add("org/model", {"tokenizer.json": small().to_str()})
    template = tmp_path / "t.jinja"
    template.write_text(TEMPLATE, "utf-8")
    use = ("render", template, "--messages", messages, "--tokens", "--tokenizer")
    ran = autoparser(*use, f"{hub.endpoint}/org/model/blob/main/tokenizer.json")
    assert ran.code == 0, ran.err
    ran = autoparser(*use, "https://example.org/org/model")
    assert (ran.code, ran.out) == (2, "")
    assert "this URL is not of the Hub" in ran.err


def test_two_revisions_are_compared(hub: Hub, autoparser: Run) -> None:
    hub.add("org/model", {"chat_template.jinja": TEMPLATE})
    files = {"chat_template.jinja": TEMPLATE.encode(), "README.md": b"Another commit."}
    hub.models["org/model"].branches["v1"] = files
    ran = autoparser("compare", "org/model", "org/model", "--right-revision", "v1")
    assert ran.code == 0, ran.err
    assert "revision v1, chat_template.jinja\n" in ran.err
    ran = autoparser("compare", "org/model", "org/model", "--revision", "v1")
    assert ran.err.count("revision v1, chat_template.jinja\n") == 2
    given = ("--revision", "v1", "--left-revision", "main")
    ran = autoparser("compare", "org/model", "org/model", *given)
    assert ran.err.count("revision v1, chat_template.jinja\n") == 1
    assert ran.err.count("revision main, chat_template.jinja\n") == 1


@pytest.mark.parametrize("command", ["analyze", "roundtrip"])
def test_the_report_says_the_commit_and_that_code_was_run(
    command: str,
    hub: Hub,
    autoparser: Run,
) -> None:
    commit = hub.add("org/model", {"chat_template.jinja": TEMPLATE})
    ran = autoparser(command, "org/model", "--revision", "main")
    words = " ".join(ran.out.split())
    assert f"from org/model at commit {commit}, revision main, chat_template.jinja" in words
    ran = autoparser(command, "--encoder", ENCODER)
    assert "an encoder: its Python code was run" in " ".join(ran.out.split())


@pytest.mark.parametrize(
    ("command", "schema"), [("analyze", "analysis"), ("roundtrip", "roundtrip")]
)
@pytest.mark.parametrize("kind", ["hub", "encoder", "gguf", "-"])
def test_the_document_is_as_its_schema_says(
    command: str,
    schema: str,
    kind: str,
    hub: Hub,
    tmp_path: Path,
    autoparser: Run,
    process: Run,
) -> None:
    hub.add("org/model", {"chat_template.jinja": TEMPLATE})
    options = ("--json", "--scenario", "answer") if command == "roundtrip" else ("--json",)
    if kind == "-":
        ran = process(command, "-", *options, stdin=TEMPLATE.encode())
    else:
        source: dict[str, tuple[object, ...]] = {
            "hub": ("org/model",),
            "encoder": ("--encoder", ENCODER),
            "gguf": (write_model(tmp_path / "m.gguf", TEMPLATE),),
        }
        ran = autoparser(command, *source[kind], *options)
    described: dict[str, Any] = json.loads((ROOT / f"docs/{schema}.schema.json").read_text())
    jsonschema.validate(json.loads(ran.out), described)


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("analyze",), "Missing argument TEMPLATE"),
        (
            ("analyze", "--encoder", ENCODER, "--name", "x"),
            "--encoder takes the place of a template, which --name chooses",
        ),
        (
            ("analyze", "README.md", "--revision", "v1"),
            "a local source has no revisions, but 'v1' was asked for",
        ),
        (("analyze", "org/model", "--watch"), "a model on the Hub cannot be watched"),
        (("analyze", "--encoder", "nothing"), "this names no function"),
        (("analyze", "--encoder", "nothing.py:f"), "there is no such file"),
        (("analyze", "--encoder", "no.such.module:f"), "there is no module 'no.such.module'"),
        (
            ("analyze", "--encoder", "fixtures/encoders/dashes.py:encode_message"),
            "has no function 'encode_message'; did you mean encode_messages?",
        ),
        (("analyze", "--encoder", f"{ENCODER}?mode=1"), "the function has no parameter 'mode'"),
        (
            ("analyze", "--encoder", "fixtures/encoders/dashes.py:encode_to_ids"),
            "gives token ids, and there is no tokenizer to read them; give --tokenizer",
        ),
        (
            ("render", "--encoder", ENCODER, "--format", "training-template"),
            "an encoder in Python has no template that markers could stand in",
        ),
        (("fetch", "README.md"), "this is not a model on the Hub"),
    ],
)
def test_a_use_that_makes_no_sense_is_one_line(
    arguments: tuple[str, ...], words: str, autoparser: Run
) -> None:
    ran = autoparser(*arguments)
    note = ran.err.count("its Python code was run")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1 + note)
    assert words in ran.err


def test_fetch_makes_a_directory_that_every_command_takes(
    hub: Hub,
    tmp_path: Path,
    messages: Path,
    autoparser: Run,
) -> None:
    files: dict[str, str | bytes] = {
        "chat_template.jinja": TEMPLATE,
        "additional_chat_templates/rag.jinja": "R",
        "tokenizer_config.json": '{"bos_token": "<s>"}',
        "model.safetensors": b"\0" * 50_000,
    }
    commit = hub.add("org/model", files)
    ran = autoparser("fetch", "org/model", "-o", tmp_path / "model")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines() == [
        f"From org/model at commit {commit}",
        "    1  additional_chat_templates/rag.jinja",
        f"{len(TEMPLATE.encode()):,}  chat_template.jinja",
        "   20  tokenizer_config.json",
        f"Written to {tmp_path / 'model'}",
    ]
    assert sorted(
        path.relative_to(tmp_path / "model").as_posix()
        for path in (tmp_path / "model").rglob("*")
        if path.is_file()
    ) == sorted(set(files) - {"model.safetensors"})
    for command, options in commands(messages).items():
        assert autoparser(command, tmp_path / "model", *options).code in (0, 1)
    again = autoparser("fetch", "org/model", "-o", tmp_path / "model")
    assert (again.code, again.err) == (
        2,
        f"{tmp_path / 'model'}: there is something already; name a new or an empty directory\n",
    )


def test_fetch_from_gguf(
    hub: Hub,
    tmp_path: Path,
    autoparser: Run,
) -> None:
    templates = [{"name": "default", "template": TEMPLATE}, {"name": "rag", "template": "R"}]
    path = write_model(tmp_path / "made.gguf", templates)
    commit = hub.add("org/model", {"m-Q4.gguf": path.read_bytes(), "m-Q8.gguf": path.read_bytes()})
    ran = autoparser("fetch", "org/model:q8", "-o", tmp_path / "model", "--json")
    document = json.loads(ran.out)
    schema = json.loads((ROOT / "docs/fetch.schema.json").read_text("utf-8"))
    jsonschema.validate(document, schema)
    assert document["source"]["file"] == "m-Q8.gguf"
    assert document["source"]["commit"] == commit
    assert sorted(document["files"]) == [
        "additional_chat_templates/rag.jinja",
        "chat_template.jinja",
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    config = json.loads((tmp_path / "model/tokenizer_config.json").read_text())
    assert config == {"bos_token": "<s>", "eos_token": "</s>"}
    assert autoparser("analyze", tmp_path / "model").code == 0


@pytest.mark.parametrize("name", ["../../evil", "/evil", "a/b", "\x1b[31m", ".hidden"])
def test_a_name_in_a_gguf_header_is_no_path(
    hub: Hub,
    tmp_path: Path,
    autoparser: Run,
    name: str,
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
