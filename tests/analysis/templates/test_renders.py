"""What a render gives, in both sandboxes, and what it gives in place of Jinja's exceptions."""

from __future__ import annotations

import pickle
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any

import jinja2
import jinja2.sandbox
import pytest

from autoparser import (
    ChatTemplate,
    Limit,
    TemplateLimitError,
    TemplateRenderError,
    analyze,
    isolated,
)
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.environment import GENERATION_OPEN, SandboxKind
from tests.case_tables import case_tables

table = case_tables(__file__, "renders.yaml")
USER = {"role": "user", "content": "hi"}
MESSAGES = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]


@table("environment")
def test_the_environment_is_that_of_transformers(case: Any) -> None:
    assert ChatTemplate(case["text"]).render([USER]) == case["expected"], case["reason"]


@table("failures")
def test_whatever_a_template_raises_is_a_render_error(case: Any) -> None:
    with pytest.raises(TemplateRenderError) as caught:
        ChatTemplate(case["text"], origin="chat.jinja").render([USER])
    assert (caught.value.line, caught.value.refused) == (case["line"], case["refused"])
    assert caught.value.reason.startswith(case["reason"])
    shown = str(caught.value)
    assert shown.startswith(f"chat.jinja: line {case['line']}: ")
    assert shown.isprintable()
    assert caught.value.__context__ is None


class Color(StrEnum):
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
            {"role": "a", "content": Color.RED, "size": Size.BIG, "pair": (1, True)},
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


def test_a_render_takes_variables_and_leaves_what_the_caller_has() -> None:
    message = {"role": "a", "reasoning": "r", "content": None}
    ChatTemplate("x").render([message])
    assert message == {"role": "a", "reasoning": "r", "content": None}
    special = ChatTemplate("{{ bos_token }}{{ eos_token }}", {"bos_token": "B", "eos_token": "E"})
    assert special.render([USER], eos_token="other") == "Bother"
    template = ChatTemplate("{{ tools }}{{ documents }}{{ add_generation_prompt }}")
    rendered = template.render([USER], [{"name": "f"}], True, documents=[{"title": "t"}])
    assert rendered == "[{'name': 'f'}][{'title': 't'}]True"
    prepared = ChatTemplate("{{ bos_token }}{{ tools is defined }}{{ a }}", {"bos_token": "B"})
    assert prepared.render_prepared({"a": 1}) == "False1"
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
def test_wrong_arguments_are_named(
    messages: list[object], tools: list[object] | None, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ChatTemplate("x").render(messages, tools)


def test_documents_must_be_dicts() -> None:
    with pytest.raises(TypeError, match="a document must be a dict"):
        ChatTemplate("x").render([USER], documents=["text"])


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


APPENDS = ChatTemplate(
    "{% set seen = [] %}{% for m in messages %}{% set _ = seen.append(m.content) %}"
    "{% generation %}{{ seen | join('+') }};{% endgeneration %}{% endfor %}",
    {"bos_token": "<s>"},
    origin="appends.jinja",
)
FORMS: list[Callable[[ChatTemplate], ChatTemplate]] = [lambda template: template, isolated]


@pytest.mark.parametrize("form", FORMS, ids=["here", "in a worker"])
def test_the_public_render_raises_as_transformers_does(
    form: Callable[[ChatTemplate], ChatTemplate],
) -> None:
    with pytest.raises(TemplateRenderError, match="append") as caught:
        form(APPENDS).render(MESSAGES)
    assert caught.value.forbidden
    assert not caught.value.refused
    assert caught.value.line == 1


@pytest.mark.parametrize("form", FORMS, ids=["here", "in a worker"])
def test_it_is_rendered_where_lists_may_change(
    form: Callable[[ChatTemplate], ChatTemplate],
) -> None:
    free = form(APPENDS).in_mutable_sandbox
    assert free.render(MESSAGES) == "a;a+b;"
    assert free.render_generation({"messages": MESSAGES}).startswith(GENERATION_OPEN)
    assert "".join(span.text for span in free.source_map({"messages": MESSAGES}).spans) == "a;a+b;"
    assert isolated(free).render(MESSAGES) == "a;a+b;"
    copied = pickle.loads(pickle.dumps(free))  # noqa: S301 - our own
    assert copied.sandbox is SandboxKind.MUTABLE
    assert copied.render(MESSAGES) == "a;a+b;"


@table("forbidden")
def test_all_else_is_forbidden_in_the_mutable_sandbox_too(case: Any) -> None:
    with pytest.raises(TemplateRenderError):
        ChatTemplate(case["text"]).in_mutable_sandbox.render(MESSAGES)


def test_nothing_outlives_a_render() -> None:
    pops = ChatTemplate("{{ messages.pop().content }}{{ tools.clear() }}{{ extra.update(x=1) }}")
    messages, tools, extra = [*map(dict, MESSAGES)], [{"name": "f"}], {"k": [1]}
    free = pops.in_mutable_sandbox
    given = {"messages": messages, "tools": tools, "extra": extra}
    assert free.render_prepared(given) == free.render_prepared(given) == "bNoneNone"
    assert (messages, tools, extra) == (MESSAGES, [{"name": "f"}], {"k": [1]})


@pytest.mark.parametrize("times", [1, 2])
def test_what_one_sandbox_allows_the_other_still_forbids(times: int) -> None:
    """Whatever is remembered of one sandbox is not the other's, nor of another class."""
    appends = ChatTemplate("{% set _ = [].append(1) %}{{ {'append': 'mine'}.append }}")
    for _ in range(times):
        assert appends.in_mutable_sandbox.render(MESSAGES) == "mine"
        with pytest.raises(TemplateRenderError, match="append"):
            appends.render(MESSAGES)
        with pytest.raises(TemplateRenderError):
            ChatTemplate("{{ ''['__class__'].x }}").render(MESSAGES)


@table("accesses")
def test_the_faster_accesses_and_calls_give_what_jinja_gives(case: Any) -> None:
    """The judge is the sandbox of Jinja itself, with nothing overridden."""
    plain = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    said: list[str | None] = []
    for _ in range(2):  # once without anything remembered, once with
        try:
            said.append(ChatTemplate(case["text"]).render(MESSAGES))
        except TemplateRenderError:
            said.append(None)
    try:
        wanted = plain.from_string(case["text"]).render(messages=[*map(dict, MESSAGES)])
    except (jinja2.TemplateError, TypeError):
        wanted = None
    address = re.compile("0x[0-9a-f]+")
    assert [each and address.sub("", each) for each in said] == [
        wanted and address.sub("", wanted)
    ] * 2


class _Endless(ChatTemplate):
    """Every render of it runs into the limit on its time, as a worker would end it."""

    asked = 0

    def render_prepared(self, variables: Mapping[str, object]) -> str:
        del variables
        type(self).asked += 1
        raise TemplateLimitError(Limit.RENDER_TIME, "it takes more than 5 s")


@pytest.mark.parametrize("look", [analyze, lambda template: lint(Subject(template))])
def test_a_template_whose_renders_never_end_is_rendered_once(
    look: Callable[[ChatTemplate], object],
) -> None:
    _Endless.asked = 0
    with pytest.raises(TemplateLimitError, match="more than 5 s"):
        look(_Endless("{{ messages[0].content }}"))
    assert _Endless.asked == 1
