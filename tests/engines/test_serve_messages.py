"""A real server behind `serve`, which writes known texts: each message is that of the parser.

The texts are the template's own turns of known messages, so that what is read has a judge from
outside, too: name and arguments of each call are those of the message.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import pytest

from .chats import (
    TEMPLATES,
    ScriptedChat,
    analysis_of,
    answered,
    chats_of,
    messages,
    parrot,
    streamed,
)
from .running_llama import RunningLlama, running_llama
from .running_serve import running_serve

pytestmark = pytest.mark.engine

SLOTS = 4


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Generator[RunningLlama]:
    with running_llama(parrot(), tmp_path_factory.mktemp("llama"), slots=SLOTS) as running:
        yield running


def differences(llama: RunningLlama, name: str, chats: list[ScriptedChat]) -> list[object]:
    """Ask for each message at once and as a stream; return what differs, with the script."""
    with running_serve(analysis_of(name), llama.url) as url, ThreadPoolExecutor(SLOTS) as pool:
        at_once = pool.map(lambda chat: answered(url, chat.body), chats)
        in_parts = pool.map(lambda chat: streamed(url, chat.body), chats)
        found = list(zip(chats, at_once, in_parts, strict=True))
    return [
        (chat.script, chat.parsed, whole, parts)
        for chat, whole, parts in found
        if not (_told(whole) == _told(parts) == _told(chat.parsed)) or not _meant(chat)
    ]


def _told(message: object) -> dict[str, object]:
    assert isinstance(message, dict)
    return {"content": None, **message, "role": "assistant"}


def _meant(chat: ScriptedChat) -> bool:
    read = [each["function"] for each in chat.parsed["tool_calls"]]
    told = [(function["name"], json.loads(function["arguments"])) for function in read]
    return told == [(call.name, dict(call.arguments)) for call in chat.message.calls]


def choice_of(chat: ScriptedChat) -> str:
    choice = chat.body["tool_choice"]
    return choice if isinstance(choice, str) else "named"


@pytest.mark.parametrize("name", TEMPLATES[:1])
def test_a_message_of_each_choice_is_that_of_the_parser(llama: RunningLlama, name: str) -> None:
    # The longest: it has every part that the template writes.
    longest = sorted(chats_of(name), key=lambda chat: len(chat.script))
    chats = {choice_of(chat): chat for chat in longest}
    assert sorted(chats) == ["auto", "named", "required"]
    assert differences(llama, name, list(chats.values())) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", TEMPLATES)
def test_every_message_is_that_of_the_parser(llama: RunningLlama, name: str) -> None:
    chats = list(chats_of(name))
    assert len(chats) in (len(messages()), len(messages()) // 2)
    assert differences(llama, name, chats) == []
