"""What a model's own `response_template` suggests: outputs confirm it, and examples win over it.

The document is read by transformers; none of our own code wrote it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from autoparser import load_format
from tests.cli.conftest import Run

pytestmark = pytest.mark.slow

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
OUTPUTS = (
    f"Let me see.{CALL}<|eot|>",
    f"[mull]\nTwo calls.\n[/mull]\n{CALL}{OTHER}<|eot|>",
    "[mull]\nNothing to do.\n[/mull]\nYou are welcome.<|eot|>",
    "Hello.<|eot|>",
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    shutil.copy(CHAT, folder / "chat_template.jinja")
    settings = {"response_template": DOCUMENT}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")
    return folder


def log_of(folder: Path, *outputs: str) -> Path:
    log = folder / "outputs.jsonl"
    log.write_text("".join(f"{json.dumps(each)}\n" for each in outputs), "utf-8")
    return log


def test_outputs_confirm_what_it_suggests(model: Path, tmp_path: Path, autoparser: Run) -> None:
    file = tmp_path / "x.json"
    ran = autoparser("learn", model, "--outputs", log_of(tmp_path, *OUTPUTS), "-o", file)
    assert ran.code == 0, ran.err
    assert "its response_template reads 4 of 4 outputs, and suggests what they mean" in ran.err
    assert "4 of 4 examples are read as what they mean, and 4 written as they are" in ran.err
    learnt = load_format(file)
    kinds = {part.value: kind.value for part, kind in learnt.format.evidence.items()}
    assert kinds == {"reasoning": "output", "content": "render", "calls": "output"}
    # What is in no output.
    read = learnt.parser().parse(OTHER.replace("rain", "sun") + "<|eot|>").tool_calls
    assert [(call.name, call.arguments) for call in read] == [("note", '{"text": "sun"}')]


def test_an_output_that_it_reads_otherwise_than_the_rest_is_named(
    model: Path, tmp_path: Path, autoparser: Run
) -> None:
    log = log_of(tmp_path, *OUTPUTS, '<call>["look", "Oslo"]</call><|eot|>')
    ran = autoparser("learn", model, "--outputs", log)
    assert ran.code == 1
    assert "reads 4 of 5 outputs" in ran.err


def test_examples_win_over_it_and_it_is_named(model: Path, tmp_path: Path, autoparser: Run) -> None:
    examples = tmp_path / "examples.json"
    meant = {"tool_calls": [{"name": "look", "arguments": {"city": "Oslo"}}]}
    given = [{"output": "[do look(city='Oslo')]", "message": meant}]
    examples.write_text(json.dumps(given), "utf-8")
    ran = autoparser("learn", model, "--examples", examples)
    assert ran.code == 0
    words = "its response_template reads 1 of 1 examples otherwise, the first examples[0]"
    assert f"{words}: the examples count" in ran.err
    assert "calls    example" in ran.out

    given[0]["output"] = '<call>{"name": "look", "arguments": {"city": "Oslo"}}</call>'
    examples.write_text(json.dumps(given), "utf-8")
    assert "response_template" not in autoparser("learn", model, "--examples", examples).err


def test_without_it_the_tools_are_needed(tmp_path: Path, autoparser: Run) -> None:
    ran = autoparser("learn", CHAT, "--outputs", log_of(tmp_path, *OUTPUTS))
    assert (ran.code, ran.out) == (2, "")
    assert "add --tools FILE, or a response_template" in ran.err
