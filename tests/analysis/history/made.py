"""Renderers and conversations for tests."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from tokenizers import Tokenizer

from autoparser import ChatTemplate, analyze
from autoparser.analysis.analysis import Analysis
from autoparser.analysis.history.renderer import Renderer

from .tokenizers_here import small

FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
TOKENS = {"bos_token": "<|endoftext|>", "eos_token": "<|im_end|>"}


@cache
def analysed(name: str) -> Analysis:
    """Analyse a fixture template with special tokens of the vocabularies."""
    text = (FIXTURES / "templates" / f"{name}.jinja").read_text(encoding="utf-8")
    return analyze(ChatTemplate(text, TOKENS, name=name))


def renderer(name: str, tokenizer: Tokenizer | None = None, **options: Any) -> Renderer:
    """Make the renderer of a fixture template."""
    return Renderer(analysed(name), tokenizer or small(), **options)


@cache
def tools() -> list[dict[str, object]]:
    """Return the tools of the fixtures."""
    listed: list[dict[str, object]] = yaml.safe_load((FIXTURES / "tools.yaml").read_text("utf-8"))
    return listed


def user(text: str = "Weather in Paris?") -> dict[str, object]:
    return {"role": "user", "content": text}


def said(content: str, reasoning: str = "") -> dict[str, object]:
    message: dict[str, object] = {"role": "assistant", "content": content}
    return message | ({"reasoning_content": reasoning} if reasoning else {})


def called(
    city: str = "Paris", content: str = "", reasoning: str = "", id_: str = "aB3dE6gH1"
) -> dict[str, object]:
    function = {"name": "get_weather", "arguments": {"city": city, "days": 3}}
    call = {"id": id_, "type": "function", "function": function}
    return said(content, reasoning) | {"tool_calls": [call]}


def result(text: str = "sunny", id_: str = "aB3dE6gH1") -> dict[str, object]:
    return {"role": "tool", "tool_call_id": id_, "name": "get_weather", "content": text}


def sampled_ids(
    made: Renderer, before: list[dict[str, object]], turn: dict[str, object]
) -> list[int]:
    """Return what a model would write of a turn: the text after the prompt, encoded alone."""
    whole = made.attribute([*before, turn], tools())
    last = len(before)
    text = "".join(
        whole.text[each.start : each.end]
        for each in whole.segments
        if each.message == last and each.sampled
    )
    return made.encode(text)
