"""Generation blocks written into templates, and the whitespace around them as it was."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.editing.generation_blocks import (
    StretchOwner,
    TextAuthorship,
    split_operands,
    with_generation_blocks,
)
from autoparser.analysis.templates.template_edits import statement_tree

MODEL, OTHERS, SHARED = TextAuthorship.MODEL, TextAuthorship.OTHERS, TextAuthorship.SHARED

TABLE: dict[str, tuple[str, Mapping[str, StretchOwner], str]] = {
    "one output": (
        "{{ m.text }}",
        {"m.text": StretchOwner(MODEL)},
        "{% generation %}{{ m.text }}{% endgeneration %}",
    ),
    "an output cut in two": (
        "{{ '<a>' + m.text }}",
        {"'<a>'": StretchOwner(OTHERS), "m.text": StretchOwner(MODEL)},
        "{{ '<a>' }}{%- generation %}{{- m.text }}{% endgeneration %}",
    ),
    "a string cut in two": (
        "{{ m.text + '</s>\\n' }}",
        {"m.text": StretchOwner(MODEL), "'</s>\\n'": StretchOwner(MODEL, (0, 4))},
        "{% generation %}{{ m.text + '</s>' }}{% endgeneration %}{{- '\\n' }}",
    ),
    "what was put together stays so": (
        "{{ '<a>' ~ 1 ~ m.text + '.' ~ 2 }}",
        {
            "'<a>'": StretchOwner(OTHERS),
            "1": StretchOwner(MODEL),
            "m.text": StretchOwner(MODEL),
            "'.'": StretchOwner(MODEL),
            "2": StretchOwner(MODEL),
        },
        "{{ '<a>' }}{%- generation %}{{- 1 ~ m.text + '.' ~ 2 }}{% endgeneration %}",
    ),
    "a text cut in two": (
        "{{ m.text }}</s>\nX",
        {"m.text": StretchOwner(MODEL), "</s>\nX": StretchOwner(MODEL, (0, 4))},
        "{% generation %}{{ m.text }}</s>{% endgeneration +%}\nX",
    ),
    "a whole branch, and the newline that its tag takes": (
        "{% if m.x %}\n{{ m.x }}{% endif %}\n{{ m.text }}",
        {"m.x": StretchOwner(MODEL), "m.text": StretchOwner(MODEL)},
        "{% generation %}{% if m.x %}\n{{ m.x }}{% endif %}\n{{ m.text }}{% endgeneration %}",
    ),
    "a line of its own": (
        "{%- if x %}\n    {{- '<a>' }}\n    {{- m.text }}\n{%- endif %}",
        {"'<a>'": StretchOwner(OTHERS), "m.text": StretchOwner(MODEL)},
        "{%- if x %}\n    {{- '<a>' }}\n    {%- generation %}\n    {{- m.text }}"
        "\n    {%- endgeneration %}\n{%- endif %}",
    ),
    "others' too": (
        "{% for m in messages %}{{ m.text }}{% endfor %}",
        {"m.text": StretchOwner(SHARED)},
        "{% for m in messages %}{% if m['role'] == 'assistant' %}{% generation %}{{ m.text }}"
        "{% endgeneration %}{% else %}{{ m.text }}{% endif %}{% endfor %}",
    ),
    "spaces before an output are written": (
        "X\n  {{ m.text }}\n",
        {"X\n  ": StretchOwner(OTHERS), "m.text": StretchOwner(MODEL), "\n": StretchOwner(OTHERS)},
        "X\n  {%+ generation %}{{ m.text }}{% endgeneration +%}\n",
    ),
}


@pytest.mark.parametrize("what", TABLE)
def test_blocks_are_written_and_the_text_stays(what: str) -> None:
    text, owners, expected = TABLE[what]
    placed = {(text.rindex(each), text.rindex(each) + len(each)): it for each, it in owners.items()}
    written = with_generation_blocks(text, statement_tree(text), placed, scopes=True)
    assert written is not None
    assert written == expected
    said = {"role": "assistant", "text": "So.", "x": "Hm."}
    given = {"m": said, "messages": [said, {"role": "user", "text": "Why?"}], "x": True}
    assert ChatTemplate(written).render_prepared(given) == ChatTemplate(text).render_prepared(given)


@pytest.mark.parametrize("scopes", [True, False])
def test_what_is_set_in_a_block_is_forgotten_after_it(scopes: bool) -> None:
    text = "{{ a }}{% set b = a %}{{ a + '.' }}{{ b }}"
    owners = {place: StretchOwner(MODEL) for place in ((3, 4), (25, 26), (29, 32))}
    written = with_generation_blocks(text, statement_tree(text), owners, scopes=scopes)
    assert written is not None
    assert written.count("{% generation %}") == (1 if scopes else 2)
    rendered = ChatTemplate(written).render_prepared({"a": "A"})
    assert (rendered == ChatTemplate(text).render_prepared({"a": "A"})) is not scopes


def test_nothing_is_written_where_nothing_is_the_models() -> None:
    text = "{{ a }}"
    owners = {(3, 4): StretchOwner(OTHERS)}
    assert with_generation_blocks(text, statement_tree(text), owners, scopes=True) is None


def test_every_operand_is_taken_apart() -> None:
    text = "<{{- 'a' ~ (b + c) -}}>{{ (d + 'e') }}{{ f if g else h }}"
    apart, places = split_operands(text, statement_tree(text))
    assert apart == "<{{- 'a' }}{{ (b + c) -}}>{{ d }}{{ 'e' }}{{ f if g else h }}"
    assert [text[slice(*place)] for place in places.values()] == [
        "<",
        "'a'",
        "(b + c)",
        ">",
        "d",
        "'e'",
        "f if g else h",
    ]
    given = dict.fromkeys("bcdfgh", "x")
    assert ChatTemplate(apart).render_prepared(given) == ChatTemplate(text).render_prepared(given)
