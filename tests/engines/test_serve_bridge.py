"""From turn to turn in ids: the next prompt begins with them, and the backend's cache holds."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import httpx2
import pytest

from autoparser.analysis.engines.chat_preparer import ChatPreparer

from .chats import TIMEOUT, TOOLS, analysis_of, parrot, prompt_renderer
from .padding import padded_message
from .running_llama import RunningLlama, running_llama
from .running_serve import running_serve

pytestmark = pytest.mark.engine

TEMPLATE = "j1-json-in-tags"
SCRIPT = '<tool_call>\n{"name":"get_weather","arguments":{"city":"Oslo","days":3}}\n</tool_call>'
"""Compact JSON, which the template writes otherwise once it is in the history."""
STOP = "<|im_end|>"


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningLlama]:
    with running_llama(parrot(), tmp_path_factory.mktemp("llama"), slots=1) as running:
        yield running


@pytest.fixture
def url(llama: RunningLlama) -> Generator[str]:
    preparer = ChatPreparer(analysis_of(TEMPLATE), tokenizer=llama.parrot.tokenizer)
    with running_serve(preparer, llama.url) as running:
        yield running


def asked(url: str, messages: list[Any], **fields: object) -> dict[str, Any]:
    body = {"messages": messages, "return_token_ids": True, "max_tokens": 200, **fields}
    answer = httpx2.post(f"{url}/v1/chat/completions", json=body, timeout=TIMEOUT)
    assert answer.status_code == httpx2.codes.OK, answer.text
    found: dict[str, Any] = answer.json()
    return found


def first_turn(llama: RunningLlama, url: str) -> tuple[list[Any], dict[str, Any]]:
    """Have the parrot call a tool, and return the conversation with its result, and the answer."""
    prompt_of = prompt_renderer(analysis_of(TEMPLATE))
    user = padded_message(llama.parrot, f"{SCRIPT}{STOP}", prompt_of)
    messages: list[Any] = [{"role": "user", "content": user}]
    # Without tools nothing is held to the grammar, which would want the template's own spaces.
    answer = asked(url, messages)
    said = {"role": "assistant", "content": answer["choices"][0]["message"]["content"]}
    return [*messages, said, {"role": "user", "content": "And then?"}], answer


def test_the_next_prompt_begins_with_the_ids_and_the_cache_holds(
    llama: RunningLlama, url: str
) -> None:
    messages, answer = first_turn(llama, url)
    choice = answer["choices"][0]
    earlier = {name: choice[name] for name in ("prompt_token_ids", "token_ids")}
    written = llama.parrot.tokenizer.decode(earlier["token_ids"], skip_special_tokens=False)
    assert written == SCRIPT + STOP
    after = asked(url, messages, continues=earlier, max_tokens=2)
    so_far = earlier["prompt_token_ids"] + earlier["token_ids"]
    following = after["choices"][0]
    assert following["prompt_token_ids"][: len(so_far)] == so_far
    assert following["bridge"] == "the prompt begins with the earlier turn's ids"
    # All but the last token, whose own state a server does not keep.
    assert after["usage"]["prompt_tokens_details"]["cached_tokens"] >= len(so_far) - 1


@pytest.mark.slow
def test_what_cannot_be_bridged_is_rendered_anew_and_says_why(
    llama: RunningLlama, url: str
) -> None:
    messages, answer = first_turn(llama, url)
    choice = answer["choices"][0]
    earlier = {name: choice[name] for name in ("prompt_token_ids", "token_ids")}
    setting = {"enable_thinking": False}
    after = asked(url, messages, continues=earlier, chat_template_kwargs=setting, max_tokens=2)
    assert after["choices"][0]["bridge"] == "the request sets chat_template_kwargs"
    assert after["usage"]["prompt_tokens"] > 0


def test_ids_that_the_vocabulary_does_not_have_are_one_error(url: str) -> None:
    earlier = {"prompt_token_ids": [10**6], "token_ids": [1]}
    body = {"messages": [{"role": "user", "content": "x"}], "continues": earlier, "tools": TOOLS}
    answer = httpx2.post(f"{url}/v1/chat/completions", json=body, timeout=TIMEOUT)
    assert answer.status_code == httpx2.codes.BAD_REQUEST
    error = answer.json()["error"]
    assert error["param"] == "continues"
    assert "1000000" in error["message"]
