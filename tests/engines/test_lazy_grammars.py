"""A lazy grammar in llama.cpp's server: text before a call is free, the call is not.

The script calls with a value that the schema does not allow; what has to come is the call with the
one value that it allows, as the template writes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from autoparser import Analysis, ChatTemplate, analyze
from tests.fixture_analyses import TEMPLATES, TOKENS
from tests.lanes import sampled

from .padding import padded_message
from .parrot import Parrot
from .running_llama import RunningLlama, running_llama

pytestmark = pytest.mark.engine

STYLES = (
    *("j1-json-in-tags", "a1-function-parameter", "j8-2-python-dict-in-tags"),
    *("a6-key-is-tag", "arguments-cdata", "a7-token-pairs"),
)
SAID = "Let me see; {no} <call, yet."
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "book",
        "description": "Book.",
        "parameters": {
            "type": "object",
            "properties": {"room": {"enum": ["blue"]}},
            "required": ["room"],
            "additionalProperties": False,
        },
    },
}


def turn(template: ChatTemplate, room: str) -> str:
    """Return what the template writes after its prompt for some text and a call."""
    function = {"name": "book", "arguments": {"room": room}}
    call = {"id": "abcDEF123", "type": "function", "function": function}
    asked = {"role": "user", "content": "Book."}
    said = {"role": "assistant", "content": SAID, "tool_calls": [call]}
    prompt = template.render([asked], [TOOL], add_generation_prompt=True)
    whole = template.render([asked, said], [TOOL])
    assert whole.startswith(prompt)
    return whole[len(prompt) :]


def answer(llama: RunningLlama, analysis: Analysis, script: str, *, held: bool) -> str:
    """Let the parrot write a script, with the grammar or without it."""
    grammar = analysis.grammar([TOOL], parallel_tool_calls=False, lazy=True)
    fields: dict[str, Any] = {
        "grammar": grammar.gbnf(),
        "grammar_lazy": True,
        "grammar_triggers": [each.to_llama_server() for each in grammar.server_triggers],
    }
    message = padded_message(llama.parrot, script, str)
    found = llama.complete(
        message, temperature=0.0, max_tokens=len(script) + 40, **(fields if held else {})
    )
    return str(found["choices"][0]["text"])


@pytest.mark.parametrize("style", sampled(STYLES, len(STYLES)))
def test_the_text_is_free_and_the_call_is_held(style: str, tmp_path: Path) -> None:
    template = ChatTemplate((TEMPLATES / f"{style}.jinja").read_text("utf-8"), TOKENS)
    analysis = analyze(template)
    script, wanted = turn(template, "red!"), turn(template, "blue")
    with running_llama(Parrot(lag=800), tmp_path) as llama:
        free = answer(llama, analysis, script, held=False)
        held = answer(llama, analysis, script, held=True)
    end = wanted.index("blue") + len("blue")
    assert free.startswith(script.rstrip("\n")[:end])
    assert held.startswith(wanted[:end])
    assert "red" not in held
