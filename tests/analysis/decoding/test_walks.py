"""Walks under the mask are clean, whatever the template, the request and the tokenizer."""

from __future__ import annotations

from typing import Any

import pytest

from autoparser.analysis.decoding.answer_judge import DecodedAnswer, judge_answers
from autoparser.analysis.decoding.check_vocabulary import made_tokenizer
from autoparser.analysis.decoding.message_rendering import AnswerFault, MessageRendering
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from tests.analysis.decoding.tokenizers_here import deepseek, qwen, small

from .trials import TOOLS, analysis_of, trial_of

pytestmark = pytest.mark.slow

JSON = "j1-json-in-tags"
TAGS = "a1-function-parameter"
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}

REQUESTS: list[tuple[str, dict[str, Any]]] = [
    ("auto", {}),
    ("required", {"tool_choice": "required"}),
    ("one tool", {"tool_choice": "list_rooms"}),
    ("none", {"tool_choice": "none"}),
    ("one call", {"parallel": False, "tool_choice": "required"}),
    ("no tools", {"tools": []}),
    ("content by a schema", {"tools": [], "json_schema": SCHEMA}),
]


@pytest.mark.parametrize("name", [JSON, TAGS, "t7-tag-name-fence", "reasoning-forced-open"])
@pytest.mark.parametrize(("request_", "options"), REQUESTS, ids=[name for name, _ in REQUESTS])
def test_walks_are_clean(name: str, request_: str, options: dict[str, Any]) -> None:
    del request_
    trial = trial_of(name, **options)
    report = judge_answers(trial.walks(12, seed=0, limit=4000), trial.judge)
    assert report.ok, report.examples
    assert (report.answers, report.wrong, report.faults) == (12, 0, {})
    assert sum(report.renderings.values()) == 12
    # Numbers may be spelled otherwise, or be beyond what a template can be given, and a text may be
    # whitespace alone.
    reformed = MessageRendering.SPELLING, MessageRendering.WHITESPACE
    assert set(report.renderings) <= {MessageRendering.SAME, *reformed, MessageRendering.UNWRITTEN}
    assert report.clean == report.renderings[MessageRendering.SAME] > 0
    assert report.reformed == sum(report.renderings.get(each, 0) for each in reformed)
    blank = [one for one in report.each if one.judgement.rendering is MessageRendering.WHITESPACE]
    assert all("is whitespace alone" in one.judgement.difference for one in blank)
    assert report.not_asked == report.renderings.get(MessageRendering.UNWRITTEN, 0)
    assert report.tokens is not None
    assert report.tokens > 0


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", [qwen, deepseek], ids=["qwen", "deepseek"])
def test_walks_with_a_real_vocabulary(tokenizer: Any) -> None:
    trial = trial_of(TAGS, tokenizer=tokenizer())
    report = judge_answers(trial.walks(6, seed=0, limit=4000), trial.judge)
    assert report.ok, report.examples


def test_a_seed_gives_the_same_walks_wherever_it_stands() -> None:
    trial = trial_of(JSON)
    four = list(trial.walks(4, seed=3, limit=2000))
    assert list(trial.walks(2, seed=5, limit=2000)) == four[2:]
    assert [answer.name for answer in four] == ["walk 3", "walk 4", "walk 5", "walk 6"]
    assert len({answer.text for answer in four}) > 1


def test_what_the_limit_cuts_did_not_end() -> None:
    trial = trial_of(TAGS, tool_choice="required")
    report = judge_answers(trial.walks(3, seed=0, limit=5), trial.judge)
    assert report.faults == {AnswerFault.NOT_ENDED: 3}
    assert not report.ok
    assert report.examples[AnswerFault.NOT_ENDED].detail == "5 tokens, and no end"


def test_progress_is_told_behind_each_answer() -> None:
    trial = trial_of(JSON)
    told: list[int] = []
    judge_answers(trial.walks(3, seed=0, limit=2000), trial.judge, lambda: told.append(1))
    assert len(told) == 3


WEATHER = '{"name": "get_weather", "arguments": {"city": "Rio", "days": 3}}'
ROOMS = '{"name": "list_rooms", "arguments": {}}'


def call(*calls: str) -> str:
    return "\n".join(f"<tool_call>\n{each}\n</tool_call>" for each in calls)


JUDGED = [
    # options, answer, fault, a word of the detail
    ({}, "Hello.", None, ""),
    ({}, call(WEATHER, ROOMS), None, ""),
    ({}, f"{call(WEATHER)}<|im_end|>\n", None, ""),
    ({}, call(WEATHER).replace("3", '"3"'), AnswerFault.REFUSED, "after"),
    ({}, call(WEATHER).removesuffix("</tool_call>"), AnswerFault.REFUSED, "may not end"),
    ({"tool_choice": "required"}, "Hello.", AnswerFault.REFUSED, "may not end"),
    ({"parallel": False}, call(WEATHER, ROOMS), AnswerFault.REFUSED, "after"),
    ({"tool_choice": "none"}, call(WEATHER), AnswerFault.REFUSED, ""),
    ({"tools": [], "json_schema": SCHEMA}, '{"answer": "no"}', None, ""),
    ({"tools": [], "json_schema": SCHEMA}, '{"answer": "maybe"}', AnswerFault.REFUSED, "m"),
]


@pytest.mark.parametrize(("options", "text", "fault", "word"), JUDGED)
def test_the_grammar_is_asked_first(
    options: dict[str, Any], text: str, fault: AnswerFault | None, word: str
) -> None:
    trial = trial_of(JSON, **options)
    judgement = trial.judge.judge(text, trial.tokenizer.encode(text))
    assert [complaint.fault for complaint in judgement.complaints] == [fault] * (fault is not None)
    assert all(word in complaint.detail for complaint in judgement.complaints)
    assert judgement.clean is (fault is None)
    assert judgement.rendering is (MessageRendering.SAME if fault is None else None)


def test_an_answer_that_broke_its_grammar_is_refused() -> None:
    trial = trial_of(JSON)
    report = judge_answers([DecodedAnswer("walk 0", "", broken="no token at all")], trial.judge)
    assert report.faults == {AnswerFault.REFUSED: 1}
    assert report.examples[AnswerFault.REFUSED].detail == "no token at all"


def test_no_answers_prove_nothing() -> None:
    assert not judge_answers([], trial_of(JSON).judge).ok


def test_a_made_tokenizer_has_every_marker() -> None:
    for name in (JSON, TAGS, "novel-notation", "multibyte-markers"):
        grammar = analysis_of(name).grammar(TOOLS)
        made = made_tokenizer(grammar)
        assert set(grammar.preserved_tokens) <= {token.text for token in made.added}
        assert trial_of(name).fit.plain == ()


TURN = ("<|im_start|>", "<|im_end|>")
INSIDE = ("<think>", "</think>", "<tool_call>", "</tool_call>", "</function>")
FITS: list[tuple[ModelTokenizer, set[str], tuple[str, ...]]] = [
    (small(*TURN, *INSIDE), set(), ()),
    (small(*TURN), set(INSIDE), ()),
    (small(TURN[0], *INSIDE), {TURN[1]}, (TURN[1],)),
]


@pytest.mark.parametrize(("tokenizer", "plain", "frame"), FITS)
def test_markers_that_are_no_tokens_are_named(
    tokenizer: ModelTokenizer, plain: set[str], frame: tuple[str, ...]
) -> None:
    fit = trial_of(TAGS, tokenizer=tokenizer).fit
    assert set(fit.plain) == plain
    assert fit.frame == frame


@pytest.mark.slow
def test_a_real_vocabulary_fits_its_own_template_alone() -> None:
    assert trial_of(TAGS, tokenizer=qwen()).fit.frame == ()
    assert "<|im_end|>" in trial_of(TAGS, tokenizer=deepseek()).fit.frame
