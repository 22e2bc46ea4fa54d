"""Answers whose reasoning is free: what follows it is held to the grammar, by the template."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoparser.analysis.decoding.answer_judge import DecodingTrial, judge_answers
from autoparser.analysis.decoding.check_vocabulary import made_tokenizer
from autoparser.analysis.grammar.call_writer import GrammarError

from .trials import CITIES, trial_of

OPEN = "a1-function-parameter"
"""Its prompt opens the reasoning."""


def freed(name: str, **options: str) -> DecodingTrial:
    trial = trial_of(name, CITIES, **options)  # type: ignore[arg-type]
    tokenizer = made_tokenizer(trial.grammar, stops=True)
    return replace(trial, tokenizer=tokenizer, free_reasoning=True)


def test_what_follows_free_reasoning_is_as_the_template_writes_it() -> None:
    trial = freed(OPEN)
    report = judge_answers(trial.walks(8, seed=1, limit=2000), trial.judge)
    assert (report.wrong, report.not_asked) == (0, 0)
    assert report.clean > 0
    assert report.calls > 0
    bound = replace(trial, free_reasoning=False)
    refused = [
        one
        for one in report.each
        if bound.judge.judge(one.answer.text, one.answer.tokens).complaints
    ]
    # The grammar of the whole turn does not let markers into the reasoning: free is more.
    assert refused


def test_after_the_reasoning_the_grammar_holds() -> None:
    trial = freed(OPEN, tool_choice="required")
    encode = trial.tokenizer.encode_marked
    state = trial.compiled.clone()
    assert all(map(state.try_accept, encode("<tool_call> is a tag, </function> is one, too")))
    assert not any(map(state.try_accept, trial.tokenizer.eos_ids))
    assert all(map(state.try_accept, encode("\n</think>\n\n")))
    assert not state.is_accepting()
    assert not state.try_accept(encode("</tool_call>")[0])
    assert all(map(state.try_accept, encode("<tool_call>\n<function=get_weather>\n")))


def test_a_prompt_that_opens_no_reasoning_leaves_none_free() -> None:
    with pytest.raises(GrammarError, match="the model is not in its reasoning there"):
        _ = freed("content-plain").compiled
