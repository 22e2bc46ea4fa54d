"""Templates of local files and directories, those that cannot be loaded, and encoders."""

from __future__ import annotations

import io
import json
import os
import pickle
import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from tokenizers import Tokenizer, decoders, models

from autoparser import AutoparserError, analyze, load_encoder, load_template
from autoparser.analysis.core.errors import TemplateRenderError
from autoparser.analysis.core.provenance import Provenance, SourceKind
from autoparser.analysis.sources import local_files
from autoparser.analysis.sources.template_loading import load_templates
from autoparser.analysis.sources.token_bytes import byte_letters
from autoparser.errors import TemplateNotFoundError, TemplateReadError
from tests.case_tables import case_tables

CONFIG_FILE = "tokenizer_config.json"
table = case_tables(__file__, "sources.yaml")


def write(directory: Path, files: Mapping[str, object]) -> Path:
    """Write each file's text, or its value as JSON."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), "latin-1")
    return directory


@table("directories")
def test_directory_template_comes_from_the_first_file(tmp_path: Path, case: Any) -> None:
    template = load_template(write(tmp_path, case["files"]), name=case.get("name"))
    found = (template.text, template.origin)
    assert found == (case["text"], str(tmp_path / case["file"])), case["reason"]


@table("special_tokens")
def test_special_tokens_come_from_the_configuration(tmp_path: Path, case: Any) -> None:
    files = {"chat_template.jinja": "A", CONFIG_FILE: {"chat_template": "C", **case["config"]}}
    if "map" in case:
        files["special_tokens_map.json"] = case["map"]
    directory = write(tmp_path, files)
    for source in (directory, directory / CONFIG_FILE, directory / "chat_template.jinja"):
        assert load_template(source).special_tokens == case["tokens"], case["reason"]


@table("load_errors")
def test_unloadable_source_error_is_one_line(tmp_path: Path, case: Any) -> None:
    write(tmp_path, case["files"])
    with pytest.raises(AutoparserError) as caught:
        load_template(tmp_path / case["source"])
    assert type(caught.value).__name__ == case["error"]
    shown = str(caught.value)
    assert shown.isprintable()
    assert shown.startswith(str(tmp_path))
    assert shown.removeprefix(str(tmp_path)).lstrip("/").removeprefix(": ") == case["line"]


def test_text_file_takes_no_neighbors(tmp_path: Path) -> None:
    write(tmp_path, {"mine.txt": "A\r\nB\rC", CONFIG_FILE: {"bos_token": "B"}})
    template = load_template(tmp_path / "mine.txt")
    assert (template.text, template.name) == ("A\nB\nC", "default")
    assert template.special_tokens == {}


def test_named_templates_load_alike_together_and_alone(tmp_path: Path) -> None:
    named = [{"name": name, "template": name} for name in ("tool_use", "default")]
    write(tmp_path, {CONFIG_FILE: {"chat_template": named, "bos_token": "<s>"}})
    for source in (tmp_path, tmp_path / CONFIG_FILE):
        found = load_templates(source)
        assert [template.name for template in found] == ["default", "tool_use"]
        assert list(found) == [load_template(source, name=template.name) for template in found]
    (tmp_path / "empty.jinja").write_text(" ", "utf-8")
    with pytest.raises(TemplateReadError, match="is empty"):
        load_templates(tmp_path / "empty.jinja")


@pytest.mark.parametrize("name", ["tool-use", "zebra", None])
def test_missing_template_name_lists_the_available_ones(tmp_path: Path, name: str | None) -> None:
    write(tmp_path, {CONFIG_FILE: {"chat_template": {"tool_use": "T", "rag": "R"}}})
    with pytest.raises(TemplateNotFoundError) as caught:
        load_template(tmp_path / CONFIG_FILE, name=name)
    hint = "did you mean tool_use? " if name == "tool-use" else ""
    assert str(caught.value) == (
        f"{tmp_path / CONFIG_FILE}: no template named {name or 'default'!r};"
        f" {hint}choose by name one of 'rag', 'tool_use'"
    )


def test_local_source_has_no_revision(tmp_path: Path) -> None:
    write(tmp_path, {"a.jinja": "A", CONFIG_FILE: "A"})
    for source in (tmp_path, tmp_path / "a.jinja", tmp_path / CONFIG_FILE, "-"):
        with pytest.raises(AutoparserError, match="a local source has no revisions"):
            load_template(source, revision="main")


def test_impossible_path_is_a_one_line_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"chat_template.jinja": "A"})
    monkeypatch.chdir(tmp_path)
    for source in ("a" * 5000, "a\0b", "", "two\nlines"):
        with pytest.raises(TemplateNotFoundError) as caught:
            load_template(source)
        assert str(caught.value).isprintable()


def test_standard_input_and_named_pipe_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO("é".encode())))
    template = load_template("-")
    assert (template.text, template.origin) == ("é", "standard input")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"\x80")))
    with pytest.raises(TemplateReadError, match=r"^standard input: byte 0: not UTF-8"):
        load_template("-")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("A",))
    writer.start()
    assert load_template(pipe).text == "A"
    writer.join()


def test_unopenable_file_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / CONFIG_FILE
    path.write_text("[" * 200_000)
    with pytest.raises(TemplateReadError, match="cannot read this JSON"):
        load_template(path)
    refused = Mock(side_effect=PermissionError(13, "Permission denied"))
    monkeypatch.setattr(local_files, "_open_at_once", refused)
    with pytest.raises(TemplateReadError, match=r"cannot read the file \(Permission denied\)"):
        load_template(path)
    monkeypatch.undo()
    monkeypatch.setattr(local_files, "LARGEST", 1 << 20)
    with pytest.raises(AutoparserError, match="larger than 1 MiB"):
        load_template("/dev/zero")


SECRET = "the secret"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A directory beside a secret."""
    config = {"bos_token": SECRET}
    secrets = {"secret": SECRET, "secrets/key.jinja": SECRET, "secrets/config.json": config}
    write(tmp_path, {**secrets, "model/a": "A"})
    return tmp_path / "model"


@table("links")
def test_link_out_of_the_directory_is_refused(model: Path, case: Any) -> None:
    write(model, case.get("files", {}))
    (model / case["link"]).symlink_to(case["target"])
    with pytest.raises(AutoparserError, match="this link leads out of its directory, to") as caught:
        load_template(model)
    assert SECRET not in str(caught.value)
    assert "replace the link with a copy" in str(caught.value)


def test_link_within_the_directory_or_named_by_the_caller_is_followed(
    model: Path, tmp_path: Path
) -> None:
    (model / "chat_template.jinja").symlink_to("a")
    (tmp_path / "link").symlink_to(model)
    assert load_template(model).text == load_template(tmp_path / "link").text == "A"
    (model / "named.jinja").symlink_to("../secret")
    assert load_template(model / "named.jinja").text == SECRET


def test_only_hub_cache_snapshots_may_link_to_blobs(model: Path, tmp_path: Path) -> None:
    repository = model / "models--org--model"
    snapshot = repository / "snapshots" / ("0" * 40)
    # The second is beside blobs, but not as the cache is laid out.
    other = repository / "other" / "model"
    write(repository, {"blobs/abc": "A", f"snapshots/{'0' * 40}/a": "", "other/model/a": ""})
    for folder in (snapshot, other):
        (folder / "chat_template.jinja").symlink_to("../../blobs/abc")
    assert load_template(snapshot).text == "A"
    (snapshot / "tokenizer_config.json").symlink_to(tmp_path / "secret")
    for folder in (snapshot, other):
        with pytest.raises(AutoparserError, match="this link leads out of its directory"):
            load_template(folder)


def test_template_name_is_not_used_as_a_path(model: Path) -> None:
    write(model, {"chat_template.jinja": "A", "additional_chat_templates/rag.jinja": "R"})
    for name in ("../secrets/key", "../../secret", "/etc/passwd", "secret\0", "..", ""):
        with pytest.raises(AutoparserError, match="no template named") as caught:
            load_template(model, name=name)
        assert SECRET not in str(caught.value)
        assert str(caught.value).isprintable()


DASHES = Path(__file__).resolve().parents[3] / "fixtures/encoders/dashes.py"
USER = [{"role": "user", "content": "hi"}]
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}


def encoder(tmp_path: Path, code: str, values: str = "") -> Any:
    """Load the function `f` of a module with this code."""
    path = tmp_path / "made.py"
    path.write_text(code)
    return load_encoder(f"{path}:f{values}")


def test_encoder_format_is_learned() -> None:
    template = load_encoder(f"{DASHES}:encode_messages")
    analysis = analyze(template)
    assert analysis.check.ok
    assert [(switch.name, switch.values) for switch in analysis.switches] == [
        ("thinking_mode", ("thinking", "chat")),
        ("drop_thinking", (True, False)),
    ]
    assert template.source == Provenance(
        SourceKind.ENCODER, f"{DASHES}:encode_messages?thinking_mode=thinking", ran_code=True
    )
    message = analysis.parser().parse(
        'so</think>yes\n\n<-calls>\n<-invoke name="f">\n<-param name="a" string="true">x</-param>'
        "\n</-invoke>\n</-calls><-end->"
    )
    assert (message.reasoning_content, message.content) == ("so", "yes")
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("f", '{"a": "x"}')]


def test_required_encoder_arguments_get_their_first_mentioned_value() -> None:
    template = load_encoder(f"{DASHES}:encode_messages")
    assert template.render(USER, add_generation_prompt=True).endswith("<-model-><think>")
    chat = load_encoder(f"{DASHES}:encode_messages?thinking_mode=chat")
    assert chat.render(USER, add_generation_prompt=True).endswith("<-model-></think>")
    shown = chat.render(USER, None, True, thinking_mode="thinking")
    assert shown.endswith("<-model-><think>")


def test_unrequested_generation_prompt_is_removed(tmp_path: Path) -> None:
    template: Any = load_encoder(f"{DASHES}:encode_messages")
    assert template.render(USER) == "<-begin-><-user->hi"
    # An encoder whose generation prompt begins like a user's turn.
    code = (
        "def f(messages):\n"
        "    text = ''.join(f\"<|im|>{m['role']}\\n{m['content']}<|e|>\\n\" for m in messages)\n"
        "    return text + '<|im|>assistant\\n' * (messages[-1]['role'] == 'user')\n"
    )
    template = encoder(tmp_path, code)
    assert template.render(USER) == "<|im|>user\nhi<|e|>\n"
    assert template.render(USER, None, True) == "<|im|>user\nhi<|e|>\n<|im|>assistant\n"


@table("signatures")
def test_encoder_gets_only_its_parameters(tmp_path: Path, case: Any) -> None:
    code = (
        f"def f({case['signature']}):\n"
        "    seen = dict(locals())\n"
        "    seen.pop('messages', None) or seen.pop('m', None) or seen.pop('conversation')\n"
        "    return repr(seen)\n"
    )
    text = encoder(tmp_path, code, case["values"]).render(USER, **case["options"])
    assert text == repr(case["given"])


def test_tools_without_a_parameter_go_into_the_system_message(tmp_path: Path) -> None:
    template = encoder(tmp_path, "def f(messages):\n    return repr(messages[0])\n")
    system = {"role": "system", "content": "S"}
    assert template.render([system, *USER], [TOOL]) == repr({**system, "tools": [TOOL]})
    assert template.render(USER, [TOOL]) == repr({"role": "system", "content": "", "tools": [TOOL]})
    assert template.render(USER) == repr(USER[0])


def test_token_ids_from_an_encoder_are_decoded(tmp_path: Path) -> None:
    vocabulary = {letter: byte for byte, letter in enumerate(byte_letters())}
    tokenizer: Any = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    template = load_encoder(f"{DASHES}:encode_to_ids", tokenizer=tmp_path)
    assert template.render(USER, None, True) == "[user]hi\n[assistant]"
    assert template.render(USER) == "[user]hi\n"


def test_encoder_gets_a_copy_and_must_return_text_or_ids(tmp_path: Path) -> None:
    code = "def f(m):\n    m[0]['content'] += '!'\n    return m[0]['content']\n"
    template = encoder(tmp_path, code)
    messages = [{"role": "user", "content": "hi"}]
    assert [template.render(messages) for _ in range(2)] == ["hi!", "hi!"]
    template = encoder(tmp_path, "def f(m): return {'text': 1}")
    with pytest.raises(AutoparserError, match="the function returned a dict, not a string or"):
        template.render(USER)


@table("encoder_failures")
def test_encoder_exception_is_a_template_error(tmp_path: Path, case: Any) -> None:
    template = encoder(tmp_path, f"def f(m):\n    {case['body']}\n")
    with pytest.raises(TemplateRenderError) as caught:
        template.render(USER)
    assert caught.value.reason.startswith(case["words"])
    assert (caught.value.refused, caught.value.line) == (case["refused"], case["line"])


@table("not_encoders")
def test_unloadable_encoder_module_error_is_one_line(tmp_path: Path, case: Any) -> None:
    with pytest.raises(AutoparserError) as caught:
        encoder(tmp_path, case["code"])
    assert case["words"] in str(caught.value)
    assert str(caught.value).isprintable()


def test_encoder_module_is_found_by_package_name_and_imports_neighbors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made_package").mkdir()
    (tmp_path / "made_package" / "encoding.py").write_text("def f(m): return m[0]['content']\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert load_encoder("made_package.encoding:f").render(USER) == "hi"
    (tmp_path / "neighbor_of_made.py").write_text("WORD = 'there'\n")
    code = "from neighbor_of_made import WORD\ndef f(m): return WORD\n"
    assert encoder(tmp_path, code).render(USER) == "there"


def test_encoder_is_loaded_again_in_another_process() -> None:
    template = load_encoder(f"{DASHES}:encode_messages?thinking_mode=chat")
    copy = pickle.loads(pickle.dumps(template))  # noqa: S301 - made here
    assert copy.render(USER, None, True) == template.render(USER, None, True)
    assert list(template.syntax_tree.iter_child_nodes()) == []
