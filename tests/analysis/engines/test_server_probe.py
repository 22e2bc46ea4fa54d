"""Addresses without a server to probe, and probes of servers that make known mistakes."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import httpx2
import pytest

from autoparser import ChatTemplate, Message, ToolCall, analyze
from autoparser.analysis.core.reading_judge import ReadCall, ReadMessage
from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.engines.client_messages import (
    client_message,
    joined_deltas,
    message_differences,
)
from autoparser.analysis.engines.probe_base import EngineServer, ProbedChat, TextRoute
from autoparser.analysis.engines.probe_client import ProbeClient, ProbeError, checked_address
from autoparser.analysis.engines.probe_texts import ReadVerdict, compared_prompts, known_texts
from autoparser.analysis.engines.server_probe import (
    AdviceKind,
    InstalledParsers,
    ProbeAdvice,
    ServerProbe,
    probe_advice,
    probe_server,
    server_at,
)
from tests.case_tables import case_tables, load_cases
from tests.fixture_analyses import analyzed

from .engine_stub import (
    Answer,
    Body,
    EngineStub,
    answering,
    choices,
    message_in,
    sglang_stub,
    vllm_stub,
)

table = case_tables(__file__, "probe_cases.yaml")
NAME = "j1-json-in-tags"


def listing(*answer: Any, owner: str = "?") -> EngineStub:
    """Return a server that answers with this to the question for its models."""
    stub = EngineStub(owner, ChatTemplate("{{ messages[0].content }}"))
    if answer:
        stub.routes["/v1/models"] = lambda _: answer
    return stub


def complaint(stub: EngineStub, *, key: str = "", model: str = "", timeout: float = 0.3) -> str:
    with answering(stub), ProbeClient(stub.url, timeout=timeout, key=key) as client:
        with pytest.raises(ProbeError) as caught:
            server_at(client, model)
        return str(caught.value).removeprefix(stub.url)


@table("no_engine")
def test_non_engine_answers_are_errors(case: dict[str, Any]) -> None:
    stub = listing(case["status"], case["said"])
    told = complaint(stub, key="secret")
    assert case["words"] in told
    assert "; " in told, "there is a way out"
    # A redirect is not followed, and the key is sent but never printed.
    assert stub.asked == ["/v1/models"]
    assert stub.headers["authorization"] == "Bearer secret"
    assert "secret" not in told


def test_unknown_model_is_an_error() -> None:
    told = complaint(listing(owner="vllm"), model="other")
    assert "unknown model 'other'; choose from m" in told


def test_hanging_dripping_or_endless_server_times_out() -> None:
    def slow(_: object) -> Answer:
        raise httpx2.ReadTimeout("")

    def drip() -> Iterator[bytes]:
        while True:
            time.sleep(0.02)
            yield b" "

    stub = listing()
    stub.routes["/v1/models"] = slow
    for hanging in (stub, listing(200, drip())):
        told = complaint(hanging)
        assert "does not answer within 0.3 seconds; check whether it hangs" in told
    endless = listing(200, (b"x" * 1_000_000 for _ in range(99)))
    assert "/v1/models returned more than 32 MB" in complaint(endless, timeout=60)


def test_closed_port_is_an_error() -> None:
    with (
        ProbeClient("http://127.0.0.1:1", timeout=1) as client,
        pytest.raises(ProbeError, match=r"cannot be reached.*start the server"),
    ):
        server_at(client)


@table("addresses")
def test_local_addresses_are_accepted(case: dict[str, Any]) -> None:
    assert checked_address(case["given"], anywhere=case.get("anywhere", False)) == case["address"]


@table("no_addresses")
def test_refused_addresses_are_errors(case: dict[str, Any]) -> None:
    with pytest.raises(ProbeError) as caught:
        checked_address(case["given"], anywhere=case.get("anywhere", False))
    assert case["words"] in str(caught.value)


@table("differences")
def test_texts_are_compared_exactly_and_up_to_whitespace(case: dict[str, Any]) -> None:
    found = message_differences(ReadMessage(*case["meant"]), ReadMessage(*case["came"]))
    assert {difference.part.value: difference.likeness.value for difference in found} == case[
        "found"
    ]


@table("arguments")
def test_arguments_are_compared_as_json(case: dict[str, Any]) -> None:
    meant = ReadMessage.of(Message(calls=(ToolCall("f", {"a": "é", "b": 1}),)))
    came = ReadMessage(calls=(ReadCall("f", case["text"]),))
    assert (message_differences(meant, came) == ()) is case["same"]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_stream_deltas_are_joined_by_call_index(field: str) -> None:
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "content": None},
        {field: "a"},
        {field: "b", "content": "c"},
        {"tool_calls": [{"index": 1, "function": {"name": "g", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": "{"}}]},
        {"tool_calls": [{"index": 0, "function": {"name": None, "arguments": "}"}}]},
    ]
    calls = (ReadCall("f", "{}"), ReadCall("g", ""))
    assert joined_deltas(deltas) == ReadMessage("c", "ab", calls)


def test_reasoning_in_both_fields_counts_once() -> None:
    both: dict[str, Any] = {"reasoning": "a", "reasoning_content": "a"}
    assert client_message(both) == ReadMessage(reasoning="a")


# Probes.


def probed(stub: EngineStub, *, rung: TextRoute | None = None, ranked: bool = False) -> ServerProbe:
    with answering(stub), ProbeClient(stub.url, timeout=10) as client:
        server = server_at(client)
        return probe_server(server, analyzed(NAME), url=stub.url, rung=rung, ranked=ranked)


def titles(probe: ServerProbe, verdict: ReadVerdict) -> list[str]:
    return [text.known_text.title for text in probe.texts_with(verdict)]


def stub_of(make: Callable[..., EngineStub], **how: object) -> EngineStub:
    return make(analyzed(NAME).template, **how)


@pytest.mark.parametrize("name", [NAME, "p1-python-lines"])
def test_known_texts_follow_the_rendered_prompt(name: str) -> None:
    analysis = analyzed(name)
    known = known_texts(analysis, {})
    assert len(known.texts) + len(known.not_asked) >= 13
    for text in known.texts:
        turn = analysis.turns(known.chat.tools).written_turn(text.message)
        assert turn.continuation is not None
        assert turn.continuation.startswith(text.text)
        assert not any(stop in text.text for stop in analysis.format.stop_strings)


def test_vllm_texts_show_its_one_wrong_parse() -> None:
    found = probed(stub_of(vllm_stub))
    assert (found.rung, found.served.version) == (TextRoute.GIVEN, "0.0")
    assert [prompt.same for prompt in found.prompts] == [True] * 4
    wrong = ["an argument that holds what closes a call"]
    assert titles(found, ReadVerdict.DIFFERENT) == wrong
    assert "reasoning and 1 call" in titles(found, ReadVerdict.EDGES)
    assert len(found.texts) == 15
    assert not found.streams_differ
    assert not found.ok()
    kinds = [advice.kind for advice in probe_advice(found)]
    assert kinds == [AdviceKind.PLUGIN, AdviceKind.ENGINES, AdviceKind.EXPORT]
    best = InstalledParsers("hermes", "qwen3", right=14, streamed=13, texts=15)
    advice = probe_advice(replace(found, installed=best))
    assert [advised.kind for advised in advice][1:] == [AdviceKind.INSTALLED, AdviceKind.EXPORT]
    assert advice[1].command == "--reasoning-parser qwen3 --tool-call-parser hermes"


def test_differing_stream_is_found() -> None:
    found = probed(stub_of(vllm_stub, streams=lambda text: text.replace("Oslo", "")))
    differing = [text.known_text.title for text in found.texts if text.stream_differences]
    assert "1 call" in differing
    assert "content" not in differing
    assert found.streams_differ


def test_prompt_of_another_template_is_found() -> None:
    other = ChatTemplate(analyzed(NAME).template.text.replace("# Tools", "# Tool"))
    found = probed(vllm_stub(other))
    assert [prompt.same for prompt in found.prompts] == [True, False, True, False]
    prompt = found.prompts[1]
    assert prompt.rendered[: prompt.parting].endswith("# Tool")
    assert probe_advice(found)[0] == ProbeAdvice(AdviceKind.TEMPLATE, "--chat-template FILE")


_PARTED = load_cases(__file__, "probe_cases.yaml")["parted"]


def test_prompts_that_match_only_with_content_parts_are_marked() -> None:
    analysis = analyze(ChatTemplate(_PARTED))

    def prompt(chat: ProbedChat) -> str:
        return analysis.template.render(
            [
                {**message, "content": [{"type": "text", "text": message["content"]}]}
                for message in chat.messages
            ],
            add_generation_prompt=True,
        )

    server = cast("EngineServer", SimpleNamespace(prompt=prompt))
    prompts, _ = compared_prompts(analysis, server, {})
    assert [(compared.same, compared.in_parts) for compared in prompts] == [(False, True)] * 4
    found = replace(probed(stub_of(vllm_stub)), prompts=prompts)
    flag = "--chat-template-content-format string"
    assert probe_advice(found)[0] == ProbeAdvice(AdviceKind.CONTENT, flag)


def test_texts_use_the_setting_whose_prompt_the_template_continues() -> None:
    """The default prompt closes the reasoning, which no turn of the history does."""
    text = analyzed(NAME).template.text
    closing = "enable_thinking is defined and not enable_thinking"
    template = ChatTemplate(text.replace(closing, "not enable_thinking"))
    stub = vllm_stub(template)
    with answering(stub), ProbeClient(stub.url, timeout=10) as client:
        found = probe_server(server_at(client), analyze(template), url=stub.url)
    assert found.setting == {"enable_thinking": True}
    assert "1 call" in titles(found, ReadVerdict.EXACT)


@table("llama_advice")
def test_llama_server_advice_names_the_flag(
    served: str | None, refusal: str, kind: str, command: str
) -> None:
    """`served` is the template that it says it serves, or None for the probed one."""
    found = probed(stub_of(vllm_stub))
    prompts = (*found.prompts[:1], replace(found.prompts[1], served=None, refusal=refusal))
    llama = replace(found.served, engine=ServerEngine.LLAMA_SERVER)
    same = served is None
    asked = replace(found, served=llama, url="URL", prompts=prompts, template_served=same, texts=())
    (advice, *_) = probe_advice(asked)
    assert (advice.kind, advice.command.removesuffix(" --engine llama-server")) == (kind, command)


DERENDER = "/v1/chat/completions/derender"


def test_refused_texts_fail_the_probe() -> None:
    stub = stub_of(vllm_stub)
    reads = stub.routes[DERENDER]
    refusal = 500, {"error": {"message": "no such thing"}}
    stub.routes[DERENDER] = lambda body: refusal if body else reads(body)
    found = probed(stub)
    assert {text.verdict for text in found.texts} == {ReadVerdict.REFUSED}
    assert found.texts[0].refusal == "500: no such thing"
    assert not found.ok()


def test_server_without_a_usable_route_fails() -> None:
    stub = stub_of(vllm_stub)
    # vLLM's response if it was started without --enable-scale-out.
    stub.routes[DERENDER] = lambda _: (403, {"error": "Forbidden"})
    found = probed(stub)
    assert (found.rung, found.texts) == (TextRoute.SAMPLED, ())
    assert {message.reason for message in found.not_asked} == {"404: Not Found"}
    assert not found.ok()
    assert found.untested
    assert probe_advice(found) == ()


def test_unsupported_route_is_an_error() -> None:
    with pytest.raises(
        ProbeError, match="not support the method forced; choose from given, sampled"
    ):
        probed(stub_of(vllm_stub), rung=TextRoute.FORCED)


def test_forced_text_uses_the_tokenizers_tokens() -> None:
    """Whoever reads by ids takes a marker that is spelled for text, and no grammar forbids that."""
    stub = stub_of(vllm_stub)
    closer, marker = "</tool_call>", 0x110000
    plain = stub.routes["/tokenize"]

    def tokenize(body: Body) -> Answer:
        if not body.get("return_token_strs"):
            return plain(body)
        tokens = re.findall(f"{closer}|.", body["prompt"], re.DOTALL)
        ids = [marker if token == closer else ord(token) for token in tokens]
        return 200, {"tokens": ids, "token_strs": tokens}

    def written(body: Body) -> Answer:
        if not body:
            return 400, {"error": {"message": "a field is missing"}}
        text = json.loads(body["structured_outputs"]["grammar"].removeprefix("root ::= "))
        bias = body["logit_bias"]
        spelled = bias[str(ord("<"))] >= bias[str(marker)] if closer in text else False
        return 200, choices(message_in(text, calling=not spelled))

    stub.routes |= {"/tokenize": tokenize, "/v1/chat/completions": written}
    found = probed(stub, rung=TextRoute.FORCED)
    assert "an argument of every type" in titles(found, ReadVerdict.EXACT)
    assert titles(found, ReadVerdict.DIFFERENT) == ["an argument that holds what closes a call"]


def test_sampling_is_the_last_route() -> None:
    stub = stub_of(vllm_stub)
    call = '<tool_call>\n{"name": "get_forecast", "arguments": {"city": "Oslo", "days": 3}}\n'

    def answered(body: Body) -> Answer:
        text = f"{call}</tool_call>" if "tools" in body else "Hello."
        message = message_in(text)
        if body.get("stream"):
            return 200, f"data: {json.dumps({'choices': [{'delta': message}]})}\n\n"
        said = choices(message)
        said["choices"][0]["token_ids"] = list(map(ord, f"{text}<|im_end|>\n"))
        if "17" in body["messages"][0]["content"]:
            said["choices"][0]["finish_reason"] = "length"
        return 200, said

    stub.routes["/v1/chat/completions"] = answered
    found = probed(stub, rung=TextRoute.SAMPLED)
    assert [text.known_text.title for text in found.texts] == [
        "a greeting",
        "a question for a tool",
        "two questions for a tool",
    ]
    assert {(text.verdict, text.stream_verdict) for text in found.texts} == {
        (ReadVerdict.EXACT, ReadVerdict.EXACT)
    }
    assert [message.reason for message in found.not_asked] == ["its model did not stop"]
    assert found.texts[1].known_text.message.calls[0].arguments == {"city": "Oslo", "days": 3}
    assert "own parse" in found.blind[0]


def test_every_sglang_parser_is_ranked() -> None:
    found = probed(stub_of(sglang_stub), ranked=True)
    assert found.ranking is not None
    reasoning, calls = found.ranking.best
    assert reasoning is not None
    assert calls is not None
    assert (reasoning.name, reasoning.right) == ("qwen3", 15)
    assert (calls.name, calls.right, calls.different) == ("qwen", 14, 1)
    assert {call.name for call in found.ranking.calls} == {"hermes", "qwen"}
    assert len(found.ranking.unknown) > 40
    assert not {"qwen", "hermes", "qwen3", "kimi"} & {*found.ranking.unknown}


def test_parser_that_reads_some_texts_is_kept_after_three_failures() -> None:
    stub = stub_of(sglang_stub)
    separate = stub.routes["/separate_reasoning"]

    def moody(body: Body) -> Answer:
        fails = body["reasoning_parser"] == "kimi" and "<tool_call>" in body["text"]
        return (500, "Internal Server Error") if fails else separate(body)

    stub.routes["/separate_reasoning"] = moody
    found = probed(stub, ranked=True)
    assert found.ranking is not None
    (score,) = (score for score in found.ranking.reasoning if score.name == "kimi")
    assert score.refused > 3
    assert score.right + score.different + score.refused == len(found.texts)


def test_better_parsers_of_the_server_are_advised() -> None:
    stub = stub_of(sglang_stub, tool_parser="hermes", reasoning_parser="kimi")
    found = probed(stub, ranked=True)
    assert "1 call" in titles(found, ReadVerdict.DIFFERENT)
    (advice, *_) = probe_advice(found)
    wanted = "--reasoning-parser qwen3 --tool-call-parser qwen"
    assert (advice.kind, advice.command) == (AdviceKind.PARSERS, wanted)


def test_sglang_without_a_parser_returns_the_text() -> None:
    found = probed(stub_of(sglang_stub, tool_parser=None))
    assert "1 call" in titles(found, ReadVerdict.DIFFERENT)
    assert "content" in titles(found, ReadVerdict.EXACT)
