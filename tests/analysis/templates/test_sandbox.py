"""The mutable sandbox: what transformers' own forbids, on copies, and nothing else."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable

import jinja2
import jinja2.sandbox
import pytest

from autoparser import ChatTemplate, TemplateRenderError, isolated
from autoparser.analysis.templates.environment import GENERATION_OPEN, SandboxKind

APPENDS = ChatTemplate(
    "{% set seen = [] %}{% for m in messages %}{% set _ = seen.append(m.content) %}"
    "{% generation %}{{ seen | join('+') }};{% endgeneration %}{% endfor %}",
    {"bos_token": "<s>"},
    origin="appends.jinja",
)
MESSAGES = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
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


def test_nothing_outlives_a_render() -> None:
    pops = ChatTemplate("{{ messages.pop().content }}{{ tools.clear() }}{{ extra.update(x=1) }}")
    messages, tools, extra = [*map(dict, MESSAGES)], [{"name": "f"}], {"k": [1]}
    free = pops.in_mutable_sandbox
    given = {"messages": messages, "tools": tools, "extra": extra}
    assert free.render_prepared(given) == free.render_prepared(given) == "bNoneNone"
    assert (messages, tools, extra) == (MESSAGES, [{"name": "f"}], {"k": [1]})


@pytest.mark.parametrize(
    "text",
    [
        "{{ messages.__class__.x }}",
        "{{ namespace(_x=1) }}",
        "{{ ''['__class__'].x }}",
        "{{ lipsum.__globals__.x }}",
        "{% for i in range(999999) %}{% endfor %}",
    ],
)
def test_all_else_is_forbidden_there_too(text: str) -> None:
    with pytest.raises(TemplateRenderError):
        ChatTemplate(text).in_mutable_sandbox.render(MESSAGES)


def test_what_is_safe_is_asked_once_for_all_objects_of_a_plain_class(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    ask = jinja2.sandbox.is_internal_attribute

    def counting(value: object, attribute: str) -> bool:
        asked.append(attribute)
        return ask(value, attribute)

    monkeypatch.setattr(jinja2.sandbox, "is_internal_attribute", counting)
    template = ChatTemplate(
        "{% set ns = namespace(never_asked_before=0) %}{% for i in range(500) %}"
        "{% set ns.never_asked_before = ns.never_asked_before + i %}"
        "{{ messages.copy() and messages[0].items() and '' }}{% endfor %}"
        "{{ ns.never_asked_before }}"
    )
    assert template.render(MESSAGES) == "124750"
    assert asked.count("never_asked_before") == 1
    assert asked.count("copy") <= 1
    assert asked.count("items") <= 1


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


@pytest.mark.parametrize(
    "text",
    [
        "{% set g = []|map('upper') %}{{ g.send(none) }}",
        "{{ '{0.role}'.format(messages[0]) }}",
        "{{ '{0.__class__}'.format(messages[0]) }}",
        "{% set ns = namespace(format='{}'.format, f=''.join) %}{{ ns.format(1) ~ ns.f(['a']) }}",
        "{% set ns = namespace({'a': 1}, b=2) %}{% set ns.a = ns.a + ns.b %}{{ ns.a }}{{ ns.c }}",
        "{{ namespace(x=1) }}",
        "{% macro m(a, b=2) %}{{ a ~ b ~ varargs ~ kwargs }}{% endmacro %}{{ m(1, c=3) }}",
        "{% macro m() %}<{{ caller(1) }}>{% endmacro %}{% call(x) m() %}{{ x }}{% endcall %}",
        "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
        "{% for m in messages %}{{ loop.index ~ loop.last ~ loop.cycle(1, 2) }}{% endfor %}",
        "{% for m in messages %}{{ loop.nextitem.content.upper() }}{% endfor %}",
        "{% for m in messages %}{{ loop._length }}{% endfor %}",
        "{{ messages[0].get('role') ~ messages[0].pop('role') }}",
        "{{ [3, 1].index(1) ~ {'a': 1}.items()|list ~ {'a': 1}.get }}",
        "{{ messages[0].missing ~ 'x'.missing ~ messages.missing }}",
    ],
)
def test_the_faster_accesses_and_calls_give_what_jinja_gives(text: str) -> None:
    """The judge is the sandbox of Jinja itself, with nothing overridden."""
    plain = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    said: list[str | None] = []
    for _ in range(2):  # once without anything remembered, once with
        try:
            said.append(ChatTemplate(text).render(MESSAGES))
        except TemplateRenderError:
            said.append(None)
    try:
        wanted = plain.from_string(text).render(messages=[*map(dict, MESSAGES)])
    except (jinja2.TemplateError, TypeError):
        wanted = None
    address = re.compile("0x[0-9a-f]+")
    assert [each and address.sub("", each) for each in said] == [
        wanted and address.sub("", wanted)
    ] * 2
