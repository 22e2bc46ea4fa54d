"""Renders in both sandboxes, and the errors in place of Jinja's exceptions."""

from __future__ import annotations

import pickle
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any

import jinja2
import jinja2.sandbox
import pytest

from autoparser import ChatTemplate, analyze, isolated
from autoparser.analysis.lint.linting import lint
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.environment import GENERATION_OPEN
from autoparser.analysis.templates.sandbox_kind import SandboxKind
from autoparser.errors import LimitKind, TemplateLimitError, TemplateRenderError
from tests.case_tables import case_tables, load_cases

table = case_tables(__file__, "renders.yaml")
USER = {"role": "user", "content": "hi"}
MESSAGES = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]


@table("environment")
def test_environment_equals_that_of_transformers(case: Any) -> None:
    assert ChatTemplate(case["text"]).render([USER]) == case["expected"], case["reason"]


@table("failures")
def test_every_template_exception_becomes_a_render_error(case: Any) -> None:
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


@table("messages")
def test_messages_are_prepared_as_in_transformers(case: Any) -> None:
    rendered = ChatTemplate("{{ messages[0] }}").render([case["message"]])
    assert rendered == str(case["expected"]), case["reason"]


def test_objects_are_prepared_as_in_transformers() -> None:
    content = [OrderedDict(type="text"), Color.RED, Size.BIG, (1, True)]
    expected = "[{'type': 'text'}, 'red', '<Size>', (1, True)]"
    template = ChatTemplate("{{ messages[0].content }}")
    assert template.render([OrderedDict(role="a", content=content)]) == expected
    assert template.render([Said("user", "hi")]) == "hi"
    assert template.render([Model()]) == "from a model"


def test_render_does_not_change_the_callers_values() -> None:
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


def test_wrong_arguments_are_named() -> None:
    template = ChatTemplate("x")
    with pytest.raises(ValueError, match="at least one message"):
        template.render([])
    for messages, given, words in (
        (["hi"], {}, "a message must be a dict"),
        ([[USER]], {}, "not a list"),
        ([USER], {"tools": [len]}, "a tool must be a dict with its JSON schema"),
        ([USER], {"documents": ["text"]}, "a document must be a dict"),
    ):
        with pytest.raises(TypeError, match=words):
            template.render(messages, **given)


def test_render_error_is_one_short_line() -> None:
    with pytest.raises(TemplateRenderError) as caught:
        ChatTemplate("{{ raise_exception('\x1b[31m\n' + 'a' * 100000) }}").render([USER])
    shown = str(caught.value)
    assert shown.isprintable()
    assert len(shown) < 1000
    assert len(caught.value.reason) > 100000


def test_template_is_equal_after_pickling_and_unchanged_by_rendering() -> None:
    template = ChatTemplate("{{ bos_token }}", {"bos_token": "B"}, "default", "chat.jinja")
    template.check_syntax()
    copied = pickle.loads(pickle.dumps(template))  # noqa: S301 - our own
    assert copied == template
    assert hash(copied) == hash(template)
    assert copied.render([USER]) == "B"
    tree = template.syntax_tree
    before = str(tree)
    assert template.render([USER]) == "B"
    assert template.syntax_tree is tree
    assert str(tree) == before


ENDLESS = load_cases(__file__, "renders.yaml")["endless"]


def test_endless_recursion_names_one_line_at_any_depth() -> None:
    template = ChatTemplate(ENDLESS)

    def failure(depth: int) -> tuple[str, int | None]:
        if depth:
            return failure(depth - 1)
        with pytest.raises(TemplateRenderError) as caught:
            template.render([USER])
        return caught.value.reason, caught.value.line

    ((words, line),) = {failure(depth) for depth in range(12)}
    assert words.startswith("RecursionError: maximum recursion depth exceeded")
    assert line == 3


APPENDS = ChatTemplate(
    "{% set seen = [] %}{% for m in messages %}{% set _ = seen.append(m.content) %}"
    "{% generation %}{{ seen | join('+') }};{% endgeneration %}{% endfor %}",
    {"bos_token": "<s>"},
    origin="appends.jinja",
)


@pytest.mark.parametrize("form", [copy, isolated], ids=["here", "in a worker"])
def test_lists_change_only_in_the_mutable_sandbox(
    form: Callable[[ChatTemplate], ChatTemplate],
) -> None:
    with pytest.raises(TemplateRenderError, match="append") as caught:
        form(APPENDS).render(MESSAGES)
    found = caught.value
    assert (found.forbidden, found.refused, found.line) == (True, False, 1)
    free = form(APPENDS).in_mutable_sandbox
    assert free.render(MESSAGES) == "a;a+b;"
    assert free.render_generation({"messages": MESSAGES}).startswith(GENERATION_OPEN)
    assert "".join(span.text for span in free.source_map({"messages": MESSAGES}).spans) == "a;a+b;"
    assert isolated(free).render(MESSAGES) == "a;a+b;"
    copied = pickle.loads(pickle.dumps(free))  # noqa: S301 - our own
    assert copied.sandbox is SandboxKind.MUTABLE
    assert copied.render(MESSAGES) == "a;a+b;"


@table("forbidden")
def test_mutable_sandbox_forbids_everything_else(case: Any) -> None:
    with pytest.raises(TemplateRenderError):
        ChatTemplate(case["text"]).in_mutable_sandbox.render(MESSAGES)


def test_render_has_no_side_effects() -> None:
    pops = ChatTemplate("{{ messages.pop().content }}{{ tools.clear() }}{{ extra.update(x=1) }}")
    messages, tools, extra = [*map(dict, MESSAGES)], [{"name": "f"}], {"k": [1]}
    free = pops.in_mutable_sandbox
    given = {"messages": messages, "tools": tools, "extra": extra}
    assert free.render_prepared(given) == free.render_prepared(given) == "bNoneNone"
    assert (messages, tools, extra) == (MESSAGES, [{"name": "f"}], {"k": [1]})


@pytest.mark.parametrize("times", [1, 2])
def test_mutable_sandbox_is_separate_from_the_immutable_one(times: int) -> None:
    """Whatever is remembered of one sandbox is not the other's, nor of another class."""
    appends = ChatTemplate("{% set _ = [].append(1) %}{{ {'append': 'mine'}.append }}")
    for _ in range(times):
        assert appends.in_mutable_sandbox.render(MESSAGES) == "mine"
        with pytest.raises(TemplateRenderError, match="append"):
            appends.render(MESSAGES)
        with pytest.raises(TemplateRenderError):
            ChatTemplate("{{ ''['__class__'].x }}").render(MESSAGES)


@table("accesses")
def test_fast_access_and_calls_equal_jinjas(case: Any) -> None:
    """The judge is the sandbox of Jinja itself, with nothing overridden."""

    def text(render: Callable[[], str]) -> str | None:
        try:
            return re.sub("0x[0-9a-f]+", "", render())
        except (jinja2.TemplateError, TypeError, TemplateRenderError):
            return None

    plain = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    judge, template = plain.from_string(case["text"]), ChatTemplate(case["text"])
    wanted = text(lambda: judge.render(messages=[*map(dict, MESSAGES)]))
    for _ in range(2):  # once uncached, once cached
        assert text(lambda: template.render(MESSAGES)) == wanted


class EndlessTemplate(ChatTemplate):
    """Every render of it runs into the limit on its time, as a worker would end it."""

    asked = 0

    def render_prepared(self, variables: Mapping[str, object]) -> str:
        del variables
        type(self).asked += 1
        raise TemplateLimitError(LimitKind.RENDER_TIME, "it takes more than 5 s")


@pytest.mark.parametrize("look", [analyze, lambda template: lint(Subject(template))])
def test_template_whose_renders_never_end_is_rendered_once(
    look: Callable[[ChatTemplate], object],
) -> None:
    EndlessTemplate.asked = 0
    with pytest.raises(TemplateLimitError, match="more than 5 s"):
        look(EndlessTemplate("{{ messages[0].content }}"))
    assert EndlessTemplate.asked == 1
