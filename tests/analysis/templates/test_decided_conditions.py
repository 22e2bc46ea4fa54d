"""Conditions that always come to the same, and what they are written out to."""

from __future__ import annotations

import pytest

from autoparser.analysis.editing.tidied_edits import (
    constant_condition,
    decided_conditions,
    same_truth,
)
from autoparser.analysis.templates.template_edits import apply_edits

TIDIEST = {
    # what is written, and the first form of it
    "{% if true %}a{% endif %}": "a",
    "{% if true %}a{% else %}b{% endif %}": "a",
    "{% if false %}a{% else %}b{% endif %}": "b",
    "x{% if false %}a{% endif %}y": "xy",
    "{% if c %}a{% elif true %}b{% else %}d{% endif %}": "{% if c %}a{% else %}b{% endif %}",
    "{% if c %}a{% elif false %}b{% else %}d{% endif %}": "{% if c %}a{% else %}d{% endif %}",
    "{% if false %}a{% elif c %}b{% endif %}": "{% if c %}b{% endif %}",
    "{% if a or (not a and b) %}c{% endif %}": "{% if a or (b) %}c{% endif %}",
    "{% if a.b or [] %}c{% endif %}": "{% if a.b %}c{% endif %}",
    "{{ a if true else b }}": "{{ a }}",
    "{{ a + (b if false else c or d) }}": "{{ a + (c or d) }}",
    "<{% if a %}{% endif %}>": "<>",
    "<{% set a.b = a.b %}>": "<>",
    "{%- if b %}\n  {%- if not a or a %}\n    {{- m }}\n  {%- endif %}\n{%- endif %}": (
        "{%- if b %}\n  {{- m }}\n{%- endif %}"
    ),
}
UNDECIDED = ("{% if a %}b{% endif %}", "{% if a or b %}c{% endif %}", "{{ a if b else c }}")


@pytest.mark.parametrize("text", TIDIEST)
def test_what_decides_nothing_is_left_out(text: str) -> None:
    assert apply_edits(text, next(iter(decided_conditions(text)))) == TIDIEST[text]


@pytest.mark.parametrize("text", UNDECIDED)
def test_what_decides_something_stays(text: str) -> None:
    assert [*decided_conditions(text)] == []


def test_a_condition_is_known_by_its_parts() -> None:
    assert constant_condition("a or (not a)") is True
    assert constant_condition("b == 1 and not b == 1") is False
    assert constant_condition("a or not b") is None
    assert constant_condition("a or") is None
    assert same_truth("a or (not a and b)", "a or b")
    assert not same_truth("a or b", "a and b")
    assert same_truth("m.a and m.a is not none", "m.a")
    assert not same_truth("m.a is not none", "m.a")
