"""A finding that holds under a switch alone names it; one that always holds names none."""

from __future__ import annotations

import pytest

from autoparser.analysis.lint.linting import LintFinding, lint
from autoparser.analysis.lint.registry import rule_of
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.chat_template import ChatTemplate

HEADERS = """{%- for message in messages %}
    {{- '<|' + message.role + '|>' + message.content + '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {%- if quick is defined and quick %}{{- '<|fast|>' }}
    {%- else %}{{- '<|assistant|>' }}{%- endif %}
{%- endif %}"""

BRIEF = """{%- for message in messages %}
    {%- if not (message.role == 'system' and brief is defined and brief) %}
        {{- '<|' + message.role + '|>' + message.content + '<|end|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %}"""

STRICT = """{%- if strict is defined and not strict %}{{- strict.words.first }}{% endif %}
{%- for message in messages %}
    {{- '<|' + message.role + '|>' + message.content + '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt and strict is not defined %}<|assistant|>
{%- elif add_generation_prompt %}<|assistant|>!{% endif %}"""

THINKS = """{%- set thinks = think is defined and think %}
{%- for message in messages %}
    {{- '<|' + message.role + '|>' }}
    {%- if thinks and message.reasoning_content %}
        {{- '<thought>' + message.reasoning_content | trim + '</thought>' }}
    {%- endif %}
    {{- message.content | trim + '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{% if thinks %}<thought>{% endif %}{% endif %}"""
"""It writes reasoning under a switch alone, which is how its format is seen."""

ALWAYS = HEADERS.replace("'<|assistant|>'", "'<|bot|>'")


def found(code: str, text: str) -> list[LintFinding]:
    return [*lint(Subject(ChatTemplate(text)), [rule_of(code)]).findings]


@pytest.mark.parametrize(
    ("code", "text", "setting"),
    [
        ("AP206", HEADERS, {"quick": True}),
        ("AP317", BRIEF, {"brief": True}),
        ("AP206", ALWAYS, {}),
        ("AP410", STRICT, {"strict": False}),
        ("AP404", THINKS, {"think": True}),
        ("AP301", THINKS, {}),
    ],
)
def test_a_finding_names_the_switch_without_which_it_does_not_hold(
    code: str, text: str, setting: dict[str, bool]
) -> None:
    (finding,) = found(code, text)
    assert finding.hit.setting == setting
    words = ", ".join(f"{name}={value}" for name, value in setting.items())
    assert finding.message.endswith(f"(only with {words})") == bool(setting)
