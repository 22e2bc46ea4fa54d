"""What a model's own files suggest to `learn`; more is in `uses/learn.yaml`.

A `response_template` is read by transformers; none of our own code wrote this one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autoparser import load_format

from .conftest import Run

CHAT = "fixtures/learning/chat-only.jinja"
DOCUMENT: dict[str, Any] = {
    "version": 1,
    "defaults": {"role": "assistant"},
    "start_anchor": "<|asst|>",
    "fields": {
        "thinking": {"open": "[mull]", "close": "[/mull]", "content": "text"},
        "content": {"close_pattern": r"<\|eot\|>", "content": "text"},
        "tool_calls": {
            "open": "<call>",
            "close": "</call>",
            "content": "json",
            "repeats": True,
            "transform": {
                "type": "function",
                "function": {"name": "{content.name}", "arguments": "{content.arguments}"},
            },
        },
    },
}
CALL = '<call>{"name": "look", "arguments": {"city": "Oslo", "days": 3}}</call>'
OTHER = '<call>{"name": "note", "arguments": {"text": "rain"}}</call>'
MEANT = (
    f"Let me see.{CALL}<|eot|>",
    f"[mull]\nTwo calls.\n[/mull]\n{CALL}{OTHER}<|eot|>",
    "[mull]\nNothing to do.\n[/mull]\nYou are welcome.<|eot|>",
    "Hello.<|eot|>",
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "chat_template.jinja").write_text(Path(CHAT).read_text("utf-8"), "utf-8")
    return tmp_path


def log_of(model: Path, *outputs: str) -> Path:
    log = model / "outputs.jsonl"
    log.write_text("".join(f"{json.dumps(each)}\n" for each in outputs), "utf-8")
    return log


def suggest(model: Path, **settings: object) -> None:
    (model / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")


def test_a_schema_that_takes_a_missing_package_says_so(
    autoparser: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = "autoparser.analysis.teaching.suggested_labels"
    monkeypatch.setattr(f"{labels}.find_spec", lambda _name: None)
    schema = {"x-regex": "(.*)", "x-parser": "json", "x-parser-args": {"transform": "@"}}
    suggest(model, response_schema=schema)
    ran = autoparser("learn", model, "--outputs", log_of(model, '{"content": "Hi."}'))
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert "by jmespath, which is missing; pip install jmespath" in ran.err


@pytest.mark.slow
def test_outputs_confirm_what_a_response_template_suggests(
    model: Path, tmp_path: Path, autoparser: Run
) -> None:
    suggest(model, response_template=DOCUMENT)
    file = tmp_path / "x.json"
    ran = autoparser("learn", model, "--outputs", log_of(model, *MEANT), "-o", file)
    assert ran.code == 0, ran.err
    assert "its response_template reads 4 of 4 outputs, and suggests what they mean" in ran.err
    assert "4 of 4 examples are read as what they mean, and 4 written as they are" in ran.err
    kinds = {part.value: kind.value for part, kind in load_format(file).format.evidence.items()}
    assert kinds == {"reasoning": "output", "content": "render", "calls": "output"}
    # What is in no output.
    text = OTHER.replace("rain", "sun") + "<|eot|>"
    (read,) = load_format(file).parser().parse(text).tool_calls
    assert (read.name, read.arguments) == ("note", '{"text": "sun"}')
    odd = log_of(model, *MEANT, '<call>["look", "Oslo"]</call><|eot|>')
    ran = autoparser("learn", model, "--outputs", odd)
    assert (ran.code, "reads 4 of 5 outputs" in ran.err) == (1, True)


@pytest.mark.slow
def test_examples_win_over_a_response_template_and_it_is_named(
    model: Path, tmp_path: Path, autoparser: Run
) -> None:
    suggest(model, response_template=DOCUMENT)
    examples = tmp_path / "examples.json"
    meant = {"tool_calls": [{"name": "look", "arguments": {"city": "Oslo"}}]}
    words = "its response_template reads 1 of 1 examples otherwise, the first examples[0]"
    same = '<call>{"name": "look", "arguments": {"city": "Oslo"}}</call>'
    for output, told in (("[do look(city='Oslo')]", True), (same, False)):
        examples.write_text(json.dumps([{"output": output, "message": meant}]), "utf-8")
        ran = autoparser("learn", model, "--examples", examples)
        assert ran.code == 0
        assert (f"{words}: the examples count" in ran.err) is told
        assert "calls    example" in ran.out
