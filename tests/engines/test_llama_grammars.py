"""GBNF in llama.cpp's own server, held against a model that would write what UTF-8 lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from .chats import TIMEOUT, analysis_of, parrot
from .running_llama import running_llama

pytestmark = [pytest.mark.slow, pytest.mark.engine]

NAME = "j1-json-in-tags"
BEYOND = "\u00ff\u00fe\u00fd\u00fc\u00fb\u00fa\u00f9\u00f8"
"""How a byte-level vocabulary writes the bytes from 0xF8 on; bytes that go on with a character may
follow them."""
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "book",
        "parameters": {
            "type": "object",
            "properties": {"days": {"type": "integer", "enum": [3]}, "sure": {"const": True}},
            "required": ["days", "sure"],
            "additionalProperties": False,
        },
    },
}


def test_no_byte_beyond_utf8_stands_between_the_tokens_of_json(tmp_path: Path) -> None:
    analysis = analysis_of(NAME)
    grammar = analysis.grammar([TOOL], tool_choice="required", parallel_tool_calls=False)
    vocabulary = parrot().tokenizer.get_vocab()
    begins = [vocabulary[char] for char in BEYOND]
    goes_on = [vocabulary[chr(code)] for code in range(0xA1, 0xC0) if chr(code) in vocabulary]
    bias = [*([id_, 60.0] for id_ in goes_on), *([id_, 100.0] for id_ in begins)]
    # The call is given as far as its arguments, since all text before a call may hold any byte.
    rules = grammar.gbnf().partition("\n")[2]
    asked = {"prompt": "Book.", "n_predict": 200, "logit_bias": bias, "temperature": 0.0}
    with running_llama(parrot(), tmp_path) as llama:
        body = {**asked, "grammar": f"root ::= call\n{rules}"}
        answer = httpx2.post(f"{llama.url}/completion", json=body, timeout=TIMEOUT).json()
    arguments = answer["content"].partition('"arguments": ')[2]
    assert json.JSONDecoder().raw_decode(arguments)[0] == {"days": 3, "sure": True}
