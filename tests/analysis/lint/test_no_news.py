"""What a rule must not say: small templates on which it once spoke, and was wrong."""

from __future__ import annotations

import json

import pytest

from autoparser.analysis.analysis import analyze
from autoparser.analysis.core.errors import TemplateRenderError, TemplateUnusableError
from autoparser.analysis.lint.linting import LintFinding, lint
from autoparser.analysis.lint.registry import rule_of
from autoparser.analysis.lint.subject import Subject
from autoparser.analysis.templates.chat_template import ChatTemplate

TURNS = """{%- for message in messages %}
    {{- '<|' + message.role + '|>' + message.content + '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %}"""

JUDGED = """Rate this exchange.
{%- for message in messages %}
    {{- '\n* ' + message.role + ' wrote: ' + message.content }}
{%- endfor %}
Answer with a number."""

NO_TOOLS = """{%- if tools %}{{ raise_exception('no tools here') }}{% endif %}
{%- for message in messages %}
    {{- '<|' + message.role + '|>' + (message.content or '') }}
    {%- for call in message.tool_calls or [] %}
        {{- '<call>' + call.function.name + ' ' + (call.function.arguments | tojson) + '</call>' }}
    {%- endfor %}
    {{- '<|end|>' }}
{%- endfor %}
{%- if add_generation_prompt %}<|assistant|>{% endif %}"""

INTRODUCED = "{%- if intro is defined %}{{ '<|note|>' + intro }}{% endif %}\n" + TURNS.replace(
    "<|assistant|>{% endif", "<|assistant|>{{ '' if intro is undefined else intro + ':' }}{% endif"
)


def found(code: str, text: str) -> list[LintFinding]:
    return [*lint(Subject(ChatTemplate(text)), [rule_of(code)]).findings]


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("AP202", JUDGED),  # it puts the conversation into a text of its own
        ("AP502", NO_TOOLS),  # a request that fails shows nothing of what would be written
        ("AP410", INTRODUCED),  # the caller's words, and no switch
    ],
)
def test_it_says_nothing(code: str, text: str) -> None:
    assert found(code, text) == []


def test_a_first_letter_made_a_capital_is_a_change_and_no_loss() -> None:
    text = TURNS.replace("message.content", "(message.content[0] | upper) + message.content[1:]")
    assert found("AP312", text) == []
    assert found("AP305", text) == []
    changed = found("AP311", text)
    assert {"user", "assistant"} <= {each.message.split()[3] for each in changed}
    with pytest.raises(TemplateUnusableError, match="writes other letters as capitals"):
        analyze(ChatTemplate(text))


def test_a_list_that_is_printed_is_no_form_of_content() -> None:
    # As a text the content loses capitals; as a list it keeps all, between brackets and quotes.
    text = TURNS.replace("message.content", "message.content | capitalize")
    with pytest.raises(TemplateUnusableError, match="writes other letters as capitals"):
        analyze(ChatTemplate(text))
    changed = found("AP311", text)
    assert {"user", "assistant"} <= {each.message.split()[3] for each in changed}
    assert not any("[{" in each.message for each in changed)


def test_where_a_filter_lacks_is_the_line_that_asks_for_it() -> None:
    template = ChatTemplate(
        "{{ messages[0].role }}\n{% if messages %}\n{{ messages | unheard_of }}{% endif %}"
    )
    with pytest.raises(TemplateRenderError) as caught:
        template.render([{"role": "user", "content": "hi"}])
    assert caught.value.line == 3


def test_the_evidence_shows_what_the_template_is_given() -> None:
    text = TURNS.replace("message.role +", "message.role + (message | length | string) +")
    (finding,) = found("AP806", text)
    (evidence,) = finding.evidence
    assert evidence.other is not None
    given, prepared = (json.dumps(shown.messages) for shown in (evidence.one, evidence.other))
    assert "null" in given
    assert "null" not in prepared


def test_what_a_generation_block_holds_is_written_by_its_own_lines() -> None:
    template = ChatTemplate(
        "a\n{%- generation %}\nb\n{{- messages[0].content }}\n{% endgeneration %}"
    )
    written = template.source_map({"messages": [{"role": "user", "content": "hi"}]})
    assert written.line_of("hi") == 4
