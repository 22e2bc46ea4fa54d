"""Edits that write something more: every one of a small template, and no other."""

from __future__ import annotations

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.templates.edit_kinds import (
    adding_edits,
    also_compared,
    asking_also,
    jinja_text,
    replaced_value,
)
from autoparser.analysis.templates.template_edits import apply_edits

ADDED = {
    "{{ m.text }}": [
        "{{ m.text or '' }}",
        "{{ m.text if m.text is string else m.text|tojson }}",
    ],
    "{{ a + m['text']|trim }}": [
        "{{ a + (m['text'] or '')|trim }}",
        "{{ a + (m['text'] if m['text'] is string else m['text']|tojson)|trim }}",
        "{{ a + (m['text'] or '') }}",
        "{{ a + m['text']| string }}",
    ],
    "{% if m.calls is defined %}": ["{% if m.calls %}"],
    "{% if m.calls is not none %}": ["{% if m.calls %}"],
    "{% if m.calls is none %}": ["{% if not m.calls %}"],
    "{% if 'calls' in m %}": ["{% if m['calls'] %}"],
    "{% if 'calls' not in m.inner %}": ["{% if not m.inner['calls'] %}"],
    "{{ t.split('/')[-1]|trim }}": [
        "{{ (t.split('/')[-1]|trim if '/' in t else t) }}",
        "{{ (t.split('/')[-1] or '') }}",
        "{{ t.split('/')[-1]| string }}",
    ],
    "{% for c in m.calls %}": [
        "{% for c in (m.calls or []) %}",
        "{% for c in (m.calls if m.calls is string else m.calls|tojson) %}",
    ],
    "{{ t }}": [],
    "{% if m.calls %}": [],
}


@pytest.mark.parametrize(("text", "expected"), ADDED.items())
def test_what_is_added(text: str, expected: list[str]) -> None:
    assert sorted(apply_edits(text, [edit]) for edit in adding_edits(text)) == sorted(expected)


COMPARED = {
    "{% if r == 'a' %}": "{% if r in ['a', 'b'] %}",
    "{% if r != 'a' %}": "{% if r not in ['a', 'b'] %}",
    "{% if r in ['a', 'c'] %}": "{% if r in ['a', 'b', 'c'] %}",
    "{% if r in ('c', 'a') %}": "{% if r in ('c', 'a', 'b') %}",
    "{{ 'a' + r }}": "{{ 'a' + r }}",
}


@pytest.mark.parametrize(("text", "expected"), COMPARED.items())
def test_a_comparison_takes_another_word(text: str, expected: str) -> None:
    assert apply_edits(text, also_compared(text, "a", "b")) == expected


def test_a_field_is_taken_for_another_word() -> None:
    (edit,) = replaced_value("{{ m.role }}", "a", "b")
    assert apply_edits("{{ m.role }}", [edit]) == "{{ ('a' if m.role == 'b' else m.role) }}"


def test_a_condition_asks_for_a_variable_too() -> None:
    text = "{% if a or b %}x{% endif %}"
    assert "{% if (a or b) and v %}x{% endif %}" in {
        apply_edits(text, [edit]) for edit in asking_also(text, "v")
    }


@pytest.mark.parametrize("text", ["it's", 'say "hi"', "a\n\tb\\n", "'\"", ""])
def test_a_text_is_read_back_by_jinja(text: str) -> None:
    written = ChatTemplate(f"{{{{ {jinja_text(text)} }}}}").render(
        [{"role": "user", "content": ""}]
    )
    assert written == text
