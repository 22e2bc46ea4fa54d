"""What of a prefix cache a log of an engine's traffic says was lost, and why."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.errors import TokenizerError
from autoparser.analysis.history.conversation_replay import ReplayStage
from autoparser.analysis.history.round_trips import fixing_settings, round_trip
from autoparser.analysis.history.scenario_files import shipped_scenarios
from autoparser.analysis.history.traffic import (
    TrafficLogError,
    TrafficRecord,
    prefix_losses,
    traffic_of,
)
from autoparser.analysis.history.trip_causes import Cause
from autoparser.analysis.history.trip_verdict import exchange_of
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


ENCODED = json.dumps('{"city": "Oslo", "days": 3}')
ASKED = "U:Which town is meant?\n"


def following(*said: str) -> list[TrafficRecord]:
    """Return answers to one prompt, then what goes on from each, the last first."""
    answers = [TrafficRecord(ASKED + "<|a|>", f"{text}<|end|>") for text in said]
    more = [f"{ASKED}<|a|>{text}<|end|>\nU:And then?\n<|a|>" for text in reversed(said)]
    return [*answers, *(TrafficRecord(prompt, "Done.<|end|>") for prompt in more)]


def test_several_answers_to_one_prompt_lose_nothing_and_go_on_alone() -> None:
    found = prefix_losses(analyze(chat(CONTENT)), following("Oslo.", "Oxford.", "Rome."))
    assert (found.records, found.again, found.continued, found.losses) == (6, 2, 3, ())
    # With reasoning that is dropped the prompts alone do not tell which answer is meant.
    records = following("Oslo.", "Oxford.", "Rome.")
    thought = [replace(each, completion=f"(r)Hm.(/r){each.completion}") for each in records[:3]]
    found = prefix_losses(analyze(chat(LAST, CONTENT)), [*thought, *records[3:]])
    assert [(loss.record, loss.after) for loss in found.losses] == [(3, 2), (4, 1), (5, 0)]
    assert {loss.cause for loss in found.losses} == {Cause.REASONING_DROPPED}


def test_a_retry_in_a_named_conversation_is_no_loss() -> None:
    first, again, *_, last = following("Oslo.", "Rome.")
    records = [replace(each, conversation="one") for each in (first, again, last)]
    found = prefix_losses(analyze(chat(CONTENT)), records)
    assert (found.again, found.continued, found.losses) == (1, 1, ())


def test_questions_that_end_alike_are_conversations_of_their_own() -> None:
    prompt = "U:Letters only. {}? Answer with the letter of the right answer, and no word more.\n"
    records = [TrafficRecord(prompt.format(each) + "<|a|>", "A<|end|>") for each in "BCDE"]
    found = prefix_losses(analyze(chat(CONTENT)), records)
    assert (found.continued, found.again) == (0, 0)


CALLED = '<call>{"name": "look", "arguments": {"city": "Oslo", "days": 3}}</call><|end|>'
CITY_DAYS = '"city": "Oslo", "days": 3'
HISTORIES = [
    (
        "S:tools\n",
        CALLED.replace('"city": "Oslo", "days": 3', '"days": 3, "city": "Oslo"'),
        "ORDER",
    ),
    ("S:tools\n", CALLED.replace('{"city": "Oslo", "days": 3}', ENCODED), "ENCODED_TWICE"),
    ("S:tools\n", CALLED.replace("Oslo", "Rome"), "VALUES"),
    ("S:tools, one more\n", CALLED, "EARLIER"),
    ("S:tools\n", "I cannot look.<|end|>", "CALL_LOST"),
]


@pytest.mark.parametrize(("before", "history", "cause"), HISTORIES)
def test_a_call_is_compared_with_the_one_in_the_history(
    before: str, history: str, cause: str
) -> None:
    asked = "U:What will the weather be like in Oslo in the next days, please?\n<|a|>"
    following = f"{before}{asked}{history}\nT:Sunny.\n<|a|>"
    records = [TrafficRecord(f"S:tools\n{asked}", CALLED), TrafficRecord(following, "")]
    (loss,) = prefix_losses(analyze(chat(CONTENT, JSON)), records).losses
    whole = records[0].whole
    # Counted here a second time, character by character.
    parted = next(at for at in range(len(whole)) if whole[at] != following[at])
    assert (loss.cause.name, loss.lost) == (cause, len(whole) - parted)


@pytest.mark.parametrize(
    ("history", "cause"),
    [("I see.", Cause.REWRITTEN), ("", Cause.CONTENT_DROPPED)],
)
def test_other_words_are_not_content_that_was_dropped(history: str, cause: Cause) -> None:
    records = [
        TrafficRecord(ASKED + "<|a|>", "Oslo.<|end|>"),
        TrafficRecord(f"{ASKED}<|a|>{history}<|end|>\nU:So?\n<|a|>", ""),
    ]
    (loss,) = prefix_losses(analyze(chat(CONTENT)), records).losses
    assert loss.cause is cause


def test_a_call_that_was_cut_is_lost_whatever_white_space_the_history_has() -> None:
    records = [
        TrafficRecord(ASKED + "<|a|>", '\n<call>{"name": "lo'),
        TrafficRecord(f"{ASKED}<|a|><|end|>\nU:So?\n<|a|>", ""),
    ]
    (loss,) = prefix_losses(analyze(chat(CONTENT, JSON)), records).losses
    assert loss.cause is Cause.CALL_LOST


def test_engines_own_lines_are_read() -> None:
    tokenizer = tiny("<|a|>", "</s>")
    asked, said = tokenizer.encode("Hi<|a|>").ids, tokenizer.encode("Yes</s>").ids
    lines: list[dict[str, Any]] = [
        {"event": "request.received", "rid": "1", "obj": {"text": "Hi<|a|>"}},
        {
            "event": "request.finished",
            "obj": {"text": None, "input_ids": asked},
            "out": {"text": "Yes", "output_ids": said, "meta_info": None},
        },
        {
            "id": "cmpl-1",
            "choices": [
                {"index": 0, "text": "Yes", "token_ids": said, "prompt_token_ids": asked},
                {"index": 1, "text": "No", "token_ids": said[:1], "prompt_token_ids": asked},
            ],
        },
    ]
    text = "\n".join(map(json.dumps, lines)) + '\n{"prompt": "cut o'
    found = traffic_of(text, "log", tokenizer=tokenizer)
    # What an engine gives back lacks the special token that it wrote.
    assert {each.prompt for each in found.records} == {"Hi<|a|>"}
    assert [each.completion for each in found.records] == ["Yes</s>", "Yes</s>", "Y"]
    assert [each.line for each in found.records] == [2, 3, 3]
    reasons = ["there is no completion", "this is not JSON"]
    assert [each.message for each in found.left_out] == reasons


def test_ids_are_asked_of_the_tokenizer_before_any_line_is_left_out() -> None:
    lines = '{"prompt": "x", "completion": ""}\n{"prompt": [1], "completion": [2]}'
    with pytest.raises(TrafficLogError, match="line 2: token ids need the model's tokenizer"):
        traffic_of(lines, "log")
    with pytest.raises(TokenizerError, match=r"line 2, ids\[0\]: the id 99999 is not in"):
        traffic_of(lines.replace("[1]", "[99999]"), "log", tokenizer=tiny())


def test_a_switch_that_loses_nothing_is_named() -> None:
    played = round_trip(fixture("history-last-query"), shipped_scenarios())
    settings = fixing_settings(played.rows, {Cause.REASONING_DROPPED, Cause.RETOKENIZED})
    assert settings == {Cause.REASONING_DROPPED: {"preserve_thinking": True}}


def test_a_log_has_text_or_ids() -> None:
    tokenizer = tiny("<|a|>", "</s>")
    ids = tokenizer.encode("Hi<|a|>").ids
    lines = [
        {"prompt": "Hi<|a|>", "completion": "Yes", "id": "cmpl-1"},
        {"prompt": ids, "completion": ids},
        {"prompt_token_ids": ids, "token_ids": ids, "conversation": "c"},
    ]
    text = "\n".join(map(json.dumps, lines))
    plain, given, named = traffic_of(text, "log", tokenizer=tokenizer).records
    assert (plain.prompt, plain.completion, plain.prompt_ids) == ("Hi<|a|>", "Yes", None)
    assert given.prompt_ids == named.prompt_ids == tuple(ids)
    assert (given.prompt, named.prompt, named.conversation) == ("Hi<|a|>", "Hi<|a|>", "c")


WRONG = [
    ("", "log: this is empty"),
    ("{", "log: line 1: this is not JSON"),
    ("[]", "log: line 1: "),
    ('{"event": "request.received", "obj": {"text": "x"}}', "log: line 1: there is no completion"),
    ('{"completion": "x"}', "log: line 1: there is no prompt"),
    ('{"prompt": [1], "completion": [2]}', "token ids need the model's tokenizer"),
    ('{"prompt": 1}', "log: line 1.prompt: "),
]


@pytest.mark.parametrize(("text", "words"), WRONG)
def test_what_is_wrong_with_a_log_names_the_line(text: str, words: str) -> None:
    with pytest.raises(TrafficLogError) as caught:
        traffic_of(text, "log")
    assert words in str(caught.value)
