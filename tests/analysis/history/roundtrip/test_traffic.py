"""What of a prefix cache a log of an engine's traffic says was lost, and why."""

from __future__ import annotations

import json

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.history.roundtrip import (
    Cause,
    TrafficLogError,
    TrafficRecord,
    prefix_losses,
    traffic_of,
)
from autoparser.analysis.history.roundtrip.replay import ReplayStage
from autoparser.analysis.history.roundtrip.verdict import exchange_of
from tests.analysis.tiny import CONTENT, calls, turn

from .played import fixture, shipped
from .vocabularies import tiny


def chat(*parts: str) -> ChatTemplate:
    return turn(*parts, opening="<|a|>", end="<|end|>\n", prompt="<|a|>")


JSON = calls('<call>{"name": "{{ f.name }}", "arguments": {{ f.arguments|tojson }}}</call>')
LAST = "{% if loop.last and m.reasoning_content %}(r){{ m.reasoning_content }}(/r){% endif %}"
STEPS = [
    ((CONTENT, JSON), "tool call", None),
    ((LAST, CONTENT), "reasoning + answer", Cause.REASONING_DROPPED),
    (("{{ (m.content or '')|trim }}",), "newline ends answer", Cause.CONTENT_STRIPPED),
    (
        ("<r>{{ (m.reasoning_content or '')|trim }}</r>", CONTENT, JSON),
        "newline ends reasoning",
        Cause.REASONING_STRIPPED,
    ),
    ((CONTENT, JSON), "compact JSON", Cause.JSON_SPACING),
    ((CONTENT, JSON), "Python literals", Cause.LITERALS),
    ((CONTENT, JSON), "escaped JSON", Cause.JSON_ESCAPES),
    ((CONTENT, JSON), "malformed call, dropped", Cause.CALL_LOST),
    (
        ("{% if not m.tool_calls %}{{ m.content }}{% endif %}", JSON),
        "tool call + content",
        Cause.CONTENT_DROPPED,
    ),
]


@pytest.mark.parametrize(("parts", "name", "cause"), STEPS)
def test_the_texts_alone_tell_the_cause(
    parts: tuple[str, ...], name: str, cause: Cause | None
) -> None:
    analysis, scenario = analyze(chat(*parts)), shipped(name)
    stage = ReplayStage(analysis)
    exchange, _ = exchange_of(stage, scenario, scenario.next[0], {})
    replay = stage.play(exchange)
    records = [
        TrafficRecord(replay.prompt.text, exchange.sampled, conversation="one"),
        TrafficRecord(replay.text, "", conversation="one"),
    ]
    found = prefix_losses(analysis, records)
    assert [loss.cause for loss in found.losses] == ([] if cause is None else [cause])
    # Without tokens, what is lost are the characters from where the texts part.
    at = len(replay.whole) if replay.at is None else replay.at
    assert (found.kept, found.lost) == (at, len(replay.whole) - at)


def test_ids_are_counted_and_a_text_that_is_cut_otherwise_is_named() -> None:
    analysis = analyze(chat(CONTENT))
    first = TrafficRecord("U:Hi\n<|a|>", "Yes.<|end|>", (1, 2, 3), (4, 5, 6))
    second = TrafficRecord("U:Hi\n<|a|>Yes.<|end|>\nU:So?\n<|a|>", "", (1, 2, 3, 4, 7, 8, 9), ())
    found = prefix_losses(analysis, [first, second])
    (loss,) = found.losses
    assert (loss.cause, loss.lost, found.kept, found.tokenized) == (Cause.RETOKENIZED, 2, 4, True)


def test_conversations_without_names_are_told_by_what_was_said() -> None:
    analysis = fixture("history-last-query")
    one, other = "<|im_start|>user\nOne?<|im_end|>\n", "<|im_start|>user\nOther?<|im_end|>\n"
    begin = "<|im_start|>assistant\n<think>\n"
    said = "<|im_start|>assistant\n{}<|im_end|>\n<|im_start|>user\nMore?<|im_end|>\n" + begin
    records = [
        TrafficRecord(one + begin, "Hm.\n</think>\n\nFirst.<|im_end|>"),
        TrafficRecord(other + begin, "Hm.\n</think>\n\nSecond.<|im_end|>"),
        TrafficRecord(one + said.format("First."), ""),
        TrafficRecord(other + said.format("Second."), ""),
    ]
    found = prefix_losses(analysis, records)
    assert [(loss.record, loss.after) for loss in found.losses] == [(2, 0), (3, 1)]
    assert found.continued == 2


def test_a_log_has_text_or_ids() -> None:
    tokenizer = tiny("<|a|>", "</s>")
    ids = tokenizer.encode("Hi<|a|>").ids
    lines = [
        {"prompt": "Hi<|a|>", "completion": "Yes", "id": "cmpl-1"},
        {"prompt": ids, "completion": ids},
        {"prompt_token_ids": ids, "token_ids": ids, "conversation": "c"},
    ]
    text = "\n".join(map(json.dumps, lines))
    plain, given, named = traffic_of(text, "log", tokenizer=tokenizer)
    assert (plain.prompt, plain.completion, plain.prompt_ids) == ("Hi<|a|>", "Yes", None)
    assert given.prompt_ids == named.prompt_ids == tuple(ids)
    assert (given.prompt, named.prompt, named.conversation) == ("Hi<|a|>", "Hi<|a|>", "c")


WRONG = [
    ("", "log: this is empty"),
    ("{", "log: line 1: this is not JSON"),
    ('{"prompt": "x", "completion": ""}\n[]', "log: line 2: "),
    ('{"completion": "x"}', "log: line 1: there is no prompt"),
    ('{"prompt": [1], "completion": [2]}', "token ids need the model's tokenizer"),
    ('{"prompt": 1}', "log: line 1.prompt: "),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_what_is_wrong_with_a_log_names_the_line(text: str, words: str) -> None:
    with pytest.raises(TrafficLogError) as caught:
        traffic_of(text, "log")
    assert words in str(caught.value)
