"""A model as a server holds it: a tokenizer with a template, and answers that it wrote."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from autoparser import Message, ToolCall
from autoparser.analysis.sources.token_bytes import byte_tokenizer
from tests.fixture_analyses import analyzed
from tests.offers import tool

TEMPLATES = Path(__file__).parents[3] / "fixtures" / "templates"
NAMES = ("j1-json-in-tags", "a1-function-parameter", "a2-key-value-tags")
TOOLS = [tool("get_weather", {"city": {"type": "string"}, "days": {"type": "integer"}}, "city")]
MARKERS = ("<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>")
CONTENTS = (("", 1), ("", 2), ("Let me see.", 0), ("Let me see.", 2))
CITIES = ("Rio", 'say "hi"', "a\nb", "x </tool> y", "{1}")


@dataclass
class ServedTokenizer:
    """As much of a tokenizer of transformers as a plugin asks."""

    backend_tokenizer: Tokenizer
    chat_template: str
    eos_token_id: int | None

    def ids(self, text: str) -> list[int]:
        found: list[int] = self.backend_tokenizer.encode(text, add_special_tokens=False).ids
        return found

    def piece(self, id_: int) -> str:
        text: str = self.backend_tokenizer.decode([id_], skip_special_tokens=False)
        return text


def tokenizer_for(name: str) -> ServedTokenizer:
    inner = byte_tokenizer(tuple((text, text.startswith("<|")) for text in MARKERS))
    text = (TEMPLATES / f"{name}.jinja").read_text("utf-8")
    return ServedTokenizer(inner, text, inner.token_to_id("<|im_end|>"))


@dataclass(frozen=True)
class Answer:
    """An answer, the prompt before it, and the message that the template wrote it of."""

    prompt: str
    text: str
    content: str | None
    calls: list[tuple[str, dict[str, Any]]]


def answers(name: str) -> list[Answer]:
    """Let the template write answers after its own prompt."""
    turns = analyzed(name).turns(TOOLS)
    found: list[Answer] = []
    for city, (content, count) in product(CITIES, CONTENTS):
        given: list[dict[str, Any]] = [{"city": city, "days": at + 1} for at in range(count)]
        calls = [("get_weather", entry) for entry in given]
        message = Message(content, calls=tuple(ToolCall(*call) for call in calls))
        text = turns.written_turn(message).continuation
        if text is not None:
            found.append(Answer(turns.prompt, text, content or None, calls))
    return found
