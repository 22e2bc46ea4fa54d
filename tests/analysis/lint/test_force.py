"""Templates that hide what they do, and what a run with every branch taken sees of it."""

from __future__ import annotations

import pytest

from autoparser import ChatTemplate
from autoparser.analysis.lint.forced_branches import ForcedRun, force_branches

MESSAGES = [
    {"role": "user", "content": "Hello."},
    {"role": "assistant", "content": "Hi.", "tool_calls": [{"function": {"arguments": {"a": 1}}}]},
]


def forced(text: str) -> ForcedRun:
    return force_branches(
        ChatTemplate(text), {"messages": MESSAGES, "tools": None, "bos_token": "<s>"}
    )


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{{ ''.__class__ }}", ["__class__"]),
        ("{% if false %}{{ ''.__class__.__mro__ }}{% endif %}", ["__class__"]),
        (
            "{% if false %}{% elif x == 1 %}{{ x }}{% else %}{{ ().__class__ }}{% endif %}",
            ["__class__"],
        ),
        ("{{ 'a' if true else ''['__class__'] }}", ["__class__"]),
        ("{{ false and ''.__class__ }}", ["__class__"]),
        ("{{ true or ''.__class__ }}", ["__class__"]),
        ("{% for x in [] %}{{ ''.__class__ }}{% endfor %}", ["__class__"]),
        ("{% for x in [1] %}{% else %}{{ ''.__class__ }}{% endfor %}", ["__class__"]),
        ("{% for x in [1] if ''.__class__ %}{% endfor %}", ["__class__"]),
        ("{% for x in messages %}{% continue %}{{ ''.__class__ }}{% endfor %}", ["__class__"]),
        ("{% macro m(x) %}{{ x }}{{ ''.__class__ }}{% endmacro %}", ["__class__"]),
        ("{% set x = ''.__class__ %}", ["__class__"]),
        ("{% set a, b = nothing, ''.__class__ %}", ["__class__"]),
        ("{% set a, b = nothing %}{{ ''.__class__ }}", ["__class__"]),
        ("{% if ''.__class__ %}{% endif %}", ["__class__"]),
        ("{% if not (''.__class__ is defined) %}{% endif %}", ["__class__"]),
        ("{{ raise_exception('no') }}{{ ''.__class__ }}", ["__class__"]),
        ("{{ missing.deep.down() + 1 }}{{ 1 / 0 }}{{ ''.__class__ }}", ["__class__"]),
        ("{{ messages.append(1) }}{{ ''.__class__ }}", ["__class__"]),
        ("{{ nothing[1:2] }}{{ 'x' | int(base=none) }}{{ ''.__class__ }}", ["__class__"]),
        ("{% generation %}{{ ''.__class__ }}{% endgeneration %}", ["__class__"]),
        ("{{ '%s'.__mod__ }}", ["__mod__"]),
        ("{{ messages[0].content.upper() }}", []),
        ("{{ messages | map(attribute='role') | join }}", []),
    ],
)
def test_private_attributes(text: str, names: list[str]) -> None:
    seen = forced(text)
    assert not seen.error
    assert [*seen.forbidden] == names
    assert not seen.by_name


@pytest.mark.parametrize(
    "text",
    [
        "{{ '' | attr('__class__') }}",
        "{% if false %}{{ '' | attr('__cl' ~ 'ass__') }}{% endif %}",
        "{{ [''] | map(attribute='__class__') | list }}",
        "{{ [''] | map('attr', '__class__') | list }}",
        "{{ [''] | selectattr('__class__') | list }}",
        "{{ '' | attr(['__', 'class', '__'] | join) }}",
    ],
)
def test_attributes_by_name(text: str) -> None:
    assert [*forced(text).by_name] == ["__class__"]


@pytest.mark.parametrize("name", ["lipsum", "cycler", "joiner"])
def test_gadgets(name: str) -> None:
    assert [*forced(f"{{% if false %}}{{{{ {name}() }}}}{{% endif %}}").gadgets] == [name]


@pytest.mark.parametrize(
    "text",
    [
        "{% if false %}{% include 'a' ~ '.txt' %}{% endif %}",
        "{% import 'a.txt' as a %}",
        "{% from 'a.txt' import b %}",
        "{% extends 'a.txt' %}",
    ],
)
def test_other_templates(text: str) -> None:
    assert [*forced(text).loaded] == ["a.txt"]


@pytest.mark.parametrize(
    "text",
    [
        "{% if x == 'never' %}hidden{% endif %}",
        "{{ 'shown' if true else 'hidden' }}",
        "{% if false %}{% else %}hidden{% endif %}",
        "{% macro m() %}hidden{% endmacro %}",
        "{% for x in nothing %}hidden{% endfor %}",
    ],
)
def test_all_that_may_be_written_is(text: str) -> None:
    assert "hidden" in forced(text).text


@pytest.mark.parametrize(
    "text",
    [
        "{% for a in range(99999) %}{% for b in range(99999) %}{{ a }}{% endfor %}{% endfor %}",
        "{% macro m() %}{{ m() }}{{ m() }}{{ m() }}{% endmacro %}",
        "{% macro a() %}{{ b() }}{{ b() }}{% endmacro %}"
        "{% macro b() %}{{ a() }}{{ a() }}{% endmacro %}",
        "{{ 9 ** 99999999 }}",
        "{{ 'x' * 999999999 }}",
        "{% for x in messages recursive %}{{ loop(messages) }}{{ loop(messages) }}{% endfor %}",
    ],
)
def test_it_is_bounded(text: str) -> None:
    # A bound that fails takes minutes, or forever.
    assert len(forced(text).text) < 1_000_000


def test_what_does_not_compile_is_no_crash() -> None:
    assert forced("{{ 'x' | nosuchfilter }}").error
