"""What a render gives, case by case, and what it gives in place of Jinja's exceptions."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from dataclasses import dataclass
from enum import Enum, StrEnum

import pytest

from autoparser import ChatTemplate, TemplateRenderError

USER = {"role": "user", "content": "hi"}


class Colour(StrEnum):
    RED = "red"


class Size(Enum):
    BIG = 1


@dataclass
class Said:
    role: str
    content: str


class Model:
    def model_dump(self) -> dict[str, object]:
        return {"role": "user", "content": "from a model"}


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        ("{% if true %}\n  a\n  {% endif %}\nb\n", "  a\nb", "blocks are trimmed"),
        ("{{ tools is defined }} {{ tools }}", "True None", "tools are always passed"),
        ("{{ documents is none }}", "True", "documents are always passed"),
        ("{{ unknown }}|{{ unknown is defined }}", "|False", "an unknown name is undefined"),
        ("{{ {'a': '<é'}|tojson }}", '{"a": "<é"}', "tojson escapes neither HTML nor letters"),
        ("{{ [1, 2]|tojson(separators=(',', ':')) }}", "[1,2]", "tojson takes separators"),
        ("{{ {'b': 1, 'a': 2}|tojson(sort_keys=true) }}", '{"a": 2, "b": 1}', "and an order"),
        ("{{ [1]|tojson(indent=1) }}", "[\n 1\n]", "and an indent"),
        (
            "{{ [1]|tojson }}{{ [true]|tojson }}{{ [1.0]|tojson }}{{ [1]|tojson }}",
            "[1][true][1.0][1]",
            "tojson tells values apart that are equal",
        ),
        ("{{ '<' | e }}", "&lt;", "other filters are Jinja's"),
        ("{% for i in [1, 2] %}{{ i }}{% break %}{% endfor %}", "1", "loop controls"),
        ("a{% generation %}b{% endgeneration %}c", "abc", "the generation tag leaves no text"),
        (
            "{% set x = 1 %}{% generation %}{% set x = 2 %}{% endgeneration %}{{ x }}",
            "1",
            "what is set in a generation stays there",
        ),
        ("{{ dict(a=1) }}{{ dict.fromkeys('a', 0) }}", "{'a': 1}{'a': 0}", "dict"),
        ("{% set n = namespace(a=1) %}{% set n.a = 2 %}{{ n.a }}", "2", "namespace"),
        ("{% set n = namespace(self=1) %}{{ n.self }}", "1", "namespace, any name"),
        ("{{ range(3)|list }}", "[0, 1, 2]", "range"),
        ("{{ strftime_now('%Y')|length }}", "4", "the clock"),
    ],
)
def test_the_environment_is_that_of_transformers(text: str, expected: str, reason: str) -> None:
    assert ChatTemplate(text).render([USER]) == expected, reason


@pytest.mark.parametrize(
    ("message", "expected", "reason"),
    [
        (USER, {"role": "user", "content": "hi"}, "plain"),
        ({**USER, "tool_calls": None}, {"role": "user", "content": "hi"}, "None is dropped"),
        (
            {"role": "a", "reasoning": "r"},
            {"thinking": "r", "role": "a", "reasoning": "r", "reasoning_content": "r"},
            "reasoning has three names",
        ),
        (
            {"role": "a", "thinking": "t", "reasoning_content": "r"},
            {"thinking": "t", "role": "a", "reasoning_content": "r"},
            "a name that is given stays",
        ),
        (
            {"role": "a", "reasoning_content": ""},
            {"thinking": "", "role": "a", "reasoning_content": ""},
            "empty reasoning is reasoning",
        ),
        (
            {"role": "a", "content": Colour.RED, "size": Size.BIG, "pair": (1, True)},
            {"role": "a", "content": "red", "size": "<Size>", "pair": (1, True)},
            "all is plain",
        ),
        (
            OrderedDict(role="a", content=[OrderedDict(type="text")]),
            {"role": "a", "content": [{"type": "text"}]},
            "mappings are dicts",
        ),
        (Said("user", "hi"), {"role": "user", "content": "hi"}, "a dataclass"),
        (Model(), {"role": "user", "content": "from a model"}, "a pydantic model"),
    ],
)
def test_messages_are_prepared_as_in_transformers(
    message: object, expected: dict[str, object], reason: str
) -> None:
    assert ChatTemplate("{{ messages[0] }}").render([message]) == str(expected), reason


def test_the_caller_keeps_its_messages() -> None:
    message = {"role": "a", "reasoning": "r", "content": None}
    ChatTemplate("x").render([message])
    assert message == {"role": "a", "reasoning": "r", "content": None}


def test_switches_override_special_tokens() -> None:
    template = ChatTemplate("{{ bos_token }}{{ eos_token }}", {"bos_token": "B", "eos_token": "E"})
    assert template.render([USER], eos_token="other") == "Bother"


def test_tools_documents_and_the_generation_prompt_reach_the_template() -> None:
    template = ChatTemplate("{{ tools }}{{ documents }}{{ add_generation_prompt }}")
    rendered = template.render([USER], [{"name": "f"}], True, documents=[{"title": "t"}])
    assert rendered == "[{'name': 'f'}][{'title': 't'}]True"


def test_a_prepared_render_gets_its_variables_and_no_others() -> None:
    template = ChatTemplate("{{ bos_token }}{{ tools is defined }}{{ a }}", {"bos_token": "B"})
    assert template.render_prepared({"a": 1}) == "False1"


def test_a_prepared_variable_overrides_a_global() -> None:
    clock = {"strftime_now": lambda _: "noon"}
    assert ChatTemplate("{{ strftime_now('%H') }}").render_prepared(clock) == "noon"


@pytest.mark.parametrize(
    ("messages", "tools", "error", "words"),
    [
        ([], None, ValueError, "at least one message"),
        (["hi"], None, TypeError, "a message must be a dict"),
        ([[USER]], None, TypeError, "not a list"),
        ([USER], [len], TypeError, "a tool must be a dict with its JSON schema"),
    ],
)
def test_wrong_arguments(
    messages: list[object], tools: list[object] | None, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ChatTemplate("x").render(messages, tools)


def test_documents_must_be_dicts() -> None:
    with pytest.raises(TypeError, match="a document must be a dict"):
        ChatTemplate("x").render([USER], documents=["text"])


@pytest.mark.parametrize(
    ("text", "line", "refused", "reason"),
    [
        ("\n{{ raise_exception('no\nway') }}", 2, True, "no\nway"),
        ("{{ raise_exception(1) }}", 1, True, "1"),
        ("\n\n{{ a.b.c }}", 3, False, "UndefinedError: 'a' is undefined"),
        ("{% macro f() %}\n{{ 1 + 'a' }}{% endmacro %}{{ f() }}", 2, False, "TypeError: "),
        ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", 1, False, "RecursionError: "),
        ("{{ 'a' * 10 ** 18 }}", 1, False, "MemoryError"),
        ("{{ 'a' * 10 ** 20 }}", 1, False, "OverflowError: "),
        ("{{ 1 / 0 }}", 1, False, "ZeroDivisionError: "),
        ("{{ dict.from_keys([]) }}", 1, False, "UndefinedError: "),
        ("{{ messages.append(1) }}", 1, False, "SecurityError: "),
        ("{% set n = namespace(_a=1) %}", 1, False, "SecurityError: "),
        ("{% set n = namespace() %}{% set n._a = 1 %}", 1, False, "SecurityError: "),
        ("{% include 'other' %}", 1, False, "TypeError: "),
        ("{{ raise_exception('\ud800') }}", 1, True, "\ud800"),
    ],
)
def test_whatever_a_template_does_is_a_render_error(
    text: str, line: int, refused: bool, reason: str
) -> None:
    with pytest.raises(TemplateRenderError) as caught:
        ChatTemplate(text, origin="chat.jinja").render([USER])
    assert (caught.value.line, caught.value.refused) == (line, refused)
    assert caught.value.reason.startswith(reason)
    shown = str(caught.value)
    assert shown.startswith(f"chat.jinja: line {line}: ")
    assert shown.isprintable()
    assert caught.value.__context__ is None


def test_a_render_error_is_one_short_line_whatever_the_template_says() -> None:
    with pytest.raises(TemplateRenderError) as caught:
        ChatTemplate("{{ raise_exception('\x1b[31m\n' + 'a' * 100000) }}").render([USER])
    shown = str(caught.value)
    assert shown.isprintable()
    assert len(shown) < 1000
    assert len(caught.value.reason) > 100000


def test_a_template_is_a_value() -> None:
    template = ChatTemplate("{{ bos_token }}", {"bos_token": "B"}, "default", "chat.jinja")
    template.check_syntax()
    copy = pickle.loads(pickle.dumps(template))  # noqa: S301 - our own
    assert copy == template
    assert hash(copy) == hash(template)
    assert copy.render([USER]) == "B"


def test_the_syntax_tree_is_the_one_that_was_parsed() -> None:
    template = ChatTemplate("{{ 'a' ~ 'b' }}")
    tree = template.syntax_tree
    before = str(tree)
    assert template.render([USER]) == "ab"
    assert template.syntax_tree is tree
    assert str(tree) == before


def test_a_megabyte_of_text() -> None:
    text = "one line of text\n" * 60_000
    assert ChatTemplate(text + "{{ messages[0].content }}").render([USER]) == text + "hi"


ENDLESS = """{%- macro down(value) -%}
{{- 'a' }}
{{- down(
        value | string | trim
    ) }}
{{- 'b' }}
{%- endmacro -%}
{{- down(messages | length) }}
"""


def test_an_endless_recursion_is_at_one_line_however_deep_the_caller_stands() -> None:
    template = ChatTemplate(ENDLESS)

    def failure(depth: int) -> tuple[str, int | None]:
        if depth:
            return failure(depth - 1)
        with pytest.raises(TemplateRenderError) as caught:
            template.render([{"role": "user", "content": "x"}])
        return str(caught.value), caught.value.line

    found = {failure(depth) for depth in range(12)}
    assert len(found) == 1, found
    (words, line) = found.pop()
    assert "RecursionError: maximum recursion depth exceeded" in words
    assert line == 3
