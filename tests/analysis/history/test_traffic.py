"""Losses of the prefix cache in a log of an engine's traffic, and their causes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autoparser.analysis.core.errors import TokenizerError
from autoparser.analysis.history.conversation_replay import ReplayStage
from autoparser.analysis.history.traffic import (
    TrafficLogError,
    TrafficRecord,
    prefix_losses,
    read_traffic,
)
from autoparser.analysis.history.trip_verdict import sample_exchange
from tests.fixture_analyses import analyzed
from tests.lanes import sampled

from .renderers import analysis_of, read_cases, tiny
from .test_round_trips import TABLE, analysis_for, scenario_from

LOGS = read_cases("traffic.yaml")
# Cases of the table of round trips whose texts, as a log has them, show the same cause.
STEPS = [case for case in TABLE["cases"] if case["name"] in LOGS["trips"]]


@pytest.mark.parametrize("case", sampled(STEPS, 9))
def test_log_texts_show_the_cause_of_a_replay(case: dict[str, Any]) -> None:
    analysis, scenario = analysis_for(case), scenario_from(case["scenario"])
    stage = ReplayStage(analysis)
    exchange, _ = sample_exchange(stage, scenario, scenario.next[0], {})
    replay = stage.play(exchange)
    records = [
        TrafficRecord(replay.prompt.text, exchange.sampled, conversation="one"),
        TrafficRecord(replay.text, "", conversation="one"),
    ]
    found = prefix_losses(analysis, records)
    assert [loss.cause.name for loss in found.losses] == [case["cause"]] * bool(case["cause"])
    # Without tokens, the characters from where the texts part are lost.
    at = len(replay.whole) if replay.at is None else replay.at
    assert (found.reused_units, found.lost) == (at, len(replay.whole) - at)


@pytest.mark.parametrize("case", LOGS["cases"], ids=lambda case: case["name"])
def test_log_replay_counts_the_tabled_losses(case: dict[str, Any]) -> None:
    templates = LOGS["templates"]
    fixture = case.get("fixture")
    analysis = analyzed(fixture) if fixture else analysis_of(templates[case["template"]])
    records = [
        TrafficRecord(prompt, completion, conversation=next(iter(name), None))
        for prompt, completion, *name in case["requests"]
    ]
    found = prefix_losses(analysis, records)
    assert [[loss.record, loss.after, loss.cause.name] for loss in found.losses] == case["losses"]
    counts = (found.repeats, found.continued)
    assert counts == (case.get("again", 0), case.get("continued", 1))
    for loss in found.losses:
        whole, text = records[loss.after].whole, records[loss.record].prompt
        # Counted here a second time, character by character.
        pairs = enumerate(zip(whole, text, strict=False))
        parted = next(at for at, (one, other) in pairs if one != other)
        assert loss.lost == len(whole) - parted


def test_ids_are_counted_and_retokenized_text_is_reported() -> None:
    first = TrafficRecord("U:Hi\n<|a|>", "Yes.<|end|>", (1, 2, 3), (4, 5, 6))
    second = TrafficRecord("U:Hi\n<|a|>Yes.<|end|>\nU:So?\n<|a|>", "", (1, 2, 3, 4, 7, 8, 9), ())
    found = prefix_losses(analysis_of(LOGS["templates"]["plain"]), [first, second])
    (loss,) = found.losses
    assert (loss.cause.name, loss.lost) == ("RETOKENIZED", 2)
    assert (found.reused_units, found.tokenized) == (4, True)


def test_engine_log_lines_are_read_and_others_left_out() -> None:
    tokenizer = tiny("<|a|>", "</s>")
    asked, written = tokenizer.encode("Hi<|a|>").ids, tokenizer.encode("Yes</s>").ids
    lines: list[dict[str, Any]] = [
        {"event": "request.received", "rid": "1", "obj": {"text": "Hi<|a|>"}},
        {
            "event": "request.finished",
            "obj": {"text": None, "input_ids": asked},
            "out": {"text": "Yes", "output_ids": written, "meta_info": None},
        },
        {
            "id": "cmpl-1",
            "choices": [
                {"index": 0, "text": "Yes", "token_ids": written, "prompt_token_ids": asked},
                {"index": 1, "text": "No", "token_ids": written[:1], "prompt_token_ids": asked},
            ],
        },
        {"prompt": "Hi<|a|>", "completion": "Yes", "id": "cmpl-1"},
        {"prompt": asked, "completion": written},
        {"prompt_token_ids": asked, "token_ids": written, "conversation": "c"},
    ]
    text = "\n".join(map(json.dumps, lines)) + '\n{"prompt": "cut o'
    found = read_traffic(text, "log", tokenizer=tokenizer)
    assert {record.prompt for record in found.records} == {"Hi<|a|>"}
    # The completions of an engine lack the special token that the model wrote.
    completions = ["Yes</s>", "Yes</s>", "Y", "Yes", "Yes</s>", "Yes</s>"]
    assert [record.completion for record in found.records] == completions
    assert [record.line for record in found.records] == [2, 3, 3, 4, 5, 6]
    assert [record.prompt_ids for record in found.records[3:]] == [None, tuple(asked), tuple(asked)]
    assert found.records[-1].conversation == "c"
    reasons = ["missing completion", "invalid JSON"]
    assert [line.message for line in found.left_out] == reasons


@pytest.mark.parametrize("case", LOGS["wrong"], ids=lambda case: case["words"])
def test_invalid_log_error_names_its_line(case: dict[str, str]) -> None:
    lines = "\n".join(filter(None, (case["log"], case.get("then"))))
    with pytest.raises(TrafficLogError) as caught:
        read_traffic(lines, "log")
    assert case["words"] in str(caught.value)


def test_unknown_token_id_error_names_its_line() -> None:
    lines = '{"prompt": "x", "completion": ""}\n{"prompt": [99999], "completion": [2]}'
    with pytest.raises(TokenizerError, match=r"line 2, ids\[0\]: the id 99999 is not in"):
        read_traffic(lines, "log", tokenizer=tiny())
