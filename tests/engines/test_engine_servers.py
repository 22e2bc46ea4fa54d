"""Check that real servers with our formats return the messages of our own parser.

The texts are rendered turns of known messages, requested whole and as a stream. An engine has its
own Python, named by `AUTOPARSER_VLLM_PYTHON` and the like, with this package installed for the
plugin. A server takes a minute or more to start; without a Python, its tests are skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from autoparser.analysis.engines.plugin_check import CheckState, plugin_check
from autoparser.analysis.engines.probe_base import TextRoute
from autoparser.analysis.engines.probe_client import ProbeClient
from autoparser.analysis.engines.probe_texts import ReadVerdict
from autoparser.analysis.engines.server_probe import probe_server, server_at
from autoparser.analysis.export.response_template import response_template

from .chats import (
    ROOT,
    TIMEOUT,
    ScriptedChat,
    analysis_of,
    answered,
    chats_of,
    messages,
    parrot,
    streamed,
    with_values,
)
from .parrot import END
from .running_engine import SGLANG, TRANSFORMERS, VLLM, EngineServer, RunningEngine, running_engine

pytestmark = [pytest.mark.slow, pytest.mark.engine]

NAMES = ("a1-function-parameter", "j1-json-in-tags")
"""A notation that is not JSON after reasoning that the prompt opens, and JSON after reasoning that
the model opens."""
AT_A_TIME = 4


def parsers(name: str) -> tuple[str, ...]:
    return ("--tool-call-parser", name, "--reasoning-parser", name)


@dataclass(frozen=True)
class Setup:
    """A server, and the parser that it reads answers by."""

    engine: EngineServer
    flags: Sequence[str] = ()
    exported: bool = False
    """Whether the `response_template` beside the template parses, instead of the plugin."""

    def settings(self, name: str) -> dict[str, object]:
        """Return the fields of the `tokenizer_config.json` of a fixture's model."""
        template = (ROOT / "fixtures" / "templates" / f"{name}.jinja").read_text("utf-8")
        settings: dict[str, object] = {"chat_template": template}
        if self.exported:
            exported = response_template(analysis_of(name).formats.united, eos=END)
            settings["response_template"] = exported.document
        return settings


SETUPS = {
    "vllm": Setup(VLLM, parsers("autoparser")),
    "sglang": Setup(SGLANG, parsers("autoparser")),
    "vllm-export": Setup(VLLM, parsers("hf"), exported=True),
    "sglang-export": Setup(SGLANG, parsers("response_template"), exported=True),
    "transformers-export": Setup(TRANSFORMERS, exported=True),
}
Served = tuple[Setup, str, RunningEngine]


@pytest.fixture(
    scope="module", params=[(setup, name) for setup in SETUPS for name in NAMES], ids="-".join
)
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[Served]:
    setup, name = SETUPS[request.param[0]], request.param[1]
    engine = setup.engine
    if engine.python is None:
        pytest.skip(f"{engine.variable} does not name a Python with {engine.name}")
    folder = tmp_path_factory.mktemp(engine.name)
    with running_engine(engine, parrot(), folder, setup.settings(name), setup.flags) as running:
        yield setup, name, running


def test_every_message_equals_that_of_the_parser(served: Served) -> None:
    setup, name, running = served
    every = list(chats_of(name))
    assert len(every) in (len(messages()), len(messages()) // 2)
    # An export cannot enforce a tool choice: engines refuse the request, or ignore it.
    chats = [asking_auto(chat) for chat in every] if setup.exported else every
    whole = asked(running, chats, answered)
    parts = asked(running, chats, partial(streamed, says_done=setup.engine.says_done))
    meant = [expected(setup.engine, chat) for chat in chats]
    # Our own parser gives the message that the template rendered.
    assert [with_values(answer)["calls"] for answer in meant] == [
        [(call.name, dict(call.arguments)) for call in chat.message.calls] for chat in chats
    ]
    if setup.exported:
        # These parsers decode arguments and encode them again.
        whole, parts, meant = (list(map(with_values, answers)) for answers in (whole, parts, meant))
    assert [
        (chat.script, chat.body["tool_choice"], *read_so)
        for chat, *read_so in zip(chats, meant, whole, parts, strict=True)
        if not read_so[0] == read_so[1] == read_so[2]
    ] == []


def test_probe_reads_every_template_text_correctly(served: Served) -> None:
    setup, name, running = served
    if setup.engine is not VLLM or setup.exported or name != NAMES[1]:
        pytest.skip("asked of vLLM with the plugin, where the prompt opens no reasoning")
    with ProbeClient(running.url, timeout=TIMEOUT) as client:
        server = server_at(client)
        found = probe_server(server, analysis_of(name), url=running.url, rung=TextRoute.FORCED)
    assert not found.prompts_differ
    assert {text.verdict for text in found.texts} == {ReadVerdict.EXACT}
    assert len(found.texts) + len(found.not_asked) >= 15


def asking_auto(chat: ScriptedChat) -> ScriptedChat:
    """Return a chat whose request leaves it to the model whether it calls."""
    body = {**chat.body, "tool_choice": "auto"}
    return ScriptedChat(chat.message, chat.script, body, chat.parsed)


def asked(
    running: RunningEngine,
    chats: Sequence[ScriptedChat],
    ask: Callable[[str, Mapping[str, Any]], dict[str, Any]],
) -> list[dict[str, Any]]:
    """Ask for the messages of all chats, several at a time."""
    bodies = [{**chat.body, "model": running.model, "temperature": 0} for chat in chats]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        return list(pool.map(partial(ask, running.url), bodies))


def expected(engine: EngineServer, chat: ScriptedChat) -> dict[str, Any]:
    """Return our own parser's message, with the engine's finish reason for a named call."""
    named = not isinstance(chat.body["tool_choice"], str)
    return {**chat.parsed, **({"finish_reason": engine.named_end} if named else {})}


@pytest.mark.parametrize("engine", [VLLM, SGLANG], ids=lambda engine: engine.name)
def test_engine_has_the_plugin_hooks(engine: EngineServer) -> None:
    """No server is started: the first thing to ask of a release of an engine."""
    if engine.python is None:
        pytest.skip(f"{engine.variable} does not name a Python with {engine.name}")
    points = {point.what: point for point in plugin_check(engine.python).points}
    hooks = points[f"{engine.name} has the functions that the plugin hooks"]
    assert hooks.state is CheckState.YES, hooks.found
    for option in ("--tool-call-parser", "--reasoning-parser"):
        assert points[f"{engine.name} {option} autoparser"].state is CheckState.YES
