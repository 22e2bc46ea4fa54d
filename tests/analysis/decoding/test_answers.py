"""Check the judge of answers: grammar, parser, schemas, renders, and what servers answer."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from autoparser import ChatTemplate, Json, analyze
from autoparser.analysis.core.server_engines import ServerEngine
from autoparser.analysis.decoding.answer_judge import (
    AnswerFault,
    AnswerJudgment,
    DecodedAnswer,
    DecodingTrial,
    judge_answers,
    made_tokenizer,
)
from autoparser.analysis.decoding.answer_writers import (
    CompletionServer,
    ServerError,
    grammar_fields,
    server_answers,
)
from autoparser.analysis.decoding.message_rendering import AnswerRewriter, MessageRendering
from autoparser.analysis.grammar.call_writer import GrammarError
from autoparser.analysis.sources.tokenizer import ModelTokenizer
from tests.analysis.parsing.loop import analysis_of
from tests.analysis.tiny import CONTENT, JSON_CALL, REASONING, calls, turn
from tests.case_tables import case_tables, load_cases

from .running import Start
from .tokenizers_here import small
from .trials import CITIES, TOOLS, trial_of

table = case_tables(__file__, "answers.yaml")
HERMES, XML = "j1-json-in-tags", "a1-function-parameter"
SCHEMA = load_cases(__file__, "answers.yaml")["schema"]
LOOSE: dict[str, Json] = {"type": "object"}
NOTES: list[object] = [{"name": name, "parameters": LOOSE} for name in ("note", "look")]


def trial(
    template: ChatTemplate,
    *,
    tools: list[object] = NOTES,
    tool_choice: str = "auto",
    **setting: object,
) -> DecodingTrial:
    """Ask with the prompt that the template renders under a setting."""
    analysis = analyze(template)
    turns = analysis.turns(tools, chat_template_kwargs=setting)
    asked: dict[str, Any] = {"prompt": turns.prompt, "setting": setting}
    made = trial_of(analysis, tools, tool_choice=tool_choice, **asked)
    # No prompt is given: the template renders it.
    return replace(made, turns=turns, prompt=None)


def judgment(of: DecodingTrial, text: str) -> AnswerJudgment:
    return of.judge.judge(text, of.tokenizer.encode(text))


@table("grammar")
def test_answer_refused_by_the_grammar_is_one_fault(case: dict[str, Any]) -> None:
    found, word = judgment(trial_of(HERMES, **case["options"]), case["text"]), case.get("refused")
    assert found.faults == ({AnswerFault.REFUSED} if word is not None else set())
    assert all((word or "") in complaint.detail for complaint in found.complaints)
    assert found.clean is (word is None)
    assert found.rendering is (MessageRendering.SAME if word is None else None)


def call(**arguments: Json) -> str:
    return f'<do>{{"name": "note", "arguments": {json.dumps(arguments)}}}</do>'


def calling(
    written: str = "f.arguments|tojson",
    listed: str = "m.tool_calls",
    content: str = "m.content or ''",
) -> ChatTemplate:
    """Return a template whose arguments, calls or content are written by expressions."""
    one = JSON_CALL.replace("f.arguments|tojson", written)
    shown = calls(f"<do>{one}</do>").replace("c in m.tool_calls", f"c in {listed}")
    return turn(f"{{{{ {content} }}}}", shown, end="<end>\n")


@table("rewriting")
def test_answer_that_the_template_rewrites_is_not_clean(case: dict[str, Any]) -> None:
    how = {key: case[key] for key in ("written", "listed", "content") if key in case}
    asked = trial(calling(**how))
    found = judgment(asked, case["wrong"])
    assert [complaint.fault for complaint in found.complaints] == [AnswerFault.RENDERING]
    assert found.complaints[0].detail.startswith(case["words"])
    assert not found.clean
    found = judgment(asked, case["right"])
    assert found.clean, (found.complaints, found.difference)


PLAIN = turn(CONTENT, end="<end>\n")
BEGUN = turn(CONTENT, end="<end>\n", prompt="A:Well, ")
CLOSED = turn(REASONING, CONTENT, end="<end>\n", prompt="A:(r)(/r)")


@pytest.mark.parametrize(
    ("template", "text", "rendering", "words"),
    [
        (turn(CONTENT, end="\n<end>\n"), "", MessageRendering.WHITESPACE, "the render"),
        (calling(), '<do>{"name": "note", "arguments": {"t": "é"}}</do>', None, ""),
        (calling(), call(p=2.5).replace("2.5", "25e-1"), MessageRendering.SPELLING, "'.5"),
        (calling(), call(p=1).replace("1", "1e999"), MessageRendering.UNWRITTEN, "out of range"),
        (BEGUN, "Hello.", MessageRendering.UNPROMPTED, "no turn goes on from there"),
        (CLOSED, "Hello.", MessageRendering.CLOSED, "the turn has no such block"),
        (CLOSED, "", MessageRendering.CLOSED, "the turn has no such block"),
        (PLAIN, "\x1f", MessageRendering.WHITESPACE, "the parser drops the content"),
        (PLAIN, "\x1fa", MessageRendering.SAME, ""),
    ],
)
def test_reformed_and_unasked_answers_are_counted_separately(
    template: ChatTemplate, text: str, rendering: MessageRendering | None, words: str
) -> None:
    found = judgment(trial(template), text)
    assert (found.complaints, found.rendering) == ((), rendering or MessageRendering.SAME)
    assert words in found.difference
    assert found.clean is (found.rendering in (MessageRendering.SAME, MessageRendering.CLOSED))
    assert found.not_asked is not (found.rendering is not None and found.rendering.was_asked)


def test_answer_that_repeats_the_prompt_is_a_rendering_fault() -> None:
    (complaint,) = judgment(trial(BEGUN), "Well, hello.").complaints
    assert complaint.fault is AnswerFault.RENDERING


CITY: dict[str, Json] = {"type": "object", "properties": {"city": {"type": "integer"}}}
SORTING: list[object] = [{"name": "note", "parameters": {**CITY, "required": ["city"]}}]


@pytest.mark.slow
def test_undeclared_arguments_may_move_or_repeat() -> None:
    template = analysis_of("g1-pseudo-json").template
    asked = trial(template, tools=SORTING, tool_choice="required")
    for arguments, rendering in (
        ("city:1,name:2,zip:3", MessageRendering.CLOSED),
        ("city:1,zip:3,name:2", MessageRendering.SPELLING),
        ("zip:3,city:1", MessageRendering.SPELLING),
    ):
        found = judgment(asked, f"<|tool_call>call:note{{{arguments}}}<tool_call|><turn|>\n")
        assert (found.complaints, found.rendering) == ((), rendering), found.difference
    # No grammar can refuse a name twice, and the parser does not call it ok.
    text = "<|tool_call>call:note{city:1,zip:2,zip:3}<tool_call|><turn|>\n"
    assert judgment(asked, text).faults == {AnswerFault.NOT_READ}
    report = judge_answers(asked.walks(20, seed=0, limit=2000), asked.judge)
    assert AnswerFault.NOT_ENDED not in report.examples


@pytest.mark.parametrize("separator", ["\x1c", "\x1f", " ", "\x85"])
def test_stripped_edge_whitespace_is_refused(separator: str) -> None:
    """Python strips separators of ASCII, which are not whitespace to a regular expression."""
    asked = trial(turn("{{ (m.content or '')|trim }}", end="<end>\n"))
    for text in (f"{separator}a", f"a{separator}", separator):
        assert judgment(asked, text).faults == {AnswerFault.REFUSED}, text
    assert judgment(asked, f"a{separator}a").clean


def test_answers_are_rendered_with_the_requests_setting() -> None:
    shown = REASONING.replace("{% if m", "{% if deep and m")
    template = turn(shown, CONTENT, end="<end>\n", prompt="A:{% if deep %}(r){% endif %}")
    assert judgment(trial(template, deep=True), "Hm.(/r)Yes.").clean
    assert not judgment(trial(template), "(r)Hm.(/r)Yes.").clean


def test_forgiven_line_breaks_are_a_whitespace_difference() -> None:
    asked = trial_of(HERMES)
    text = '<tool_call>{"name": "get_weather", "arguments": {"city": "Rio", "days": 3}}</tool_call>'
    rewriter = AnswerRewriter(asked.turns, asked.begun_turn.format, asked.parser)
    found = rewriter.compare(text, asked.parser.parse(text))
    assert found.rendering is MessageRendering.WHITESPACE, found.difference


@pytest.mark.slow
def test_answer_read_as_reasoning_is_a_fault_with_its_first_difference() -> None:
    """Nothing opens this reasoning, so that content alone is read as reasoning."""
    (complaint,) = judgment(trial_of("reasoning-delimiter"), "Hello.").complaints
    assert complaint.fault is AnswerFault.RENDERING
    assert (
        complaint.detail
        == "after 'Hello.' the output has '', the render '\\n=== ANSWER ===\\n<|eot|>'"
    )
    assert judgment(trial_of("reasoning-forced-open"), "Hm.\n</muse>\n\nYes.").clean


@pytest.mark.slow
@pytest.mark.parametrize("name", [HERMES, XML, "t7-tag-name-fence", "reasoning-forced-open"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"tool_choice": "required"},
        {"tool_choice": "list_rooms"},
        {"tool_choice": "none"},
        {"parallel": False, "tool_choice": "required"},
        {"tools": []},
        {"tools": [], "json_schema": SCHEMA},
    ],
    ids=str,
)
def test_random_walks_have_no_faults(name: str, options: dict[str, Any]) -> None:
    asked = trial_of(name, **options)
    report = judge_answers(asked.walks(6, seed=0, limit=4000), asked.judge)
    assert report.ok, report.examples
    assert (report.answers, report.wrong, report.faults) == (6, 0, {})
    # Other spellings of numbers, numbers too large for a template, and mere whitespace occur.
    reformed = MessageRendering.SPELLING, MessageRendering.WHITESPACE
    assert set(report.renderings) <= {MessageRendering.SAME, *reformed, MessageRendering.UNWRITTEN}
    assert report.clean == report.renderings[MessageRendering.SAME] > 0
    assert report.reformed == sum(report.renderings.get(text, 0) for text in reformed)
    assert report.not_asked == report.renderings.get(MessageRendering.UNWRITTEN, 0)
    assert report.tokens is not None
    assert report.tokens > 0


def test_seed_gives_the_same_walks_in_any_order() -> None:
    asked = trial_of(HERMES)
    told: list[int] = []
    four = list(asked.walks(4, seed=3, limit=300))
    assert list(asked.walks(2, seed=5, limit=300)) == four[2:]
    assert [answer.name for answer in four] == ["walk 3", "walk 4", "walk 5", "walk 6"]
    assert len({answer.text for answer in four}) > 1
    judge_answers(four, asked.judge, lambda: told.append(1))
    assert len(told) == 4


def test_walk_cut_by_its_limit_is_not_ended() -> None:
    asked = trial_of(XML, tool_choice="required")
    report = judge_answers(asked.walks(3, seed=0, limit=5), asked.judge)
    assert report.faults == {AnswerFault.NOT_ENDED: 3}
    assert not report.ok
    assert report.examples[AnswerFault.NOT_ENDED].detail == "no end after 5 tokens"
    assert not judge_answers([], asked.judge).ok, "no answers prove nothing"
    broken = judge_answers([DecodedAnswer("walk 0", "", broken="no token at all")], asked.judge)
    assert broken.faults == {AnswerFault.REFUSED: 1}
    assert broken.examples[AnswerFault.REFUSED].detail == "no token at all"


TURN = ("<|im_start|>", "<|im_end|>")
INSIDE = ("<think>", "</think>", "<tool_call>", "</tool_call>", "</function>", "</parameter>")


@pytest.mark.parametrize(
    ("tokenizer", "plain", "frame"),
    [
        (None, set(), ()),
        (small(*TURN, *INSIDE), set(), ()),
        (small(*TURN), set(INSIDE), ()),
        (small(TURN[0], *INSIDE), {TURN[1]}, (TURN[1],)),
    ],
)
def test_markers_missing_from_the_vocabulary_are_listed(
    tokenizer: ModelTokenizer | None, plain: set[str], frame: tuple[str, ...]
) -> None:
    asked = trial_of(XML, TOOLS, tokenizer=tokenizer)
    assert (set(asked.fit.plain), asked.fit.frame) == (plain, frame)


def freed(name: str, **options: Any) -> DecodingTrial:
    asked = trial_of(name, CITIES, **options)
    tokenizer = made_tokenizer(asked.grammar, stops=True)
    return replace(asked, tokenizer=tokenizer, free_reasoning=True)


def test_grammar_applies_after_free_reasoning() -> None:
    asked = freed(XML, tool_choice="required")
    encode = asked.tokenizer.encode_marked
    state = asked.compiled.clone()
    assert all(map(state.try_accept, encode("<tool_call> is a tag, </function> is one, too")))
    assert not any(map(state.try_accept, asked.tokenizer.eos_ids))
    assert all(map(state.try_accept, encode("\n</think>\n\n")))
    assert not state.is_accepting()
    assert not state.try_accept(encode("</tool_call>")[0])
    assert all(map(state.try_accept, encode("<tool_call>\n<function=get_weather>\n")))
    with pytest.raises(GrammarError, match="the model is not reasoning at this point"):
        _ = freed("reasoning-none").compiled


@pytest.mark.slow
def test_text_after_free_reasoning_follows_the_template() -> None:
    asked = freed(XML)
    report = judge_answers(asked.walks(8, seed=1, limit=2000), asked.judge)
    assert (report.wrong, report.not_asked) == (0, 0)
    assert report.clean > 0
    assert report.calls > 0
    # The grammar of the whole turn allows no markers in the reasoning; free reasoning allows them.
    bound = replace(asked, free_reasoning=False).judge
    answers = [judged.answer for judged in report.judged_answers]
    assert any(bound.judge(answer.text, answer.tokens).complaints for answer in answers)


NAME = "tools-bare"
PROMPT = "<|header|>user<|/header|>\n\nHow is Rio?"


@pytest.mark.parametrize("engine", list(ServerEngine))
def test_server_with_grammar_returns_only_clean_answers(start: Start, engine: ServerEngine) -> None:
    trial = trial_of(NAME, CITIES, tool_choice="required", markers=False)
    running = start("heed", engine.value)
    server = CompletionServer(
        f"{running.url}/v1", engine, model="tiny" * (engine is ServerEngine.VLLM)
    )
    answers = server_answers(trial, server, PROMPT, count=4, seed=7, limit=3000)
    report = judge_answers(answers, trial.judge)
    assert report.ok, report.examples
    assert (report.answers, report.clean, report.tokens) == (4, 4, 36)
    requests = running.requests
    assert [body["seed"] for body in requests] == [7, 8, 9, 10]
    for body in requests:
        assert body["path"] == "/v1/completions"
        assert (body["prompt"], body["max_tokens"]) == (PROMPT, 3000)
        assert ("model" in body) is (engine is ServerEngine.VLLM)
        assert grammar_fields(engine, trial.grammar).items() <= body.items()


@pytest.mark.parametrize(
    ("mode", "limit", "fault"),
    [("heedless", 3000, AnswerFault.REFUSED), ("heed", 3, AnswerFault.NOT_ENDED)],
)
def test_unconstrained_or_truncated_server_answer_is_a_fault(
    start: Start, mode: str, limit: int, fault: AnswerFault
) -> None:
    trial = trial_of(NAME, CITIES, tool_choice="required", markers=False)
    server = CompletionServer(start(mode, "sglang").url, ServerEngine.SGLANG)
    answers = server_answers(trial, server, PROMPT, count=2, seed=0, limit=limit)
    report = judge_answers(answers, trial.judge)
    assert report.faults == {fault: 2}
    # A server that ignores constraints does not count its tokens either.
    assert (report.tokens is None) is (mode == "heedless")


@table("failing_servers")
def test_failing_server_error_is_one_line(start: Start, mode: str, words: str, advice: str) -> None:
    running = start(mode, "vllm")
    server = CompletionServer(running.url, ServerEngine.VLLM, timeout=0.5)
    with pytest.raises(ServerError) as caught:
        server.complete({"prompt": PROMPT})
    line = str(caught.value)
    assert line.startswith(f"{running.url}: {words}")
    assert advice in line
    assert line.isprintable()


@table("unreachable")
def test_unreachable_server_is_an_error(url: str, words: str) -> None:
    with pytest.raises(ServerError, match=words):
        CompletionServer(url, ServerEngine.VLLM, timeout=5).complete({})
