"""Edits of a template's text: all edits of a small template, and their renders."""

from __future__ import annotations

from typing import Any

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.editing.generation_blocks import (
    StretchOwner,
    TextAuthorship,
    split_operands,
    with_generation_blocks,
)
from autoparser.analysis.editing.tidied_edits import (
    constant_condition,
    decided_conditions,
    own_lines,
    same_truth,
    without_brackets,
)
from autoparser.analysis.templates.edit_kinds import (
    adding_edits,
    after_all_messages,
    after_its_loop,
    also_compared,
    asking_also,
    jinja_text,
    kept_values,
    replaced_value,
)
from autoparser.analysis.templates.source_text import template_comments
from autoparser.analysis.templates.template_edits import (
    TemplateEdit,
    apply_edits,
    default_edit,
    statement_tree,
    template_edits,
)
from tests.case_tables import case_tables

table = case_tables(__file__, "edits.yaml")
MESSAGES = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]


@table("additions")
def test_adding_edits_match_the_table(case: Any) -> None:
    found = [apply_edits(case["text"], [edit]) for edit in adding_edits(case["text"])]
    assert sorted(found) == sorted(case["edited"])


@table("simplifications")
def test_edits_only_delete_or_relax(case: Any) -> None:
    found = [apply_edits(case["text"], [edit]) for edit in template_edits(case["text"])]
    assert sorted(found) == sorted(case["edited"])


@table("comparisons")
def test_comparison_accepts_another_value(case: Any) -> None:
    assert apply_edits(case["text"], also_compared(case["text"], "a", "b")) == case["edited"]


@table("defaults")
def test_default_keeps_the_given_value(case: Any) -> None:
    template = "{% macro m() %}{{ on }}{% endmacro %}{{ m() }}"
    fixed = ChatTemplate(apply_edits(template, [default_edit({"on": case["value"]})]))
    assert fixed.render_prepared(case["given"]) == case["text"]


@table("kept_values")
def test_value_set_in_a_loop_is_kept_after_it(case: Any) -> None:
    (kept,) = kept_values(case["text"])
    edited = ChatTemplate(apply_edits(case["text"], kept.edits))
    assert edited.render(MESSAGES) == case["written"]


@table("unread_values")
def test_unused_loop_value_is_not_edited(case: Any) -> None:
    assert not list(kept_values(case["text"]))


@table("closers")
def test_closer_is_written_once_after_the_loop(case: Any) -> None:
    edited = [apply_edits(case["text"], edits) for edits in after_its_loop(case["text"], ">")]
    written = [
        [ChatTemplate(text).render_prepared({"calls": calls}) for calls in ([], ["a"], [*"abc"])]
        for text in edited
    ]
    item = "]" if "']'" in case["text"] else ""
    assert ["", f"a{item}>", f"a{item}b{item}c{item}>"] in written
    assert [">", f"a{item}>", f"a{item}b{item}c{item}>"] in written
    # Two equal strings are merged into one.
    assert not item or "{{- ']' }}" in edited[0]


@table("decided")
def test_condition_that_decides_nothing_is_removed(case: Any) -> None:
    assert apply_edits(case["text"], next(iter(decided_conditions(case["text"])))) == case["edited"]


@table("undecided")
def test_condition_that_decides_something_stays(case: Any) -> None:
    assert not [*decided_conditions(case["text"])]


@table("comments")
def test_template_comments_have_their_lines_and_text(case: Any) -> None:
    assert [[*comment] for comment in template_comments(case["text"])] == case["comments"]


@table("generation")
def test_generation_blocks_do_not_change_the_text(case: Any) -> None:
    text, owners = case["text"], {}
    for stretch, owner in case["owners"].items():
        who, cut = owner if isinstance(owner, list) else (owner, None)
        at = text.rindex(stretch)
        owners[at, at + len(stretch)] = StretchOwner(TextAuthorship[who.upper()], cut and (*cut,))
    written = with_generation_blocks(text, statement_tree(text), owners, scopes=True)
    assert written is not None
    assert written == case["expected"]
    turn = {"role": "assistant", "text": "So.", "x": "Hm."}
    given = {"m": turn, "messages": [turn, {"role": "user", "text": "Why?"}], "x": True}
    assert ChatTemplate(written).render_prepared(given) == ChatTemplate(text).render_prepared(given)


@pytest.mark.parametrize("scopes", [True, False])
def test_variable_set_in_a_generation_block_is_lost_after_it(scopes: bool) -> None:
    text = "{{ a }}{% set b = a %}{{ a + '.' }}{{ b }}"
    owners = {place: StretchOwner(TextAuthorship.MODEL) for place in ((3, 4), (25, 26), (29, 32))}
    written = with_generation_blocks(text, statement_tree(text), owners, scopes=scopes)
    assert written is not None
    assert written.count("{% generation %}") == (1 if scopes else 2)
    rendered = ChatTemplate(written).render_prepared({"a": "A"})
    assert (rendered == ChatTemplate(text).render_prepared({"a": "A"})) is not scopes


def test_edits_reach_every_operand() -> None:
    text = "<{{- 'a' ~ (b + c) -}}>{{ (d + 'e') }}{{ f if g else h }}"
    apart, places = split_operands(text, statement_tree(text))
    assert apart == "<{{- 'a' }}{{ (b + c) -}}>{{ d }}{{ 'e' }}{{ f if g else h }}"
    found = [text[slice(*place)] for place in places.values()]
    assert found == ["<", "'a'", "(b + c)", ">", "d", "'e'", "f if g else h"]
    owners = {(3, 4): StretchOwner(TextAuthorship.OTHERS)}
    assert with_generation_blocks("{{ a }}", statement_tree("{{ a }}"), owners, scopes=True) is None


def test_edits_rename_fields_and_add_variable_conditions() -> None:
    (edit,) = replaced_value("{{ m.role }}", "a", "b")
    assert apply_edits("{{ m.role }}", [edit]) == "{{ ('a' if m.role == 'b' else m.role) }}"
    text = "{% if a or b %}x{% endif %}"
    found = {apply_edits(text, [template_edit]) for template_edit in asking_also(text, "v")}
    assert "{% if (a or b) and v %}x{% endif %}" in found


def test_jinja_string_literal_round_trips() -> None:
    for text in ("it's", 'say "hi"', "a\n\tb\\n", "'\"", ""):
        assert ChatTemplate(f"{{{{ {jinja_text(text)} }}}}").render(MESSAGES) == text


def test_several_edits_apply_at_once() -> None:
    edits = [TemplateEdit(1, 2, "XY"), TemplateEdit(3, 3, "-"), TemplateEdit(0, 1, "")]
    assert apply_edits("abcd", edits) == "XYc-d"


def test_text_after_all_messages_is_removed() -> None:
    loop = "{% for m in messages %}{% if m %}{{ m }}{% else %}-{% endif %}{% endfor %}"
    text = loop + "{% if a %}b{% else %}{{ c }}{% endif %}\n"
    found = [apply_edits(text, [edit]) for edit in after_all_messages(text)]
    assert found == [f"{loop}\n", f"{loop}{{% if a %}}b{{% endif %}}\n"]
    assert [*after_its_loop("{% for c in calls %}{{ c }}{% endfor %}>", ">")] == []


def test_conditions_are_compared_by_truth_table() -> None:
    assert constant_condition("a or (not a)") is True
    assert constant_condition("b == 1 and not b == 1") is False
    assert constant_condition("a or not b") is None
    assert constant_condition("a or") is None
    assert same_truth("a or (not a and b)", "a or b")
    assert not same_truth("a or b", "a and b")
    assert same_truth("m.a and m.a is not none", "m.a")
    assert not same_truth("m.a is not none", "m.a")


def test_brackets_are_removed_pair_by_pair() -> None:
    text = "{{ f( (a or b) ) ~ 'c(d)' }}"
    found = [apply_edits(text, pair) for pair in without_brackets(text)]
    assert found == ["{{ f( a or b ) ~ 'c(d)' }}", "{{ f(a or b) ~ 'c(d)' }}"]


LINED = "{%- for m in messages %}\n    {{- m.content }}\n{%- endfor %}"
ADDED = "{% if add_generation_prompt %}{{- 'So: ' }}{% endif %}"
LONG = (
    "{%- if a %}\n    {%- generation %}{%- if b %}\n        c\n    {%- endif %}"
    "{%- endgeneration %}\n{%- endif %}"
)


def test_new_tags_follow_the_line_style_of_the_template() -> None:
    text = LINED + ADDED
    assert apply_edits(text, own_lines(text, [(len(LINED), len(text))])) == (
        f"{LINED}\n{{%- if add_generation_prompt %}}\n    {{{{- 'So: ' }}}}\n{{%- endif %}}"
    )
    start = LONG.index("{%- generation")
    places = [(start, start + 17), (LONG.index("{%- endg"), len(LONG))]
    assert apply_edits(LONG, own_lines(LONG, places)) == (
        "{%- if a %}\n    {%- generation %}\n    {%- if b %}\n        c\n    {%- endif %}\n"
        "    {%- endgeneration %}\n{%- endif %}"
    )
    one_line = "{% for m in messages %}{{ m.content }}{% endfor %}" + ADDED
    assert own_lines(one_line, [(0, len(one_line))]) == ()
