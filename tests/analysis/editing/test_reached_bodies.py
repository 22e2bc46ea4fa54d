"""Which parts of a template a conversation reaches."""

from __future__ import annotations

from typing import Any

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.editing.edit_proof import ReachedBodies
from autoparser.analysis.templates.template_edits import TemplateEdit

TEMPLATE = """{%- macro tag(x) %}<{{ x }}>{% endmacro %}
{%- for m in messages %}
    {%- if m.role == 'user' +%}
    {{ m.content }}
    {%- else %}
        {{- tag(m.content) }}
    {%- endif %}
{%- endfor %}
{%- set shown %}{% if false %}never{% endif %}{% endset %}{{ shown }}"""
ASKED = {"role": "user", "content": "Why?"}
SAID = {"role": "assistant", "content": "So."}


def reached(place: str, *messages: dict[str, Any]) -> bool:
    template = ChatTemplate(TEMPLATE)
    bodies = ReachedBodies(template)
    variables = {**template.variables([ASKED]), "messages": [*messages]}
    start = TEMPLATE.index(place)
    around = bodies.around([TemplateEdit(start, start + len(place), "")])
    return bool(around & bodies.of(variables, template.render_prepared(variables)))


@pytest.mark.parametrize(
    ("place", "messages", "expected"),
    [
        ("m.role == 'user'", [ASKED], True),
        ("m.role == 'user'", [], False),
        ("{{ m.content }}", [ASKED], True),
        ("{{ m.content }}", [SAID], False),
        ("tag(m.content)", [SAID], True),
        ("tag(m.content)", [ASKED], False),
        ("{{ x }}", [SAID], True),
        ("{{ x }}", [ASKED], False),
        ("messages", [], True),
        ("never", [ASKED, SAID], False),
    ],
)
def test_a_body_is_reached_where_its_tag_lets_it_be(
    place: str, messages: list[dict[str, Any]], expected: bool
) -> None:
    assert reached(place, *messages) is expected


def test_a_template_that_minds_being_asked_is_reached_everywhere() -> None:
    template = ChatTemplate("{% if a %}b{% endif %}")
    bodies = ReachedBodies(template)
    assert bodies.of(template.variables([ASKED]), "another text") >= bodies.around(
        [TemplateEdit(10, 11, "")]
    )
