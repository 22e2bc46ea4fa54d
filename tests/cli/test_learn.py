"""The command ``learn``: the report, the file, and every way to ask wrongly."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autoparser import load_format
from tests.analysis.decoding.tokenizers_here import byte_tokenizer
from tests.cli.conftest import Run

CHAT = "fixtures/learning/chat-only.jinja"
EXAMPLES = "fixtures/learning/examples.yaml"


def test_the_format_is_written_and_the_report_stands_beside_it(
    autoparser: Run, tmp_path: Path
) -> None:
    file = tmp_path / "model.format.json"
    ran = autoparser("learn", CHAT, "--examples", EXAMPLES, "-o", file)
    assert (ran.code, ran.out) == (0, "")
    assert "3 of 3 examples are read as what they mean" in ran.err
    read = load_format(file).parser().parse("[do look(city='Lima', days=2)]")
    assert [(call.name, call.arguments) for call in read.tool_calls] == [
        ("look", '{"city": "Lima", "days": 2}')
    ]


def test_an_odd_example_is_named(autoparser: Run, tmp_path: Path) -> None:
    file = tmp_path / "examples.yaml"
    lines = Path(EXAMPLES).read_text("utf-8")
    lines += "- {output: 'Nothing.', message: {tool_calls: [{name: f, arguments: {a: 1}}]}}\n"
    file.write_text(lines, "utf-8")
    ran = autoparser("learn", CHAT, "--examples", file)
    assert ran.code == 1
    assert "examples[3]  has Nothing." in ran.out


def test_the_template_that_reads_the_examples_stays_in_use(autoparser: Run, tmp_path: Path) -> None:
    file = tmp_path / "examples.json"
    given: list[dict[str, object]] = [{"output": "Hello.", "message": {"content": "Hello."}}]
    file.write_text(json.dumps(given), "utf-8")
    ran = autoparser("learn", CHAT, "--examples", file)
    assert ran.code == 0
    assert "The template's own format is used: it reads 1 of 1 examples." in ran.out

    cut = {"output": "[do lo", "message": {"tool_calls": [{"name": "look", "arguments": {}}]}}
    file.write_text(json.dumps([*given, cut]), "utf-8")
    ran = autoparser("learn", CHAT, "--examples", file, "--json")
    found = json.loads(ran.out)
    assert (ran.code, found["ok"], found["used"]) == (1, False, "template")
    assert [each["read"] for each in found["readings"]] == [True, False]


def test_two_forms_contradict_each_other(autoparser: Run) -> None:
    ran = autoparser("learn", CHAT, "--examples", EXAMPLES, "--json", "--format", "file")
    assert (ran.code, ran.out) == (2, "")
    assert "leave one of them out" in ran.err


def test_examples_are_needed(autoparser: Run) -> None:
    ran = autoparser("learn", CHAT)
    assert (ran.code, ran.out) == (2, "")
    assert "add --examples FILE" in ran.err


OUTPUTS = "fixtures/learning/outputs.jsonl"
TOOLS = "fixtures/learning/tools.yaml"


def test_a_log_is_learnt_from_and_the_line_that_does_not_fit_is_named(
    autoparser: Run, tmp_path: Path
) -> None:
    file = tmp_path / "model.format.json"
    ran = autoparser("learn", CHAT, "--outputs", OUTPUTS, "--tools", TOOLS, "-o", file)
    assert (ran.code, ran.out) == (1, "")
    assert "9 of 10 outputs are read whole" in ran.err
    assert "line 9  it is read with a fault: cut" in ran.err
    read = load_format(file).parser().parse("[do look(city='Lima', days=2)]")
    assert [call.name for call in read.tool_calls] == ["look"]


def test_outputs_need_the_tools(autoparser: Run) -> None:
    ran = autoparser("learn", CHAT, "--outputs", OUTPUTS)
    assert (ran.code, ran.out) == (2, "")
    assert "add --tools FILE" in ran.err


def test_examples_and_outputs_are_not_given_together(autoparser: Run) -> None:
    ran = autoparser("learn", CHAT, "--outputs", OUTPUTS, "--examples", EXAMPLES)
    assert (ran.code, ran.out) == (2, "")
    assert "leave one of them out" in ran.err


SPOKEN = "~mull~Rain, perhaps.~told~Let me see.~use~look {}~used~<|eot|>"
MARKERS = ("<|asst|>", "<|eot|>", "<|user|>", "~mull~", "~told~", "~use~", "~used~")


def _model(folder: Path) -> Path:
    """Make a model's directory: a template for chat alone, and a tokenizer with more tokens."""
    (folder / "chat_template.jinja").write_text(Path(CHAT).read_text("utf-8"), "utf-8")
    byte_tokenizer(*MARKERS, control=()).save(str(folder / "tokenizer.json"))
    return folder


def test_tokens_beside_the_template_say_where_words_end_in_one_output(
    autoparser: Run, tmp_path: Path
) -> None:
    log, file = tmp_path / "log", tmp_path / "model.format.json"
    log.write_text(SPOKEN.replace("{}", '{"city": "Oslo"}'))
    model = _model(tmp_path)
    assert autoparser("learn", model, "--outputs", log, "--tools", TOOLS, "-o", file).code == 0
    read = load_format(file).parser().parse(SPOKEN.replace("{}", '{"city": "Rome"}'))
    assert (read.reasoning_content, read.content) == ("Rain, perhaps.", "Let me see.")
    assert [call.arguments for call in read.tool_calls] == ['{"city": "Rome"}']


def test_tokens_that_no_render_writes_are_named(autoparser: Run, tmp_path: Path) -> None:
    model = _model(tmp_path)
    told = "no render writes ~mull~, ~told~, ~use~, ~used~; if the model does, one example tells"
    for command in (("analyze",), ("analyze", "--full"), ("lint", "--isolated", "--no-cache")):
        assert told in " ".join(autoparser(*command, model).out.split()), command
    ran = autoparser("lint", "--isolated", "--no-cache", "--format", "json", model)
    (template,) = json.loads(ran.out)["templates"]
    assert template["unwritten_tokens"] == [*MARKERS[3:]]
    whole = json.loads(autoparser("analyze", "--json", model).out)
    assert whole["unwritten_tokens"] == [*MARKERS[3:]]
    alone = autoparser("analyze", tmp_path / "chat_template.jinja", "--show", "summary")
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


def test_a_response_schema_says_what_outputs_mean(autoparser: Run, tmp_path: Path) -> None:
    model, log, file = _model(tmp_path), tmp_path / "log", tmp_path / "model.format.json"
    (model / "tokenizer_config.json").write_text(json.dumps({"response_schema": SCHEMA}))
    log.write_text(
        "\n".join(
            json.dumps(text)
            for text in (
                "[do look(city='Oslo', days=3)]<|eot|>",
                "[mull]\nRain?\n[/mull]\nLet me see.[do look(city='Rome')]<|eot|>",
                "[mull]\nNothing.\n[/mull]\nYou are welcome.<|eot|>",
            )
        )
    )
    ran = autoparser("learn", model, "--outputs", log, "-o", file)
    assert ran.code == 0, ran.err
    assert "its response_schema reads 3 of 3 outputs, and suggests what they mean" in ran.err
    read = load_format(file).parser().parse("[do note(text='Tea')]").tool_calls
    assert [(call.name, call.arguments) for call in read] == [("note", '{"text": "Tea"}')]


def test_a_schema_that_takes_a_package_says_so(
    autoparser: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(name: str) -> None:
        del name

    monkeypatch.setattr("autoparser.analysis.teaching.suggested_labels.find_spec", nothing)
    model, log = _model(tmp_path), tmp_path / "log"
    schema = {"x-regex": "(.*)", "x-parser": "json", "x-parser-args": {"transform": "@"}}
    (model / "tokenizer_config.json").write_text(json.dumps({"response_schema": schema}))
    log.write_text(json.dumps('{"content": "Hi."}'))
    ran = autoparser("learn", model, "--outputs", log)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert "by jmespath, which is missing; pip install jmespath" in ran.err
