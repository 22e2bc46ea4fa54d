"""The rows that a strict writer may write after a prompt."""

from __future__ import annotations

import pytest

from autoparser import ChatTemplate, analyze
from autoparser.analysis.core.conversation import tool_for
from autoparser.analysis.core.text_format import TurnPart
from autoparser.analysis.parsing.turn_expression import build_expression
from autoparser.analysis.parsing.turn_request import request_of
from tests.analysis.parsing.loop import TOOLS, analysis_of


@pytest.mark.parametrize(
    ("fixture", "empty"),
    [
        ("j1-json-in-tags", True),
        # Its prompt begins a recipient, which an empty turn does not have.
        ("t8-recipient-lines", False),
    ],
)
def test_an_empty_turn_is_a_row_where_the_prompt_leads_to_one(fixture: str, empty: bool) -> None:
    turn = build_expression(analysis_of(fixture).formats, request_of(TOOLS))
    rows = [row for row in turn.strict.rows if not any(map(row.has, TurnPart))]
    assert any(not row.items for row in rows) is empty


UNASKED = ChatTemplate(
    "{% for m in messages %}{% if m.role == 'user' %}<u>{{ m.content }}<over>"
    "{% elif m.role == 'assistant' %}<bot>"
    "{% if m.tool_calls %}<muse>{{ m.reasoning_content or '' }}<mused><acts>"
    "{% for c in m.tool_calls %}{{ c.function.name }}({{ c.function.arguments|tojson }});"
    "{% endfor %}<acted>{% else %}<say>{{ m.content }}<said>{% endif %}<over>"
    "{% else %}<result>{{ m.content }}<over>{% endif %}{% endfor %}<bot><muse><mused>"
)
"""Its prompt is written whether it is asked for or not, and begins turns with calls alone: what
closes the reasoning is to other turns no text of theirs."""


@pytest.mark.parametrize(
    ("answer", "content", "called"),
    [("<acts>go({});<acted><over>", None, ["go"]), ("<say>Hello.<said><over>", "Hello.", [])],
)
def test_after_a_prompt_that_closed_the_reasoning_each_part_begins_with_its_own_text(
    answer: str, content: str | None, called: list[str]
) -> None:
    analysis = analyze(UNASKED)
    prompt = UNASKED.render([{"role": "user", "content": "Hi."}])
    (opening,) = analysis.formats.openings
    assert opening.text == "<bot><muse><mused>"
    assert prompt.endswith(opening.text)
    tools = [{"type": "function", "function": tool_for("go", "Go.", {})}]
    for grammar in (analysis.grammar(tools), analysis.grammar(tools, prompt=prompt)):
        assert grammar.accepts(answer).accepted
    message = analysis.parser(tools).parse(answer)
    assert (message.content, [call.name for call in message.tool_calls]) == (content, called)


EITHER = ChatTemplate(
    "{% for m in messages %}{% if m.role == 'user' %}<u>{{ m.content }}<over>"
    "{% elif m.role == 'assistant' %}"
    "{% if m.tool_calls %}"
    "{% if m.reasoning_content and m.content %}{{ raise_exception('one of them') }}{% endif %}"
    "{% if m.reasoning_content or m.content %}"
    "<bot><muse>{{ m.reasoning_content or m.content }}<over>{% endif %}"
    "{% for c in m.tool_calls %}"
    "<bot><act>{{ c.function.name }} {{ c.function.arguments|tojson }}<acted>{% endfor %}"
    "{% else %}{% if m.reasoning_content %}<bot><muse>{{ m.reasoning_content }}<over>{% endif %}"
    "<bot><say>{{ m.content }}<done>{% endif %}"
    "{% else %}<result>{{ m.content }}<over>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<bot>{% endif %}"
)
"""Beside calls it writes reasoning or content, in one channel, and refuses to write both."""


@pytest.mark.parametrize(
    ("answer", "is_accepted"),
    [
        ("<muse>Hm.<over><bot><act>go {}<acted>", True),
        ("<muse>Hm.<over><bot><say>Hello.<done>", True),
        ("<act>go {}<acted>", True),
        ("<muse>Hm.<over><muse>Hello.<over><bot><act>go {}<acted>", False),
    ],
)
def test_a_turn_that_the_template_refuses_is_not_written_without_its_reasoning(
    answer: str, is_accepted: bool
) -> None:
    tools = [{"type": "function", "function": tool_for("go", "Go.", {})}]
    assert analyze(EITHER).grammar(tools).accepts(answer).accepted is is_accepted


CLOSED = ChatTemplate(
    "{% for m in messages %}{% if m.role == 'user' %}<u>{{ m.content }}"
    "{% elif m.role == 'assistant' %}<bot>"
    "{% if muse %}<muse>{{ m.reasoning_content or '' }}{% endif %}<mused>{{ m.content or '' }}"
    "{% if m.tool_calls %}{{ '\\n\\n' }}<acts>{% for c in m.tool_calls %}"
    "{{ c.function.name }}({{ c.function.arguments|tojson }});{% endfor %}<acted>{% endif %}<over>"
    "{% else %}<result>{{ m.content }}<over>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<bot><muse>{% if not muse %}<mused>{% endif %}{% endif %}"
)
"""Its prompt opens and closes the reasoning that its turns close without an opener."""


@pytest.mark.parametrize(
    ("answer", "is_accepted"),
    [
        ("\n\n<acts>go({});<acted><over>", True),
        ("Now.\n\n<acts>go({});<acted><over>", True),
        ("<acts>go({});<acted><over>", False),
        ("Now.<over>", True),
    ],
)
def test_calls_after_a_prompt_that_closed_the_reasoning_begin_with_the_whitespace_after_its_close(
    answer: str, is_accepted: bool
) -> None:
    tools = [{"type": "function", "function": tool_for("go", "Go.", {})}]
    analysis = analyze(CLOSED)
    assert analysis.format.openings[0].text == "<bot><muse><mused>"
    assert analysis.grammar(tools).accepts(answer).accepted is is_accepted
