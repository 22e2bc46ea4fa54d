"""Which small edits of a template's text are tried."""

from __future__ import annotations

import pytest

from autoparser import ChatTemplate, TemplateSyntaxError
from autoparser.analysis.templates.edit_expressions import default_edit, template_edits
from autoparser.analysis.templates.edit_kinds import after_all_messages
from autoparser.analysis.templates.template_edits import TemplateEdit, apply_edits
from tests.analysis.history.played import TEMPLATES

EDITS = [
    ("Hi {{ name }}.", []),
    ("{{ x|trim }}", ["{{ x }}", "{{ (x if x is string else x|trim) }}"]),
    ("{{ x.y.strip() }}", ["{{ x.y }}"]),
    (
        "{{ x.split('|')[-1].strip() }}",
        [
            "{{ x[-1].strip() }}",
            "{{ x.strip() }}",
            "{{ x }}",
            "{{ x.split('|')[-1] }}",
            "{{ x.split('|')[0].strip() }}",
        ],
    ),
    ("{{ users[-1] }}{{ users[at] }}", ["{{ users[0] }}{{ users[at] }}"]),
    (
        "{% if a and b %}c{% endif %}",
        [
            "{% if a %}c{% endif %}",
            "{% if b %}c{% endif %}",
            "{% if true %}c{% endif %}",
            "{% if false %}c{% endif %}",
        ],
    ),
    (
        "{% if (a or b) and c %}d{% endif %}",
        [
            "{% if (a) and c %}d{% endif %}",
            "{% if (b) and c %}d{% endif %}",
            "{% if (a or b) %}d{% endif %}",
            "{% if c %}d{% endif %}",
            "{% if true %}d{% endif %}",
            "{% if false %}d{% endif %}",
        ],
    ),
    ("{{ x if y else z }}", ["{{ x if true else z }}", "{{ x if false else z }}"]),
    ("{# if a|b #}{% raw %}{{ x|y }}{% endraw %}", []),
]


@pytest.mark.parametrize(("text", "expected"), EDITS)
def test_an_edit_takes_something_away_or_asks_less(text: str, expected: list[str]) -> None:
    assert sorted(apply_edits(text, [edit]) for edit in template_edits(text)) == sorted(expected)


def test_edits_of_real_templates_can_nearly_all_be_read() -> None:
    tried = read = 0
    for path in sorted(TEMPLATES.glob("*.jinja"))[::10]:
        text = path.read_text("utf-8")
        for edit in template_edits(text)[::5]:
            tried += 1
            try:
                ChatTemplate(apply_edits(text, [edit])).check_syntax()
            except TemplateSyntaxError:
                continue
            read += 1
    assert tried > 50
    assert read / tried > 0.95


def test_several_edits_are_made_at_once() -> None:
    edits = [TemplateEdit(1, 2, "XY"), TemplateEdit(3, 3, "-"), TemplateEdit(0, 1, "")]
    assert apply_edits("abcd", edits) == "XYc-d"


DEFAULTS = [(True, {}, "True"), (True, {"on": False}, "False"), ("a'b", {}, "a'b"), (3, {}, "3")]


@pytest.mark.parametrize(("value", "given", "text"), DEFAULTS)
def test_a_default_leaves_what_is_given(
    value: bool | str | int, given: dict[str, object], text: str
) -> None:
    template = "{% macro m() %}{{ on }}{% endmacro %}{{ m() }}"
    fixed = ChatTemplate(apply_edits(template, [default_edit({"on": value})]))
    assert fixed.render_prepared(given) == text


def test_what_follows_all_messages_is_left_out() -> None:
    loop = "{% for m in messages %}{% if m %}{{ m }}{% else %}-{% endif %}{% endfor %}"
    text = loop + "{% if a %}b{% else %}{{ c }}{% endif %}\n"
    found = [apply_edits(text, [edit]) for edit in after_all_messages(text)]
    assert found == [f"{loop}\n", f"{loop}{{% if a %}}b{{% endif %}}\n"]
