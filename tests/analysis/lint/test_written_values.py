from __future__ import annotations

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.core.conversation import Json
from autoparser.analysis.core.schema_keywords import JsonType
from autoparser.analysis.lint.call_texts import value_writing, written_as_python
from autoparser.analysis.lint.subject import Subject

TEMPLATE = """{%- for message in messages %}
    {{- '<|' + message.role + '|>' + (message.content or '') }}
    {%- for call in message.tool_calls or [] %}
        {%- set name, arguments = call.function.name, call.function.arguments %}
        CALL
    {%- endfor %}
{%- endfor %}
"""
JSON = """{{- '{"name": "' + name + '", "arguments": ' }}{{- arguments | tojson }}{{- '}' }}"""
PYTHON = """{{- '[' + name + '(' }}
    {%- for key, value in arguments.items() %}{{- key + '=' }}
    {{- '"' + value + '"' if value is string else value }}
    {{- '' if loop.last else ', ' }}{% endfor %}{{- ')]' }}"""
DICTIONARY = "{{- {'name': name, 'arguments': arguments} | string }}"
MIXED = """{{- '{"name": "' + name + '", "arguments": ' }}{{- arguments }}{{- '}' }}"""
TAGGED = """{{- name }}{%- for key, value in arguments.items() %}
    {{- '<' + key + '>' }}{{- value if value is string else value | string }}{{- '</>' }}
    {%- endfor %}"""


def subject(call: str) -> Subject:
    return Subject(ChatTemplate(TEMPLATE.replace("CALL", call)))


@pytest.mark.parametrize(
    ("call", "value", "kind", "text"),
    [
        (JSON, True, JsonType.BOOLEAN, "true"),
        (JSON, None, JsonType.NULL, "null"),
        (JSON, "a b", JsonType.STRING, "a b"),
        (JSON, [1], JsonType.ARRAY, "[1]"),
        (MIXED, {"a": None}, JsonType.OBJECT, "{'a': None}"),
        (TAGGED, False, JsonType.BOOLEAN, "False"),
        (TAGGED, "<", JsonType.STRING, "<"),
    ],
)
def test_a_value_as_it_stands(call: str, value: Json, kind: JsonType, text: str) -> None:
    found = value_writing(subject(call), value, kind)
    assert found is not None
    assert found.text == text


def test_no_value_where_none_is_written() -> None:
    assert value_writing(subject("{{- name }}"), True) is None


@pytest.mark.parametrize(
    ("call", "python"),
    [(JSON, False), (PYTHON, True), (DICTIONARY, True), (MIXED, False), (TAGGED, False)],
)
def test_python_throughout(call: str, python: bool) -> None:
    assert written_as_python(subject(call)) is python
