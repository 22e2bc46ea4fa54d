"""The official clients in an agent's loop: a tool's call, its result, an answer, in three APIs.

A scripted backend writes the template's own turns: a call first, and an answer once the prompt has
the tool's result, so that a result that gets lost on its way ends in another call.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from autoparser.analysis.engines.chat_answers import event
from tests.fixture_analyses import analyzed

from .running_serve import RunningServe, running_backend, running_serve

pytestmark = pytest.mark.engine

CALL = (
    "<think>\nI must look.\n</think>\n\nLet me see.\n<tool_call>\n"
    '{"name": "get_weather", "arguments": {"city": "Malmö"}}\n</tool_call>'
)
ANSWER = "It is 7 degrees."
RESULT = "7 degrees, rain"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
QUESTION = "How is Malmö?"
SYSTEM = "Be brief."


def scripted(path: str, body: Mapping[str, Any]) -> Iterator[bytes]:
    """Write a call, and an answer where the prompt has all that a loop has said so far."""
    if path == "/tokenize":
        yield json.dumps({"tokens": list(range(len(body["content"])))}).encode()
    elif path == "/v1/completions":
        yield json.dumps({"passed": body["prompt"], "model": "/models/a"}).encode()
    else:
        words = (SYSTEM, RESULT, "I must look.", "Let me see.", "Malmö")
        told = all(each in body["prompt"] for each in words)
        for character in ANSWER if told else CALL:
            yield event({"content": character, "tokens": [1]})
        end: dict[str, Any] = {
            "tokens_predicted": 9,
            "tokens_evaluated": 20,
            "timings": {"cache_n": 15},
        }
        yield event({"content": "", "stop": True, **end})
    yield b""


@pytest.fixture(scope="module")
def url() -> Generator[RunningServe]:
    with (
        running_backend(scripted) as behind,
        running_serve(analyzed("j1-json-in-tags"), behind.url) as running,
    ):
        yield running


@pytest.fixture
def ours(url: str) -> Generator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        yield client


@pytest.fixture
def theirs(url: str) -> Generator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        yield client


@pytest.mark.parametrize("streamed", [False, True])
def test_an_agent_of_openais_chat_comes_to_its_answer(ours: openai.OpenAI, streamed: bool) -> None:
    messages: list[Any] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": QUESTION},
    ]
    function = {"name": "get_weather", "description": "Look.", "parameters": SCHEMA}

    def ask() -> Any:
        fields: Any = {
            "model": "m",
            "messages": messages,
            "tools": [{"type": "function", "function": function}],
        }
        if not streamed:
            return ours.chat.completions.create(**fields).choices[0]
        with ours.chat.completions.stream(**fields) as events:
            for _ in events:
                pass
            return events.get_final_completion().choices[0]

    choice = ask()
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "Let me see.")
    assert choice.message.reasoning_content == "I must look."
    (call,) = choice.message.tool_calls
    assert json.loads(call.function.arguments) == {"city": "Malmö"}
    messages += [
        choice.message.model_dump(),
        {"role": "tool", "tool_call_id": call.id, "content": RESULT},
    ]
    last = ask()
    assert (last.finish_reason, last.message.content) == ("stop", ANSWER)


@pytest.mark.parametrize("streamed", [False, True])
def test_an_agent_of_anthropics_messages_comes_to_its_answer(
    theirs: anthropic.Anthropic, streamed: bool
) -> None:
    messages: list[Any] = [{"role": "user", "content": QUESTION}]
    tool = {"name": "get_weather", "description": "Look.", "input_schema": SCHEMA}

    def ask() -> Any:
        fields: Any = {
            "model": "m",
            "max_tokens": 500,
            "system": [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}],
            "messages": messages,
            "tools": [tool],
        }
        if not streamed:
            return theirs.messages.create(**fields)
        with theirs.messages.stream(**fields) as events:
            return events.get_final_message()

    message = ask()
    assert message.stop_reason == "tool_use"
    thinking, text, call = message.content
    assert (thinking.thinking, text.text) == ("I must look.", "Let me see.")
    assert (call.name, call.input) == ("get_weather", {"city": "Malmö"})
    usage = message.usage
    counts = (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens)
    assert counts == (5, 15, 9)
    result = [{"type": "text", "text": RESULT}]
    messages += [
        {"role": "assistant", "content": [each.model_dump() for each in message.content]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": call.id, "content": result}],
        },
    ]
    last = ask()
    assert (last.stop_reason, last.content[0].text) == ("end_turn", ANSWER)
    counted = theirs.messages.count_tokens(model="m", messages=messages)
    assert counted.input_tokens > len(QUESTION)


@pytest.mark.parametrize("streamed", [False, True])
def test_an_agent_of_openais_responses_comes_to_its_answer(
    ours: openai.OpenAI, streamed: bool
) -> None:
    items: list[Any] = [{"role": "user", "content": QUESTION}]
    tool = {"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": False}

    def ask() -> Any:
        fields: Any = {"model": "m", "instructions": SYSTEM, "input": items, "tools": [tool]}
        if not streamed:
            return ours.responses.create(**fields)
        with ours.responses.stream(**fields) as events:
            for _ in events:
                pass
            return events.get_final_response()

    response = ask()
    assert response.status == "completed"
    thought, message, call = response.output
    assert thought.content[0].text == "I must look."
    assert (message.content[0].text, response.output_text) == ("Let me see.",) * 2
    assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Malmö"})
    usage = response.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (20, 9, 29)
    items += [each.model_dump(exclude_none=True) for each in response.output]
    items.append({"type": "function_call_output", "call_id": call.call_id, "output": RESULT})
    assert ask().output_text == ANSWER


def test_errors_are_exceptions_of_each_client(
    ours: openai.OpenAI, theirs: anthropic.Anthropic
) -> None:
    with pytest.raises(openai.BadRequestError, match="no response is kept here"):
        ours.responses.create(model="m", input="x", previous_response_id="resp_1")
    picture: Any = {"type": "image", "source": {"type": "url", "url": "http://x"}}
    with pytest.raises(anthropic.BadRequestError, match="only texts reach the model"):
        theirs.messages.create(
            model="m", max_tokens=5, messages=[{"role": "user", "content": [picture]}]
        )


def test_completions_are_passed_on_under_the_name_of_this_server(url: str) -> None:
    answer = httpx2.post(f"{url}/v1/completions", json={"prompt": "<b>", "strange": 1})
    assert answer.json() == {"passed": "<b>", "model": "parrot"}


@pytest.mark.parametrize("field", ["prompt", "content"])
def test_texts_are_tokenized_by_the_backend_where_no_tokenizer_is_known(
    url: str, field: str
) -> None:
    answer = httpx2.post(f"{url}/tokenize", json={field: "abc"})
    assert answer.json() == {"count": 3, "tokens": [0, 1, 2]}
    messages = [{"role": "user", "content": "abc"}]
    assert httpx2.post(f"{url}/tokenize", json={"messages": messages}).json()["count"] > 3


def test_clients_see_the_template_and_no_path(url: str) -> None:
    found = httpx2.get(f"{url}/props").json()
    assert "<tool_call>" in found["chat_template"]
    assert found["chat_template_kwargs"] == {"enable_thinking": [True, False]}
    assert found["model_alias"] == "parrot"
