"""Markers before calls, and stops, that only a list of tools or a constant tells of."""

from __future__ import annotations

import pytest

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.core.conversation import tool_for
from autoparser.analysis.learning.suggestions import Suggestions, suggest_values
from autoparser.analysis.templates.chat_template import ChatTemplate as Template

TURNS = """\
{%- for message in messages -%}
  {%- if message.role == 'assistant' and message.tool_calls -%}
    {%- set call = message.tool_calls[0].function -%}
    <|as|>
    {%- if built_in is defined and call.name in built_in -%}
      {{- '<|run|>' + call.name + '()' -}}
    {%- else -%}
      {{- '{"name": "' + call.name + '", "parameters": ' + call.arguments | tojson + '}' -}}
    {%- endif -%}
    {{- '<|more|>' if built_in is defined else '<|end|>' -}}
  {%- elif message.role == 'picture' -%}
    {{- '<|picture|>' -}}
  {%- else -%}
    {{- '<|' + message.role[:2] + '|>' + message.content + '<|end|>' -}}
  {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}<|as|>{%- endif -%}
"""
CALL = '{"name": "look_up", "parameters": {"city": "Oslo"}}'


@pytest.fixture(scope="module")
def found() -> Analysis:
    return analyze(ChatTemplate(TURNS))


def suggested(text: str) -> Suggestions:
    return suggest_values(Template(text).syntax_tree)


def test_what_something_is_searched_for_in_may_be_a_list() -> None:
    found = suggested("{% if call.name in listed %}{% endif %}{% if 'a' in fixed %}{% endif %}")
    assert found.searched == ("listed",)


def test_the_called_tool_is_put_into_the_list(found: Analysis) -> None:
    calls = found.format.calls
    assert found.check.ok
    assert calls is not None
    assert set(calls.leads) == {"<|run|>", "<|picture|>"}
    assert found.format.stop_strings == ("<|end|>", "<|more|>")


@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        (f"<|run|>{CALL}<|more|>", None, 1),
        (f"<|run|> {CALL}<|end|>", None, 1),
        (f"Let me see.<|run|>{CALL}<|more|>", "Let me see.", 1),
        # Content, where no call that reads whole follows at once.
        ("Say <|run|> and go.<|end|>", "Say <|run|> and go.", 0),
        ("<|run|>{1: 2}<|end|>", "<|run|>{1: 2}", 0),
        (f"<|run|>so: {CALL}<|end|>", "<|run|>so: ", 1),
    ],
)
@pytest.mark.parametrize("cut", [1, 5, 10_000])
def test_a_lead_is_markup_right_before_a_call(
    found: Analysis, text: str, content: str | None, calls: int, cut: int
) -> None:
    tool = tool_for("look_up", "Look it up.", {"city": "string"})
    stream = found.parser([{"type": "function", "function": tool}]).stream()
    for at in range(0, len(text), cut):
        stream.feed(text[at : at + cut])
    stream.finish()
    message = stream.message
    shown = message.content.strip() if message.content else None
    assert (shown, len(message.tool_calls)) == (content and content.strip(), calls)
    assert str(message.status) == "ok"


def test_calls_with_a_marker_of_their_own_have_no_other() -> None:
    marked = TURNS.replace("""'{"name": "'""", """'<|do|>{"name": "'""")
    calls = analyze(ChatTemplate(marked)).format.calls
    assert calls is not None
    assert calls.leads == ()
