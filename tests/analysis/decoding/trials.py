"""Trials of fixtures, made once for all tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from autoparser.analysis.decoding.answer_judge import DecodingTrial, made_tokenizer
from autoparser.analysis.parsing.turn_expression import formats_of_request
from autoparser.analysis.parsing.turn_request import request_of
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from tests.fixture_analyses import analyzed

ROOT = Path(__file__).parents[3]
TOOLS = yaml.safe_load((ROOT / "fixtures" / "tools.yaml").read_text("utf-8"))
CITIES: list[object] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather of a city.",
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"enum": ["Rio", "Oslo"]},
                    "days": {"type": "integer", "minimum": 1, "maximum": 9},
                },
                "required": ["city", "days"],
                "additionalProperties": False,
            },
        },
    }
]
"""A tool whose calls no model can go on with for ever."""


analysis_of = analyzed


def trial_of(
    name: str,
    tools: list[object] | None = None,
    *,
    tokenizer: ModelTokenizer | None = None,
    prompt: str | None = None,
    tool_choice: str = "auto",
    parallel: bool = True,
    json_schema: Mapping[str, Any] | None = None,
    markers: bool = True,
) -> DecodingTrial:
    analysis = analysis_of(name)
    offered = TOOLS if tools is None else tools
    asked: dict[str, Any] = {
        "prompt": prompt,
        "tool_choice": tool_choice,
        "parallel_tool_calls": parallel,
        "json_schema": json_schema,
    }
    grammar = analysis.grammar(offered, **asked)
    parser = analysis.parser(offered, **asked)
    ours = tokenizer or made_tokenizer(grammar, markers=markers)
    (begun, *_) = formats_of_request(analysis.formats, request_of(offered, prompt=prompt))
    turns = analysis.turns(offered, prompt=prompt)
    return DecodingTrial(begun, grammar, parser, ours, turns, prompt)
