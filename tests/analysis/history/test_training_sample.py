"""Trajectories as rows of training data, and the tokens that calls stand in."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from autoparser import AsyncRenderer, RenderedTokens, RequestError, Status, TrajectoryStep
from autoparser.analysis.history.renderer import Renderer
from tests.analysis.history.made import (
    called,
    renderer,
    result,
    said,
    sampled_ids,
    tools,
    user,
)
from tests.analysis.history.tokenizers_here import qwen, small

XML = "a1-function-parameter"
CALL = (
    "<tool_call>\n<function=get_weather>\n<parameter=city>\n{}\n</parameter>\n</function>\n"
    "</tool_call>"
)
BROKEN = "<tool_call>\n<function=get_wea oops</tool_call>"


def played(made: Renderer) -> list[TrajectoryStep]:
    """Play a call, its result and an answer, each prompt a bridge from the last."""
    prompt = made.render([user()], tools(), add_generation_prompt=True).token_ids
    first = sampled_ids(made, [user()], called(reasoning="I look."))
    bridged = made.bridge_to_next_turn(prompt, first, [result()], tools())
    assert isinstance(bridged, RenderedTokens), bridged
    before = [user(), called(reasoning="I look."), result()]
    second = sampled_ids(made, before, said("Sunny.", "Fine."))
    return [TrajectoryStep(prompt, first), TrajectoryStep(bridged.token_ids, second)]


@pytest.mark.parametrize(
    "vocabulary", [small, pytest.param(qwen, marks=pytest.mark.slow)], ids=["small", "qwen"]
)
def test_a_sample_is_the_render_of_the_conversation_and_its_loss_mask(vocabulary: Any) -> None:
    made = renderer(XML, vocabulary())
    sample = made.training_sample(played(made), tools())
    messages = [user(), called(reasoning="I look."), result(), said("Sunny.", "Fine.")]
    whole = made.render(messages, tools())
    # What the template writes after the last stop is not there: no model wrote it.
    length = len(sample.token_ids)
    assert made.decode(whole.token_ids).startswith(made.decode(sample.token_ids))
    assert sample.loss_mask == whole.loss_mask[:length]
    (call,) = sample.calls
    said_by_model = made.decode(sample.token_ids[call.start : call.end])
    assert said_by_model.strip().startswith("<tool_call>")
    assert said_by_model.endswith("</tool_call>")


@pytest.mark.slow
def test_every_call_and_every_failed_attempt_has_its_tokens_and_status() -> None:
    made = renderer(XML, qwen())
    text = f"Hm 🚀.\n</think>\n\n{CALL.format('Zürich 🚀')}\n{BROKEN} x {CALL.format('Rome')[:50]}"
    ids = made.encode(text)
    found = made.call_tokens(ids, tools=tools(), complete=False)
    assert [each.status for each in found] == [Status.OK, Status.MALFORMED, Status.CUT]
    texts = [made.decode(ids[each.start : each.end]).strip() for each in found]
    assert texts[0] == CALL.format("Zürich 🚀")
    assert texts[1].startswith("<tool_call>\n<function=get_wea")
    assert texts[2] == CALL.format("Rome")[:50].strip()


def test_a_prompt_that_was_rendered_anew_is_named() -> None:
    made = renderer(XML)
    first, second = played(made)
    prompt = [*second.prompt_ids]
    prompt[3] += 1
    with pytest.raises(RequestError, match="parts from what stands before it at token 3") as raised:
        made.training_sample([first, TrajectoryStep(prompt, second.completion_ids)], tools())
    assert raised.value.place == "trajectory[1].prompt_ids"


def test_a_trajectory_without_steps_is_refused() -> None:
    with pytest.raises(RequestError, match="there is no step"):
        renderer(XML).training_sample([])


def test_many_at_once_and_in_asyncio_are_the_same() -> None:
    made = renderer(XML)
    steps = played(made)
    once = made.training_sample(steps, tools())
    assert made.training_samples([steps, steps], tools()) == [once, once]
    conversations = [[user()], [user("Well?")]]
    alone = [made.render(each, tools()) for each in conversations]
    assert made.render_batch(conversations, tools()) == alone

    async def together() -> tuple[Any, ...]:
        other = AsyncRenderer(made)
        asked = [other.render(each, tools()) for each in conversations]
        return tuple(await asyncio.gather(*asked, other.training_sample(steps, tools())))

    assert asyncio.run(together()) == (*alone, once)


@pytest.mark.slow
def test_ids_may_stand_in_arrays() -> None:
    numpy = pytest.importorskip("numpy")
    made = renderer(XML)
    first, second = played(made)
    prompt, written = numpy.array(first.prompt_ids), numpy.array(first.completion_ids)
    plain = made.bridge_to_next_turn(first.prompt_ids, first.completion_ids, [result()], tools())
    assert made.bridge_to_next_turn(prompt, written, [result()], tools()) == plain
    assert made.parse_response(written, prompt, tools=tools()).tool_calls
    sample = made.training_sample([TrajectoryStep(prompt, written), second], tools())
    assert sample == made.training_sample([first, second], tools())
    assert {type(id_) for id_ in sample.token_ids} == {int}
