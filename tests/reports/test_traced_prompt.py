"""The template's source beside its prompt on a page."""

from __future__ import annotations

import re
from html import unescape

import pytest

from autoparser import ChatTemplate
from autoparser.reports.page_pictures import traced_prompt
from autoparser.reports.pages import PageTop, page as page_text

TEMPLATE = ChatTemplate(
    "{% macro turn(m) %}\n<{{ m.role }}>{{ m.content }}{% endmacro %}\n"
    "{% for m in messages %}\n{% if m.content %}\n{{ turn(m) }}\n{% else %}\n-\n{% endif %}\n"
    "{% endfor %}"
)
HOSTILE = '<b onclick="x">\u202e'


@pytest.fixture(name="page")
def hostile_page() -> str:
    return page_of(TEMPLATE, [{"role": "user", "content": HOSTILE}])


def page_of(template: ChatTemplate, messages: list[dict[str, str]]) -> str:
    blocks = traced_prompt(template.step_through({"messages": messages}))
    return page_text(PageTop("t", "k", "n", []), blocks, "1")


def test_each_piece_leads_to_the_line_that_wrote_it(page: str) -> None:
    lines = set(re.findall(r'id="line-(\d+)"', page))
    led = re.findall(r'<a href="#line-(\d+)" title="([^"]*)">', page)
    assert [line for line, _ in led] == ["2", "2", "2", "2", "5"]
    assert {line for line, _ in led} < lines
    assert unescape(led[1][1]) == "line 2 ← 5: {{ m.role }}"
    assert lines == {str(number) for number in range(1, TEMPLATE.text.count("\n") + 2)}


def test_lines_that_did_nothing_are_told_apart(page: str) -> None:
    idle = re.findall(r'id="line-(\d+)" class="idle"', page)
    assert "7" in idle
    assert "2" not in idle


def test_a_hostile_text_stays_text(page: str) -> None:
    assert "<b onclick" not in page
    assert "\u202e" not in page
    assert "\\u202e" in page


def test_a_render_that_fails_says_why() -> None:
    page = page_of(ChatTemplate("a{{ messages[0].x.y }}"), [{}])
    assert "cannot render the conversation" in page
    assert ">a</a>" in page
