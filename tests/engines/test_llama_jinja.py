"""Compare renders of llama.cpp's own Jinja, through its server with an empty model."""

from __future__ import annotations

import sys

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.other_renders import installed_jinjas
from autoparser.analysis.lint.registry import rules_of
from autoparser.analysis.lint.subject import Subject

pytestmark = pytest.mark.engine

ENDING = "{%- if add_generation_prompt %}{{- '<|assistant|>' }}{% endif %}"
TURNS = (
    "{{- bos_token }}{%- for m in messages %}"
    "{{- '<|' + m.role + '|>' + m.content + eos_token }}{%- endfor %}"
)


TOOLS = "{%- if tools is defined %}\n{{- '#' }}{%- endif %}"
CLOCK = "{{- strftime_now('%Y-%m-%d') }}"


@pytest.mark.parametrize(
    ("template", "code", "place"),
    [
        # The finding names the line with the missing feature.
        (TURNS + "\n{{- 'abc' | wordwrap(2) }}" + ENDING, "AP810", "{{- 'abc' | wordwrap(2) }} on"),
        # In llama.cpp, tools that are not passed are undefined.
        pytest.param(TOOLS + TURNS, "AP811", "{{- '#' }} in", marks=pytest.mark.slow),
        # Both renders use the same time, even while the clock runs.
        pytest.param(CLOCK + TURNS + ENDING, "", "", marks=pytest.mark.slow),
    ],
)
def test_different_llama_render_is_a_finding(template: str, code: str, place: str) -> None:
    llama = [jinja for jinja in installed_jinjas([sys.executable]) if jinja.name == "llama.cpp"]
    assert llama, "xllamacpp belongs to the extra 'test'"
    tokens = {"bos_token": "<begin>", "eos_token": "<over>"}
    found = lint(Subject(ChatTemplate(template, tokens), jinjas=llama), rules_of("AP81")).findings
    assert [(finding.code, finding.line) for finding in found] == ([(code, 2)] if code else [])
    assert all(f" at {place} " in finding.message for finding in found)
