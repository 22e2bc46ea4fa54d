"""Templates that render in a worker, and analyses of them."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from autoparser import (
    ChatTemplate,
    Limit,
    Limits,
    TemplateLimitError,
    TemplateRenderError,
    TemplateSyntaxError,
    analyze,
    isolated,
    load_template,
)
from autoparser.analysis.templates.encoded_template import IsolatedTemplate
from autoparser.analysis.templates.environment import GENERATION_OPEN

ROOT = Path(__file__).parents[3]
TEMPLATE = ROOT / "fixtures" / "templates" / "j1-json-in-tags.jinja"
MESSAGES = [{"role": "user", "content": "hi"}]
SHORT = Limits(render_seconds=0.2, seconds=2, memory=100_000_000, characters=100_000)
ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


def test_the_text_is_the_same() -> None:
    plain = load_template(TEMPLATE)
    apart = isolated(plain)
    assert apart.render(MESSAGES, enable=True) == plain.render(MESSAGES, enable=True)
    assert apart.plain() == plain


def test_marks_are_the_same() -> None:
    template = ChatTemplate("{% generation %}x{% endgeneration %}")
    apart = isolated(template)
    assert apart.marks_generation
    marked = apart.render_generation({"messages": MESSAGES})
    assert marked.startswith(GENERATION_OPEN)
    assert marked == template.render_generation({"messages": MESSAGES})


@pytest.mark.parametrize(
    ("text", "limit", "words"),
    [
        (ENDLESS, Limit.RENDER_TIME, "more than 0.2 s"),
        ("{{ 7 ** (messages | length * 99999999) % 3 }}", Limit.RENDER_TIME, "more than 0.2 s"),
        ("{{ ('x' * (messages | length * 10 ** 9)) | length }}", Limit.MEMORY, "100 MB"),
        ("{{ 'x' * (messages | length * 100_001) }}", Limit.OUTPUT, "100000 characters"),
    ],
)
def test_a_render_beyond_a_limit_names_it(text: str, limit: Limit, words: str) -> None:
    template = isolated(ChatTemplate(text, origin="bad.jinja"), SHORT)
    with pytest.raises(TemplateLimitError, match=words) as caught:
        template.render(MESSAGES)
    assert caught.value.limit is limit
    assert str(caught.value).startswith("bad.jinja: ")
    assert isolated(ChatTemplate("ok")).render(MESSAGES) == "ok"


def test_a_trace_is_the_same_and_held_to_the_limits() -> None:
    plain = load_template(TEMPLATE)
    variables = {"messages": MESSAGES, "tools": None, "add_generation_prompt": True}
    assert isolated(plain).source_map(variables) == plain.source_map(variables)
    for text, limit in ((ENDLESS, Limit.RENDER_TIME), ("{{ 'x' * n }}", Limit.OUTPUT)):
        with pytest.raises(TemplateLimitError) as caught:
            isolated(ChatTemplate(text), SHORT).source_map({**variables, "n": 100_001})
        assert caught.value.limit is limit


def test_refusals_and_broken_syntax_are_the_same() -> None:
    refusing = ChatTemplate("{{ raise_exception('no') }}", origin="a")
    broken = ChatTemplate("{{ x(", origin="a")
    for template, kind in ((refusing, TemplateRenderError), (broken, TemplateSyntaxError)):
        errors = []
        for each in (template, isolated(template)):
            with pytest.raises(kind) as caught:
                each.render(MESSAGES)
            errors.append((str(caught.value), caught.value.__dict__))
        assert errors[0] == errors[1]
    with pytest.raises(TemplateSyntaxError):
        isolated(broken).check_syntax()
    with pytest.raises(TemplateSyntaxError):
        _ = isolated(broken).syntax_tree


def test_an_analysis_is_the_same_and_goes_on_to_render_in_a_worker() -> None:
    plain = load_template(TEMPLATE)
    found = analyze(plain, isolate=True)
    assert isinstance(found.template, IsolatedTemplate)
    assert replace(found, template=plain) == analyze(plain)
    assert found.to_dict() == analyze(plain).to_dict()
    again = analyze(isolated(plain, SHORT))
    assert isinstance(again.template, IsolatedTemplate)
    assert again.template.limits is SHORT


def test_limits_can_be_given_with_the_analysis() -> None:
    with pytest.raises(TemplateLimitError) as caught:
        analyze(ChatTemplate(ENDLESS), isolate=SHORT)
    assert caught.value.limit is Limit.RENDER_TIME


def test_one_render_beyond_a_limit_is_evidence_and_the_rest_goes_on() -> None:
    text = TEMPLATE.read_text(encoding="utf-8")
    # Few messages of the self-check hold markup.
    trap = f"{{% if '<b>' in messages[-1].content | default('', true) %}}{ENDLESS}{{% endif %}}"
    found = analyze(ChatTemplate(text + trap), isolate=SHORT)
    assert found.format.calls is not None
    assert any("more than 0.2 s" in failure.reason for failure in found.check.failures)


def test_a_pickle_stays_isolated() -> None:
    template = isolated(ChatTemplate("x", {"bos_token": "<s>"}, "default", "a"), SHORT)
    copied = pickle.loads(pickle.dumps(template))  # noqa: S301 - our own
    assert copied == template
    assert copied.limits == SHORT
