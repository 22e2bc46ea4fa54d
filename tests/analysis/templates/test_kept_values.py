"""What a loop sets, kept: the edited template writes what its author may have meant."""

from __future__ import annotations

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.templates.edit_kinds import kept_values
from autoparser.analysis.templates.template_edits import apply_edits

KEPT = [
    # The last pass that sets it says what it is.
    ("{% for m in messages %}{% set x = m.role %}{% endfor %}{{ x }}", "assistant"),
    (
        "{% set x = 'a' %}{% for m in messages %}{% if m.role == 'user' %}{% set x = 'b' %}"
        "{% endif %}{% endfor %}{{ x }}",
        "b",
    ),
    # Nothing sets it: the old value stays.
    (
        "{% set x = 'a' %}{% for m in messages %}{% if not m.role %}{% set x = 'b' %}"
        "{% endif %}{% endfor %}{{ x }}",
        "a",
    ),
    # A namespace has an attribute of the name, and nobody reads the name itself.
    (
        "{% set n = namespace(x='a') %}{% for m in messages %}{% set x = m.role %}{% endfor %}"
        "{{ n.x }}",
        "assistant",
    ),
    # Whitespace is what it was.
    ("{%- for m in messages -%}\n  {%- set x = 1 -%}\n  a\n{%- endfor -%}\n {{ x }}", "aa1"),
    ("{% for m in messages %}\n  {% set x = 1 %}\n  a\n{% endfor %}\n{{ x }}", "  a\n  a\n1"),
]
MESSAGES = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]


@pytest.mark.parametrize(("text", "written"), KEPT)
def test_a_value_is_there_after_the_loop(text: str, written: str) -> None:
    (kept,) = kept_values(text)
    assert ChatTemplate(apply_edits(text, kept.edits)).render(MESSAGES) == written


UNREAD = [
    "{% for m in messages %}{% set x = m.role %}{{ x }}{% endfor %}",
    "{% for m in messages %}{% set x = m.role %}{% endfor %}{{ messages[0].x }}",
    "{% for m in messages %}{% set x = m.role %}{% endfor %}{% set x = 1 %}",
    "{% set n = namespace(x=1) %}{% for m in messages %}{% set n.x = 2 %}{% endfor %}{{ n.x }}",
    "{% set x = 1 %}{% if messages %}{% set x = 2 %}{% endif %}{{ x }}",
]


@pytest.mark.parametrize("text", UNREAD)
def test_what_nobody_reads_after_it_is_left(text: str) -> None:
    assert not list(kept_values(text))
