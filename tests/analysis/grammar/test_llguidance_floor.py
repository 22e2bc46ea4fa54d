"""The oldest llguidance that is allowed takes the grammars: engines pin it, and it knows less.

`tests/ci/test_installs.py` runs these tests with that version; here is whichever is
installed.
"""

from __future__ import annotations

import pytest
from llguidance import LLMatcher

from autoparser import Analysis, analyze
from autoparser.analysis.grammar import lark_writer
from autoparser.analysis.grammar.schema_guidance import ESCAPES, knows_guidance_option
from tests.fixture_analyses import analyzed

from .offers import tool
from .tokens import byte_tokenizer

ESCAPING = """
{%- for m in messages -%}
<|{{ m.role }}|>{{ m.content or '' }}
{%- for call in m.tool_calls or [] -%}
<call>{{ {'name': call.function.name, 'arguments': call.function.arguments}
  | tojson(ensure_ascii=true) }}</call>
{%- endfor -%}
<|end|>
{%- endfor -%}
{%- if tools %}{{ tools | tojson }}{% endif -%}
{%- if add_generation_prompt %}<|assistant|>{% endif -%}
"""
"""A template that writes `ä` as `\\u00e4`."""
TOOLS = [tool("get_weather", {"city": {"type": "string", "pattern": "^.{1,20}$"}}, "city")]
FIXTURES = ("j1-json-in-tags", "a1-function-parameter", "a2-key-value-tags", "t3-fenced-json")


def refusal(analysis: Analysis) -> str:
    """Return what llguidance has against the grammar of a required call."""
    text = analysis.grammar(TOOLS, tool_choice="required").lark(byte_tokenizer())
    failed, messages = LLMatcher.validate_grammar_with_warnings(LLMatcher.grammar_from_lark(text))
    return messages[0] if failed else ""


@pytest.fixture(scope="module")
def escaping() -> Analysis:
    found = analyze(ESCAPING)
    assert found.ok or not knows_guidance_option(ESCAPES)
    return found


def test_the_installed_version_takes_a_grammar_of_escaped_json(escaping: Analysis) -> None:
    assert refusal(escaping) == ""
    text = escaping.grammar(TOOLS, tool_choice="required").lark(byte_tokenizer())
    assert (ESCAPES in text) is knows_guidance_option(ESCAPES)


@pytest.mark.parametrize("name", FIXTURES)
def test_the_installed_version_takes_a_grammar_of_a_fixture(name: str) -> None:
    assert refusal(analyzed(name)) == ""


def test_an_option_that_is_not_known_is_left_out(
    escaping: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not knows_guidance_option("an_option_that_no_version_has")
    monkeypatch.setattr(lark_writer, "knows_guidance_option", lambda _: False)
    # Grammars are cached: this one nobody has asked for.
    text = escaping.grammar([tool("other", {"a": {"maxLength": 9}})], tool_choice="required").lark(
        byte_tokenizer()
    )
    assert ESCAPES not in text
    assert '"x-guidance"' in text
