"""The conversations that lint renders, and the questions to other programs."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest

from autoparser import AutoparserError, ChatTemplate, load_template
from autoparser.analysis.core.message_shape import ContentForm
from autoparser.analysis.lint import other_renders
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.lint_renders import NOON
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.other_renders import (
    JinjaAnswer,
    JinjaComparison,
    JinjaDifference,
    JinjaQuestion,
    OtherJinja,
    SentConversation,
    ask_jinja,
    compare_matrix,
    comparison_hits,
    installed_jinjas,
)
from autoparser.analysis.lint.registry import find_rule
from autoparser.analysis.lint.subject import Subject
from tests.case_tables import case_tables, load_cases
from tests.lanes import sampled

table = case_tables(__file__, "conversations.yaml")
FIXTURES = Path(__file__).parents[3] / "fixtures"


@pytest.mark.parametrize(
    ("name", "most"),
    sampled([("reasoning-none", 330), ("j1-json-in-tags", 740), ("t1-name-then-json", 490)], 3),
)
def test_lint_of_a_template_stays_below_a_render_limit(name: str, most: int, recorded: Any) -> None:
    renders = recorded(ChatTemplate, "render_prepared")
    lint(Subject(load_template(FIXTURES / "templates" / f"{name}.jinja")))
    assert 0 < len(renders) <= most


# Jinja in other programs.

PLAIN = "{%- for m in messages %}{{- m.role + ': ' + (m.content or '') + '\n' }}{%- endfor %}"
HI: Mapping[str, object] = {"messages": [{"role": "user", "content": "Hi"}], "tools": None}


def question(template: str, count: int = 1, **variables: object) -> JinjaQuestion:
    return JinjaQuestion(template, {}, NOON, [{**HI, **variables}] * count)


@cache
def jinjas() -> Mapping[str, OtherJinja]:
    return {
        installed_jinja.name: installed_jinja
        for installed_jinja in installed_jinjas([sys.executable])
    }


def jinja(name: str) -> OtherJinja:
    if name not in jinjas():
        pytest.skip(f"{name} is not installed")
    return jinjas()[name]


NAMES = ["minijinja", pytest.param("@huggingface/jinja", marks=pytest.mark.slow)]


@pytest.mark.parametrize("name", NAMES)
def test_other_jinjas_render_like_transformers(name: str) -> None:
    parts = {
        PLAIN: "user: Hi\n",
        "{% if true %}\na{% endif %}\nb": "ab",
        "{{ strftime_now('%d.%m.%Y %H:%M') }}": "16.07.2025 12:34",
        "{{ {'a': ['<é>', none]} | tojson }}": '{"a": ["<é>", null]}',
        "{{ x if tools is none }}": "1",
    }
    answers = ask_jinja(jinja(name), question("|".join(parts), x=1))
    assert answers == (JinjaAnswer("|".join(parts.values())),)


FAILING = load_cases(__file__, "conversations.yaml")["failing"]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["minijinja", "@huggingface/jinja"])
@pytest.mark.parametrize("tag", FAILING)
def test_other_jinjas_report_the_failing_line(name: str, tag: str) -> None:
    (answer,) = ask_jinja(jinja(name), question(FAILING[tag]))
    assert answer.error
    assert answer.at is not None
    assert 0 <= answer.at - FAILING[tag].index(tag) < len(tag)


ENDS = {
    "raise SystemExit('enough')": "the process ended with the code 1: enough",
    "import time\ntime.sleep(60)": "it takes more than 0.5 seconds",
}


@pytest.mark.parametrize("end", ENDS)
def test_crashed_or_hanging_jinja_loses_only_open_answers(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(other_renders, "SECONDS", 0.5 if "sleep" in end else 60.0)
    worker = tmp_path / "worker.py"
    worker.write_text(f'print(\'{{"text": "a"}}\', flush=True)\n{end}', "utf-8")
    program = OtherJinja("one", "1", (sys.executable, "-S", str(worker)))
    first, *others = ask_jinja(program, question(PLAIN, 3))
    assert first == JinjaAnswer("a")
    assert others == [JinjaAnswer(error=ENDS[end], was_asked=False)] * 2


def test_unstartable_jinja_is_an_answer_or_an_error() -> None:
    (answer,) = ask_jinja(OtherJinja("one", "1", ("/nowhere/one",)), question(PLAIN))
    assert not answer.was_asked
    assert answer.error.startswith("it cannot be started")
    for python in ("/nowhere/python", "/bin/ls"):
        with pytest.raises(AutoparserError, match="cannot be run"):
            installed_jinjas([python])


def test_conversations_are_rendered_or_counted_as_not_asked() -> None:
    refusing = PLAIN + "{%- if messages | length > 2 %}{{- raise_exception('no') }}{%- endif %}"
    subject = Subject(ChatTemplate(refusing), jinjas=[jinja("minijinja")])
    (found,) = subject.in_other_jinjas
    assert found.alike == found.asked_count > 0
    assert set(found.not_asked) == {"the template raises on them"}
    # The additional conversation contains special characters.
    assert found.asked_count + sum(found.not_asked.values()) == len(subject.matrix) + 1


RAW = "{%- raw %}\nx{% endraw %}\n"
LATE = "{%- for m in messages %}\n{{- m.content }}{{- m.contents }}\n{%- endfor %}"


@table("engine_answers")
def test_engine_rules_report_engine_answers(code: str, text: str, words: str) -> None:
    template = ChatTemplate(text or (FIXTURES / "lint" / code / "fires.jinja").read_text("utf-8"))
    asked = jinja("minijinja")
    (finding,) = lint(Subject(template, jinjas=[asked]), [find_rule(code)]).findings
    (answered,) = finding.hit.engines
    assert answered.startswith(f"{asked.label} {words}")
    (alone,) = lint(Subject(template), [find_rule(code)]).findings
    assert (alone.hit.engines, alone.message) == ((), finding.message)


def test_text_contents_and_special_characters_are_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    # Letters beside the first are lost to the analysis, which then takes lists of parts.
    content = "(m.content | capitalize if m.content is string else m.content[0].text)"
    subject = Subject(ChatTemplate(PLAIN.replace("(m.content or '')", content)))
    assert subject.analysis.shape.user_content is ContentForm.PARTS
    monkeypatch.setattr(
        other_renders, "ask_jinja", lambda _, asked: [JinjaAnswer("no")] * len(asked.conversations)
    )
    other = OtherJinja("one", "1", ())
    played = subject.matrix
    found = compare_matrix(other, subject.rendering, subject.tokens, played, subject.past_renders)
    sent = [difference.conversation for difference in found.differences]
    (asked,) = [message for message in sent if message.words == "a question"]
    messages = cast("list[dict[str, object]]", asked.variables["messages"])
    assert all(isinstance(message["content"], str) for message in messages)
    assert [message.words for message in sent if "🚀" in message.render.text] == [
        "a question with special characters"
    ]


SWITCHED = PLAIN + (
    "{%- if add_generation_prompt %}{{- 'assistant: ' }}"
    "{%- if thinking is defined and thinking %}{{- '<think>' }}{%- endif %}{%- endif %}"
)


def test_difference_names_the_switch_that_explains_it() -> None:
    subject = Subject(ChatTemplate(SWITCHED))
    renders = {conversation.name: conversation.render for conversation in subject.matrix}
    under = "a question with thinking=True"

    def hit(name: str, answer: JinjaAnswer) -> tuple[str, Mapping[str, object], Severity | None]:
        sent = SentConversation(name, {}, renders[name])
        differences = (JinjaDifference(sent, answer, None),)
        compared = JinjaComparison(OtherJinja("one", "1", ()), (), differences, {})
        (found,) = comparison_hits(compared, subject.matrix, failed=bool(answer.error))
        return found.message, found.setting, found.severity

    message, setting, _ = hit("a question", JinjaAnswer(renders[under].text))
    assert message.endswith("as transformers does with thinking=True")
    assert not setting
    assert hit("a question", JinjaAnswer("another"))[0].endswith("such as a question")
    failed = JinjaAnswer(error="no such test")
    assert hit(under, failed)[1:] == ({"thinking": True}, Severity.WARNING)
    assert hit("a question", failed)[1:] == ({}, None)
