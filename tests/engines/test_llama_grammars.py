"""Check GBNF in llama.cpp's own server: constrained, and lazy with free text before calls."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from autoparser import Analysis, Message, ToolCall
from tests.fixture_analyses import analyzed
from tests.lanes import sampled
from tests.offers import tool

from .chats import ROOT, TIMEOUT, analysis_of, parrot
from .parrot import Parrot
from .running_llama import running_llama

pytestmark = pytest.mark.engine

NAME = "j1-json-in-tags"
BEYOND = "\u00ff\u00fe\u00fd\u00fc\u00fb\u00fa\u00f9\u00f8"
"""How a byte-level vocabulary writes the bytes from 0xF8 on; bytes that go on with a character may
follow them."""
BOOKING = tool(
    "book",
    {"room": {"enum": ["blue"]}, "days": {"type": "integer", "enum": [3]}},
    *("room", "days"),
    closed=True,
)


@pytest.mark.slow
def test_json_masks_allow_only_utf8_bytes(tmp_path: Path) -> None:
    analysis = analysis_of(NAME)
    grammar = analysis.grammar([BOOKING], tool_choice="required", parallel_tool_calls=False)
    vocabulary = parrot().tokenizer.get_vocab()
    begins = [vocabulary[char] for char in BEYOND]
    goes_on = [vocabulary[chr(code)] for code in range(0xA1, 0xC0) if chr(code) in vocabulary]
    bias = [*([id_, 60.0] for id_ in goes_on), *([id_, 100.0] for id_ in begins)]
    # Only the rules of the call are tested, since text before a call may contain any byte.
    rules = grammar.gbnf().partition("\n")[2]
    asked = {"prompt": "Book.", "n_predict": 200, "logit_bias": bias, "temperature": 0.0}
    with running_llama(parrot(), tmp_path) as llama:
        body = {**asked, "grammar": f"root ::= call\n{rules}"}
        answer = httpx2.post(f"{llama.url}/completion", json=body, timeout=TIMEOUT).json()
    arguments = answer["content"].partition('"arguments": ')[2]
    assert json.JSONDecoder().raw_decode(arguments)[0] == {"room": "blue", "days": 3}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("j1-json-in-tags", ()),
        ("content-after-calls", ("<|im_end|>",)),
        ("j3-8-header-recipient", ()),
    ],
)
def test_output_under_the_sent_grammar_matches_the_template(
    name: str, ends: tuple[str, ...], tmp_path: Path
) -> None:
    # The parrot repeats bytes of the prompt wherever the grammar allows. Formats that allow no text
    # before a required call force it to write one. Text after a call continues until the model ends
    # it the way the prompt's turns end.
    template = f"fixtures/templates/{name}.jinja"
    wanted = ["--tools", "fixtures/tools.yaml", "--tool-choice", "required", "--no-parallel"]
    size = ["--walks", "3", "--limit", "600", "--json"]
    model = Parrot(tuple((end, True) for end in ends), lag=300, ends=ends)
    with running_llama(model, tmp_path) as llama:
        asked = ["--server", llama.url, "--engine", "llama-server"]
        ran = subprocess.run(  # noqa: S603 - our own command
            [sys.executable, "-m", "autoparser", "decode", template, *wanted, *asked, *size],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (ran.returncode, ran.stderr) == (0, "")
    told = json.loads(ran.stdout)
    assert (told["clean"], told["with_calls"]) == (3, 3)


def test_marker_is_written_as_its_token_despite_a_spelling_bias(tmp_path: Path) -> None:
    grammar = analysis_of("content-after-calls").grammar([BOOKING], tool_choice="required")
    model = Parrot(tuple((marker, True) for marker in grammar.preserved_tokens), lag=100)
    known = model.tokenizer.token_to_id
    asked = {"prompt": "x", "n_predict": 20, "temperature": 0.0, "return_tokens": True}
    asked |= {"logit_bias": [[known("<"), 50.0]], "preserved_tokens": grammar.preserved_tokens}
    markers = [known(marker) for marker in grammar.preserved_tokens]
    with running_llama(model, tmp_path) as llama:
        for tokenizer in (None, model.tokenizer):
            body = {**asked, "grammar": grammar.gbnf(tokenizer)}
            answer = httpx2.post(f"{llama.url}/completion", json=body, timeout=TIMEOUT).json()
            first = answer["tokens"][answer["tokens"][0] == known("\n")]
            assert first in ([known("<")] if tokenizer is None else markers)


STYLES = (
    *("j1-json-in-tags", "a1-function-parameter", "j8-2-python-dict-in-tags"),
    *("a6-key-is-tag", "arguments-cdata", "a7-token-pairs"),
)
SAID = "Let me see; {no} <call, yet."


def turn(analysis: Analysis, room: str) -> str:
    """Return the template's turn with some text and a call, after its prompt."""
    call = ToolCall("book", {"room": room, "days": 3}, "abcDEF123")
    written = analysis.turns([BOOKING]).written_turn(Message(SAID, calls=(call,)))
    assert written.continuation is not None
    return written.continuation


@pytest.mark.parametrize("style", sampled(STYLES, len(STYLES)))
def test_lazy_grammar_constrains_only_the_call(style: str, tmp_path: Path) -> None:
    analysis = analyzed(style)
    # The script calls with a value that the schema does not allow. The output must be the call with
    # the only allowed value, as the template renders it.
    script, wanted = turn(analysis, "red!"), turn(analysis, "blue")
    grammar = analysis.grammar([BOOKING], parallel_tool_calls=False, lazy=True)
    held = {
        "grammar": grammar.gbnf(),
        "grammar_lazy": True,
        "grammar_triggers": [trigger.to_llama_server() for trigger in grammar.server_triggers],
    }
    told: list[str] = []
    with running_llama(Parrot(lag=800), tmp_path) as llama:
        prompt = llama.parrot.padded_message(script, str)
        for fields in ({}, held):
            asked = {"prompt": prompt, "temperature": 0.0, "max_tokens": len(script) + 40}
            answer = httpx2.post(
                f"{llama.url}/v1/completions", json={**asked, **fields}, timeout=TIMEOUT
            )
            told.append(answer.json()["choices"][0]["text"])
    end = wanted.index("blue") + len("blue")
    assert told[0].startswith(script.rstrip("\n")[:end])
    assert told[1].startswith(wanted[:end])
    assert "red" not in told[1]
