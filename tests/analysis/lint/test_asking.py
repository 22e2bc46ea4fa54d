"""Conversations put to other programs: what they answer, and what becomes of those that do not."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

import pytest

from autoparser import ChatTemplate, load_template
from autoparser.analysis.core.errors import AutoparserError
from autoparser.analysis.core.message_shape import ContentForm
from autoparser.analysis.lint import other_jinjas as asking, other_renders as jinja_comparison
from autoparser.analysis.lint.hit import Severity
from autoparser.analysis.lint.lint_renders import NOON
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.other_jinjas import (
    JinjaAnswer,
    JinjaQuestion,
    OtherJinja,
    ask_jinja,
    installed_jinjas,
)
from autoparser.analysis.lint.other_renders import (
    JinjaComparison,
    JinjaDifference,
    SentConversation,
    compare_matrix,
    hits_of,
)
from autoparser.analysis.lint.registry import rule_of
from autoparser.analysis.lint.rule import RuleNeed
from autoparser.analysis.lint.subject import Subject

FIXTURES = Path(__file__).parents[3] / "fixtures" / "lint"
PLAIN = "{%- for m in messages %}{{- m.role + ': ' + (m.content or '') + '\n' }}{%- endfor %}"
HI: Mapping[str, object] = {"messages": [{"role": "user", "content": "Hi"}], "tools": None}


def question(template: str, count: int = 1, **variables: object) -> JinjaQuestion:
    return JinjaQuestion(template, {}, NOON, [{**HI, **variables}] * count)


def program(folder: Path, text: str) -> OtherJinja:
    worker = folder / "worker.py"
    worker.write_text(text, "utf-8")
    return OtherJinja("one", "1", (sys.executable, str(worker)))


@pytest.fixture(scope="module")
def jinjas() -> Mapping[str, OtherJinja]:
    return {each.name: each for each in installed_jinjas([sys.executable])}


def jinja(jinjas: Mapping[str, OtherJinja], name: str) -> OtherJinja:
    if name not in jinjas:
        pytest.skip(f"{name} is not installed")
    return jinjas[name]


@pytest.mark.parametrize("name", ["minijinja", "@huggingface/jinja"])
def test_what_they_render(jinjas: Mapping[str, OtherJinja], name: str) -> None:
    parts = {
        PLAIN: "user: Hi\n",
        "{% if true %}\na{% endif %}\nb": "ab",
        "{{ strftime_now('%d.%m.%Y %H:%M') }}": "16.07.2025 12:34",
        "{{ {'a': ['<é>', none]} | tojson }}": '{"a": ["<é>", null]}',
        "{{ x if tools is none }}": "1",
    }
    answers = ask_jinja(jinja(jinjas, name), question("|".join(parts), x=1))
    assert answers == (JinjaAnswer("|".join(parts.values())),)


@pytest.mark.parametrize("name", ["minijinja", "@huggingface/jinja"])
@pytest.mark.parametrize(
    ("template", "tag"),
    [
        ("é\n{% if messages %}{{ 'a' }}\n{{ 'b' | nowhere }}{% endif %}", "{{ 'b' | nowhere }}"),
        ("é\n{% if messages %}\n{{ raise_exception('no') }}{% endif %}", "{{ raise_exception"),
        ("{{ 'a' }}\n{% nowhere %}\n{{ 'b' }}", "{% nowhere %}"),
    ],
)
def test_where_they_fail(
    jinjas: Mapping[str, OtherJinja], name: str, template: str, tag: str
) -> None:
    (answer,) = ask_jinja(jinja(jinjas, name), question(template))
    assert answer.error
    assert answer.at is not None
    end = template.index(tag) + len(tag)
    assert template.index(tag) <= answer.at < end


def test_a_program_that_ends_costs_what_is_left(tmp_path: Path) -> None:
    ends = program(tmp_path, "print('{\"text\": \"a\"}')\nraise SystemExit('enough')")
    first, *others = ask_jinja(ends, question(PLAIN, 3))
    assert first == JinjaAnswer("a")
    words = "the process ended with the code 1: enough"
    assert others == [JinjaAnswer(error=words, asked=False)] * 2


def test_a_program_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "SECONDS", 0.5)
    text = 'print(\'{"text": "a"}\', flush=True)\nimport time\ntime.sleep(60)'
    first, second = ask_jinja(program(tmp_path, text), question(PLAIN, 2))
    assert first == JinjaAnswer("a")
    assert second == JinjaAnswer(error="it takes more than 0.5 seconds", asked=False)


def test_a_program_that_cannot_be_started() -> None:
    (answer,) = ask_jinja(OtherJinja("one", "1", ("/nowhere/one",)), question(PLAIN))
    assert not answer.asked
    assert answer.error.startswith("it cannot be started")


@pytest.mark.parametrize("python", ["/nowhere/python", "/bin/ls"])
def test_what_is_no_python_is_an_error(python: str) -> None:
    with pytest.raises(AutoparserError, match="cannot be run"):
        installed_jinjas([python])


def test_every_conversation_is_asked_or_counted(jinjas: Mapping[str, OtherJinja]) -> None:
    refusing = PLAIN + "{%- if messages | length > 2 %}{{- raise_exception('no') }}{%- endif %}"
    subject = Subject(ChatTemplate(refusing), jinjas=[jinja(jinjas, "minijinja")])
    (found,) = subject.in_other_jinjas
    assert found.alike == found.asked > 0
    assert set(found.not_asked) == {"the template refuses them"}
    # One more has signs in it.
    assert found.asked + sum(found.not_asked.values()) == len(subject.matrix) + 1


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("AP802", "renders it as it is meant"),
        ("AP804", "fails: UnknownMethod: sequence has no method named append in 8 of 8"),
        ("AP806", "fails: InvalidOperation: cannot calculate length of value of type none"),
    ],
)
def test_rules_of_other_environments_say_what_engines_answered(
    jinjas: Mapping[str, OtherJinja], code: str, said: str
) -> None:
    asked = jinja(jinjas, "minijinja")
    template = load_template(FIXTURES / code / "fires.jinja")
    (finding,) = lint(Subject(template, jinjas=[asked]), [rule_of(code)]).findings
    (words,) = finding.hit.engines
    assert words.startswith(f"{asked.label} {said}")
    (alone,) = lint(Subject(template), [rule_of(code)]).findings
    assert alone.hit.engines == ()
    assert alone.message == finding.message


def test_contents_are_sent_as_texts_and_with_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    # Letters beside the first are lost to the analysis, which then takes lists of parts.
    content = "(m.content | capitalize if m.content is string else m.content[0].text)"
    subject = Subject(ChatTemplate(PLAIN.replace("(m.content or '')", content)))
    played = subject.matrix
    assert subject.analysis.shape.user_content is ContentForm.PARTS

    def answers(_: OtherJinja, asked: JinjaQuestion) -> Sequence[JinjaAnswer]:
        return [JinjaAnswer("no")] * len(asked.conversations)

    monkeypatch.setattr(jinja_comparison, "ask_jinja", answers)
    other = OtherJinja("one", "1", ())
    found = compare_matrix(other, subject.rendering, subject.tokens, played, subject.asked)
    sent = [each.sent for each in found.differences]
    (question,) = [each for each in sent if each.words == "a question"]
    messages = cast("list[dict[str, object]]", question.variables["messages"])
    assert all(isinstance(each["content"], str) for each in messages)
    assert [each.words for each in sent if "🚀" in each.render.text] == ["a question with signs"]


def test_what_lacks_beside_installed_jinjas_is_the_analysis(
    jinjas: Mapping[str, OtherJinja],
) -> None:
    for installed, need in (((), RuleNeed.OTHER_JINJAS), ((*jinjas.values(),), RuleNeed.ANALYSIS)):
        if not installed and need is RuleNeed.ANALYSIS:
            pytest.skip("no other Jinja is installed")
        subject = Subject(ChatTemplate("{{ 7 }}"), jinjas=installed)
        report = lint(subject, [rule_of("AP811")])
        assert [each for _, each in report.left_out] == [need]


def test_a_line_that_no_alike_conversation_runs_is_not_said_to_work(
    jinjas: Mapping[str, OtherJinja],
) -> None:
    raw = "{%- raw %}\nx{% endraw %}\n"
    late = "{%- for m in messages %}\n{{- m.content }}{{- m.contents }}\n{%- endfor %}"
    subject = Subject(ChatTemplate(raw + late), jinjas=[jinja(jinjas, "minijinja")])
    (finding,) = lint(subject, [rule_of("AP805")]).findings
    (words,) = finding.hit.engines
    assert words.endswith("renders no conversation with it that would tell")


SWITCHED = PLAIN + (
    "{%- if add_generation_prompt %}{{- 'assistant: ' }}"
    "{%- if thinking is defined and thinking %}{{- '<think>' }}{%- endif %}{%- endif %}"
)


def difference(subject: Subject, name: str, answer: JinjaAnswer) -> JinjaComparison:
    """Have a program answer one conversation of the matrix, and all others alike."""
    (played,) = (each for each in subject.matrix if each.name == name)
    sent = SentConversation(name, {}, played.render)
    other = OtherJinja("one", "1", ())
    return JinjaComparison(other, (), (JinjaDifference(sent, answer, None),), {})


def test_a_text_that_a_switch_makes_is_called_that() -> None:
    subject = Subject(ChatTemplate(SWITCHED))
    (set_so,) = (each for each in subject.matrix if each.name == "a question with thinking=True")
    compared = difference(subject, "a question", JinjaAnswer(set_so.render.text))
    (hit,) = hits_of(compared, subject.matrix, failed=False)
    assert hit.message.endswith("as the template itself does with thinking=True")
    assert not hit.setting
    compared = difference(subject, "a question", JinjaAnswer("another"))
    (hit,) = hits_of(compared, subject.matrix, failed=False)
    assert hit.message.endswith("such as a question")


def test_what_fails_under_a_switch_alone_names_it_and_weighs_less() -> None:
    subject = Subject(ChatTemplate(SWITCHED))
    failed = JinjaAnswer(error="no such test")
    (hit,) = hits_of(
        difference(subject, "a question with thinking=True", failed), subject.matrix, failed=True
    )
    assert (hit.setting, hit.severity) == ({"thinking": True}, Severity.WARNING)
    (hit,) = hits_of(difference(subject, "a question", failed), subject.matrix, failed=True)
    assert (hit.setting, hit.severity) == ({}, None)
