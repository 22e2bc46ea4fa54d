"""Check that a real server behind `serve` returns the parser's messages for known texts.

The texts are rendered turns of known messages, so names and arguments of calls are also compared
with those messages.
"""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from autoparser.analysis.engines.chat_preparer import ChatPreparer

from .chats import (
    TEMPLATES,
    TIMEOUT,
    TOOLS,
    analysis_of,
    answered,
    chats_of,
    messages,
    parrot,
    prompt_renderer,
    streamed,
    with_values,
)
from .running_llama import RunningLlama, running_llama
from .running_serve import running_serve

pytestmark = pytest.mark.engine

SLOTS = 4


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningLlama]:
    with running_llama(parrot(), tmp_path_factory.mktemp("llama"), slots=SLOTS) as running:
        yield running


@pytest.mark.parametrize(
    ("name", "first", "step"),
    [
        (TEMPLATES[0], 0, 13),
        # Each message is sent to two styles, and each style gets a sixth of the messages.
        *(pytest.param(name, at, 6, marks=pytest.mark.slow) for at, name in enumerate(TEMPLATES)),
    ],
)
def test_whole_and_streamed_messages_equal_the_parser_result(
    llama: RunningLlama, name: str, first: int, step: int
) -> None:
    every = list(chats_of(name))
    assert len(every) in (len(messages()), len(messages()) // 2)
    chats = every[first % step :: step]
    with running_serve(analysis_of(name), llama.url) as url, ThreadPoolExecutor(SLOTS) as pool:
        for ask in (answered, streamed):
            found = list(pool.map(lambda chat, ask=ask: ask(url, chat.body), chats))
            for chat, message in zip(chats, found, strict=True):
                assert message == chat.parsed, chat.script
    for chat in chats:
        told = with_values(chat.parsed)["calls"]
        assert told == [(call.name, dict(call.arguments)) for call in chat.message.calls]


# From turn to turn in ids: the next prompt begins with them, so the backend's cache is reused.


SCRIPT = '<tool_call>\n{"name":"get_weather","arguments":{"city":"Oslo","days":3}}\n</tool_call>'
"""Compact JSON, which the template writes otherwise once it is in the history."""
STOP = "<|im_end|>"


@pytest.fixture
def url(llama: RunningLlama) -> Generator[str]:
    preparer = ChatPreparer(analysis_of(TEMPLATES[0]), tokenizer=llama.parrot.tokenizer)
    with running_serve(preparer, llama.url) as running:
        yield running


def asked(url: str, messages: list[Any], **fields: object) -> dict[str, Any]:
    body = {"messages": messages, "return_token_ids": True, "max_tokens": 200, **fields}
    answer = httpx2.post(f"{url}/v1/chat/completions", json=body, timeout=TIMEOUT)
    assert answer.status_code == httpx2.codes.OK, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.fixture
def first_turn(llama: RunningLlama, url: str) -> tuple[list[Any], dict[str, list[int]]]:
    """Have the parrot call a tool; return the conversation with its result, and the turn's ids."""
    prompt_of = prompt_renderer(analysis_of(TEMPLATES[0]))
    user = {"role": "user", "content": llama.parrot.padded_message(f"{SCRIPT}{STOP}", prompt_of)}
    # Without tools, no grammar constrains the output, which may lack the template's spaces.
    choice = asked(url, [user])["choices"][0]
    said = {"role": "assistant", "content": choice["message"]["content"]}
    earlier = {name: choice[name] for name in ("prompt_token_ids", "token_ids")}
    written = llama.parrot.tokenizer.decode(earlier["token_ids"], skip_special_tokens=False)
    assert written == SCRIPT + STOP
    return [user, said, {"role": "user", "content": "And then?"}], earlier


def test_next_prompt_begins_with_earlier_ids_and_hits_the_cache(
    url: str, first_turn: tuple[list[Any], dict[str, list[int]]]
) -> None:
    messages, earlier = first_turn
    after = asked(url, messages, continues=earlier, max_tokens=2)
    so_far = earlier["prompt_token_ids"] + earlier["token_ids"]
    following = after["choices"][0]
    assert following["prompt_token_ids"][: len(so_far)] == so_far
    assert following["bridge"] == "the prompt begins with the earlier turn's ids"
    # All but the last token, whose state a server does not keep.
    assert after["usage"]["prompt_tokens_details"]["cached_tokens"] >= len(so_far) - 1


@pytest.mark.slow
def test_refused_bridge_renders_again_and_gives_the_reason(
    url: str, first_turn: tuple[list[Any], dict[str, list[int]]]
) -> None:
    messages, earlier = first_turn
    setting = {"enable_thinking": False}
    after = asked(url, messages, continues=earlier, chat_template_kwargs=setting, max_tokens=2)
    assert after["choices"][0]["bridge"] == "the request sets chat_template_kwargs"
    assert after["usage"]["prompt_tokens"] > 0


def test_ids_outside_the_vocabulary_are_one_error(url: str) -> None:
    earlier = {"prompt_token_ids": [10**6], "token_ids": [1]}
    body = {"messages": [{"role": "user", "content": "x"}], "continues": earlier, "tools": TOOLS}
    answer = httpx2.post(f"{url}/v1/chat/completions", json=body, timeout=TIMEOUT)
    assert answer.status_code == httpx2.codes.BAD_REQUEST
    error = answer.json()["error"]
    assert error["param"] == "continues"
    assert "1000000" in error["message"]
