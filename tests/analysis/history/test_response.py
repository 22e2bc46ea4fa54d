"""Ids that a model wrote, read back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tokenizers import Tokenizer, models

from autoparser import AutoparserError, ChatTemplate, analyze
from autoparser.analysis.core.errors import TokenizerError
from autoparser.analysis.history.renderer import Renderer
from tests.analysis.history.made import (
    analysed,
    called,
    renderer,
    result,
    said,
    sampled_ids,
    tools,
    user,
)
from tests.analysis.history.tokenizers_here import deepseek, qwen, small

XML = "a1-function-parameter"


@pytest.mark.parametrize(
    "vocabulary",
    [
        small,
        pytest.param(qwen, marks=pytest.mark.slow),
        pytest.param(deepseek, marks=pytest.mark.slow),
    ],
    ids=["small", "qwen", "deepseek"],
)
@pytest.mark.parametrize(
    "turn",
    [
        said("Sunny.", "Fine."),
        called(content="I see.", reasoning="Hm."),
        called("Zürich 🚀", reasoning="Two\nlines."),
    ],
    ids=["content", "call", "letters"],
)
def test_a_turn_comes_back(vocabulary: Any, turn: Any) -> None:
    made = renderer(XML, vocabulary())
    prompt = made.render([user()], tools(), add_generation_prompt=True)
    ids = sampled_ids(made, [user()], turn)
    message = made.parse_response(ids, prompt.token_ids, tools=tools())
    assert (message.reasoning_content, message.content) == (
        turn["reasoning_content"],
        turn["content"] or None,
    )
    assert [json.loads(call.arguments) for call in message.tool_calls] == [
        call["function"]["arguments"] for call in turn.get("tool_calls", [])
    ]


def test_the_prompt_says_whether_the_text_begins_in_the_reasoning() -> None:
    made = renderer(XML, switches={"enable_thinking": False})
    ids = made.encode("Sunny.<|im_end|>")
    closed = made.render([user()], add_generation_prompt=True).token_ids
    opened = renderer(XML).render([user()], add_generation_prompt=True).token_ids
    assert made.parse_response(ids, closed).content == "Sunny."
    assert made.parse_response(ids, opened).reasoning_content == "Sunny."
    assert made.parse_response(ids).content == "Sunny."
    assert renderer(XML).parse_response(ids).reasoning_content == "Sunny."


def test_the_text_ends_at_the_stop_token() -> None:
    made = renderer(XML)
    ids = made.encode("Hm.</think>Hi.<|im_end|>\n<|im_start|>user\nNo.")
    assert made.parse_response(ids).content == "Hi."
    assert made.get_stop_token_ids() == made.encode("<|im_end|>")


def test_an_output_that_was_cut_says_so() -> None:
    made = renderer(XML)
    ids = made.encode("Hm.\n</think>\n\n<tool_call>\n<function=get_weather>\n<parameter=city>\nPar")
    message = made.parse_response(ids, complete=False)
    assert message.status == "cut"
    assert message.partial_call is not None


def test_a_stop_that_stands_inside_turns_is_none() -> None:
    template = ChatTemplate(
        "{% for m in messages %}{% if m.role == 'user' %}u:{{ m.content }}<|im_end|>{% else %}"
        "{% if m.reasoning_content %}r:{{ m.reasoning_content }}<|im_end|>{% endif %}"
        "a:{{ m.content }}<|im_end|>{% endif %}{% endfor %}"
    )
    made = Renderer(analyze(template), small())
    assert made.analysis.format.stop_strings == ("<|im_end|>",)
    assert made.get_stop_token_ids() == []


def test_a_special_token_that_is_not_known_is_asked_for() -> None:
    template = ChatTemplate(
        "{{ bos_token }}{% for m in messages %}{{ m.role }}{{ m.content }};{% endfor %}"
    )
    with pytest.raises(AutoparserError, match="the template reads bos_token, which is not known"):
        Renderer(analyze(template), small())


def test_a_tokenizer_that_cannot_encode_is_named() -> None:
    words = Tokenizer(models.WordLevel({"[UNK]": 0, "hello": 1}, unk_token="[UNK]"))
    made = Renderer(analysed(XML), words)
    with pytest.raises(TokenizerError, match="the tokenizer cannot encode"):
        made.render([user()])


def test_ids_outside_the_vocabulary_are_refused_by_place() -> None:
    made = renderer(XML)
    for ids in ([1, -1], [1, 999999], [1, 2**40]):
        with pytest.raises(TokenizerError, match=r"token_ids\[1\]: the id -?\d+ is not in the"):
            made.parse_response(ids)


def test_a_token_that_straddles_is_of_its_first_character_and_not_sampled() -> None:
    made = renderer(XML)
    messages = [user(), said("Hi."), user(result("x")["content"])]  # type: ignore[arg-type]
    tokens = made.render(messages)
    newlines = made.encode("\n\n")
    assert len(newlines) == 1
    at = tokens.token_ids.index(newlines[0])
    # The prompt writes `<think>\n`, the model `\n</think>`: one token of both.
    assert made.decode(tokens.token_ids[at - 1 : at + 2]) == "<think>\n\n</think>"
    assert (tokens.message_indices[at], tokens.sampled[at]) == (1, False)
    assert tokens.sampled[at + 1]
