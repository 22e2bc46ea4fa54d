"""How ids carry names, as templates of our own show it or do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoparser import Analysis, ChatTemplate, analyze
from autoparser.analysis.core.call_notation import Row, RowSlot
from autoparser.analysis.core.conversation import tool_for

FIXTURES = Path(__file__).parents[3] / "fixtures"

TURNS = """\
{%- for message in messages -%}
  {%- if message.role == 'assistant' -%}
    [as]{{ message.content }}
    {%- for call in message.tool_calls or [] -%}
      [c]ID[a]{{ call.function.arguments | tojson }}[/c]
    {%- endfor -%}
  {%- elif message.role == 'tool' -%}
    [re]RESULT[m]{{ message.content }}
  {%- else -%}
    [us]{{ message.content }}
  {%- endif -%}
  [end]
{%- endfor -%}
{%- if add_generation_prompt -%}[as]{%- endif -%}
"""


def written(call_id: str, result: str = "{{ message.tool_call_id }}") -> Analysis:
    return analyze(ChatTemplate(TURNS.replace("ID", call_id).replace("RESULT", result)))


@pytest.mark.parametrize(
    ("call_id", "row"),
    [
        ("{{ call.id }}", ()),
        (
            "{{ call.id or 'f.' ~ call.function.name ~ ':' ~ loop.index0 }}",
            ("f.", RowSlot.NAME, ":", RowSlot.INDEX),
        ),
        (
            "{{ call.id if call.id is defined else call.function.name ~ '@' ~ loop.index }}",
            (RowSlot.NAME, "@", RowSlot.INDEX),
        ),
        # What stands for a missing id carries no name.
        ("{{ call.id or 'none' }}", ()),
    ],
)
def test_an_id_that_is_put_together_where_there_is_none(call_id: str, row: Row) -> None:
    calls = written(call_id).format.calls
    assert calls is not None
    assert calls.naming is not None
    assert calls.id_row == row


@pytest.mark.parametrize(
    ("result", "row"),
    [
        ("{{ message.tool_call_id }}", ()),
        ("{{ message.name }}", ()),
        (
            "{{ message.tool_call_id.split('.')[1].split(':')[0] }}",
            (RowSlot.ID, ".", RowSlot.NAME, ":", RowSlot.ID),
        ),
        ("{{ message.tool_call_id.split('/')[-1] }}", (RowSlot.ID, "/", RowSlot.NAME)),
        (
            "{{ message.name or message.tool_call_id.split('#')[0] }}",
            (RowSlot.NAME, "#", RowSlot.ID),
        ),
    ],
)
def test_an_id_that_is_taken_apart_for_the_result(result: str, row: Row) -> None:
    calls = written("{{ call.id }}", result).format.calls
    assert calls is not None
    assert calls.id_row == row


def test_nothing_is_asked_where_a_name_is_written() -> None:
    with_name = written("{{ call.function.name }}[i]{{ call.id }}").format.calls
    assert with_name is not None
    assert with_name.naming is None


@pytest.mark.parametrize("name", ["t5-id-carries-name.jinja"])
@pytest.mark.parametrize("called", ["undelete", "delete_all", "xdelete", "delete-all"])
def test_another_function_is_not_the_one_that_is_offered(name: str, called: str) -> None:
    text = (FIXTURES / "templates" / name).read_text(encoding="utf-8")
    tool = tool_for("delete", "Delete a file.", {"path": "string"})
    parser = analyze(ChatTemplate(text)).parser([{"type": "function", "function": tool}])
    output = (
        "</think><|calls_section_begin|><|call_begin|>functions.NAME:0<|call_argument_begin|>"
        '{"path": "a"}<|call_end|><|calls_section_end|><|eot|>'
    )
    (call,) = parser.parse(output.replace("NAME", called)).tool_calls
    assert (call.name, str(call.status)) == (called, "unknown tool")
    (call,) = parser.parse(output.replace("NAME", "delete")).tool_calls
    assert (call.name, str(call.status), call.id) == ("delete", "ok", "functions.delete:0")
