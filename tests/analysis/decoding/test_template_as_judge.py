"""The template is the judge of an answer: what it rewrites is not clean, and the cause is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.decoding.answer_judge import DecodingTrial, judge_answers
from autoparser.analysis.decoding.check_vocabulary import made_tokenizer
from autoparser.analysis.decoding.message_rendering import (
    AnswerFault,
    AnswerJudgment,
    MessageRendering,
)
from tests.analysis.parsing.loop import analysis_of
from tests.analysis.tiny import CONTENT, JSON_CALL, REASONING, calls, turn

LOOSE: dict[str, Json] = {"type": "object"}
TOOLS: list[object] = [{"name": name, "parameters": LOOSE} for name in ("note", "look")]


def trial(
    template: ChatTemplate,
    *,
    tools: list[object] = TOOLS,
    tool_choice: str = "auto",
    **setting: object,
) -> DecodingTrial:
    """Ask with the prompt that the template renders under a setting."""
    analysis = analyze(template)
    turns = analysis.turns(tools, chat_template_kwargs=setting)
    asked: dict[str, Any] = {"prompt": turns.prompt, "chat_template_kwargs": setting}
    grammar = analysis.grammar(tools, tool_choice=tool_choice, **asked)
    (begun, *_) = analysis.begun(tools, **asked)
    parser = analysis.parser(tools, tool_choice=tool_choice, **asked)
    return DecodingTrial(begun, grammar, parser, made_tokenizer(grammar), turns)


def judgement(of: DecodingTrial, text: str) -> AnswerJudgment:
    return of.judge.judge(text, of.tokenizer.encode(text))


def call(name: str = "note", **arguments: Json) -> str:
    return f'<do>{{"name": "{name}", "arguments": {json.dumps(arguments)}}}</do>'


def calling(written: str = "f.arguments|tojson", *, listed: str = "m.tool_calls") -> ChatTemplate:
    """Return a template whose arguments, or whose list of calls, are written by an expression."""
    one = JSON_CALL.replace("f.arguments|tojson", written)
    shown = calls(f"<do>{one}</do>").replace("c in m.tool_calls", f"c in {listed}")
    return turn(CONTENT, shown, end="<end>\n")


REWRITING = [
    # what the template does, the answer, words of the cause
    (
        "strips a character",
        calling("f.arguments|tojson|replace('^', '')"),
        call(text="2^10"),
        "the template does not write '^' in the argument 'text' of 'note'",
    ),
    (
        "strips a character of content",
        turn("{{ (m.content or '')|replace('^', '') }}", calls(f"<do>{JSON_CALL}</do>")),
        "It is 2^10",
        "the template does not write '^' in the content",
    ),
    (
        "puts a value in upper case",
        calling("f.arguments|tojson|replace('shout', 'SHOUT')"),
        call(text="to shout"),
        "the template writes 'SHOUT' for 'shout' in the argument 'text' of 'note'",
    ),
    (
        "drops a key",
        calling(
            "dict(f.arguments.items()|rejectattr(0, 'equalto', 'secret')|list)|tojson",
        ),
        call(text="a", secret="b"),
        "the template does not write the argument 'secret' of 'note'",
    ),
    (
        "sorts the calls",
        calling(listed="m.tool_calls|sort(attribute='function.name')"),
        call("note") + call("look"),
        "the template writes the calls in another order: look, note",
    ),
    (
        "drops a call",
        calling(listed="m.tool_calls|rejectattr('function.name', 'equalto', 'look')"),
        call("note") + call("look"),
        "the template does not write the call of 'look'",
    ),
]


@pytest.mark.parametrize(
    ("template", "text", "words"),
    [each[1:] for each in REWRITING],
    ids=[each[0] for each in REWRITING],
)
def test_what_a_template_rewrites_is_not_clean(
    template: ChatTemplate, text: str, words: str
) -> None:
    found = judgement(trial(template), text)
    assert [complaint.fault for complaint in found.complaints] == [AnswerFault.RENDERING]
    assert found.complaints[0].detail.startswith(words)
    assert not found.clean


@pytest.mark.parametrize(
    ("template", "text"),
    [
        (REWRITING[0][1], call(text="1024")),
        (REWRITING[1][1], "It is 1024"),
        (REWRITING[2][1], call(text="to whisper")),
        (REWRITING[3][1], call(text="a")),
        (REWRITING[4][1], call("look") + call("note")),
        (REWRITING[5][1], call("note")),
    ],
    ids=[each[0] for each in REWRITING],
)
def test_what_it_leaves_as_it_is_is_clean(template: ChatTemplate, text: str) -> None:
    found = judgement(trial(template), text)
    assert found.clean, (found.complaints, found.difference)


def test_walks_of_a_rewriting_template_are_not_all_clean() -> None:
    text: Json = {"enum": ["a^b", "ab"]}
    said: dict[str, Json] = {**LOOSE, "properties": {"text": text}, "required": ["text"]}
    tools: list[object] = [{"name": "note", "parameters": said}]
    asked = trial(REWRITING[0][1], tools=tools, tool_choice="required")
    report = judge_answers(asked.walks(40, seed=0, limit=2000), asked.judge)
    assert not report.ok
    wrong = [one.answer.text for one in report.each if one.judgement.complaints]
    assert wrong
    assert all("^" in text for text in wrong)
    assert report.examples[AnswerFault.RENDERING].text == wrong[0]
    assert all("^" not in one.answer.text for one in report.each if one.judgement.clean)


SPACED = turn(CONTENT, end="\n<end>\n")
BEGUN = turn(CONTENT, end="<end>\n", prompt="A:Well, ")
CLOSED = turn(REASONING, CONTENT, end="<end>\n", prompt="A:(r)(/r)")
APART = [
    (SPACED, "", MessageRendering.WHITESPACE, "rendered"),
    (calling(), call(text="\u00e9").replace("\\u00e9", "é"), MessageRendering.SAME, ""),
    (calling(), call(price=2.5).replace("2.5", "25e-1"), MessageRendering.SPELLING, "rendered '.5"),
    (calling(), call(price=1).replace("1", "1e999"), MessageRendering.UNWRITTEN, "beyond"),
    (BEGUN, "Hello.", MessageRendering.UNPROMPTED, "no turn goes on from there"),
    (CLOSED, "Hello.", MessageRendering.CLOSED, "the turn has no such block"),
    (CLOSED, "", MessageRendering.CLOSED, "the turn has no such block"),
    (
        turn(CONTENT, end="<end>\n"),
        "\x1f",
        MessageRendering.WHITESPACE,
        "the parser drops the content",
    ),
    (turn(CONTENT, end="<end>\n"), "\x1fa", MessageRendering.SAME, ""),
]


@pytest.mark.parametrize(("template", "text", "rendering", "words"), APART)
def test_what_is_reformed_or_not_asked_is_counted_apart(
    template: ChatTemplate, text: str, rendering: MessageRendering, words: str
) -> None:
    found = judgement(trial(template), text)
    assert (found.complaints, found.rendering) == ((), rendering), found.difference
    assert words in found.difference
    assert found.clean is (rendering in (MessageRendering.SAME, MessageRendering.CLOSED))
    assert found.not_asked is not rendering.asked


CITY: dict[str, Json] = {"type": "object", "properties": {"city": {"type": "integer"}}}
SORTING: list[object] = [{"name": "note", "parameters": {**CITY, "required": ["city"]}}]


@pytest.mark.parametrize(
    ("arguments", "rendering"),
    [
        ("city:1,name:2,zip:3", MessageRendering.CLOSED),
        ("city:1,zip:3,name:2", MessageRendering.SPELLING),
        ("zip:3,city:1", MessageRendering.SPELLING),
        ("city:1,zip:2,zip:3", MessageRendering.SPELLING),
    ],
)
def test_arguments_that_no_schema_names_may_stand_elsewhere_or_twice(
    arguments: str, rendering: MessageRendering
) -> None:
    template = analysis_of("g1-pseudo-json").template
    text = f"<|tool_call>call:note{{{arguments}}}<tool_call|><turn|>\n"
    found = judgement(trial(template, tools=SORTING), text)
    assert (found.complaints, found.rendering) == ((), rendering), found.difference


def test_walks_end_where_made_up_names_may_stand_before_one_that_is_required() -> None:
    template = analysis_of("g1-pseudo-json").template
    asked = trial(template, tools=SORTING, tool_choice="required")
    report = judge_answers(asked.walks(20, seed=0, limit=2000), asked.judge)
    assert AnswerFault.NOT_ENDED not in report.examples


@pytest.mark.parametrize("separator", "\x1c\x1d\x1e\x1f \x85")
def test_what_a_template_strips_is_refused_at_the_edges(separator: str) -> None:
    """Python strips separators of ASCII, which are not whitespace to a regular expression."""
    asked = trial(turn("{{ (m.content or '')|trim }}", end="<end>\n"))
    for text in (f"{separator}a", f"a{separator}", separator):
        assert judgement(asked, text).faults == {AnswerFault.REFUSED}, text
    assert judgement(asked, f"a{separator}a").clean


def test_the_setting_of_the_prompt_is_the_one_that_is_rendered() -> None:
    shown = REASONING.replace("{% if m", "{% if deep and m")
    template = turn(shown, CONTENT, end="<end>\n", prompt="A:{% if deep %}(r){% endif %}")
    text = "Hm.(/r)Yes."
    assert judgement(trial(template, deep=True), text).clean
    refused = judgement(trial(template), "(r)" + text)
    assert not refused.clean
