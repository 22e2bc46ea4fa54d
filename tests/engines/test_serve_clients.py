"""The official clients in an agent's loop: a tool's call, its result, an answer, in three APIs.

A scripted backend writes the template's own turns: a call first, and an answer once the prompt has
the tool's result, so that a result that gets lost on its way ends in another call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping
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


Turn = tuple[str, str, str, list[tuple[str, object]]]
"""Why an answer ended, its reasoning, its content, its calls."""
FUNCTION = {"name": "get_weather", "description": "Look."}


def ask_chat(url: str, said: list[Any], *, streamed: bool) -> Turn:
    """Ask as OpenAI's client of chats does; add the answer and the results of its calls."""
    tool = {"type": "function", "function": {**FUNCTION, "parameters": SCHEMA}}
    system = {"role": "system", "content": SYSTEM}
    fields: Any = {"model": "m", "messages": [system, *said], "tools": [tool]}
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        if streamed:
            with client.chat.completions.stream(**fields) as stream:
                choice: Any = stream.until_done().get_final_completion().choices[0]
        else:
            choice = client.chat.completions.create(**fields).choices[0]
    message, calls = choice.message, choice.message.tool_calls or ()
    said.append(message.model_dump())
    said += [{"role": "tool", "tool_call_id": each.id, "content": RESULT} for each in calls]
    read = [(each.function.name, json.loads(each.function.arguments)) for each in calls]
    return choice.finish_reason, getattr(message, "reasoning_content", ""), message.content, read


def ask_messages(url: str, said: list[Any], *, streamed: bool) -> Turn:
    """Ask as Anthropic's client does."""
    system = [{"type": "text", "text": SYSTEM, "cache_control": {"type": "ephemeral"}}]
    tools = [{**FUNCTION, "input_schema": SCHEMA}]
    fields: Any = {"max_tokens": 500, "system": system, "tools": tools}
    fields |= {"model": "m", "messages": said}
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        counted = client.messages.count_tokens(model="m", messages=said)
        assert counted.input_tokens > len(QUESTION)
        if streamed:
            with client.messages.stream(**fields) as stream:
                message: Any = stream.get_final_message()
        else:
            message = client.messages.create(**fields)
    usage = message.usage
    counts = (usage.input_tokens, usage.cache_read_input_tokens, usage.output_tokens)
    assert counts == (5, 15, 9)
    blocks = message.content
    calls = [each for each in blocks if each.type == "tool_use"]
    said.append({"role": "assistant", "content": [each.model_dump() for each in blocks]})
    content = [{"type": "text", "text": RESULT}]
    results = [
        {"type": "tool_result", "tool_use_id": each.id, "content": content} for each in calls
    ]
    said.append({"role": "user", "content": results})
    thought = "".join(each.thinking for each in blocks if each.type == "thinking")
    text = "".join(each.text for each in blocks if each.type == "text")
    return message.stop_reason, thought, text, [(each.name, each.input) for each in calls]


def ask_responses(url: str, said: list[Any], *, streamed: bool) -> Turn:
    """Ask as OpenAI's client of responses does."""
    tool = {"type": "function", **FUNCTION, "parameters": SCHEMA, "strict": False}
    fields: Any = {"model": "m", "instructions": SYSTEM, "input": said, "tools": [tool]}
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as client:
        if streamed:
            with client.responses.stream(**fields) as stream:
                response: Any = stream.until_done().get_final_response()
        else:
            response = client.responses.create(**fields)
    usage = response.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (20, 9, 29)
    items = {kind: [each for each in response.output if each.type == kind] for kind in KINDS}
    said += [each.model_dump(exclude_none=True) for each in response.output]
    said += [
        {"type": "function_call_output", "call_id": each.call_id, "output": RESULT}
        for each in items["function_call"]
    ]
    thought = "".join(each.content[0].text for each in items["reasoning"])
    (message,) = items["message"]
    assert message.content[0].text == response.output_text
    calls = [(each.name, json.loads(each.arguments)) for each in items["function_call"]]
    return response.status, thought, response.output_text, calls


KINDS = ("reasoning", "message", "function_call")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("ask", "called", "ended"),
    [
        (ask_chat, "tool_calls", "stop"),
        (ask_messages, "tool_use", "end_turn"),
        (ask_responses, "completed", "completed"),
    ],
)
def test_an_agent_comes_to_its_answer(
    url: str, ask: Callable[..., Turn], called: str, ended: str, streamed: bool
) -> None:
    said: list[Any] = [{"role": "user", "content": QUESTION}]
    calls = [("get_weather", {"city": "Malmö"})]
    assert ask(url, said, streamed=streamed) == (called, "I must look.", "Let me see.", calls)
    assert ask(url, said, streamed=streamed) == (ended, "", ANSWER, [])


def test_errors_are_exceptions_of_each_client(url: str) -> None:
    theirs = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
    ours = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    picture: Any = {"type": "image", "source": {"type": "url", "url": "http://x"}}
    asked: Any = [{"role": "user", "content": [picture]}]
    file: Any = [{"role": "user", "content": [{"type": "input_file", "text": "x"}]}]
    with ours:
        with pytest.raises(openai.BadRequestError, match="no response is kept here"):
            ours.responses.create(model="m", input="x", previous_response_id="resp_1")
        with pytest.raises(openai.BadRequestError, match="only texts reach the model"):
            ours.responses.create(model="m", input=file)
    with theirs, pytest.raises(anthropic.BadRequestError, match="only texts reach the model"):
        theirs.messages.create(model="m", max_tokens=5, messages=asked)


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
