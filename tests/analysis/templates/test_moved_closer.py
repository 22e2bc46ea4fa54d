"""A text that a loop writes with some of its items, written once after it."""

from __future__ import annotations

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.templates.edit_kinds import after_its_loop
from autoparser.analysis.templates.template_edits import apply_edits

LATER = "{% if not loop.first %}>{% endif %}"
TABLE = {
    "an output": "{% for c in calls %}{{ c }}"
    + LATER.replace("}>{", "}{{ '>' }}{")
    + "{% endfor %}",
    "the end of a string": "{% for c in calls %}{{ c + ('' if loop.first else '>') }}{% endfor %}",
    "one of two": "{% for c in calls %}{{ c }}{{- ']' if loop.first else ']>' }}{% endfor %}",
    "a text": "{% for c in calls %}{{ c }}" + LATER + "{% endfor %}",
    "a line of its own": (
        "{% if true %}\n    {%- for c in calls %}{{ c }}" + LATER + "{% endfor %}\n{%- endif %}"
    ),
}


@pytest.mark.parametrize("what", TABLE)
def test_it_is_written_once_after_the_loop(what: str) -> None:
    text = TABLE[what]
    moved = [ChatTemplate(apply_edits(text, edits)) for edits in after_its_loop(text, ">")]
    written = [
        [template.render_prepared({"calls": calls}) for calls in ([], ["a"], ["a", "b", "c"])]
        for template in moved
    ]
    item = "]" if "']'" in text else ""
    assert ["", f"a{item}>", f"a{item}b{item}c{item}>"] in written
    assert [">", f"a{item}>", f"a{item}b{item}c{item}>"] in written


def test_of_two_strings_that_are_alike_one_is_left() -> None:
    text = TABLE["one of two"]
    assert "{{- ']' }}" in apply_edits(text, next(after_its_loop(text, ">")))


def test_where_no_loop_writes_it_nothing_is_moved() -> None:
    assert [*after_its_loop("{% for c in calls %}{{ c }}{% endfor %}>", ">")] == []
