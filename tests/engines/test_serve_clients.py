"""Run the official clients in an agent's loop (call, result, answer), in three APIs.

A scripted backend writes rendered turns: first a call, then an answer once the prompt contains the
tool's result. A result that gets lost leads to another call.
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
from autoparser.analysis.engines.client_apis import responses_request
from tests.fixture_analyses import analyzed
from tests.offers import tool

from .client_loops import APIS, ClientApi, prompt_tokens
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
        told = all(word in body["prompt"] for word in words)
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


TOOLS = [tool("get_weather", {"city": {"type": "string"}}, "city")]


def counts(usage: Any) -> tuple[int, int]:
    """Return the tokens of a prompt and of its answer, by the words of each API."""
    found = usage.model_dump()
    return prompt_tokens(usage), found.get("completion_tokens") or found["output_tokens"]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("api", APIS, ids=lambda api: api.name)
def test_agent_loop_reaches_its_answer(url: str, api: ClientApi, streamed: bool) -> None:
    said: list[Any] = [{"role": "user", "content": QUESTION}]
    called = api.ask(url, said, TOOLS, SYSTEM, streamed=streamed)
    calls = [("get_weather", {"city": "Malmö"})]
    got = (called.ended, called.reasoning, called.content, called.calls)
    assert got == (api.called, "I must look.", "Let me see.", calls)
    said += [*called.said, *api.results(called.ids, [RESULT])]
    last = api.ask(url, said, TOOLS, SYSTEM, streamed=streamed)
    assert (last.ended, last.reasoning, last.content, last.calls) == (api.ended, "", ANSWER, [])
    assert counts(called.usage) == counts(last.usage) == (20, 9)


def test_prompt_tokens_are_counted_for_the_anthropic_client(url: str) -> None:
    said: Any = [{"role": "user", "content": QUESTION}]
    with anthropic.Anthropic(base_url=url, api_key="none", max_retries=0) as client:
        counted = client.messages.count_tokens(model="m", messages=said)
        usage = client.messages.create(model="m", messages=said, max_tokens=500).usage
    assert counted.input_tokens > len(QUESTION)
    assert (usage.input_tokens, usage.cache_read_input_tokens) == (5, 15)


@pytest.mark.parametrize("strict", [False, True])
def test_responses_tool_keeps_strict_only_if_true(strict: bool) -> None:
    tool = {"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": strict}
    request = responses_request({"input": QUESTION, "tools": [tool]})
    function = {"name": "get_weather", "parameters": SCHEMA, **({"strict": True} if strict else {})}
    assert list(request.tools) == [{"type": "function", "function": function}]


def test_errors_are_exceptions_of_each_client(url: str) -> None:
    theirs = anthropic.Anthropic(base_url=url, api_key="none", max_retries=0)
    ours = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
    picture: Any = {"type": "image", "source": {"type": "url", "url": "http://x"}}
    asked: Any = [{"role": "user", "content": [picture]}]
    file: Any = [{"role": "user", "content": [{"type": "input_file", "text": "x"}]}]
    with ours:
        with pytest.raises(openai.BadRequestError, match="responses are not stored"):
            ours.responses.create(model="m", input="x", previous_response_id="resp_1")
        with pytest.raises(openai.BadRequestError, match="only text is supported"):
            ours.responses.create(model="m", input=file)
    with theirs, pytest.raises(anthropic.BadRequestError, match="only text is supported"):
        theirs.messages.create(model="m", max_tokens=5, messages=asked)


def test_completions_are_forwarded_under_this_servers_model_name(url: str) -> None:
    answer = httpx2.post(f"{url}/v1/completions", json={"prompt": "<b>", "strange": 1})
    assert answer.json() == {"passed": "<b>", "model": "parrot"}


@pytest.mark.parametrize("field", ["prompt", "content"])
def test_backend_tokenizes_texts_if_no_tokenizer_is_known(url: str, field: str) -> None:
    answer = httpx2.post(f"{url}/tokenize", json={field: "abc"})
    assert answer.json() == {"count": 3, "tokens": [0, 1, 2]}
    messages = [{"role": "user", "content": "abc"}]
    assert httpx2.post(f"{url}/tokenize", json={"messages": messages}).json()["count"] > 3


def test_clients_see_the_template_and_no_path(url: str) -> None:
    found = httpx2.get(f"{url}/props").json()
    assert "<tool_call>" in found["chat_template"]
    assert found["chat_template_kwargs"] == {"enable_thinking": [True, False]}
    assert found["model_alias"] == "parrot"
