"""Trials of fixtures, made once for all tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from autoparser import Analysis
from autoparser.analysis.decoding.answer_judge import DecodingTrial, made_tokenizer
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from tests.fixture_analyses import analyzed
from tests.offers import tool

ROOT = Path(__file__).parents[3]
TOOLS = yaml.safe_load((ROOT / "fixtures" / "tools.yaml").read_text("utf-8"))
CITIES: list[object] = [
    tool(
        "get_weather",
        {
            "city": {"enum": ["Rio", "Oslo"]},
            "days": {"type": "integer", "minimum": 1, "maximum": 9},
        },
        *("city", "days"),
        closed=True,
    )
]
"""A tool whose calls no model can go on with for ever."""


def trial_of(
    of: str | Analysis,
    tools: list[object] | None = None,
    *,
    tokenizer: ModelTokenizer | None = None,
    prompt: str | None = None,
    tool_choice: str = "auto",
    parallel: bool = True,
    json_schema: Mapping[str, Any] | None = None,
    setting: Mapping[str, object] | None = None,
    markers: bool = True,
) -> DecodingTrial:
    """Make a trial of a fixture or an analysis, with the tools of the fixtures unless others."""
    analysis = analyzed(of) if isinstance(of, str) else of
    offered = TOOLS if tools is None else tools
    told: dict[str, Any] = {"prompt": prompt, "chat_template_kwargs": setting}
    asked: dict[str, Any] = {"tool_choice": tool_choice, "parallel_tool_calls": parallel, **told}
    # As `decode` does: an answer that the template renders in another way is a fault.
    grammar = replace(analysis.grammar(offered, json_schema=json_schema, **asked), as_written=True)
    parser = analysis.parser(offered, json_schema=json_schema, **asked)
    (begun, *_) = analysis.begun(offered, **told)
    turns = analysis.turns(offered, **told)
    ours = tokenizer or made_tokenizer(grammar, markers=markers)
    return DecodingTrial(begun, grammar, parser, ours, turns, prompt)
