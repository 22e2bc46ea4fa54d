"""The command ``decode``: the report, the exit codes, the tokenizer, every way to ask wrongly."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.analysis.decoding.tokenizers_here import byte_tokenizer

Run = Callable[..., Any]
ROOT = Path(__file__).parents[2]
TEMPLATE = "fixtures/templates/j1-json-in-tags.jinja"
AMBIGUOUS = "fixtures/templates/reasoning-delimiter.jinja"
TOOLS = ("--tools", "fixtures/tools.yaml")
MARKERS = ("<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<think>", "</think>")


def test_clean_walks_are_counted(autoparser: Run) -> None:
    ran = autoparser("decode", TEMPLATE, *TOOLS, "--walks", "5", "--seed", "2")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[:3] == [
        "Tokenizer  one token a byte, and one for each marker of the template",
        "Sampler    at random, seed 2, at most 4000 tokens",
        "Clean      5 of 5 answers: accepted, ended, read, valid, rendered the same",
    ]
    assert lines[6:] == ["What the template renders of the messages", "      5  the same text"]


def test_faults_are_shown_with_their_first_example(autoparser: Run) -> None:
    ran = autoparser("decode", AMBIGUOUS, *TOOLS, "--walks", "6")
    assert (ran.code, ran.err) == (1, "")
    assert "What is wrong\n" in ran.out
    assert "The first that is rendered otherwise: walk 0\n" in ran.out
    assert all(len(line) <= 80 for line in ran.out.splitlines())


def test_everything_as_json(autoparser: Run) -> None:
    ran = autoparser("decode", AMBIGUOUS, *TOOLS, "--walks", "6", "--json")
    assert ran.code == 1
    assert ran.out.isascii()
    document = json.loads(ran.out)
    assert (document["ok"], document["answers"]) == (False, 6)
    (fault,) = document["faults"]
    assert fault["fault"] == "rendering"
    assert fault["answers"] == document["renderings"]["other"] == 6 - document["clean"]
    assert set(fault["example"]) == {"name", "detail", "text"}
    again = autoparser("decode", AMBIGUOUS, *TOOLS, "--walks", "6", "--json")
    assert again.out == ran.out


def test_the_answers_themselves(autoparser: Run) -> None:
    options = (*TOOLS, "--walks", "3", "--tool-choice", "required")
    document = json.loads(autoparser("decode", TEMPLATE, *options, "--json").out)
    assert document["with_calls"] == 3
    assert document["calls"] == sum(each["calls"] for each in document["each"])
    shown = autoparser("decode", TEMPLATE, *options, "--show")
    assert shown.code == 0
    assert f"Calls      {document['calls']}, in 3 of the answers\n" in shown.out
    assert [each["name"] for each in document["each"]] == ["walk 0", "walk 1", "walk 2"]
    for each in document["each"]:
        assert each["faults"] == []
        assert each["clean"] is (each["rendering"] == "same")
        verdict = "clean" if each["clean"] else "the same but for"
        assert f"\n{each['name']}\n  is      {verdict}" in shown.out
    assert document["clean"] > 0
    assert "\nwalk 0\n" not in autoparser("decode", TEMPLATE, *options).out


def test_a_template_that_rewrites_values_is_not_clean(autoparser: Run, tmp_path: Path) -> None:
    template = tmp_path / "rewriting.jinja"
    source = (ROOT / TEMPLATE).read_text("utf-8")
    template.write_text(
        source.replace("arguments | tojson", "arguments | tojson | replace('low', 'LOW')"), "utf-8"
    )
    assert template.read_text("utf-8") != source
    schema = {"type": "object", "properties": {"word": {"const": "low"}}, "required": ["word"]}
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([{"name": "say", "parameters": schema}]), "utf-8")
    options = ("--tools", tools, "--tool-choice", "required", "--walks", "4")
    ran = autoparser("decode", template, *options)
    assert ran.code == 1
    assert "Clean      0 of 4 answers" in ran.out
    assert "4  is rendered otherwise" in ran.out


THINKS = "fixtures/templates/a1-function-parameter.jinja"


def test_reasoning_may_be_left_free(autoparser: Run) -> None:
    options = (*TOOLS, "--walks", "3", "--free-reasoning")
    shown = autoparser("decode", THINKS, *options, "--show")
    document = json.loads(autoparser("decode", THINKS, *options, "--json").out)
    assert "Reasoning  free until it is closed; the grammar holds from there on" in shown.out
    assert document["free_reasoning"] is True
    assert all("</think>" in each["text"] for each in document["each"])
    assert autoparser("decode", TEMPLATE, *options).err == (
        "the end of the prompt: the model is not in its reasoning there;"
        " give a prompt that opens reasoning, or set the switch that does\n"
    )


REQUESTS = [
    ("--tool-choice", "required"),
    ("--tool-choice", "list_rooms", "--no-parallel"),
    ("--tool-choice", "none"),
]


@pytest.mark.parametrize("options", REQUESTS)
def test_a_request_decides_what_is_written(autoparser: Run, options: tuple[str, ...]) -> None:
    ran = autoparser("decode", TEMPLATE, *TOOLS, "--walks", "5", *options)
    assert (ran.code, ran.err) == (0, "")


def test_content_by_a_schema_behind_a_prompt(autoparser: Run, tmp_path: Path) -> None:
    schema = tmp_path / "schema.json"
    schema.write_text('{"enum": ["yes", "no"]}', "utf-8")
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("<|im_start|>assistant\n", "utf-8")
    given = ("--json-schema", schema, "--prompt", prompt)
    ran = autoparser("decode", TEMPLATE, "--walks", "5", *given)
    assert (ran.code, ran.err) == (0, "")


def model_directory(path: Path, *markers: str) -> Path:
    path.mkdir()
    (path / "chat_template.jinja").write_text((ROOT / TEMPLATE).read_text("utf-8"), "utf-8")
    byte_tokenizer(*markers).save(str(path / "tokenizer.json"))
    (path / "tokenizer_config.json").write_text('{"eos_token": "<|end|>"}', "utf-8")
    return path


def test_the_tokenizer_of_the_models_directory_is_used(autoparser: Run, tmp_path: Path) -> None:
    directory = model_directory(tmp_path / "model", *MARKERS)
    for source in (directory, directory / "chat_template.jinja"):
        ran = autoparser("decode", source, *TOOLS, "--walks", "3", "--json")
        assert (ran.code, ran.err) == (0, "")
        assert json.loads(ran.out)["tokenizer"] == str(directory)


@pytest.mark.parametrize("file", ["", "tokenizer.json"])
def test_a_tokenizer_without_the_markers_is_warned_of(
    autoparser: Run, tmp_path: Path, file: str
) -> None:
    path = model_directory(tmp_path / "model", "<think>") / file
    ran = autoparser("decode", TEMPLATE, *TOOLS, "--walks", "3", "--tokenizer", path)
    # Markers that are text are walked through as well.
    assert ran.code == 0
    assert ran.err.count("\n") == 1
    assert ran.err.startswith(f"{path}: warning: this tokenizer may be another model's")
    assert all(marker in ran.err for marker in MARKERS if marker not in {"<think>", "</think>"})
    assert "\nAs text    " in ran.out


WRONG = [
    # options, words of the error
    (("no/such.jinja",), "no/such.jinja"),
    ((TEMPLATE, "--tools", "no/such.yaml"), "no/such.yaml: there is no such file"),
    ((TEMPLATE, *TOOLS, "--tokenizer", "nowhere"), "there is no tokenizer here"),
    ((TEMPLATE, *TOOLS, "--tokenizer", "fixtures/tools.yaml"), "this is not a tokenizer"),
    ((TEMPLATE, *TOOLS, "--tool-choice", "get_wether"), "did you mean get_weather?"),
    ((TEMPLATE, "--tool-choice", "required"), "offer tools"),
    ((TEMPLATE, *TOOLS, "--walks", "0"), "--walks"),
    ((TEMPLATE, "--sampler", "dice"), "'dice' is not one of"),
    ((TEMPLATE, "--sampler", "transformers"), "name one with --model DIR"),
    ((TEMPLATE, "--model", "fixtures"), "add --sampler transformers"),
    ((TEMPLATE, "--device", "cpu"), "add --sampler transformers"),
    ((TEMPLATE, "--batch", "2"), "add --sampler transformers"),
    ((TEMPLATE, "--server", "http://127.0.0.1:1"), "add --engine, one of vllm, sglang"),
    ((TEMPLATE, "--engine", "vllm"), "add --server URL"),
    ((TEMPLATE, "--server", "nowhere", "--engine", "vllm"), "this is not a server's address"),
    (
        (TEMPLATE, "--server", "http://x", "--engine", "vllm", "--tokenizer", "fixtures"),
        "leave out --tokenizer",
    ),
    (
        (TEMPLATE, "--sampler", "transformers", "--model", "x", "--server", "http://x"),
        "both write the answers",
    ),
]


@pytest.mark.parametrize(("options", "words"), WRONG)
def test_a_wrong_use_is_one_line(autoparser: Run, options: tuple[str, ...], words: str) -> None:
    ran = autoparser("decode", *options)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1


SCHEMAS = [
    ('{"type": "strin"}', "'strin' is not a type of JSON Schema"),
    ('{"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}}', "$ref"),
]


@pytest.mark.parametrize(("schema", "words"), SCHEMAS)
def test_an_invalid_schema_is_one_line(
    autoparser: Run, tmp_path: Path, schema: str, words: str
) -> None:
    file = tmp_path / "schema.json"
    file.write_text(schema, "utf-8")
    ran = autoparser("decode", TEMPLATE, "--json-schema", file)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.slow
def test_a_device_that_is_not_there_is_one_line(autoparser: Run, tmp_path: Path) -> None:
    """Without torch, that is what is missing."""
    options = ("--sampler", "transformers", "--model", tmp_path, "--device", "cuda:77")
    ran = autoparser("decode", TEMPLATE, *TOOLS, *options)
    assert (ran.code, ran.out) == (2, "")
    assert "cuda:77 is not there" in ran.err or "needs torch" in ran.err
    assert ran.err.count("\n") == 1


def test_no_bar_where_nobody_watches(process: Run) -> None:
    ran = process("decode", TEMPLATE, *TOOLS, "--walks", "2")
    assert (ran.code, ran.err) == (0, "")
