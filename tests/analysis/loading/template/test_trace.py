from __future__ import annotations

from autoparser import ChatTemplate

TEXT = """{%- macro shout(text) -%}
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
MESSAGES: list[dict[str, object]] = [{"role": "user", "content": "one"}]


def test_a_trace_is_the_render_with_lines() -> None:
    template = ChatTemplate(TEXT)
    variables = {"messages": MESSAGES, "add_generation_prompt": True}
    traced = template.trace(variables)
    assert "".join(each.text for each in traced) == template.render_prepared(variables)
    assert {each.text: each.line for each in traced if each.text.strip()} == {
        "<": 4,
        "user": 5,
        ">": 5,
        "one": 6,
        "ONE": 7,
        "<assistant>": 9,
    }
