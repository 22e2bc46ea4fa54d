"""What a caller gives that is not what it should be: each is refused by its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from autoparser import AutoparserError, Renderer
from tests.analysis.history.made import analysed, called, renderer, tools, user
from tests.analysis.history.tokenizers_here import small

XML = "a1-function-parameter"
Use = Callable[[Renderer], object]


def bridge(new: Any, offered: Any = None) -> Use:
    return lambda made: made.bridge_to_next_turn([1], [1], new, offered)


def render(messages: Any, offered: Any = None) -> Use:
    return lambda made: made.render(messages, offered)


def parse(ids: Any, prompt: Any = ()) -> Use:
    return lambda made: made.parse_response(ids, prompt)


WRONG: list[tuple[Use, str]] = [
    (render("text"), "messages: str is not a list of messages; give [{role: user"),
    (render(None), "messages: NoneType is not a list of messages; give"),
    (render(user()), "messages: dict is not a list of messages; give"),
    (render([]), "messages: there is no message; give {role: user"),
    (render([user(), 5]), "messages[1]: int is not a message; give {role: user"),
    (render([user(), {"rol": "user"}]), "messages[1]: this message has no role; did you mean role"),
    (render([user()], "text"), "tools: str is not a list of tools; give [{type: function"),
    (render([user()], [tools()[0], 5]), "tools[1]: int is not a tool; give {type: function"),
    (render([user("half \ud83d")]), "half of a pair of UTF-16"),
    (bridge("text"), "new_messages: str is not a list of messages; give"),
    (bridge([user(), "text"]), "new_messages[1]: str is not a message; give"),
    (bridge([{"content": "a"}]), "new_messages[0]: this message has no role; give one such as"),
    (bridge([user()], 5), "tools: int is not a list of tools; give"),
    (bridge([user()], [5]), "tools[0]: int is not a tool; give"),
    (parse(5), "token_ids: int is not a list of token ids; give"),
    (parse("text"), "token_ids: str is not a list of token ids; give"),
    (parse([1, "a"]), "token_ids[1]: the id 'a' is not in the vocabulary; give integers"),
    (parse([1, None]), "token_ids[1]: the id None is not in the vocabulary"),
    (parse([1, [2]]), "token_ids[1]: the id [2] is not in the vocabulary"),
    (parse([1.0]), "the id 1.0 is not in the vocabulary"),
    (parse([1], [1, 999999]), "prompt_ids[1]: the id 999999 is not in the vocabulary"),
    (parse([1], [*[1] * 900, -1]), "prompt_ids[900]: the id -1 is not in the vocabulary"),
    (lambda made: made.decode([1, 2**40]), "ids[1]: the id 1099511627776 is not in the"),
]


@pytest.mark.parametrize(("use", "said"), WRONG)
def test_a_wrong_use_is_refused_by_its_place(use: Use, said: str) -> None:
    with pytest.raises(AutoparserError) as raised:
        use(renderer(XML))
    assert said in str(raised.value)
    assert raised.value.hint
    assert "\n" not in str(raised.value)


OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"tokenizer": 3}, "tokenizer: int is not a tokenizer; give a fast"),
    ({"switches": ["a"]}, "switches: list is not a mapping of the template's variables; give"),
    (
        {"switches": {"messages": []}},
        "switches: messages is not a switch; give it with each render",
    ),
    ({"thinking_retention": "al"}, "there is no retention 'al'; did you mean all? there are none"),
]


@pytest.mark.parametrize(("options", "said"), OPTIONS)
def test_a_renderer_of_wrong_things_is_refused(options: dict[str, Any], said: str) -> None:
    with pytest.raises(AutoparserError) as raised:
        Renderer(analysed(XML), **{"tokenizer": small(), **options})
    assert said in str(raised.value)


def test_a_conversation_that_the_template_cannot_take_is_told_in_its_own_words() -> None:
    calls = called()
    calls["tool_calls"] = "none"
    with pytest.raises(AutoparserError, match=r"line \d+: cannot render the conversation: "):
        renderer(XML).render([user(), calls])


def test_a_fast_tokenizer_of_transformers_is_taken() -> None:
    class Fast:
        backend_tokenizer = small()

    made = Renderer(analysed(XML), Fast())
    assert made.render([user()]) == renderer(XML).render([user()])
