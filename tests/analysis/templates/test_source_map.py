"""Which place of a template wrote what of a render."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.templates.encoded_template import isolated
from autoparser.analysis.templates.source_text import template_tokens

TEMPLATES = Path(__file__).parents[3] / "fixtures" / "templates"
PLACES = [
    ("Hi {{ name }}!", {"name": "Bo"}, [("Hi ", "Hi "), ("Bo", "{{ name }}"), ("!", "!")]),
    (
        "{% for x in xs %}<{{ x }}>{% else %}none{% endfor %}",
        {"xs": [1, 2]},
        [("<", "<"), ("1", "{{ x }}"), (">", ">"), ("<", "<"), ("2", "{{ x }}"), (">", ">")],
    ),
    (
        "{% if a %}x{% elif b %}y{{ b }}{% else %}z{% endif %}y",
        {"b": "B"},
        [("y", "y"), ("B", "{{ b }}"), ("y", "y")],
    ),
    (
        "{% macro m(v) %}[{{ v }}]{% endmacro %}\n  {{- m(a) }}{% set s %}-{% endset %}{{ s }}",
        {"a": "A"},
        [("[A]", "{{- m(a) }}"), ("-", "{{ s }}")],
    ),
    ("{% raw %}{{ a }}{% endraw %}{{ a }}", {"a": 1}, [("{{ a }}", "{{ a }}"), ("1", "{{ a }}")]),
    ("{# c #}{% generation %}{{ a }}{% endgeneration %}", {"a": 12}, [("12", "{{ a }}")]),
]


@pytest.mark.parametrize(("text", "variables", "expected"), PLACES)
def test_each_piece_has_its_place(
    text: str, variables: dict[str, object], expected: list[tuple[str, str]]
) -> None:
    spans = ChatTemplate(text).source_map(variables).spans
    assert [(span.text, text[span.start : span.end]) for span in spans] == expected


def test_places_are_places_and_not_texts() -> None:
    spans = ChatTemplate("{% if a %}x{% else %}x{% endif %}x").source_map({}).spans
    assert [(span.start, span.end) for span in spans] == [(21, 22), (33, 34)]


MESSAGES = [
    {"role": "user", "content": "One?"},
    {"role": "assistant", "content": "Two."},
    {"role": "user", "content": "Three?"},
]


@pytest.mark.parametrize("path", sorted(TEMPLATES.glob("*.jinja"))[::9], ids=lambda path: path.stem)
def test_the_pieces_are_the_render_and_plain_text_stands_where_it_is_said_to(path: Path) -> None:
    template = ChatTemplate(path.read_text("utf-8"))
    variables = {"messages": MESSAGES, "tools": None, "add_generation_prompt": True}
    spans = template.source_map(variables).spans
    assert "".join(span.text for span in spans) == template.render_prepared(variables)
    for span in spans:
        place = template.text[span.start : span.end]
        assert place.startswith("{{") or span.text == place


def test_a_worker_tells_the_same() -> None:
    template = ChatTemplate("Hi {{ name }}!")
    assert isolated(template).source_map({"name": "Bo"}) == template.source_map({"name": "Bo"})


def test_tokens_have_their_places() -> None:
    text = "a {%- if b -%}  {{ c }}{% endif %}"
    for token in template_tokens(text):
        assert text[token.start : token.end] == token.value
    assert [token.value for token in template_tokens("{% if %}{{ 'open }}")][:2] == ["{%", " "]


def test_a_character_has_the_line_that_wrote_it() -> None:
    text = "a\r\n{% if x %}\r\nb{{ x }}{% endif %}"
    written = ChatTemplate(text).source_map({"x": "yz"})
    assert [written.line_at(at) for at in range(-1, 6)] == [None, 1, 1, 3, 3, 3, None]


TURNS = """{%- macro shout(text) -%}
{{ text | upper }}
{%- endmacro -%}
{%- for message in messages -%}
<{{ message.role }}>
{{- message.content }}
{{ shout(message.content) }}
{%- endfor -%}
{%- if add_generation_prompt %}
<assistant>
{%- endif -%}
"""


def test_a_text_has_the_line_that_wrote_its_beginning() -> None:
    messages = [{"role": "user", "content": "one"}]
    written = ChatTemplate(TURNS).source_map({"messages": messages, "add_generation_prompt": True})
    lines = {"<": 5, "user": 5, "user>": 5, ">": 5, "one": 6, "ONE": 7, "<assistant>": 10}
    assert {text: written.line_of(text) for text in lines} == lines
    assert written.line_of("two") is None
