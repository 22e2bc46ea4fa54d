from __future__ import annotations

import json
from pathlib import Path

import pytest

from autoparser.analysis.lint.project_sources import gather_sources, load_targets

TEXT = "{% for m in messages %}{{ m.content }}{% endfor %}"
TREE = {
    "a.jinja": TEXT,
    "b.j2": TEXT,
    "c.jinja2": TEXT,
    "notes.txt": "nothing",
    "model/chat_template.jinja": TEXT,
    "model/additional_chat_templates/tool_use.jinja": TEXT,
    "model/tokenizer_config.json": json.dumps({"bos_token": "<s>"}),
    "model/other.jinja": TEXT,
    "old/config/tokenizer_config.json": json.dumps(
        {
            "chat_template": [
                {"name": "default", "template": TEXT},
                {"name": "rag", "template": TEXT},
            ]
        }
    ),
    "plain/tokenizer_config.json": json.dumps({"bos_token": "<s>"}),
    "legacy/chat_template.json": json.dumps({"chat_template": TEXT}),
    "node_modules/x.jinja": TEXT,
    ".git/x.jinja": TEXT,
}


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in TREE.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


JINJA = ("a.jinja", "b.j2", "c.jinja2")
FOUND: list[tuple[list[str], tuple[str, ...], list[str]]] = [
    (
        ["."],
        (),
        [*JINJA, "legacy", "model", "model/other.jinja", "old/config", "plain"],
    ),
    (["model"], (), ["model", "model/other.jinja"]),
    (["a.jinja", "./a.jinja", "a.jinja"], (), ["a.jinja"]),
    (["b.j2", "."], ("*.jinja", "old", "plain", "legacy", "model"), ["b.j2", "c.jinja2"]),
    (["*.j*"], (), [*JINJA]),
    (
        ["**/*.jinja"],
        ("additional_chat_templates",),
        ["a.jinja", "model/chat_template.jinja", "model/other.jinja", "node_modules/x.jinja"],
    ),
    (["*/"], ("model",), ["legacy", "old/config", "plain", "node_modules/x.jinja"]),
    (["org/name"], (), ["org/name"]),
    (["notes.txt"], ("notes.txt",), ["notes.txt"]),
    (["node_modules"], (), ["node_modules/x.jinja"]),
]


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize(("arguments", "exclude", "expected"), FOUND)
def test_arguments_mean_sources(
    arguments: list[str], exclude: tuple[str, ...], expected: list[str]
) -> None:
    sources, problems = gather_sources(arguments, exclude)
    found = [Path(each.given).as_posix() for each in sources]
    assert sorted(found) == sorted(expected)
    assert problems == ()


@pytest.mark.usefixtures("tree")
@pytest.mark.parametrize("argument", ["empty", "plain", "no*thing", "."])
def test_a_place_without_templates_is_a_problem(argument: str) -> None:
    exclude = ("*.j*", "model", "legacy", "old") if argument == "." else ()
    sources, problems = gather_sources([argument], exclude)
    targets, more = load_targets(sources)
    assert targets == ()
    assert [each.path for each in (*problems, *more)] == [argument]


@pytest.mark.usefixtures("tree")
def test_every_named_template_of_a_source_is_loaded() -> None:
    targets, problems = load_targets(gather_sources(["."])[0])
    assert problems == ()
    named = [(each.path, each.name) for each in targets]
    assert ("old/config/tokenizer_config.json", "default") in named
    assert ("old/config/tokenizer_config.json", "rag") in named
    assert ("model/additional_chat_templates/tool_use.jinja", "tool_use") in named
    assert ("a.jinja", None) in named
    by_path = {each.path: each for each in targets}
    assert by_path["model/chat_template.jinja"].directory == Path("model")
    assert by_path["model/chat_template.jinja"].template.special_tokens == {"bos_token": "<s>"}
    assert by_path["a.jinja"].directory is None
    assert not by_path["legacy/chat_template.json"].in_lines


KINDS = [
    ("a.png", b"\x89PNG\r\n\x1a\n\0\xff", "a PNG image"),
    ("a.jinja", b"\xff\xfe{\0{\0", "text in UTF-16"),
    ("weights.safetensors", b"\x40\0\0\0\0\0\0\0{\xff\xff", "a file of weights"),
    ("model.bin", b"PK\x03\x04\xff", "a ZIP archive"),
    ("model", b"GGUF\xff\xff", "not named .gguf"),
    ("README.md", b"# Hello", "Markdown without any Jinja"),
    ("script.py", b"print('hello')", "Python without any Jinja"),
    ("chat.jinja", b"version https://git-lfs.github.com/spec/v1\noid", "a Git LFS pointer"),
    ("words.txt", b"only words", "text without any Jinja"),
    ("nothing.jinja", b"", "an empty file"),
    ("config.json", b'{"a": 1}', "has no chat_template"),
    ("broken.json", b'{"a": ', "broken JSON"),
    ("list.json", b"[]", "not an object"),
    ("nowhere.jinja", None, "there is no"),
]


@pytest.mark.parametrize(("name", "content", "words"), KINDS)
def test_a_file_that_is_no_template_is_called_what_it_is(
    name: str, content: bytes | None, words: str, tmp_path: Path
) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content)
    targets, problems = load_targets(gather_sources([str(file)])[0])
    assert targets == ()
    assert [each.path for each in problems] == [str(file)]
    assert words in problems[0].message
