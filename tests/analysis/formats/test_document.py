"""The JSON of an analysis: complete, as its schema says, the same each time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from autoparser import Analysis, analyze, document, load_template
from autoparser.analysis.core.call_format import ArgumentFormat, CallFormat
from autoparser.analysis.core.call_notation import ContainerNotation, ValueNotation
from autoparser.analysis.core.documents import json_value_of
from autoparser.analysis.core.text_format import TurnLayout
from autoparser.analysis.core.turn_format import TurnFormat
from autoparser.analysis.core.turn_shape import TurnOpening
from autoparser.analysis.core.verdicts import Failure
from autoparser.analysis.learning.prober import Finding
from tests.fixture_analyses import analysed

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
TEMPLATES = sorted((ROOT / "fixtures" / "templates").glob("*.jinja"))
SCHEMA = json.loads((ROOT / "docs" / "analysis.schema.json").read_text("utf-8"))


def as_read(analysis: Analysis) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(json.dumps(document(analysis), allow_nan=False))
    return read


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_every_document_is_as_the_schema_says(path: Path) -> None:
    Draft202012Validator(SCHEMA).validate(as_read(analysed(path.stem)))


@pytest.mark.parametrize(
    ("value", "definition"),
    [
        (TurnFormat, "Format"),
        (TurnLayout, "Layout"),
        (CallFormat, "Calls"),
        (ArgumentFormat, "Arguments"),
        (ContainerNotation, "Container"),
        (ValueNotation, "Notation"),
        (TurnOpening, "Opening"),
        (Finding, "Phase"),
        (Failure, "Failure"),
    ],
)
def test_no_field_of_a_value_is_forgotten(value: Any, definition: str) -> None:
    told = set(SCHEMA["$defs"][definition]["properties"])
    # A layout's edges stand under one key, and what no render shows among the evidence.
    known = {*value.__match_args__} - {"reasoning", "content", "not_rendered"}
    assert known <= told


def test_two_analyses_give_one_document() -> None:
    template = load_template(ROOT / "fixtures" / "templates" / "a1-function-parameter.jinja")
    first, second = (json.dumps(document(analyze(template))) for _ in range(2))
    assert first == second


def test_a_split_gives_both_renders_back() -> None:
    for phase in as_read(analysed("a1-function-parameter"))["phases"]:
        for evidence in phase["evidence"]:
            split = evidence["split"]
            for side in ("left", "right"):
                text = split["prefix"] + split[side] + split["suffix"]
                assert text == (evidence[side]["text"] or "")


def test_the_messages_of_a_render_give_its_text() -> None:
    analysis = analysed("j1-json-in-tags")
    evidence = as_read(analysis)["phases"][0]["evidence"][0]["right"]
    assert not evidence["add_generation_prompt"]
    text = analysis.template.render(evidence["messages"], **evidence["setting"])
    # The tools stand before the conversation.
    assert evidence["text"].endswith(text[text.index("user") :])


def test_joints_hold_every_literal_with_its_neighbours() -> None:
    format_ = as_read(analysed("a1-function-parameter"))["format"]
    joints = {(joint["before"], joint["after"]): joint["literals"] for joint in format_["joints"]}
    assert [found["text"] for found in joints["content", "calls"]] == ["\n\n"]
    assert [found["text"] for found in joints["reasoning", "content"]] == ["\n</think>\n\n"]
    assert all(found["presences"] for found in joints["calls", "end"])


def test_a_switch_has_the_prompt_of_each_value() -> None:
    (switch,) = as_read(analysed("a1-function-parameter"))["switches"]
    prompts = {each["value"]: each["generation_prompt"] for each in switch["values"]}
    assert prompts[False] == "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    assert prompts[True] == "<|im_start|>assistant\n<think>\n"


def test_what_json_has_no_number_for_is_named() -> None:
    assert json_value_of({"weights": [float("inf"), 0.5]}) == {"weights": ["inf", 0.5]}


@pytest.mark.parametrize("name", ["content-plain", "a1-function-parameter", "t2-recipient-header"])
def test_all_of_an_analysis_has_the_parser_too(name: str) -> None:
    analysis = analysed(name)
    whole = analysis.to_dict()
    Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(whole, allow_nan=False)))
    assert {**whole, "parser": None} == {**document(analysis), "parser": None}
    parser = whole["parser"]
    assert isinstance(parser, dict)
    assert (parser["calls"] is None) is (analysis.format.calls is None)
