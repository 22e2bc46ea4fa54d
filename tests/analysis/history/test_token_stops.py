"""What ends an output: by what stands before it, as texts and as ids; and the bridge after it."""

from __future__ import annotations

from typing import Any

import pytest

from autoparser import ChatTemplate, Status, analyze
from autoparser.analysis.history.prompt_tokens import RenderedTokens
from autoparser.analysis.history.renderer import Renderer
from autoparser.analysis.sources.token_bytes import byte_tokenizer
from tests.analysis.history.made import analysed, called, sampled_ids, tools, user
from tests.analysis.tiny import CONTENT, calls, turn

OK = Status.OK
MARKS = ("<end>", "<fin>", "<call>", "<msg>", "<close>", "<do>", "</do>", "<over>")
THOUGHT = "{% if m.reasoning_content %}<do>think<msg>{{ m.reasoning_content }}<end>{% endif %}"
SAID = "{% if m.content %}<do>say<msg>{{ m.content }}<end>{% endif %}"
CALLED = calls(opening="<do>call<msg>", close="<call>")
CHANNELS = turn(THOUGHT, SAID, CALLED, opening="", end="", prompt="")
"""What ends a turn after content also ends its reasoning; a call has an end of its own."""
PLAIN = turn(CONTENT, calls(opening="<do>", close="</do>"), end="<close>msg<end><fin>\n")
"""A turn ends with several tokens, of which the first one stands nowhere else."""
WRAPPED = turn(
    "<do>say<end>{{ m.content }}<close>say<end>",
    calls(opening="<do>", close="</do>"),
    end="<close>msg<end><fin>\n",
)
"""All but the last token of what ends a turn stands inside it."""
RESUMED = turn(
    "{% if m.tool_calls %}" + calls(opening="<do>", close="</do>") + "<over>A:{% endif %}",
    CONTENT,
    end="<over>",
)
"""The history writes content after calls: what ends a turn stands between them."""

WAITING = turn(
    calls(opening="<do>", close="</do>"),
    CONTENT,
    "{% if m.tool_calls %}<over>{% else %}<end>{% endif %}",
    end="",
)
"""A turn with calls waits for their results, also where content stands after them."""


def made(template: ChatTemplate, *without: str) -> Renderer:
    marks = [(mark, True) for mark in MARKS if mark not in without]
    return Renderer(analyze(template), byte_tokenizer(marks))


def test_a_stop_inside_turns_ends_them_after_content_alone() -> None:
    renderer = made(CHANNELS)
    end, call = renderer.encode("<end>")[0], renderer.encode("<call>")[0]
    after = {stop.text: stop.inside for stop in renderer.stops.after_content}
    assert after == {"<end>": True}
    assert {stop.text: stop.inside for stop in renderer.stops.after_calls} == {"<call>": False}
    assert renderer.get_stop_token_ids() == [call]
    thought, said = "<do>think<msg>Hm.<end>", "<do>say<msg>Hi.<end>"
    assert renderer.find_stop(renderer.encode(thought)) is None
    ids = renderer.encode(thought + said + "<do>say<msg>No.<end>")
    assert renderer.find_stop(ids) == len(renderer.encode(thought + said)) - 1
    assert ids[renderer.find_stop(ids) or 0] == end
    message = renderer.parse_response(ids)
    assert (message.reasoning_content, message.content) == ("Hm.", "Hi.")


def test_a_stop_of_several_tokens_is_complete_at_its_last() -> None:
    renderer = made(PLAIN)
    (stop,) = renderer.stops.after_content
    assert stop.text == "<close>"
    assert stop.ids == (stop.eos,)
    renderer = made(WRAPPED)
    (stop,) = renderer.stops.after_content
    assert stop.text == "<close>msg<end><fin>"
    assert stop.ids == tuple(renderer.encode(stop.text))
    assert renderer.get_stop_token_ids() == renderer.encode("<fin>")


def test_the_end_of_calls_ends_a_turn_whose_content_stands_after_them() -> None:
    renderer = made(WAITING)
    assert {stop.text: stop.inside for stop in renderer.stops.after_calls} == {"<over>": False}
    user = {"role": "user", "content": "Hello?"}
    called: dict[str, Any] = {
        "id": "a",
        "type": "function",
        "function": {"name": "f", "arguments": {}},
    }
    said: dict[str, Any] = {"role": "assistant", "content": "Hi.", "tool_calls": [called]}
    written = WAITING.render([user, said]).removeprefix(WAITING.render([user], None, True))
    assert "Hi." in written
    ids = renderer.encode(written)
    stops = renderer.get_stop_token_ids()
    assert next(at for at, id_ in enumerate(ids) if id_ in stops) == len(ids) - 1


@pytest.mark.parametrize("swallowed", ["", "<fin>", "<end><fin>", "msg<end><fin>"])
def test_a_turn_is_not_ended_twice(swallowed: str) -> None:
    template, renderer = WRAPPED, made(WRAPPED)
    user = {"role": "user", "content": "Hello?"}
    said = {"role": "assistant", "content": "Hi."}
    prompt = renderer.render([user], add_generation_prompt=True)
    whole = template.render([user, said]).removesuffix("\n").removesuffix(swallowed)
    completion = renderer.encode(whole)[len(prompt.token_ids) :]
    found = renderer.bridge_to_next_turn(prompt.token_ids, completion, [user])
    assert isinstance(found, RenderedTokens), found
    wanted = template.render([user, said, user], add_generation_prompt=True)
    assert renderer.decode(found.token_ids) == wanted


def test_what_stands_where_a_turn_may_end_ends_it() -> None:
    renderer = made(RESUMED)
    assert [stop.inside for stop in renderer.stops.all] == [False]
    assert renderer.get_stop_token_ids() == renderer.encode("<over>")


def test_a_stop_that_is_no_token_has_no_eos() -> None:
    renderer = made(PLAIN, "<close>")
    (stop,) = renderer.stops.after_content
    assert stop.eos is None
    assert renderer.decode(stop.ids) == "<close>"
    assert renderer.get_stop_token_ids() == []


def test_a_call_that_its_stop_token_closes_is_whole() -> None:
    renderer = Renderer(
        analysed("t2-recipient-header"), byte_tokenizer([("<|call|>", True), ("<|end|>", True)])
    )
    asked = [user()]
    prompt = renderer.render(asked, tools(), add_generation_prompt=True).token_ids
    ids = sampled_ids(renderer, asked, called())
    assert renderer.decode(ids[-1:]) == "<|call|>"
    message = renderer.parse_response(ids, prompt, tools=tools())
    assert (message.status, [each.status for each in message.tool_calls]) == (OK, [OK])
    (call,) = renderer.call_tokens(ids, prompt, tools=tools())
    assert (call.end, call.status) == (len(ids), OK)
    # Another stop closes no call.
    other = [*ids[:-1], *renderer.encode("<|end|>")]
    assert [each.status for each in renderer.call_tokens(other, prompt, tools=tools())] != [OK]
