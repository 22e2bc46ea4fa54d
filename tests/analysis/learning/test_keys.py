"""How the names of arguments are written: each way on a template of our own, written and read."""

from __future__ import annotations

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.conversation import Message, ToolCall
from autoparser.analysis.core.message_battery import STRANGE_KEY
from autoparser.analysis.core.text_format import StringEscape
from tests.analysis.parsing.loop import difference

TURNS = """\
{%- macro member(key, value) -%}MEMBER{%- endmacro -%}
{%- for message in messages -%}
  {%- if message.role == 'assistant' -%}
    [as]{{ message.content }}
    {%- for call in message.tool_calls or [] -%}
      [c]{{ call.function.name }}[a]
      {%- for key, value in call.function.arguments.items() -%}
        {{ member(key, value) }}
      {%- endfor -%}
      [/c]
    {%- endfor -%}
  {%- elif message.role == 'tool' -%}
    [re]{{ message.content }}
  {%- else -%}
    [us]{{ message.content }}
  {%- endif -%}
  [end]
{%- endfor -%}
{%- if add_generation_prompt -%}[as]{%- endif -%}
"""
VALUE = "{{ value if value is string else value | tojson }}"


@pytest.mark.parametrize(
    ("member", "key", "value"),
    [
        # Keys as they are; values as they are, and escaped.
        ("[k]{{ key }}[v]" + VALUE + "[/v]", StringEscape.VERBATIM, StringEscape.VERBATIM),
        ("[k]{{ key }}[v]{{ value | tojson }}[/v]", StringEscape.VERBATIM, StringEscape.JSON),
        # Keys escaped, values not.
        ("[k]{{ key | e }}[v]" + VALUE + "[/v]", StringEscape.HTML, StringEscape.VERBATIM),
        ("[k]{{ key | tojson }}[v]" + VALUE + "[/v]", StringEscape.JSON, StringEscape.VERBATIM),
        (
            "[k]{{ key | replace('&', '&amp;') | replace('<', '&lt;') }}[v]" + VALUE + "[/v]",
            StringEscape.TABLE,
            StringEscape.VERBATIM,
        ),
        # A key that is written twice.
        (
            "[k={{ key | e }}]" + VALUE + "[/k={{ key | e }}]",
            StringEscape.HTML,
            StringEscape.VERBATIM,
        ),
    ],
)
def test_keys_are_learnt_apart_from_values(
    member: str, key: StringEscape, value: StringEscape
) -> None:
    analysis = analyze(ChatTemplate(TURNS.replace("MEMBER", member)))
    calls = analysis.format.calls
    assert calls is not None
    assert calls.arguments.members.key.escape is key
    assert calls.arguments.values.string.escape is value
    assert analysis.check.ok, analysis.check.smallest
    call = ToolCall("update_record", {STRANGE_KEY: "plain words", "title": "b"}, "aB3dE6gH1")
    assert not difference(analysis.format, Message(calls=(call,)))


def test_json_whose_keys_are_pasted_is_not_taken_for_json() -> None:
    pairs = """[k]"{{ key }}": {{ value | tojson }}[/v]"""
    analysis = analyze(ChatTemplate(TURNS.replace("MEMBER", pairs)))
    assert analysis.check.ok, analysis.check.smallest


def test_nested_keys_that_are_pasted() -> None:
    nested = (
        "[k]{{ key }}[v]"
        "{%- if value is mapping -%}"
        "{ {%- for k, v in value.items() -%}"
        "\"{{ k }}\": {{ v | tojson }}{{ '' if loop.last else ', ' }}"
        "{%- endfor -%} }"
        "{%- else -%}" + VALUE + "{%- endif -%}[/v]"
    )
    analysis = analyze(ChatTemplate(TURNS.replace("MEMBER", nested)))
    assert analysis.check.ok, analysis.check.smallest
