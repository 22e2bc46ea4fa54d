"""Portraits: reused tokens, ten turns by renders and by bridges; and prompts to debug."""

from __future__ import annotations

from functools import cache

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.overview.debugged_prompts import (
    ANY_TEXT,
    DebuggedConversation,
    switched_renders,
)
from autoparser.analysis.overview.portrait import Portrait, portray_template
from tests.analysis.history.renderers import tiny
from tests.fixture_analyses import TEMPLATES, analyzed

MARKERS = ("<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>")


@cache
def portrait_of(name: str, *, tokens: bool = False) -> Portrait:
    return portray_template(analyzed(name), tokenizer=tiny(*MARKERS) if tokens else None)


NAMES = ("roles-alternate", "history-last-query", "j3-json-array", "t8-recipient-lines")


@pytest.mark.slow
@pytest.mark.parametrize("tokens", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_turn_pieces_join_to_its_text_and_match_the_verdict(name: str, tokens: bool) -> None:
    found = portrait_of(name, tokens=tokens)
    assert found.conversation.unit.partition(",")[0] == ("tokens" if tokens else "bytes")
    assert len(found.conversation.steps) == 10
    for row, strip in zip(found.round_trip.rows, found.strips, strict=True):
        assert "".join(strip.pieces) == row.verdict.sampled
        assert strip.tokens == tokens
        assert 0 <= strip.lead_reused <= len(strip.lead)
        counted = row.verdict.tokens
        if counted is not None:
            assert (strip.reused, len(strip.pieces)) == (counted.reused, counted.sampled)
            assert bool(strip.instead) == (not counted.holds)
        elif tokens:
            assert row.verdict.outcome.name == "RAISES"
        elif name == "history-last-query":
            # Without a tokenizer, the break is where the texts diverge.
            assert row.verdict.holds == (strip.reused == len(strip.pieces))
        played = (name, row.scenario.name, row.next)
        if tokens and played == ("history-last-query", "tool call", "later"):
            # The differing text of the next prompt consists of whole tokens.
            assert strip.instead[0] == "<tool_call>"
            assert strip.lead[-2:] == ("<think>", "\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    # The turns after which reasoning is dropped: those before a user's message.
    ("name", "turns"),
    [("j1-4-compact", []), ("history-last-query", [4, 8]), ("calls-in-prompt-words", [])],
)
def test_prefix_cache_misses_where_reasoning_is_dropped_unless_bridged(
    name: str, turns: list[int]
) -> None:
    found = portrait_of(name).conversation
    assert [step.turn for step in found.steps] == list(range(1, 11))
    assert [step.turn for step in found.steps if step.breaks] == turns
    if turns:
        assert [step.turn for step in found.steps if step.note] == turns
    assert (found.breaks, found.thrown_away > 0) == (len(turns), bool(turns))
    for step in found.steps:
        assert 0 < step.reused <= min(step.cached, step.rendered)
        assert (step.cached_text != "") == step.breaks
        # A word is shown whole even if both texts share its prefix.
        assert step.cached_text.startswith("<think>") == step.breaks
        assert step.instead.startswith("<tool_call>") == step.breaks
    lengths = [step.bridged or 0 for step in found.steps]
    assert lengths == sorted(lengths)
    assert lengths[0] > 0


def test_refused_conversation_stops_with_the_reason() -> None:
    source = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}</s>{% endfor %}"
        "{% if messages|length > 5 %}{{ raise_exception('enough') }}{% endif %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    found = portray_template(analyze(ChatTemplate(source))).conversation
    assert 0 < len(found.steps) < 10
    assert "enough" in found.stopped


@pytest.mark.slow
def test_unknown_special_tokens_do_not_stop_ten_turns() -> None:
    text = (TEMPLATES / "j1-json-in-tags.jinja").read_text(encoding="utf-8")
    found = portray_template(analyze(ChatTemplate("{{ bos_token }}" + text))).conversation
    assert len(found.steps) == 10


TEMPLATE = ChatTemplate(
    "{{ persona or '' }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
ANSWERED = ({"role": "user", "content": "a"}, {"role": "assistant", "content": "b"})


def test_free_text_switch_accepts_any_value() -> None:
    for asked, prompt in ((None, ""), (True, "<assistant>")):
        conversation = DebuggedConversation("own", ANSWERED, generation_prompt=asked)
        found = switched_renders(TEMPLATE, analyze(TEMPLATE).switches, conversation)
        assert f"{ANY_TEXT}<user>a<assistant>b{prompt}" in [render.trace.prompt for render in found]
