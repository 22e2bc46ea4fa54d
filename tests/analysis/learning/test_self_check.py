"""Check the self-check, requests in OpenAI's form, and evidence in plain words."""

from __future__ import annotations

import string
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace

from autoparser import Analysis, ChatTemplate, Message, ToolCall, TurnFormat, analyze, isolated
from autoparser.analysis.core.call_format import CallLimit
from autoparser.analysis.core.conversation import UserMessage
from autoparser.analysis.core.json_types import JsonType, json_type
from autoparser.analysis.core.message_battery import battery_messages, battery_tools
from autoparser.analysis.core.verdicts import AskedForm, Check
from autoparser.analysis.learning.plain_words import PlainWords, sentinel_sentence
from autoparser.analysis.learning.prober import Prober, choose_sentinels
from autoparser.analysis.learning.self_check import self_check
from autoparser.analysis.learning.template_turns import lost_text
from autoparser.analysis.lint.lint_renders import compare_renders
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.registry import find_rule
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.sandbox_kind import SandboxKind
from autoparser.formats import Presence
from autoparser.reports.summary import wants_words
from autoparser.reports.verdict import wanted_words
from tests.analysis.tiny import CONTENT, JSON_CALL, REASONING, calls, turn
from tests.case_tables import case_tables
from tests.lanes import sampled

table = case_tables(__file__, "usual_form.yaml")
TEMPLATE = turn(REASONING, CONTENT, calls(JSON_CALL, opening="[", separator=", ", close="]"))
TAGS = {"opening": "<calls>", "close": "</calls>"}
APPENDED = calls("{% set _ = seen.append(c.id) %}" + JSON_CALL, **TAGS)


def checked(template: ChatTemplate, analysis: Analysis, format_: TurnFormat) -> Check:
    """Check a format against a template, in the shape that an analysis found."""
    tools, shape = battery_tools(), analysis.shape
    marks = choose_sentinels(template.text)
    return self_check(format_, Prober(template, marks, tokens={}, tools=tools, shape=shape))


CALLS_CHANGED: list[tuple[dict[str, Any], str]] = [
    ({"separator": ","}, "2 calls"),
    ({"section_close": ""}, "1 call"),
    ({"limit": CallLimit.FIRST}, "2 calls"),
    ({"limit": CallLimit.REFUSED}, "2 calls"),
    ({"later_close": "!"}, "2 calls"),
]
TURNS_CHANGED: list[tuple[dict[str, Any], str]] = [
    ({"literals": ("A: ", ".\n")}, "content"),
    ({"refusal": "no"}, "an empty message"),
]


@pytest.mark.parametrize(("changes", "title"), [*CALLS_CHANGED, *TURNS_CHANGED, ({}, "null")])
def test_wrong_format_fails_the_self_check(changes: dict[str, Any], title: str) -> None:
    analysis = analyze(TEMPLATE)
    wrong, calls_format = analysis.format, analysis.format.calls
    assert calls_format is not None
    if (changes, title) in CALLS_CHANGED:
        wrong = replace(wrong, calls=replace(calls_format, **changes))
    elif changes:
        presence = Presence(content="literals" in changes)
        layout = replace(wrong.layouts[presence], **changes)
        wrong = replace(wrong, layouts={**wrong.layouts, presence: layout})
    else:
        arguments = replace(calls_format.arguments, refused=frozenset({JsonType.NULL}))
        wrong = replace(wrong, calls=replace(calls_format, arguments=arguments))
    check = checked(TEMPLATE, analysis, wrong)
    assert not check.ok
    assert any(failure.title.endswith(title) for failure in check.failures)
    assert check.passed + len(check.failures) == check.total
    smallest = check.smallest
    assert smallest is not None
    assert smallest.written != smallest.rendered
    assert smallest.rank == min(failure.rank for failure in check.failures)
    assert smallest.reason


# transformers' sandbox, and templates that it alone forbids.


def appending() -> ChatTemplate:
    return ChatTemplate("{% set seen = [] %}\n" + turn(CONTENT, APPENDED).text, origin="a.jinja")


@pytest.mark.parametrize("isolate", sampled([False, True], 2))
def test_sandbox_error_is_reported_and_fails_the_check(isolate: bool) -> None:
    analysis = analyze(appending(), isolate=isolate)
    check, plain = analysis.check, analyze(turn(CONTENT, calls(**TAGS)))
    assert analysis.format.calls == plain.format.calls
    assert analysis.format.layouts == plain.format.layouts
    assert not check.ok
    assert check.passed == check.equal == check.total - check.crashed
    assert check.forbidden is not None
    assert check.forbidden.line == 3
    assert "append" in check.forbidden.reason
    assert (check.freed, check.different) == (check.crashed, ())
    assert analysis.template.sandbox is SandboxKind.IMMUTABLE
    assert analysis.rendering.sandbox is SandboxKind.MUTABLE
    if isolate:
        assert type(analysis.rendering) is type(isolated(appending()))
    text = 'Look<calls>{"name": "f", "arguments": {"a": 1}}</calls>'
    assert analysis.parser().parse(text) == plain.parser().parse(text)


def test_battery_covers_every_part_type_and_punctuation_sign() -> None:
    cases = battery_messages()
    assert len(cases) >= 40
    assert len({case.title for case in cases}) == len(cases)
    assert len({case.message.presence for case in cases}) == 8
    assert {len(case.message.calls) for case in cases} == {0, 1, 2, 3}
    made = [call for case in cases for call in case.message.calls]
    values = [value for call in made for value in call.arguments.values()]
    assert {json_type(value) for value in values} == {*JsonType}
    texts = [value for value in values if isinstance(value, str)]
    for written in (texts, [case.message.content for case in cases]):
        assert any({*string.punctuation} <= {*text} for text in written)
    offered: Any = {tool["name"]: tool["parameters"] for tool in battery_tools()}
    assert all(call.arguments.keys() <= offered[call.name]["properties"].keys() for call in made)


FIXTURES = Path(__file__).parents[3] / "fixtures"
TEMPLATES: Mapping[str, Any] = yaml.safe_load((FIXTURES / "usual_form.yaml").read_text("utf-8"))


def analysis_of(name: str) -> Analysis:
    return analyze(ChatTemplate(TEMPLATES[name]["template"]))


@pytest.mark.slow
@pytest.mark.parametrize("name", TEMPLATES)
def test_lint_reports_openai_form_only_if_it_loses_text(name: str) -> None:
    expected = TEMPLATES[name]
    analysis = analysis_of(name)
    form = analysis.spoiled
    assert (form and form.usual) == expected.get("spoiled")
    found = lint(Subject(ChatTemplate(expected["template"])))
    # A refusal is another rule's finding, which this one may see, too.
    codes = {
        code
        for finding in found.findings
        for code in (finding.code, *(finding.also if form else ()))
    }
    assert (expected.get("lint", "AP121") in codes) is (form is not None)
    if form is None:
        assert analysis.ok
        assert wants_words(analysis) == ([expected["wants"]] if "wants" in expected else [])
        return
    assert form.fault is not None
    assert form.fault.usual != form.fault.wanted
    assert analysis.check.passed == analysis.check.total
    assert not analysis.check.ok


CALL = ToolCall("get_forecast", {"city": "Oslo", "days": 3, "wet": True}, "k1")


@case_tables(__file__, "usual_form.yaml")("lost")
def test_lost_text_ignores_the_notation_of_arguments(case: dict[str, str]) -> None:
    dialogue = (UserMessage("Hi"), Message(calls=(CALL,)))
    wanted = 'get_forecast k1 {"city": "Oslo", "days": 3, "wet": true}'
    found = lost_text(dialogue, (), f"<u>Hi {case['usual']}", f"<u>Hi {wanted}")
    assert ("" if found is None else found.text) == case["lost"]


@table("outcomes")
def test_outcome_of_most_conversations_is_reported(raised: int, unread: int, words: str) -> None:
    form = AskedForm("a field", "a part", 10, raised=raised, unread=unread)
    assert wanted_words(form) == words
    assert form.ok


LINTED = Path(__file__).parents[3] / "fixtures" / "lint"
MARKS = choose_sentinels("")
WORDS = PlainWords("")
COUNTED = ChatTemplate(
    "{% for m in messages %}{{ m.content }}|{{ m.content | length }}\n{% endfor %}"
)


def test_plain_words_sort_like_their_sentinels() -> None:
    keys = [*MARKS.keys, *MARKS.typed_keys.values()]
    for words in (keys, MARKS.names, MARKS.values):
        assert [*map(WORDS.text, sorted(words))] == sorted(map(WORDS.text, words))


def test_sentinels_map_to_distinct_plain_words() -> None:
    words = {*MARKS.words()}
    assert all(WORDS.text(word) != word for word in words)
    assert len({*map(WORDS.text, words)}) == len(words)


def test_whole_sentinels_become_plain_words() -> None:
    word = MARKS.content
    assert WORDS.text(f"<a>{sentinel_sentence(word)}</a>") == "<a>Let me look.</a>"
    assert WORDS.text(sentinel_sentence(word).upper()) == "LET ME LOOK."
    assert WORDS.text(word.upper()) == "LET ME LOOK."
    assert WORDS.text(word[:-1]) == word[:-1]
    assert WORDS.value({"n": [MARKS.integer, True, None]}) == {"n": [3, True, None]}


@pytest.mark.parametrize(
    ("template", "said"),
    [(turn(CONTENT), "What is the weather in Rio?"), (COUNTED, MARKS.user)],
    ids=["written whole", "counted"],
)
def test_equal_render_is_shown_in_plain_words(template: ChatTemplate, said: str) -> None:
    subject = Subject(template)
    one, other = subject.play(subject.chat[:1]), subject.play(subject.chat)
    shown = compare_renders(one, "one", other, "other").one
    assert said in shown.text
    assert shown.messages == ({"role": "user", "content": said},)
    assert shown.label == ("one" if said != MARKS.user else "one, in invented words")
    assert [line for _, line in shown.origins] == [line for _, line in one.origins] != []


@pytest.mark.parametrize("code", ["AP120", "AP306", "AP601", "AP702", "AP703", "AP706", "AP802"])
def test_findings_show_and_quote_plain_words(code: str) -> None:
    text = (LINTED / code / "fires.jinja").read_text("utf-8")
    (found,) = lint(Subject(ChatTemplate(text)), [find_rule(code)]).findings
    words = PlainWords(text)
    shown = repr((found.message, found.evidence))
    assert words.text(shown) == shown
    assert found.evidence


def test_phase_evidence_is_shown_in_plain_words() -> None:
    analysis = analyze(turn(CONTENT))
    shown = [
        evidence for finding in analysis.phases for evidence in analysis.shown_evidence(finding)
    ]
    assert any("What is the weather in Rio?" in text.left.text for text in shown)
    assert not any(MARKS.user in repr(text) for text in shown)
    counted = analyze(COUNTED)
    labels = [e.difference for phase in counted.phases for e in counted.shown_evidence(phase)]
    assert labels
    assert all(label.endswith("in invented words") for label in labels)
