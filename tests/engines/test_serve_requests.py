"""What parameters of a chat become: at the template, at the backend, in the answer."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from autoparser.analysis.decoding.answer_writers import ServerEngine
from autoparser.analysis.engines.chat_preparer import ChatPreparer
from autoparser.analysis.engines.chat_request import chat_request
from autoparser.analysis.grammar.acceptance import GrammarDialect
from tests.fixture_analyses import analyzed

from .asked_serve import BODY, answered, events, whole

pytestmark = pytest.mark.engine

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("look", "book")
]
ALLOWED = {"mode": "required", "tools": [{"type": "function", "function": {"name": "book"}}]}


def asked_of(
    fields: dict[str, Any],
    engine: ServerEngine = ServerEngine.LLAMA_SERVER,
    template: str = "j1-json-in-tags",
) -> dict[str, Any]:
    """Return what the backend is asked for a request with these fields."""
    asked: list[dict[str, Any]] = []
    answered(whole, {**BODY, **fields}, asked=asked, engine=engine, template=template)
    return asked[0]


@pytest.mark.parametrize(
    ("fields", "engine", "expected"),
    [
        ({"repetition_penalty": 1.5}, ServerEngine.LLAMA_SERVER, {"repeat_penalty": 1.5}),
        ({"repetition_penalty": 1.5}, ServerEngine.VLLM, {"repetition_penalty": 1.5}),
        ({"min_tokens": 3}, ServerEngine.SGLANG, {"min_tokens": 3}),
        ({"logprobs": True}, ServerEngine.LLAMA_SERVER, {"n_probs": 1}),
        ({"logprobs": True, "top_logprobs": 4}, ServerEngine.VLLM, {"logprobs": 4}),
        ({"top_logprobs": 4}, ServerEngine.LLAMA_SERVER, {}),
    ],
)
def test_a_parameter_reaches_the_backend_by_its_name(
    fields: dict[str, Any], engine: ServerEngine, expected: dict[str, Any]
) -> None:
    found = asked_of(fields, engine)
    without = asked_of({}, engine)
    assert {name: value for name, value in found.items() if without.get(name) != value} == expected


def test_a_least_number_of_tokens_is_refused_where_the_backend_has_none() -> None:
    (answer,) = answered(whole, {**BODY, "min_tokens": 3})
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "min_tokens")


@pytest.mark.parametrize(
    ("template", "effort", "written"),
    [
        ("switch-reasoning-effort", "low", "Effort: low"),
        ("switch-reasoning-effort", "none", "Effort: none"),
        ("switch-reasoning-effort", "xhigh", "Effort: high"),
        ("switch-reasoning-effort", "minimal", "Effort: low"),
        ("j1-json-in-tags", "none", "<think>\n\n</think>\n\n"),
    ],
)
def test_an_effort_sets_the_switch_of_the_template_that_has_such_values(
    template: str, effort: str, written: str
) -> None:
    assert written in asked_of({"reasoning_effort": effort}, template=template)["prompt"]
    assert written not in asked_of({}, template=template)["prompt"]


def test_an_effort_without_a_switch_is_ignored_with_a_line_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fields = {"reasoning_effort": "high"}
    assert asked_of(fields)["prompt"] == asked_of({})["prompt"]
    assert "ignored: reasoning_effort" in caplog.text


def test_the_last_message_is_continued() -> None:
    begun = [*BODY["messages"], {"role": "assistant", "content": "It is "}]
    asked: list[dict[str, Any]] = []
    fields = {"messages": begun, "continue_final_message": True}
    (answer,) = answered(whole, {**BODY, **fields}, asked=asked)
    assert asked[0]["prompt"].endswith("assistant\nIt is ")
    assert answer.json()["choices"][0]["message"]["content"] == "Hi"


@pytest.mark.parametrize("last", [{"role": "user", "content": "x"}, {"role": "assistant"}])
def test_nothing_but_an_answer_with_a_text_is_continued(last: dict[str, str]) -> None:
    (answer,) = answered(whole, {"messages": [last], "continue_final_message": True})
    error = answer.json()["error"]
    assert (answer.status_code, error["param"]) == (400, "continue_final_message")


def test_tools_that_are_not_allowed_stay_in_the_prompt_and_out_of_the_grammar() -> None:
    for choice in (
        {"type": "allowed_tools", "allowed_tools": ALLOWED},
        {"type": "allowed_tools", **ALLOWED},
    ):
        found = asked_of({"tools": TOOLS, "tool_choice": choice})
        assert "look" in found["prompt"]
        assert "book" in found["grammar"]
        assert "look" not in found["grammar"]
    none = {"type": "allowed_tools", "mode": "auto", "tools": []}
    assert "grammar" not in asked_of({"tools": TOOLS, "tool_choice": none})


LIKELY = {
    "token": "Hi",
    "logprob": -0.5,
    "top_logprobs": [{"token": "Hi", "logprob": -0.5}, {"token": "é", "logprob": None}],
}


async def likely() -> AsyncIterator[bytes]:
    event = {"content": "Hi", "tokens": [1], "completion_probabilities": [LIKELY]}
    last = {"content": "", "stop": True, "tokens_predicted": 1, "tokens_evaluated": 7}
    for each in (event, last):
        yield b"data: " + json.dumps(each).encode() + b"\n\n"


def test_log_probabilities_are_of_openais_form_whole_and_streamed() -> None:
    asked = {**BODY, "logprobs": True, "top_logprobs": 2}
    answer, stream = answered(likely, asked, {**asked, "stream": True})
    (found,) = answer.json()["choices"][0]["logprobs"]["content"]
    assert (found["token"], found["logprob"], found["bytes"]) == ("Hi", -0.5, [72, 105])
    assert found["top_logprobs"][1] == {"token": "é", "logprob": -9999.0, "bytes": [195, 169]}
    chunks = [json.loads(each)["choices"][0] for each in events(stream)[:-1]]
    assert [chunk["logprobs"]["content"] for chunk in chunks if "logprobs" in chunk] == [[found]]
    (alone,) = answered(likely, {**BODY, "logprobs": True})
    assert alone.json()["choices"][0]["logprobs"]["content"] == [{**found, "top_logprobs": []}]


def test_several_choices_are_asked_side_by_side_each_with_a_seed_of_its_own() -> None:
    asked: list[dict[str, Any]] = []
    body = {**BODY, "n": 3, "seed": 5}
    answer, stream = answered(likely, body, {**body, "stream": True}, asked=asked)
    assert sorted(each["seed"] for each in asked) == [5, 5, 6, 6, 7, 7]
    found = answer.json()
    assert [choice["index"] for choice in found["choices"]] == [0, 1, 2]
    assert {choice["message"]["content"] for choice in found["choices"]} == {"Hi"}
    assert (found["usage"]["prompt_tokens"], found["usage"]["completion_tokens"]) == (7, 3)
    *chunks, last = events(stream)
    assert last == "[DONE]"
    choices = [json.loads(chunk)["choices"][0] for chunk in chunks]
    for index in range(3):
        texts = [each["delta"].get("content", "") for each in choices if each["index"] == index]
        assert "".join(texts) == "Hi"


def test_a_stream_says_its_usage_at_the_end_or_all_along() -> None:
    asked = [
        {**BODY, "stream": True, "stream_options": {name: True, "include_obfuscation": False}}
        for name in ("include_usage", "continuous_usage_stats")
    ]
    at_end, along = [
        [json.loads(each)["usage"] for each in events(answer)[:-1]]
        for answer in answered(likely, *asked)
    ]
    assert [usage and usage["total_tokens"] for usage in at_end] == [None, None, None, 8]
    assert [usage["completion_tokens"] for usage in along] == [0, 1, 1]


CALL = '<tool_call>\n{"name": "look", "arguments": {"city": "Os'


def cut(**end: object) -> Any:
    async def pieces() -> AsyncIterator[bytes]:
        for character in CALL:
            yield b"data: " + json.dumps({"content": character}).encode() + b"\n\n"
        last = {"content": "", "stop": True, "tokens_predicted": 9, **end}
        yield b"data: " + json.dumps(last).encode() + b"\n\n"

    return pieces


@pytest.mark.parametrize("end", [{"stop_type": "limit"}, {"stopping_word": "lo"}])
def test_a_call_that_was_cut_is_the_same_whole_and_streamed(end: dict[str, str]) -> None:
    body = {**BODY, "tools": TOOLS, "stop": ["lo"]}
    answer, stream = answered(cut(**end), body, {**body, "stream": True})
    choice = answer.json()["choices"][0]
    (call,) = choice["message"]["tool_calls"]
    assert (call["function"]["name"], choice["finish_reason"]) == ("look", "length")
    choices = [json.loads(each)["choices"][0] for each in events(stream)[:-1]]
    calls = [each["delta"]["tool_calls"][0] for each in choices if "tool_calls" in each["delta"]]
    arguments = "".join(each["function"]["arguments"] for each in calls)
    assert arguments == call["function"]["arguments"] == '{"city": "Os'
    assert choices[-1]["finish_reason"] == "length"


def test_an_answer_that_a_stop_of_the_client_ends_outside_a_call_says_stop() -> None:
    async def stopped() -> AsyncIterator[bytes]:
        yield b'data: {"content": "Hi", "stop": false}\n\n'
        yield b'data: {"content": "", "stop": true, "stopping_word": "!"}\n\n'

    (answer,) = answered(stopped, {**BODY, "stop": "!"})
    assert answer.json()["choices"][0]["finish_reason"] == "stop"


JSON_ANSWER = '{"city": "Malmö"}'


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("a2-key-value-tags", f"<think>Hm.</think>\n{JSON_ANSWER}"),
        ("j1-json-in-tags", f"<think>\nHm.\n</think>\n\n{JSON_ANSWER}"),
        ("reasoning-forced-open", f"Hm.\n</muse>\n\n{JSON_ANSWER}"),
    ],
)
def test_json_comes_after_the_reasoning_whoever_opens_that(template: str, text: str) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    form = {"type": "json_schema", "json_schema": {"schema": schema}}
    body = {**BODY, "response_format": form}
    prepared = ChatPreparer(analyzed(template)).prepare(chat_request(body))
    assert prepared.constrained
    accepted = prepared.grammar.accepts(text, dialect=GrammarDialect.GBNF)
    assert accepted.accepted, accepted

    async def written() -> AsyncIterator[bytes]:
        for character in text:
            yield b"data: " + json.dumps({"content": character}).encode() + b"\n\n"
        yield b'data: {"content": "", "stop": true}\n\n'

    answer, stream = answered(written, body, {**body, "stream": True}, template=template)
    message = answer.json()["choices"][0]["message"]
    assert (message["reasoning_content"], message["content"]) == ("Hm.", JSON_ANSWER)
    deltas = [json.loads(each)["choices"][0]["delta"] for each in events(stream)[:-1]]
    for name in ("reasoning_content", "content"):
        assert "".join(delta.get(name, "") for delta in deltas) == message[name]
