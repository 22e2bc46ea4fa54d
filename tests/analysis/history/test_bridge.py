"""Bridges from one turn to the next: kept and added tokens, refusals, and costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from hypothesis import given, settings, strategies as st

from autoparser import Renderer
from autoparser.analysis.history.bridge_refusals import BridgeRefusal
from autoparser.analysis.history.history_renders import HistoryRenders
from autoparser.analysis.sources.tokenizer import TokenText
from autoparser.render import RenderedTokens
from tests.case_tables import case_tables
from tests.lanes import sampled

from . import renderers
from .renderers import (
    XML,
    analysis_of,
    call,
    fixture_renderer,
    messages_from,
    prompt_ids,
    read_cases,
    result,
    sampled_ids,
    tools,
    user,
)

table = case_tables(__file__, "bridges.yaml")
BRIDGES = read_cases("bridges.yaml")
CASES = [
    pytest.param(
        case,
        vocabulary,
        id=f"{case['name']}-{vocabulary}",
        marks=() if at % 12 == 0 and vocabulary == "small" else pytest.mark.slow,
    )
    for at, case in enumerate(BRIDGES["cases"])
    for vocabulary in case.get("vocabularies", ["small"])
]
TYPES = {"rain": {"type": "boolean"}, "snow": {"type": "null"}}
TYPED_TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": {"properties": TYPES}}}
]


def renderer_of(name: str, tokenizer: Any = None, **options: Any) -> Renderer:
    if name in BRIDGES["templates"]:
        analysis = analysis_of(BRIDGES["templates"][name])
        return Renderer(analysis, tokenizer or renderers.small(), **options)
    return fixture_renderer(name, tokenizer, **options)


@pytest.mark.parametrize(("case", "vocabulary"), CASES)
def test_bridges_match_the_table(case: dict[str, Any], vocabulary: str) -> None:
    tokenizer = getattr(renderers, vocabulary)(*case.get("special", ()))
    renderer = renderer_of(case["template"], tokenizer, **case.get("options", {}))
    offered = TYPED_TOOLS if "types" in case else tools()
    before = messages_from(case.get("before", [{"user": "Weather in Paris?"}]))
    turn, new = messages_from([case.get("turn", {})]), messages_from(case["new"])
    prompt = prompt_ids(renderer, before, offered)
    written = case.get("written")
    completion = (
        sampled_ids(renderer, before, *turn) if written is None else renderer.encode(written)
    )
    found = renderer.bridge_to_next_turn(
        prompt, completion, new, offered, force=case.get("force", False)
    )
    if "reason" in case:
        assert isinstance(found, BridgeRefusal)
        assert (found.reason.name, bool(found)) == (case["reason"], False)
        assert case.get("words", "") in str(found)
        return
    assert isinstance(found, RenderedTokens), found
    previous = (*prompt, *completion)
    assert found.token_ids[: len(previous)] == previous
    notes, wanted = found.notes, case.get("notes", [])
    assert len(notes) == len(wanted), notes
    assert all(note.startswith(words) for note, words in zip(notes, wanted, strict=True)), notes
    added = renderer.decode(found.token_ids[len(previous) :])
    if "adds" in case:
        assert added == case["adds"]
    elif "ends" in case:
        assert added.endswith(case["ends"])
    elif "turn" in case and not wanted:
        messages = [*before, *turn, *new]
        switches: dict[str, Any] = renderer.switches
        whole = renderer.analysis.rendering.render(messages, offered, True, **switches)
        assert renderer.decode(found.token_ids) == whole


def test_tool_missing_from_the_prompt_is_refused_or_noted() -> None:
    renderer = fixture_renderer("j1-json-in-tags")
    before, new = messages_from([{"user": "Weather in Paris?"}]), messages_from([{"user": "Why?"}])
    completion = sampled_ids(renderer, before, *messages_from([{"say": "Sunny."}]))
    added = {"type": "function", "function": {"name": "book_table", "parameters": {}}}
    for later in (False, True):
        prompt = prompt_ids(renderer, before, tools())
        if later:
            prompt = bridge(renderer, prompt, completion, new).token_ids
        for offered in ([added], [*tools(), added]):
            found = renderer.bridge_to_next_turn(prompt, completion, new, offered)
            assert isinstance(found, BridgeRefusal)
            assert str(found).endswith("offered now: book_table")
            forced = renderer.bridge_to_next_turn(prompt, completion, new, offered, force=True)
            assert isinstance(forced, RenderedTokens)
            assert len(forced.notes) == 1
        assert renderer.bridge_to_next_turn(prompt, completion, new, tools())
        assert renderer.bridge_to_next_turn(prompt, completion, new)


def bridge(renderer: Renderer, prompt: Any, completion: Any, new: Any) -> RenderedTokens:
    found = renderer.bridge_to_next_turn(prompt, completion, new, tools())
    assert isinstance(found, RenderedTokens), found
    return found


def test_each_added_token_has_the_owner_of_its_text() -> None:
    renderer = fixture_renderer()
    prompt, written = prompt_ids(renderer, [user()]), renderer.encode("Hm.</think>Hi.<|im_end|>")
    found = bridge(renderer, prompt, written, [user("one"), user("two")])
    length = len(prompt) + len(written)
    assert "message_indices" not in vars(found)  # listed when it is asked for
    assert set(found.message_indices[:length]) == {-1}
    model = [False] * len(prompt) + [True] * len(written) + [False] * (len(found) - length)
    assert [*found.sampled] == model
    assert len(found.loss_mask) == len(found) == sum(owner.length for owner in found.owners)
    texts: dict[int, str] = {}
    for id_, owner in list(zip(found.token_ids, found.message_indices, strict=True))[length:]:
        texts[owner] = texts.get(owner, "") + renderer.decode([id_])
    assert texts == {
        -1: "\n<|im_start|>assistant\n<think>\n",
        0: "<|im_start|>user\none<|im_end|>\n",
        1: "<|im_start|>user\ntwo<|im_end|>\n",
    }


WORDS = st.text(st.sampled_from("ab \n<>/🚀é{}"), min_size=1, max_size=8)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(WORDS, WORDS, st.lists(WORDS, min_size=1, max_size=3), st.booleans())
def test_previous_ids_are_always_a_prefix(
    question: str, written: str, new: list[str], stopped: bool
) -> None:
    renderer = fixture_renderer()
    prompt = prompt_ids(renderer, [user(question)])
    completion = renderer.encode(written + "<|im_end|>" * stopped)
    found = renderer.bridge_to_next_turn(prompt, completion, [user(text) for text in new], tools())
    if isinstance(found, RenderedTokens):
        assert found.token_ids[: len(prompt) + len(completion)] == (*prompt, *completion)
        assert renderer.decode(found.token_ids).endswith("<|im_start|>assistant\n<think>\n")


class Cost(NamedTuple):
    """The work of bridges, in renders, encodings and decoded ids."""

    tools: list[int]
    """For each render, the number of tools that it was given."""
    encodes: int
    decoded: int
    """Ids that were decoded."""


def spied(owner: type, method: str) -> Any:
    return patch.object(owner, method, autospec=True, side_effect=getattr(owner, method))


@pytest.fixture
def spent() -> Iterator[Callable[[], Cost]]:
    """Return a function that returns the cost since it was last called."""
    encode, decode = spied(TokenText, "encode"), spied(TokenText, "decode")
    with spied(HistoryRenders, "text") as texts, encode as encodes, decode as decodes:

        def cost() -> Cost:
            tools = [len(render.args[0].tools or ()) for render in texts.call_args_list]
            decoded = sum(len(decoded_.args[1]) for decoded_ in decodes.call_args_list)
            found = Cost(tools, encodes.call_count, decoded)
            for mock in (texts, encodes, decodes):
                mock.reset_mock()
            return found

        yield cost


def bridge_loop(
    renderer: Renderer, spent: Callable[[], Cost], results: Sequence[str]
) -> Iterator[Cost]:
    """Bridge calls and results, compare each prompt with the render, and yield the costs."""
    before = [user()]
    prompt = prompt_ids(renderer, before)
    for at, text in enumerate(results):
        turn, new = call(id_=f"call_{at}"), [result(text, id_=f"call_{at}")]
        completion = sampled_ids(renderer, before, turn)
        spent()
        prompt = bridge(renderer, prompt, completion, new).token_ids
        yield spent()
        before = [*before, turn, *new]
        assert renderer.decode(prompt) == renderer.analysis.template.render(before, tools(), True)


@pytest.mark.parametrize("name", sampled(["call-id-post-args", "call-id-pre-func-name", XML], 3))
def test_bridge_costs_one_render_and_encoding_at_any_length(
    name: str, spent: Callable[[], Cost]
) -> None:
    costs = [*bridge_loop(fixture_renderer(name), spent, [f'sunny "{at}" 🚀' for at in range(8)])]
    assert (costs[4].tools, costs[4].encodes) == ([0], 1)
    assert costs[4] == costs[-1]
    assert len(costs[0].tools) > 1


@pytest.mark.slow
def test_tools_that_new_messages_depend_on_are_rendered(spent: Callable[[], Cost]) -> None:
    every = len(tools())
    for cost in bridge_loop(renderer_of("counts_tools"), spent, ["a", "b", "c", "d"]):
        assert every in cost.tools
    results = ("one", "two", "three", "four", "all", "five")
    *_, known, needed, after = bridge_loop(renderer_of("needs_tools"), spent, results)
    assert (known.tools, needed.tools[:2], after.tools) == ([0], [0, every], [every])


@pytest.mark.slow
def test_reasoning_kept_by_request_costs_one_render(spent: Callable[[], Cost]) -> None:
    renderer = renderer_of("drops_before_last", thinking_retention="all")
    prompt = prompt_ids(renderer, [user()])
    for _ in range(4):
        completion = renderer.encode("<think>Hm.</think>Hi.<|im_end|>")
        spent()
        found = bridge(renderer, prompt, completion, [user()])
        assert [note.partition(",")[0] for note in found.notes] == ["kept"]
        prompt = found.token_ids
    assert len(spent().tools) == 1


@table("alternating")
def test_cached_prompts_of_alternating_conversations_are_decoded_once(
    most: int,
    words: tuple[str, str],
    once: bool,
    spent: Callable[[], Cost],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("autoparser.analysis.history.cached_prompts.MOST_IDS", most)
    renderer = renderer_of("drops_after_user")
    prompts = [prompt_ids(renderer, [user(f"{word} is the weather?")]) for word in words]
    completion = renderer.encode("Hi.<|im_end|>")
    decoded: list[int] = []
    for _ in range(6):
        for at, prompt in enumerate(prompts):
            spent()
            prompts[at] = bridge(renderer, prompt, completion, [user("And “now” 🚀?")]).token_ids
            assert prompts[at][: len(prompt)] == prompt
            decoded.append(spent().decoded)
    assert (len({*decoded[-6:]}) == 1) is once
    for word, prompt in zip(words, prompts, strict=True):
        turns = [user(f"{word} is the weather?")]
        for _ in range(6):
            turns += [{"role": "assistant", "content": "Hi."}, user("And “now” 🚀?")]
        assert renderer.decode(prompt) == renderer.decode(prompt_ids(renderer, turns))
