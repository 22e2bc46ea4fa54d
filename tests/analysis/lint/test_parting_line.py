"""Which line a finding about what is missing points at, on small templates."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from autoparser.analysis.core.conversation import Json
from autoparser.analysis.lint.lint_renders import (
    LintRenders,
    Render,
    RenderSetting,
    line_of_the_lost,
    line_that_saw,
    parting_line,
)
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.registry import rule_of
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.chat_template import ChatTemplate

ROLES = """{%- for message in messages %}
{%- if message.role == 'system' %}
    {{- '<s>' + message.content }}
{%- elif message.role == 'user' %}
    {{- '<u>' + message.content }}
{%- endif %}
{%- endfor %}"""

PARTS = """{%- for message in messages %}
    {%- for part in message.content %}
        {%- if part.type == 'text' %}{{- part.text }}{%- endif %}
    {%- endfor %}
{%- endfor %}"""

SEEN = """{%- for message in messages %}
    {%- set size = message.content | length %}
    {{- message.role }}
{%- endfor %}"""

SAID: dict[str, Json] = {"role": "user", "content": "Hi"}


def rendered(text: str, *messages: Mapping[str, Json]) -> Render:
    return LintRenders(ChatTemplate(text), {}).render(messages, RenderSetting())


def test_what_is_lost_points_at_the_test_that_would_have_written_it() -> None:
    lost = rendered(ROLES, {"role": "developer", "content": "Be brief."}, SAID)
    kept = rendered(ROLES, {"role": "system", "content": "Be brief."}, SAID)
    assert line_of_the_lost(lost, kept, "Be brief.") == 2
    assert parting_line(lost, kept) == 2
    assert parting_line(kept, lost) == 2


def test_where_every_test_went_that_way_once_it_is_the_one_that_did_less_often() -> None:
    assert parting_line(rendered(ROLES, SAID, SAID), rendered(ROLES, SAID)) == 4


def test_where_no_test_lets_it_be_written_it_is_the_line_that_writes() -> None:
    text = "{%- for message in messages %}\n{{- message.content }}\n{%- endfor %}"
    assert parting_line(rendered(text, SAID, SAID), rendered(text, SAID)) == 2


def test_texts_alike_part_at_the_first_test_that_goes_otherwise() -> None:
    text: Json = {"type": "text", "text": "Hi"}
    given = rendered(PARTS, {"role": "user", "content": [{"type": "image"}, text]})
    without = rendered(PARTS, {"role": "user", "content": [text]})
    assert given.text == without.text
    assert parting_line(given, without) == 3


def test_a_loop_that_goes_on_in_one_alone_is_named() -> None:
    text = "{%- for m in messages %}\n{%- for x in m.content %}\n{%- endfor %}\n{%- endfor %}."
    more = rendered(text, {"role": "user", "content": [1, 2]})
    assert parting_line(more, rendered(text, {"role": "user", "content": [1]})) == 2


def test_steps_alike_part_where_another_value_was_last_seen() -> None:
    assert parting_line(rendered(SEEN, SAID), rendered(SEEN, {**SAID, "content": "Hello"})) == 2
    assert line_that_saw(rendered(SEEN, SAID), "Hi") == 2


def test_nothing_that_tells_two_renders_apart_has_no_line() -> None:
    assert parting_line(rendered(SEEN, SAID), rendered(SEEN, SAID)) is None
    assert line_that_saw(rendered(SEEN, SAID), "nobody said this") is None


def test_a_render_that_fails_parts_at_the_line_that_raises() -> None:
    failing = rendered("{%- for m in messages %}\n{{- m.x.y }}\n{%- endfor %}", SAID)
    assert parting_line(failing, rendered(SEEN, SAID)) == 2


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("AP204", 7),  # what the last of a prompt is written by
        ("AP310", 2),
        ("AP313", 2),
        ("AP315", 3),
    ],
)
def test_a_finding_about_what_is_missing_has_a_line(code: str, line: int) -> None:
    text = """{%- for message in messages %}
{%- if message.role in ('user', 'assistant') %}{{- '<' + message.role + '>' }}
{%- if message.content is not string %}{%- for part in message.content if part.type == 'text' %}
{{- part.text }}
{%- endfor %}
{%- else %}
{{- message.content + '</' + message.role + '>' }}
{%- endif %}{%- endif %}
{%- endfor %}"""
    if code == "AP313":
        text = text.replace("in ('user'", "in ('system', 'user'")
    (finding,) = lint(Subject(ChatTemplate(text)), [rule_of(code)]).findings
    assert finding.line == line
