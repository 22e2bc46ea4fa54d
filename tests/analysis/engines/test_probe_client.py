"""What makes an address no server to probe, each with a way out, and how messages are compared."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from autoparser import ChatTemplate, Message, ToolCall
from autoparser.analysis.core.conversation import ReadCall, ReadMessage
from autoparser.analysis.engines.engine_server import (
    ProbeClient,
    ProbeError,
    checked_address,
    client_message,
    joined_deltas,
    message_differences,
)
from autoparser.analysis.engines.server_probe import server_at
from tests.case_tables import case_tables

from .engine_stub import Answer, EngineStub, answering

table = case_tables(__file__, "probe_cases.yaml")


def stub_of(*answer: Any, owner: str = "?") -> EngineStub:
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
def test_what_is_no_engine_is_an_error(case: dict[str, Any]) -> None:
    stub = stub_of(case["status"], case["said"])
    told = complaint(stub, key="secret")
    assert case["words"] in told
    assert "; " in told, "there is a way out"
    # A redirect is not followed, and a key is sent and never told.
    assert stub.asked == ["/v1/models"]
    assert stub.headers["authorization"] == "Bearer secret"
    assert "secret" not in told


def test_a_model_that_it_does_not_serve_is_an_error() -> None:
    told = complaint(stub_of(owner="vllm"), model="other")
    assert "serves no model 'other'; it serves m" in told


def test_a_server_that_hangs_or_drips_or_does_not_end_is_left() -> None:
    def slow(_: object) -> Answer:
        raise httpx2.ReadTimeout("")

    def drip() -> Iterator[bytes]:
        while True:
            time.sleep(0.02)
            yield b" "

    stub = stub_of()
    stub.routes["/v1/models"] = slow
    for hanging in (stub, stub_of(200, drip())):
        told = complaint(hanging)
        assert "does not answer within 0.3 seconds; see whether it hangs" in told
    endless = stub_of(200, (b"x" * 1_000_000 for _ in range(99)))
    assert "/v1/models answers with more than 32 MB" in complaint(endless, timeout=60)


def test_nothing_that_listens_is_an_error() -> None:
    with (
        ProbeClient("http://127.0.0.1:1", timeout=1) as client,
        pytest.raises(ProbeError, match=r"cannot be reached.*start the server"),
    ):
        server_at(client)


@table("addresses")
def test_an_address_of_this_machine_is_asked(case: dict[str, Any]) -> None:
    assert checked_address(case["given"], anywhere=case.get("anywhere", False)) == case["address"]


@table("no_addresses")
def test_what_is_no_address_that_may_be_asked_is_an_error(case: dict[str, Any]) -> None:
    with pytest.raises(ProbeError) as caught:
        checked_address(case["given"], anywhere=case.get("anywhere", False))
    assert case["words"] in str(caught.value)


@table("differences")
def test_texts_are_compared_exactly_and_up_to_their_edges(case: dict[str, Any]) -> None:
    found = message_differences(ReadMessage(*case["meant"]), ReadMessage(*case["came"]))
    assert {each.part.value: each.likeness.value for each in found} == case["found"]


@table("arguments")
def test_arguments_are_compared_as_json(case: dict[str, Any]) -> None:
    meant = ReadMessage.of(Message(calls=(ToolCall("f", {"a": "é", "b": 1}),)))
    came = ReadMessage(calls=(ReadCall("f", case["text"]),))
    assert (message_differences(meant, came) == ()) is case["same"]


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_a_stream_is_put_together_by_the_index_of_calls(field: str) -> None:
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


def test_reasoning_that_comes_in_both_fields_counts_once() -> None:
    both: dict[str, Any] = {"reasoning": "a", "reasoning_content": "a"}
    assert client_message(both) == ReadMessage(reasoning="a")
