"""A renderer: wrong uses, ids that a model wrote, ends of outputs, and rows of training data."""

from __future__ import annotations

import asyncio
import json
import pickle
from copy import deepcopy
from functools import partial
from typing import Any

import pytest
from tokenizers import Tokenizer, models

from autoparser import AsyncRenderer, AutoparserError, ChatTemplate, Renderer, Status
from autoparser.analysis.core.errors import TemplateRenderError, TokenizerError
from autoparser.analysis.core.stop_texts import template_stop_texts
from autoparser.analysis.sources.token_bytes import byte_tokenizer
from autoparser.errors import RequestError
from autoparser.render import RenderedTokens, TrajectoryStep
from tests.analysis.tiny import CONTENT, calls, turn
from tests.lanes import sampled

from . import renderers
from .renderers import (
    XML,
    analysis_of,
    answer,
    call,
    fixture_analysis,
    fixture_renderer,
    prompt_ids,
    qwen,
    read_cases,
    result,
    sampled_ids,
    small,
    tools,
    user,
)


@pytest.mark.parametrize("case", read_cases("wrong_uses.yaml"), ids=lambda case: case["words"])
def test_invalid_renderer_argument_is_refused_with_its_place(case: dict[str, Any]) -> None:
    if "options" in case:
        use = partial(Renderer, fixture_analysis(XML), **{"tokenizer": small(), **case["options"]})
    else:
        use = partial(getattr(fixture_renderer(), case["use"]), *case["arguments"])
    with pytest.raises(AutoparserError) as raised:
        use()
    assert case["words"] in str(raised.value)
    assert raised.value.hint or "cannot render" in case["words"]
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("first", "last", "place"),
    [
        ({"content": None}, {"content": None}, "messages[1].content"),
        ({"content": ""}, {"content": None}, "messages[2].content"),
        ({"content": None, "role": "user"}, {}, "messages[1].content"),
        ({"content": ""}, {"arguments": "{}"}, "messages[2].tool_calls[0].function.arguments"),
    ],
)
def test_field_that_cannot_be_rendered_is_named_in_the_hint(
    first: dict[str, Any], last: dict[str, Any], place: str
) -> None:
    text = "{{ m.content + '' }}{% for c in m.tool_calls or [] %}<call>{{ c.function.name }}"
    listed = "{% for k, v in c.function.arguments.items() %}({{ k }}={{ v }}){% endfor %}"
    analysis = analysis_of(
        "{% for m in messages %}[{{ m.role }}]"
        + text
        + listed
        + "</call>{% endfor %}</s>{% endfor %}"
    )
    called = {"type": "function", "function": {"name": "f", "arguments": last.pop("arguments", {})}}
    answer = {"role": "assistant", "content": "", "tool_calls": [called], **last}
    messages = [user(), {"role": "assistant", **first}, answer, user()]
    with pytest.raises(TemplateRenderError) as raised:
        Renderer(analysis, small()).render(messages)
    assert (raised.value.hint or "").startswith(f"{place} is ")
    assert "renderer.shaped(messages)" in (raised.value.hint or "")


def test_renderer_accepts_fast_tokenizers_and_refuses_unusable_ones() -> None:
    class Fast:
        backend_tokenizer = small()

    found = Renderer(fixture_analysis(XML), Fast()).render([user()])
    assert found == fixture_renderer().render([user()])
    words = Tokenizer(models.WordLevel({"[UNK]": 0, "hello": 1}, unk_token="[UNK]"))
    with pytest.raises(TokenizerError, match="the tokenizer cannot encode"):
        Renderer(fixture_analysis(XML), words).render([user()])


@pytest.mark.parametrize("key", ["inputSchema", "input_schema"])
def test_mcp_and_anthropic_tools_render_like_openai_tools(key: str) -> None:
    functions: list[Any] = [tool["function"] for tool in tools()]
    shaped = [
        {"name": tool["name"], "description": tool["description"], key: tool["parameters"]}
        for tool in functions
    ]
    renderer = fixture_renderer()
    assert renderer.render([user()], shaped) == renderer.render([user()], tools())


def test_unknown_switch_warns_once() -> None:
    switches = {"enable_thinkin": False, "enable_thinking": False}
    with pytest.warns(UserWarning, match="did you mean enable_thinking") as warned:
        renderer = fixture_renderer(switches=switches)
    assert [one.filename for one in warned] == [renderers.__file__]
    known = fixture_renderer(switches={"enable_thinking": False})
    assert renderer.render([user()]) == known.render([user()])
    # No later use warns again: pytest makes errors of warnings.
    assert renderer.parse_response(renderer.encode("Hi."), prompt_ids(known, [user()])).content


def test_renderer_and_analysis_are_picklable_and_the_parser_is_not() -> None:
    options: Any = {"switches": {"enable_thinking": False}, "thinking_retention": "all"}
    renderer = fixture_renderer(**options)
    prompt, text = renderer.render([user()]), renderer.encode("Hi.")
    pickled = [pickle.loads(pickle.dumps(made)) for made in (renderer, renderer.analysis)]  # noqa: S301 - our own
    for again in (pickled[0], deepcopy(renderer)):
        assert again.render([user()]) == prompt
        assert again.parse_response(text, prompt.token_ids).content == "Hi."
    analysis = pickled[1]
    assert analysis.to_dict() == renderer.analysis.to_dict()
    parser = analysis.parser(tools())
    with pytest.raises(TypeError, match="pickle the analysis, or save its format for load_format"):
        pickle.dumps(parser)
    assert deepcopy(parser).parse("Hi.") == parser.parse("Hi.")


PASTED = "{{ f.arguments if f.arguments is string else f.arguments|tojson|replace('{', '<') }}"
ITEMS = "{% for key in f.arguments.keys() %}{{ key }}={{ f.arguments[key] }}{% endfor %}"


@pytest.mark.parametrize("written", ["{{ f.arguments|tojson }}", PASTED])
def test_render_warns_about_altered_json_string_arguments(written: str) -> None:
    renderer = byte_renderer(turn(CONTENT, calls(f"<do>{{{{ f.name }}}} {written}</do>")))
    whole = call()
    asked: list[Any] = [user(), {**whole, "content": None, "tool_calls": [as_text(whole)]}]
    with pytest.warns(UserWarning, match=r"pass renderer\.shaped\(messages\)") as warned:
        renderer.render(asked)
    assert warned[0].filename == __file__
    assert renderer.render(renderer.shaped(asked)) == renderer.render([user(), whole])


def test_render_error_for_json_string_arguments_names_shaped() -> None:
    parts = ("{{ m.content + '' }}", calls(f"<do>{{{{ f.name }}}} {ITEMS}</do>"))
    renderer = byte_renderer(turn(*parts))
    whole = call()
    asked: list[Any] = [user(), {**whole, "tool_calls": [as_text(whole)]}]
    for messages in (asked, [user(), {**whole, "content": None}]):
        with pytest.raises(AutoparserError, match=r"renderer\.shaped\(messages\)"):
            renderer.render(messages)
        assert renderer.render(renderer.shaped(messages)) == renderer.render([user(), whole])


def as_text(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message's call as OpenAI's API returns it."""
    (made,) = message["tool_calls"]
    text = json.dumps(made["function"]["arguments"])
    return {**made, "function": {**made["function"], "arguments": text}}


def test_unknown_special_token_raises_with_its_name() -> None:
    text = "{{ bos_token }}{% for m in messages %}{{ m.role }}{{ m.content }};{% endfor %}"
    with pytest.raises(
        AutoparserError, match=r"special tokens that are not known: bos_token; .*load_template\("
    ):
        Renderer(analysis_of(text), small())


CALL = call("Zürich 🚀", "I see.", "Two\nlines.")
TURNS = [("small", CALL), ("small", answer("Sunny.", "Fine.")), ("qwen", CALL), ("deepseek", CALL)]


@pytest.mark.parametrize(("vocabulary", "written"), sampled(TURNS, 4))
def test_turn_parses_back_from_its_ids(vocabulary: str, written: dict[str, Any]) -> None:
    renderer = fixture_renderer(XML, getattr(renderers, vocabulary)())
    ids = sampled_ids(renderer, [user()], written)
    message = renderer.parse_response(ids, prompt_ids(renderer, [user()]), tools=tools())
    assert message.reasoning_content == written["reasoning_content"]
    assert message.content == (written["content"] or None)
    assert [json.loads(tool_call.arguments) for tool_call in message.tool_calls] == [
        entry["function"]["arguments"] for entry in written.get("tool_calls", [])
    ]


def test_prompt_decides_whether_text_begins_in_reasoning() -> None:
    closed, opened = fixture_renderer(switches={"enable_thinking": False}), fixture_renderer()
    ids = closed.encode("Sunny.<|im_end|>")
    assert closed.parse_response(ids, prompt_ids(closed, [user()])).content == "Sunny."
    assert closed.parse_response(ids).content == "Sunny."
    assert closed.parse_response(ids, prompt_ids(opened, [user()])).reasoning_content == "Sunny."
    assert opened.parse_response(ids).reasoning_content == "Sunny."


def test_text_ends_at_its_stop_token_or_is_cut() -> None:
    renderer = fixture_renderer()
    ids = renderer.encode("Hm.</think>Hi.<|im_end|>\n<|im_start|>user\nNo.")
    assert renderer.parse_response(ids).content == "Hi."
    assert renderer.get_stop_token_ids() == renderer.encode("<|im_end|>")
    ids = renderer.encode("</think>\n\n<tool_call>\n<function=get_weather>\n<parameter=city>\nPar")
    message = renderer.parse_response(ids, complete=False)
    assert (message.status, message.partial_call is None) == ("cut", False)


def test_token_across_prompt_and_turn_belongs_to_the_turn_unsampled() -> None:
    renderer = fixture_renderer()
    tokens = renderer.render([user(), answer("Hi."), user("x")])
    (newlines,) = renderer.encode("\n\n")
    at = tokens.token_ids.index(newlines)
    # The prompt writes `<think>\n`, the model `\n</think>`: one token of both.
    assert renderer.decode(tokens.token_ids[at - 1 : at + 2]) == "<think>\n\n</think>"
    assert (tokens.message_indices[at], *tokens.sampled[at : at + 2]) == (1, False, True)


# Ends of outputs.

MARKS = ("<end>", "<fin>", "<call>", "<msg>", "<close>", "<do>", "</do>", "<over>")
CALLS = calls(opening="<do>", close="</do>")
CHANNELS = turn(
    "{% if m.reasoning_content %}<do>think<msg>{{ m.reasoning_content }}<end>{% endif %}",
    "{% if m.content %}<do>say<msg>{{ m.content }}<end>{% endif %}",
    calls(opening="<do>call<msg>", close="<call>"),
    opening="",
    end="",
    prompt="",
)
"""The end of content also ends reasoning; a call has an end of its own."""
PLAIN = turn(CONTENT, CALLS, end="<close>msg<end><fin>\n")
"""A turn ends with several tokens, of which the first one stands nowhere else."""
WRAPPED = turn("<do>say<end>{{ m.content }}<close>say<end>", CALLS, end="<close>msg<end><fin>\n")
"""All but the last token of the turn's end occur inside the turn."""
RESUMED = turn(f"{{% if m.tool_calls %}}{CALLS}<over>A:{{% endif %}}", CONTENT, end="<over>")
"""The history writes content after calls, with the turn's end between them."""
WAITING = turn(CALLS, CONTENT, "{% if m.tool_calls %}<over>{% else %}<end>{% endif %}", end="")
"""A turn with calls waits for their results, also where content stands after them."""


def byte_renderer(template: ChatTemplate, *without: str) -> Renderer:
    marks = [(mark, True) for mark in MARKS if mark not in without]
    return Renderer(analysis_of(template.text), byte_tokenizer(marks))


WHOLE = "<close>msg<end><fin>"
STOPS = {
    "also inside turns": (CHANNELS, (), ["<end>"], ["<call>"], ["<call>"], True),
    "first of several tokens": (PLAIN, (), ["<close>"], ["<close>"], ["<close>"], False),
    "last of several tokens": (WRAPPED, (), [WHOLE], [WHOLE], ["<fin>"], False),
    "no token": (PLAIN, ("<close>",), ["<close>"], ["<close>"], [], False),
    "between calls and content": (RESUMED, (), ["<over>"], ["<over>"], ["<over>"], False),
    "of calls alone": (WAITING, (), ["<end>"], ["<over>"], ["<end>", "<over>"], False),
}


@pytest.mark.parametrize("name", sampled(STOPS, 3))
def test_stops_are_known_as_texts_and_ids(name: str) -> None:
    template, without, after_content, after_calls, tokens, inside = STOPS[name]
    renderer = byte_renderer(template, *without)
    stops = renderer.stops
    assert [stop.text for stop in stops.after_content] == after_content
    assert [after_call.text for after_call in stops.after_calls] == after_calls
    assert [stop.inside for stop in stops.after_content] == [inside]
    assert [id_ for text in tokens for id_ in renderer.encode(text)] == [*stops.ids]
    for stop in stops.all:
        assert stop.ids == tuple(renderer.encode(stop.text))
        assert (stop.eos is None) is bool(without)


def test_repeated_end_keeps_its_first_place() -> None:
    formats = [analysis_of(template.text).format for template in (PLAIN, RESUMED)]
    ends = template_stop_texts(formats, eos="<close>").after_content
    assert [end.text for end in ends] == ["<close>", "<over>"]


def test_stop_inside_turns_ends_them_only_after_content() -> None:
    renderer = byte_renderer(CHANNELS)
    thought, text = "<do>think<msg>Hm.<end>", "<do>say<msg>Hi.<end>"
    assert renderer.find_stop(renderer.encode(thought)) is None
    ids = renderer.encode(thought + text + "<do>say<msg>No.<end>")
    assert renderer.find_stop(ids) == len(renderer.encode(thought + text)) - 1
    message = renderer.parse_response(ids)
    assert (message.reasoning_content, message.content) == ("Hm.", "Hi.")


@pytest.mark.parametrize("behind", ["msg<end><fin>", "msg<end><fin>\nmore"])
def test_stop_of_several_tokens_ends_at_its_last_token(behind: str) -> None:
    renderer = byte_renderer(PLAIN, "<close>")
    text = "Hi<close>"
    ids = renderer.encode(text + behind)
    assert renderer.find_stop(ids) == len(renderer.encode(text)) - 1
    assert renderer.find_stop(renderer.encode("Hi, <clos")) is None
    assert renderer.parse_response(ids).content == "Hi"


@pytest.mark.slow
def test_bridge_does_not_end_a_turn_twice() -> None:
    renderer = byte_renderer(WRAPPED)
    prompt = prompt_ids(renderer, [user()])
    whole = WRAPPED.render([user(), answer("Hi.")]).removesuffix("\n")
    wanted = WRAPPED.render([user(), answer("Hi."), user()], add_generation_prompt=True)
    for swallowed in ("", "<fin>", "<end><fin>", "msg<end><fin>"):
        completion = renderer.encode(whole.removesuffix(swallowed))[len(prompt) :]
        found = renderer.bridge_to_next_turn(prompt, completion, [user()])
        assert isinstance(found, RenderedTokens), found
        assert renderer.decode(found.token_ids) == wanted


def test_call_closed_by_its_stop_token_is_complete() -> None:
    vocabulary = byte_tokenizer([("<|call|>", True), ("<|end|>", True)])
    renderer = fixture_renderer("t2-recipient-header", vocabulary)
    prompt, ids = prompt_ids(renderer, [user()]), sampled_ids(renderer, [user()], call())
    assert renderer.decode(ids[-1:]) == "<|call|>"
    message = renderer.parse_response(ids, prompt, tools=tools())
    assert (message.status, [tool_call.status for tool_call in message.tool_calls]) == (
        "ok",
        ["ok"],
    )
    (found,) = renderer.call_tokens(ids, prompt, tools=tools())
    assert (found.end, found.status) == (len(ids), "ok")
    # Another stop closes no call.
    other = [*ids[:-1], *renderer.encode("<|end|>")]
    assert [call.status for call in renderer.call_tokens(other, prompt, tools=tools())] != ["ok"]


# Trajectories as rows of training data.


def play(renderer: Renderer) -> list[TrajectoryStep]:
    """Play a call, its result and an answer, each prompt a bridge from the last."""
    prompt = prompt_ids(renderer, [user()])
    before = [user(), call(reasoning="I look."), result()]
    first = sampled_ids(renderer, before[:1], before[1])
    bridged = renderer.bridge_to_next_turn(prompt, first, [result()], tools())
    assert isinstance(bridged, RenderedTokens), bridged
    second = sampled_ids(renderer, before, answer("Sunny.", "Fine."))
    return [TrajectoryStep(prompt, first), TrajectoryStep(bridged.token_ids, second)]


@pytest.mark.parametrize("vocabulary", ["small", pytest.param("qwen", marks=pytest.mark.slow)])
def test_training_sample_equals_the_render_and_its_loss_mask(vocabulary: str) -> None:
    renderer = fixture_renderer(XML, getattr(renderers, vocabulary)())
    sample = renderer.training_sample(play(renderer), tools())
    messages = [user(), call(reasoning="I look."), result(), answer("Sunny.", "Fine.")]
    whole = renderer.render(messages, tools())
    # The sample lacks the text that the template writes after the last stop: no model wrote it.
    assert renderer.decode(whole.token_ids).startswith(renderer.decode(sample.token_ids))
    assert sample.loss_mask == whole.loss_mask[: len(sample.token_ids)]
    (found,) = sample.calls
    text = renderer.decode(sample.token_ids[found.start : found.end])
    assert text.strip().startswith("<tool_call>")
    assert text.endswith("</tool_call>")


@pytest.mark.slow
def test_complete_and_failed_calls_have_token_spans_and_a_status() -> None:
    renderer = fixture_renderer(XML, qwen())
    whole = "<tool_call>\n<function=get_weather>\n<parameter=city>\n{}\n</parameter>\n</function>\n"
    broken = "<tool_call>\n<function=get_wea oops</tool_call>"
    first, last = f"{whole.format('Zürich 🚀')}</tool_call>", whole.format("Rome")[:50]
    ids = renderer.encode(f"Hm 🚀.\n</think>\n\n{first}\n{broken} x {last}")
    found = renderer.call_tokens(ids, tools=tools(), complete=False)
    assert [call.status for call in found] == [Status.OK, Status.MALFORMED, Status.CUT]
    texts = [renderer.decode(ids[call.start : call.end]).strip() for call in found]
    assert (texts[0], texts[2]) == (first, last.strip())
    assert texts[1].startswith("<tool_call>\n<function=get_wea")


def test_prompt_that_was_rendered_again_is_refused_with_its_place() -> None:
    renderer = fixture_renderer()
    first, second = play(renderer)
    prompt = [*second.prompt_ids]
    prompt[3] += 1
    with pytest.raises(
        RequestError, match="differs from the tokens before it at token 3"
    ) as raised:
        renderer.training_sample([first, TrajectoryStep(prompt, second.completion_ids)], tools())
    assert raised.value.place == "trajectory[1].prompt_ids"


@pytest.mark.slow
def test_batch_async_and_array_inputs_give_the_same_result() -> None:
    numpy = pytest.importorskip("numpy")
    renderer = fixture_renderer()
    steps = play(renderer)
    once = renderer.training_sample(steps, tools())
    assert renderer.training_samples([steps, steps], tools()) == [once, once]
    conversations = [[user()], [user("Well?")]]
    alone = [renderer.render(conversation, tools()) for conversation in conversations]
    assert renderer.render_batch(conversations, tools()) == alone
    other = AsyncRenderer(renderer)
    assert asyncio.run(other.render(conversations[0], tools())) == alone[0]
    assert asyncio.run(other.training_sample(steps, tools())) == once
    arrays = [
        TrajectoryStep(numpy.array(step.prompt_ids), numpy.array(step.completion_ids))
        for step in steps
    ]
    sample = renderer.training_sample(arrays, tools())
    assert sample == once
    assert {type(id_) for id_ in sample.token_ids} == {int}
    plain, of_arrays = (
        renderer.bridge_to_next_turn(step.prompt_ids, step.completion_ids, [result()], tools())
        for step in (steps[0], arrays[0])
    )
    assert plain == of_arrays
