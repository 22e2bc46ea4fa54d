"""Brackets that decide nothing, and tags with lines of their own."""

from __future__ import annotations

from autoparser import ChatTemplate
from autoparser.analysis.editing.tidied_edits import own_lines, without_brackets
from autoparser.analysis.templates.template_edits import apply_edits

LINED = "{%- for m in messages %}\n    {{- m.content }}\n{%- endfor %}"
ADDED = "{% if add_generation_prompt %}{{- 'So: ' }}{% endif %}"


def test_brackets_are_left_out_pair_by_pair() -> None:
    text = "{{ f( (a or b) ) ~ 'c(d)' }}"
    found = [apply_edits(text, pair) for pair in without_brackets(text)]
    assert found == ["{{ f( a or b ) ~ 'c(d)' }}", "{{ f(a or b) ~ 'c(d)' }}"]


def test_new_tags_get_lines_as_the_others_have() -> None:
    text = LINED + ADDED
    lines = apply_edits(text, own_lines(text, [(len(LINED), len(text))]))
    assert lines == (
        f"{LINED}\n{{%- if add_generation_prompt %}}\n    {{{{- 'So: ' }}}}\n{{%- endif %}}"
    )
    said = [{"role": "user", "content": "Why?"}]
    assert [
        ChatTemplate(each).render(said, add_generation_prompt=True) for each in (text, lines)
    ] == ["Why?So: "] * 2


def test_what_is_longer_than_a_line_is_not_moved() -> None:
    text = (
        "{%- if a %}\n    {%- generation %}{%- if b %}\n        c\n    {%- endif %}"
        "{%- endgeneration %}\n{%- endif %}"
    )
    start = text.index("{%- generation")
    lines = apply_edits(
        text, own_lines(text, [(start, start + 17), (text.index("{%- endg"), len(text))])
    )
    assert lines == (
        "{%- if a %}\n    {%- generation %}\n    {%- if b %}\n        c\n    {%- endif %}\n"
        "    {%- endgeneration %}\n{%- endif %}"
    )


def test_a_template_in_one_line_stays_in_one() -> None:
    text = "{% for m in messages %}{{ m.content }}{% endfor %}" + ADDED
    assert own_lines(text, [(0, len(text))]) == ()
