"""Every kind of source gives its template, its name, its special tokens and its file."""

from __future__ import annotations

import io
import json
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from autoparser import load_template

TEMPLATE_FILE = "chat_template.jinja"
CONFIG_FILE = "tokenizer_config.json"
LEGACY_FILE = "chat_template.json"
NAMED = [{"name": "default", "template": "D"}, {"name": "tool_use", "template": "T"}]


def write(directory: Path, files: dict[str, object]) -> Path:
    """Write each file's text, or its value as JSON."""
    for name, content in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
    return directory


@pytest.mark.parametrize(
    ("files", "name", "text", "file", "reason"),
    [
        ({TEMPLATE_FILE: "A"}, None, "A", TEMPLATE_FILE, "a template file"),
        ({CONFIG_FILE: {"chat_template": "A"}}, None, "A", CONFIG_FILE, "a text in the config"),
        ({CONFIG_FILE: {"chat_template": NAMED}}, None, "D", CONFIG_FILE, "the default of a list"),
        ({CONFIG_FILE: {"chat_template": NAMED}}, "tool_use", "T", CONFIG_FILE, "one of a list"),
        (
            {CONFIG_FILE: {"chat_template": NAMED[1:]}},
            None,
            "T",
            CONFIG_FILE,
            "the only one of a list",
        ),
        (
            {CONFIG_FILE: {"chat_template": {"default": "D", "rag": "R"}}},
            "rag",
            "R",
            CONFIG_FILE,
            "an object from names to texts",
        ),
        (
            {TEMPLATE_FILE: "A", CONFIG_FILE: {"chat_template": "C"}},
            None,
            "A",
            TEMPLATE_FILE,
            "a template file comes before the config",
        ),
        (
            {TEMPLATE_FILE: "A", "additional_chat_templates/rag.jinja": "R"},
            "rag",
            "R",
            "additional_chat_templates/rag.jinja",
            "an additional template",
        ),
        (
            {TEMPLATE_FILE: "A", "additional_chat_templates/rag.jinja": "R"},
            None,
            "A",
            TEMPLATE_FILE,
            "the default beside an additional template",
        ),
        (
            {"additional_chat_templates/rag.jinja": "R", CONFIG_FILE: {"chat_template": NAMED}},
            None,
            "R",
            "additional_chat_templates/rag.jinja",
            "template files come before the config, all of it",
        ),
        ({LEGACY_FILE: {"chat_template": "L"}}, None, "L", LEGACY_FILE, "the legacy file"),
        (
            {LEGACY_FILE: {"chat_template": "L"}, TEMPLATE_FILE: "A"},
            None,
            "L",
            LEGACY_FILE,
            "the legacy file comes before a template file",
        ),
        (
            {"processor_config.json": {"chat_template": "P"}, LEGACY_FILE: {"chat_template": "L"}},
            None,
            "P",
            "processor_config.json",
            "the processor's own comes first",
        ),
        (
            {CONFIG_FILE: {"chat_template": None}, LEGACY_FILE: {"chat_template": "L"}},
            None,
            "L",
            LEGACY_FILE,
            "null is none",
        ),
    ],
)
def test_a_model_directory(
    tmp_path: Path,
    files: dict[str, object],
    name: str | None,
    text: str,
    file: str,
    reason: str,
) -> None:
    template = load_template(write(tmp_path, files), name=name)
    assert (template.text, template.origin) == (text, str(tmp_path / file)), reason


BOS = {"bos_token": "B"}
ADDED = {"__type": "AddedToken", "content": "E", "lstrip": False}


@pytest.mark.parametrize(
    ("config", "token_map", "expected", "reason"),
    [
        ({}, None, {}, "none"),
        (BOS, None, BOS, "a text"),
        ({"eos_token": ADDED}, None, {"eos_token": "E"}, "an added token"),
        ({"eos_token": {"content": "E"}}, None, {"eos_token": "E"}, "its older form"),
        ({"bos_token": None, "add_bos_token": True}, None, {}, "null and flags are not tokens"),
        ({"image_token": "I"}, None, {"image_token": "I"}, "a token of this model"),
        ({"extra_special_tokens": {"boa": "A"}}, None, {"boa": "A"}, "named extra tokens"),
        ({"extra_special_tokens": ["A"]}, None, {}, "extra tokens without names"),
        (BOS, {"bos_token": "M", "eos_token": ADDED}, {"bos_token": "M", "eos_token": "E"}, "map"),
        (
            {**BOS, "added_tokens_decoder": {}},
            {"bos_token": "M"},
            BOS,
            "no map beside an added_tokens_decoder",
        ),
    ],
)
def test_special_tokens(
    tmp_path: Path,
    config: dict[str, object],
    token_map: dict[str, object] | None,
    expected: dict[str, str],
    reason: str,
) -> None:
    files: dict[str, object] = {TEMPLATE_FILE: "A", CONFIG_FILE: {"chat_template": "C", **config}}
    if token_map is not None:
        files["special_tokens_map.json"] = token_map
    directory = write(tmp_path, files)
    for source in (directory, directory / CONFIG_FILE, directory / TEMPLATE_FILE):
        assert load_template(source).special_tokens == expected, reason


def test_a_text_file_stands_alone(tmp_path: Path) -> None:
    write(tmp_path, {"mine.txt": "A\r\nB\rC", CONFIG_FILE: BOS})
    template = load_template(tmp_path / "mine.txt")
    assert template.text == "A\nB\nC"
    assert template.special_tokens == {}
    assert template.name == "default"


def test_a_config_file_given_directly(tmp_path: Path) -> None:
    write(tmp_path, {CONFIG_FILE: {"chat_template": NAMED, **BOS}, TEMPLATE_FILE: "A"})
    template = load_template(tmp_path / CONFIG_FILE, name="tool_use")
    assert (template.text, template.name) == ("T", "tool_use")
    assert template.special_tokens == BOS


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO("é".encode())))
    template = load_template("-")
    assert (template.text, template.origin) == ("é", "standard input")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_named_pipe_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("A",))
    writer.start()
    assert load_template(pipe).text == "A"
    writer.join()
