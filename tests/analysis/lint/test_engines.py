from __future__ import annotations

import pytest
from jinja2 import Environment

from autoparser import ChatTemplate
from autoparser.analysis.lint.other_environments import (
    compile_anew,
    loop_control,
    other_environment,
    render_elsewhere,
)
from autoparser.analysis.lint.subject import Subject

PLAIN = "{%- for m in messages %}{{- m.role + ': ' + (m.content or '') }}{%- endfor %}"


@pytest.mark.parametrize(
    ("head", "made", "clock", "differs"),
    [
        ("", other_environment(), True, False),
        ("{{- strftime_now('%Y') }}", other_environment(clock=False), False, True),
        ("{{- '<' | tojson }}", other_environment(tojson=False), True, True),
        ("{{- 'a' | tojson }}", other_environment(tojson=False), True, False),
        ("{% if true %}\na{% endif %}\n", other_environment(trim=False), True, True),
        ("{%- if true -%}\na{%- endif -%}\n", other_environment(trim=False), True, False),
    ],
)
def test_what_differs_elsewhere(head: str, made: Environment, clock: bool, differs: bool) -> None:
    subject = Subject(ChatTemplate(head + PLAIN))
    found = [*render_elsewhere(subject, made, compile_anew(subject, made), clock=clock)]
    assert len(found) == 2
    assert all(each.usual.rendered for each in found)
    assert {each.differs for each in found} == {differs}


def test_generation_tags_without_a_scope() -> None:
    made = other_environment(scoped=False)
    text = "{%- set x = 1 %}{%- generation %}{%- set x = 2 %}{%- endgeneration %}{{- x }}"
    subject = Subject(ChatTemplate(PLAIN + text))
    assert [
        (each.usual.text[-1], each.text[-1])
        for each in render_elsewhere(subject, made, compile_anew(subject, made))
    ] == [("1", "2"), ("1", "2")]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (PLAIN, None),
        ("{# break #}" + PLAIN, None),
        ("\n{%- for m in messages %}{% break %}{% endfor %}" + PLAIN, 2),
        ("{%- for m in messages %}{% continue %}{% endfor %}" + PLAIN, 1),
    ],
)
def test_loop_controls(text: str, line: int | None) -> None:
    assert loop_control(Subject(ChatTemplate(text))) == line
