"""Probes of servers that answer as engines do, and make known mistakes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.decoding.answer_writers import ServerEngine
from autoparser.analysis.engines.engine_server import ProbeClient, ProbeError, TextRoute
from autoparser.analysis.engines.probed_texts import ReadVerdict, known_texts
from autoparser.analysis.engines.server_probe import (
    AdviceKind,
    InstalledParsers,
    ProbeAdvice,
    ServerProbe,
    probe_advice,
    probe_server,
    server_at,
)
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


def probed(
    stub: EngineStub,
    name: str = "j1-json-in-tags",
    *,
    rung: TextRoute | None = None,
    ranked: bool = False,
) -> ServerProbe:
    with answering(stub), ProbeClient(stub.url, timeout=10) as client:
        server = server_at(client)
        return probe_server(server, analyzed(name), url=stub.url, rung=rung, ranked=ranked)


def titles(probe: ServerProbe, verdict: ReadVerdict) -> list[str]:
    return [each.known_text.title for each in probe.texts_with(verdict)]


def stub_of(
    make: Callable[..., EngineStub], name: str = "j1-json-in-tags", **how: object
) -> EngineStub:
    return make(analyzed(name).template, **how)


@pytest.mark.parametrize("name", ["j1-json-in-tags", "p1-python-lines"])
def test_every_text_is_what_the_template_writes_after_its_prompt(name: str) -> None:
    analysis = analyzed(name)
    known = known_texts(analysis, {})
    assert len(known.texts) + len(known.not_asked) >= 13
    for each in known.texts:
        turn = analysis.turns(known.chat.tools).written_turn(each.message)
        assert turn.continuation is not None
        assert turn.continuation.startswith(each.text)
        stops = analysis.format.stop_strings
        assert not any(stop in each.text for stop in stops)


def test_vllm_is_given_texts_and_its_one_mistake_is_named() -> None:
    found = probed(stub_of(vllm_stub))
    assert (found.rung, found.served.version) == (TextRoute.GIVEN, "0.0")
    assert [each.same for each in found.prompts] == [True] * 4
    wrong = ["an argument that holds what closes a call"]
    assert titles(found, ReadVerdict.DIFFERENT) == wrong
    assert "reasoning and 1 call" in titles(found, ReadVerdict.EDGES)
    assert len(found.texts) == 15
    assert not found.streams_differ
    assert not found.ok()
    kinds = [each.kind for each in probe_advice(found)]
    assert kinds == [AdviceKind.PLUGIN, AdviceKind.ENGINES, AdviceKind.EXPORT]
    best = InstalledParsers("hermes", "qwen3", right=14, streamed=13, texts=15)
    advice = probe_advice(replace(found, installed=best))
    assert [each.kind for each in advice][1:] == [AdviceKind.INSTALLED, AdviceKind.EXPORT]
    assert advice[1].command == "--reasoning-parser qwen3 --tool-call-parser hermes"


def test_a_stream_that_differs_is_found() -> None:
    found = probed(stub_of(vllm_stub, streams=lambda text: text.replace("Oslo", "")))
    differing = [each.known_text.title for each in found.texts if each.stream_differences]
    assert "1 call" in differing
    assert "content" not in differing
    assert found.streams_differ


def test_a_prompt_of_another_template_is_found() -> None:
    other = ChatTemplate(analyzed("j1-json-in-tags").template.text.replace("# Tools", "# Tool"))
    found = probed(vllm_stub(other))
    assert [each.same for each in found.prompts] == [True, False, True, False]
    prompt = found.prompts[1]
    assert prompt.rendered[: prompt.parting].endswith("# Tool")
    assert probe_advice(found)[0] == ProbeAdvice(AdviceKind.TEMPLATE, "--chat-template FILE")


@pytest.mark.parametrize(
    ("served", "refusal", "kind", "command"),
    [
        ("{{ messages }}", "", "template", "--jinja --chat-template-file FILE"),
        (None, "500: tools param requires --jinja flag", "jinja", "--jinja"),
        (None, "500: something else", "serve", "autoparser serve TEMPLATE --server URL"),
    ],
)
def test_llama_server_is_told_the_flag_that_helps(
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


def test_what_a_server_refuses_to_read_is_its_failure() -> None:
    stub = stub_of(vllm_stub)
    reads = stub.routes["/v1/chat/completions/derender"]
    stub.routes["/v1/chat/completions/derender"] = lambda body: (
        (500, {"error": {"message": "no such thing"}}) if body else reads(body)
    )
    found = probed(stub)
    assert {each.verdict for each in found.texts} == {ReadVerdict.REFUSED}
    assert found.texts[0].refusal == "500: no such thing"
    assert not found.ok()


def test_a_server_without_a_way_is_not_passed() -> None:
    stub = stub_of(vllm_stub)
    # What vLLM answers where it was started without --enable-scale-out.
    stub.routes["/v1/chat/completions/derender"] = lambda _: (403, {"error": "Forbidden"})
    found = probed(stub)
    assert (found.rung, found.texts) == (TextRoute.SAMPLED, ())
    assert {each.reason for each in found.not_asked} == {"404: Not Found"}
    assert not found.ok()


def test_a_rung_that_a_server_has_not_is_an_error() -> None:
    with pytest.raises(ProbeError, match="no way to have a text forced; it offers given, sampled"):
        probed(stub_of(vllm_stub), rung=TextRoute.FORCED)


def test_a_forced_text_is_written_in_the_tokens_of_the_tokenizer() -> None:
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
        (text,) = body["structured_outputs"]["choice"]
        bias = body["logit_bias"]
        spelled = bias[str(ord("<"))] >= bias[str(marker)] if closer in text else False
        return 200, choices(message_in(text, calling=not spelled))

    stub.routes |= {"/tokenize": tokenize, "/v1/chat/completions": written}
    found = probed(stub, rung=TextRoute.FORCED)
    assert "an argument of every type" in titles(found, ReadVerdict.EXACT)
    assert titles(found, ReadVerdict.DIFFERENT) == ["an argument that holds what closes a call"]


def test_what_a_model_likes_to_write_is_the_last_rung() -> None:
    stub = stub_of(vllm_stub)
    call = '<tool_call>\n{"name": "get_forecast", "arguments": {"city": "Oslo", "days": 3}}\n'

    def answered(body: Body) -> Answer:
        text = f"{call}</tool_call><|im_end|>\n" if "tools" in body else "Hello.<|im_end|>\n"
        said = choices(message_in(text.removesuffix("<|im_end|>\n")))
        said["choices"][0]["token_ids"] = [ord(character) for character in text]
        if "17" in body["messages"][0]["content"]:
            said["choices"][0]["finish_reason"] = "length"
        return 200, said if not body.get("stream") else f"data: {json.dumps(streamed(said))}\n\n"

    def streamed(said: dict[str, Any]) -> dict[str, Any]:
        return {"choices": [{"delta": said["choices"][0]["message"]}]}

    stub.routes["/v1/chat/completions"] = answered
    found = probed(stub, rung=TextRoute.SAMPLED)
    assert [each.known_text.title for each in found.texts] == [
        "a greeting",
        "a question for a tool",
        "two questions for a tool",
    ]
    assert {(each.verdict, each.stream_verdict) for each in found.texts} == {
        (ReadVerdict.EXACT, ReadVerdict.EXACT)
    }
    assert [each.reason for each in found.not_asked] == ["its model did not come to an end"]
    assert found.texts[1].known_text.message.calls[0].arguments == {"city": "Oslo", "days": 3}
    assert "own reading" in found.blind[0]


def test_every_parser_of_sglang_is_ranked() -> None:
    found = probed(stub_of(sglang_stub), ranked=True)
    assert found.ranking is not None
    reasoning, calls = found.ranking.best
    assert reasoning is not None
    assert calls is not None
    assert (reasoning.name, reasoning.right) == ("qwen3", 15)
    assert (calls.name, calls.right, calls.different) == ("qwen", 14, 1)
    assert {each.name for each in found.ranking.calls} == {"hermes", "qwen"}
    assert len(found.ranking.unknown) > 40
    assert not {"qwen", "hermes", "qwen3", "kimi"} & {*found.ranking.unknown}


def test_a_parser_that_reads_some_texts_is_not_given_up_at_its_third_failure() -> None:
    stub = stub_of(sglang_stub)
    separate = stub.routes["/separate_reasoning"]

    def moody(body: Body) -> Answer:
        fails = body["reasoning_parser"] == "kimi" and "<tool_call>" in body["text"]
        return (500, "Internal Server Error") if fails else separate(body)

    stub.routes["/separate_reasoning"] = moody
    found = probed(stub, ranked=True)
    assert found.ranking is not None
    (score,) = (each for each in found.ranking.reasoning if each.name == "kimi")
    assert score.refused > 3
    assert score.right + score.different + score.refused == len(found.texts)


def test_better_parsers_of_the_same_server_are_advised() -> None:
    stub = stub_of(sglang_stub, tool_parser="hermes", reasoning_parser="kimi")
    found = probed(stub, ranked=True)
    assert "1 call" in titles(found, ReadVerdict.DIFFERENT)
    (advice, *_) = probe_advice(found)
    wanted = "--reasoning-parser qwen3 --tool-call-parser qwen"
    assert (advice.kind, advice.command) == (AdviceKind.PARSERS, wanted)


def test_sglang_without_a_parser_gives_the_text() -> None:
    found = probed(stub_of(sglang_stub, tool_parser=None))
    assert "1 call" in titles(found, ReadVerdict.DIFFERENT)
    assert "content" in titles(found, ReadVerdict.EXACT)
