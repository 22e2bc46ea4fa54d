"""What cannot be loaded is one line: the file, the place, and what to do."""

from __future__ import annotations

import io
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from autoparser import AutoparserError, TemplateNotFoundError, TemplateReadError, load_template

CONFIG_FILE = "tokenizer_config.json"


def config(value: object) -> bytes:
    return json.dumps({"chat_template": value}).encode()


@pytest.mark.parametrize(
    ("files", "source", "error", "line"),
    [
        (
            {},
            "nothing.jinja",
            TemplateNotFoundError,
            "nothing.jinja: there is no file or directory of this name; pass a template file, a"
            " model directory, a tokenizer_config.json, a GGUF file, a model on the Hub such as"
            " org/name, or - to read standard input",
        ),
        (
            {"README.md": b"x"},
            "",
            TemplateNotFoundError,
            "this directory holds no chat template; it was looked for in chat_template.jinja,"
            " additional_chat_templates/*.jinja, tokenizer_config.json, chat_template.json and"
            " processor_config.json: add one of them or pass a file",
        ),
        (
            {CONFIG_FILE: b"{}"},
            CONFIG_FILE,
            TemplateNotFoundError,
            "tokenizer_config.json: this file has no chat_template; pass its directory or a"
            " template file",
        ),
        (
            {"a.jinja": b"ab\xff"},
            "a.jinja",
            TemplateReadError,
            "a.jinja: byte 2: this is not UTF-8 (invalid start byte 0xff); save the file as UTF-8",
        ),
        (
            {CONFIG_FILE: b'{\n  "a": nope}'},
            CONFIG_FILE,
            TemplateReadError,
            "tokenizer_config.json: line 2, column 8: broken JSON: Expecting value; correct the"
            " JSON there",
        ),
        (
            {"chat_template.jinja": b"A", CONFIG_FILE: b"{"},
            "",
            TemplateReadError,
            "tokenizer_config.json: line 1, column 2: broken JSON: Expecting property name"
            " enclosed in double quotes; correct the JSON there",
        ),
        (
            {CONFIG_FILE: b"[]"},
            "",
            TemplateReadError,
            "tokenizer_config.json: this JSON is a list, not an object; pass a file that holds a"
            " JSON object",
        ),
        (
            {CONFIG_FILE: config(1)},
            "",
            TemplateReadError,
            "tokenizer_config.json: chat_template: this cannot be a number; give one text, or a"
            " list of objects with the texts name and template",
        ),
        (
            {CONFIG_FILE: config([{"name": "a", "template": "A"}, {"name": "b"}])},
            "",
            TemplateReadError,
            "tokenizer_config.json: chat_template[1].template: this cannot be null; give one"
            " text, or a list of objects with the texts name and template",
        ),
        (
            {CONFIG_FILE: config(["A"])},
            "",
            TemplateReadError,
            "tokenizer_config.json: chat_template[0]: this cannot be a text; give one text, or a"
            " list of objects with the texts name and template",
        ),
        (
            {"a.jinja": b" \n"},
            "a.jinja",
            TemplateReadError,
            "a.jinja: the template 'default' is empty; pass another template",
        ),
        (
            {"chat_template.json": config("A"), "additional_chat_templates/b.jinja": b"B"},
            "",
            TemplateReadError,
            "chat_template.json and additional_chat_templates cannot be used together; keep one of"
            " them, or pass the file that you mean",
        ),
        (
            {"model.gguf": b"GGUF"},
            "model.gguf",
            TemplateReadError,
            "model.gguf: byte 4: the file ends in the middle of its header; the file is broken or"
            " cut short; fetch it again, or pass another one",
        ),
    ],
)
def test_one_line_says_it(
    tmp_path: Path,
    files: dict[str, bytes],
    source: str,
    error: type[AutoparserError],
    line: str,
) -> None:
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    with pytest.raises(error) as caught:
        load_template(tmp_path / source)
    shown = str(caught.value)
    assert shown.isprintable()
    assert shown.startswith(str(tmp_path))
    assert shown.removeprefix(str(tmp_path)).lstrip("/").removeprefix(": ") == line


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("tool-use", "did you mean tool_use? choose by name one of 'rag', 'tool_use'"),
        ("zebra", "choose by name one of 'rag', 'tool_use'"),
        (None, "choose by name one of 'rag', 'tool_use'"),
    ],
)
def test_a_name_that_is_not_there(tmp_path: Path, name: str | None, hint: str) -> None:
    path = tmp_path / CONFIG_FILE
    path.write_bytes(config({"tool_use": "T", "rag": "R"}))
    with pytest.raises(TemplateNotFoundError) as caught:
        load_template(path, name=name)
    assert str(caught.value) == (
        f"{path}: there is no template named {name or 'default'!r} here; {hint}"
    )


def test_a_local_source_has_no_revision(tmp_path: Path) -> None:
    for source in (tmp_path, tmp_path / "a.jinja", tmp_path / CONFIG_FILE, "-"):
        if source != tmp_path and isinstance(source, Path):
            source.write_text("A")
        with pytest.raises(AutoparserError, match="a local source has no revisions"):
            load_template(source, revision="main")


@pytest.mark.parametrize("source", ["a" * 5000, "a\0b", "", "two\nlines"])
def test_a_source_that_can_be_no_path(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "chat_template.jinja").write_text("A")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TemplateNotFoundError) as caught:
        load_template(source)
    assert str(caught.value).isprintable()


def test_standard_input_that_is_not_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"\x80")))
    with pytest.raises(TemplateReadError, match=r"^standard input: byte 0: this is not UTF-8"):
        load_template("-")


def test_json_that_is_nested_too_deep(tmp_path: Path) -> None:
    path = tmp_path / CONFIG_FILE
    path.write_text("[" * 200_000)
    with pytest.raises(TemplateReadError, match="cannot be read"):
        load_template(path)


def test_a_file_that_cannot_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jinja"
    path.write_text("A")

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(TemplateReadError, match=r"cannot read the file \(Permission denied\)"):
        load_template(path)
