"""The command ``learn``: files that it writes, and what tokens and a model's own files suggest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autoparser import load_format
from tests.analysis.decoding.tokenizers_here import byte_tokenizer

from .conftest import Run

CHAT = "fixtures/learning/chat-only.jinja"
EXAMPLES = "fixtures/learning/examples.yaml"
OUTPUTS = "fixtures/learning/outputs.jsonl"
TOOLS = "fixtures/learning/tools.yaml"
SPOKEN = "~mull~Rain, perhaps.~told~Let me see.~use~look {}~used~<|eot|>"
MARKERS = ("<|asst|>", "<|eot|>", "<|user|>", "~mull~", "~told~", "~use~", "~used~")


def calls_of(file: Path, text: str) -> list[tuple[str, str]]:
    """Return the calls that a saved format reads in a text."""
    read = load_format(file).parser().parse(text)
    return [(call.name, call.arguments) for call in read.tool_calls]


@pytest.mark.parametrize(
    ("use", "code", "words"),
    [
        (("--examples", EXAMPLES), 0, ["3 of 3 examples are read as what they mean"]),
        (
            ("--outputs", OUTPUTS, "--tools", TOOLS),
            1,
            ["9 of 10 outputs are read whole", "line 9  it is read with a fault: cut"],
        ),
    ],
)
def test_a_learned_format_is_written_beside_its_report(
    use: tuple[str, ...], code: int, words: list[str], autoparser: Run, tmp_path: Path
) -> None:
    file = tmp_path / "model.format.json"
    ran = autoparser("learn", CHAT, *use, "-o", file)
    assert (ran.code, ran.out) == (code, "")
    assert all(each in ran.err for each in words)
    read = calls_of(file, "[do look(city='Lima', days=2)]")
    assert read == [("look", '{"city": "Lima", "days": 2}')]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model's directory: a template for chat alone, and a tokenizer with more tokens."""
    (tmp_path / "chat_template.jinja").write_text(Path(CHAT).read_text("utf-8"), "utf-8")
    byte_tokenizer(*MARKERS, control=()).save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def log_of(model: Path, *outputs: str) -> Path:
    log = model / "outputs.jsonl"
    log.write_text("".join(f"{json.dumps(each)}\n" for each in outputs), "utf-8")
    return log


def suggest(model: Path, **settings: object) -> None:
    (model / "tokenizer_config.json").write_text(json.dumps(settings), "utf-8")


def test_tokens_beside_the_template_say_where_words_end_in_one_output(
    autoparser: Run, model: Path, tmp_path: Path
) -> None:
    log, file = log_of(model, SPOKEN.replace("{}", '{"city": "Oslo"}')), tmp_path / "x.json"
    assert autoparser("learn", model, "--outputs", log, "--tools", TOOLS, "-o", file).code == 0
    read = load_format(file).parser().parse(SPOKEN.replace("{}", '{"city": "Rome"}'))
    assert (read.reasoning_content, read.content) == ("Rain, perhaps.", "Let me see.")
    assert [call.arguments for call in read.tool_calls] == ['{"city": "Rome"}']


def test_tokens_that_no_render_writes_are_named(autoparser: Run, model: Path) -> None:
    told = "no render writes ~mull~, ~told~, ~use~, ~used~; if the model does, one example tells"
    lint = ("lint", "--isolated", "--no-cache")
    for command in (("analyze",), ("analyze", "--full"), lint):
        assert told in " ".join(autoparser(*command, model).out.split()), command
    (template,) = json.loads(autoparser(*lint, "--format", "json", model).out)["templates"]
    assert template["unwritten_tokens"] == [*MARKERS[3:]]
    whole = json.loads(autoparser("analyze", "--json", model).out)
    assert whole["unwritten_tokens"] == [*MARKERS[3:]]
    alone = autoparser("analyze", model / "chat_template.jinja", "--show", "summary")
    assert "no render writes" not in alone.out


SCHEMA = {
    "type": "object",
    "properties": {
        "reasoning_content": {"type": "string", "x-regex": r"\[mull\]\n(.*?)\n\[/mull\]"},
        "content": {"type": "string", "x-regex": r"(?:^|\[/mull\]\n)(?!\[)(.+?)(?:\[do|<\|eot)"},
        "tool_calls": {
            "type": "array",
            "x-regex-iterator": r"\[do (?P<name>\w+)\((?P<arguments>.*?)\)\]",
            "items": {
                "type": "object",
                "properties": {
                    "arguments": {
                        "type": "object",
                        "x-regex-key-value": r"(?P<key>\w+)=(?P<value>'[^']*'|[^,]+)",
                        "additionalProperties": {
                            "x-regex-substitutions": [["'", '"']],
                            "x-parser": "json",
                        },
                    }
                },
            },
        },
    },
}


def test_a_response_schema_says_what_outputs_mean(
    autoparser: Run, model: Path, tmp_path: Path
) -> None:
    suggest(model, response_schema=SCHEMA)
    log = log_of(
        model,
        "[do look(city='Oslo', days=3)]<|eot|>",
        "[mull]\nRain?\n[/mull]\nLet me see.[do look(city='Rome')]<|eot|>",
        "[mull]\nNothing.\n[/mull]\nYou are welcome.<|eot|>",
    )
    file = tmp_path / "model.format.json"
    ran = autoparser("learn", model, "--outputs", log, "-o", file)
    assert ran.code == 0, ran.err
    assert "its response_schema reads 3 of 3 outputs, and suggests what they mean" in ran.err
    assert calls_of(file, "[do note(text='Tea')]") == [("note", '{"text": "Tea"}')]


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


# A `response_template` is read by transformers; none of our own code wrote this one.
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
    assert calls_of(file, text) == [("note", '{"text": "sun"}')]
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
