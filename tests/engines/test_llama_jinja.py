"""llama.cpp's own Jinja, asked through its server, with a model that is blank."""

from __future__ import annotations

import sys

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.lint.linting import LintReport, lint
from autoparser.analysis.lint.other_renders import installed_jinjas
from autoparser.analysis.lint.registry import rules_of
from autoparser.analysis.lint.subject import Subject

pytestmark = pytest.mark.engine

ENDING = "{%- if add_generation_prompt %}{{- '<|assistant|>' }}{% endif %}"
TURNS = (
    "{{- bos_token }}{%- for m in messages %}"
    "{{- '<|' + m.role + '|>' + m.content + eos_token }}{%- endfor %}"
)


def found(template: str) -> LintReport:
    llama = [each for each in installed_jinjas([sys.executable]) if each.name == "llama.cpp"]
    assert llama, "xllamacpp belongs to the extra 'test'"
    tokens = {"bos_token": "<begin>", "eos_token": "<over>"}
    return lint(Subject(ChatTemplate(template, tokens), jinjas=llama), rules_of("AP81"))


@pytest.mark.slow
def test_a_plain_template_is_rendered_alike() -> None:
    assert found(TURNS + ENDING).findings == ()


@pytest.mark.slow
def test_tools_that_are_not_there_are_not_defined() -> None:
    (finding,) = found("{%- if tools is defined %}\n{{- '#' }}{%- endif %}" + TURNS).findings
    assert finding.code == "AP811"
    assert finding.line == 2
    assert " at {{- '#' }} in " in finding.message


def test_what_it_lacks_is_named_with_its_line() -> None:
    (finding,) = found(TURNS + "\n{{- 'abc' | wordwrap(2) }}" + ENDING).findings
    assert finding.code == "AP810"
    assert finding.line == 2
    assert " at {{- 'abc' | wordwrap(2) }} on " in finding.message


@pytest.mark.slow
def test_a_clock_that_runs_is_read_at_the_same_time() -> None:
    assert found("{{- strftime_now('%Y-%m-%d') }}" + TURNS).findings == ()
